// SPDX-License-Identifier: MIT
/* The scatter table of a mapping must have as few entries as memory and device allow. */
#include "core.h"

#define LARGE (64ull << 20)

/* DMA limits of a device; 0: no limit */
struct limits {
	uint32_t max_seg;
	uint64_t boundary;
};

static const struct limits limits[] = {
	{ 0, 0 },
	{ 0, 0xffffffff },
	{ 64 << 20, 0 },
	{ (64 << 20) - 1, 0 },
	{ 16 << 20, 0 },
	{ (1 << 20) + PAGE, 0 },
	{ 1 << 20, (16 << 20) - 1 },
	{ 0, (1 << 20) - 1 },
	{ 0, (32 << 20) - 1 },
	{ 3 << 20, (8 << 20) - 1 },
};

enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

SETUP(everything_is_there)
{
	EXPECT_CORE();
	EXPECT(!emu_scatter(gpu, 0), "scatter");
}

static uint64_t boundary_of(const struct limits *l)
{
	return l->boundary ?: ~0ull;
}

static uint64_t segment_of(const struct limits *l)
{
	uint64_t most = l->max_seg ?: ~0u;

	return (most < 2u << 30 ? most : 2u << 30) & ~(uint64_t)(PAGE - 1);
}

/* Maximum length of an entry that begins at @bus. */
static uint64_t room_at(const struct limits *l, uint64_t bus)
{
	uint64_t left = boundary_of(l) - (bus & boundary_of(l));

	return left < segment_of(l) - 1 ? left + 1 : segment_of(l);
}

/*
 * Size of the pieces of scattered memory. Pieces may be adjacent on the bus by chance; an entry may
 * end at each piece.
 */
static uint64_t pieces = LARGE;

/* Every entry must be as long as possible: it ends with the memory, at a piece, or at a limit of the device. */
static void check_entry(const struct core_check *c, unsigned int i, const struct limits *l)
{
	uint64_t room = room_at(l, c->out_bus[i]), end = c->out_bus[i] + c->out_len[i];

	EXPECT(c->out_len[i] <= room, "entry %u of %#x bytes at %#llx; %#lx are allowed", i, c->out_len[i],
	       c->out_bus[i], room);
	if (i + 1 < c->out_count && c->out_bus[i + 1] == end && c->out_len[i] % pieces)
		EXPECT(c->out_len[i] == room, "entry %u of %#x bytes at %#llx could have %#lx", i, c->out_len[i],
		       c->out_bus[i], room);
}

static void check_entries(const struct core_check *c, const struct limits *l, uint64_t length)
{
	uint64_t sum = 0;
	unsigned int i;

	EXPECT(c->out_count && c->out_count <= CORE_CHECK_PIECES, "%u entries", c->out_count);
	for (i = 0; i < c->out_count; i++) {
		check_entry(c, i, l);
		sum += c->out_len[i];
	}
	EXPECT(sum == length, "%#lx bytes of %#lx", sum, length);
}

/* Map the pinned region for @peer with the limits @l. Store the scatter table in @c. */
static void map_with(unsigned int peer, const struct limits *l, struct core_check *c)
{
	*c = (struct core_check){ .peer = peer, .max_seg = l->max_seg, .boundary = l->boundary };
	EXPECT(!core_call(core, CORE_CHECK_REGISTER, c), "register");
	EXPECT(!core_call(core, CORE_CHECK_ATTACH, c), "attach");
	EXPECT(!core_call(core, CORE_CHECK_SGT, c), "sgt");
}

static void unmap(unsigned int peer)
{
	EXPECT(!core_do(core, CORE_CHECK_DETACH, peer) && !core_unregister(peer), "unregister %u", peer);
}

static void map_with_all(unsigned int peer, uint64_t length)
{
	struct core_check c;
	unsigned int i;

	for (i = 0; i < LIMITS && vmtest_result == VMTEST_OK; i++) {
		map_with(peer, &limits[i], &c);
		check_entries(&c, &limits[i], length);
		if (vmtest_result != VMTEST_OK)
			printf("# with max_seg %#x, boundary %#lx\n", limits[i].max_seg, limits[i].boundary);
		unmap(peer);
	}
}

static void check_memory(uint64_t addr, uint64_t length)
{
	EXPECT(!core_pin(core, addr, length), "pin");
	map_with_all(0, length);
	map_with_all(CORE_CHECK_CHIP, length);
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
}

CASE(contiguous_memory_is_one_entry)
{
	unsigned int peers[] = { 0, CORE_CHECK_CHIP }, i;
	struct core_check c;

	EXPECT(!emu_alloc(gpu, GPU_A, LARGE) && !core_pin(core, GPU_A, LARGE), "pin");
	for (i = 0; i < 2; i++) {
		map_with(peers[i], &limits[1], &c);
		CHECK_CASE();
		EXPECT(c.out_count == 1 && c.out_len[0] == LARGE, "peer %u: %u entries", peers[i], c.out_count);
		unmap(peers[i]);
		CHECK_CASE();
	}
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !emu_free(gpu, GPU_A), "unpin");
	EXPECT_CLEAN();
}

CASE(contiguous_memory_obeys_every_limit)
{
	EXPECT(!emu_alloc(gpu, GPU_A, LARGE), "alloc");
	check_memory(GPU_A, LARGE);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* The range begins and ends off all boundaries. */
CASE(unaligned_range_obeys_every_limit)
{
	EXPECT(!emu_alloc(gpu, GPU_A, LARGE), "alloc");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	check_memory(GPU_A + 5 * GPU_PAGE, LARGE / 2 + 9 * GPU_PAGE);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A) && !emu_free(gpu, GPU_B), "free");
	EXPECT_CLEAN();
}

/* A small pin shifts the BAR1 mapping: so the next pin begins off all boundaries. */
CASE(shifted_pin_obeys_every_limit)
{
	int other = core_open();

	EXPECT(!emu_alloc(gpu, GPU_A, LARGE) && !emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	EXPECT(!core_pin(other, GPU_B, GPU_PAGE), "pin");
	check_memory(GPU_A, LARGE);
	CHECK_CASE();
	close(other);
	EXPECT(!emu_free(gpu, GPU_A) && !emu_free(gpu, GPU_B), "free");
	EXPECT_CLEAN();
}

CASE(scattered_memory_obeys_every_limit)
{
	EXPECT(!emu_scatter(gpu, 1), "scatter");
	pieces = GPU_PAGE;
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK * 2), "alloc");
	check_memory(GPU_A, BLOCK * 2);
	CHECK_CASE();
	pieces = LARGE;
	EXPECT(!emu_free(gpu, GPU_A) && !emu_scatter(gpu, 0), "free");
	EXPECT_CLEAN();
}

CASE(host_pages_obey_every_limit)
{
	enum { SIZE = CORE_CHECK_PIECES * PAGE };
	char *m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(m != MAP_FAILED, "mmap");
	check_memory((uintptr_t)m, SIZE);
	CHECK_CASE();
	munmap(m, SIZE);
	EXPECT_CLEAN();
}

VMTEST_MAIN
