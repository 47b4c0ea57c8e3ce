// SPDX-License-Identifier: MIT
/*
 * Regions of a tebibyte, in one extent and in a million. No offset, length or count may be cut to 32
 * bits. The null provider pins the regions, at addresses that only the platform devices reach.
 */
#include "core.h"

#define TRACING "/sys/kernel/tracing/"
#define GIB (1ull << 30)
#define TIB (1ull << 40)
#define NOWHERE (1ull << 50)	/* test/kmod/null_provider.c */

enum { DEVICE = 0 };

static int fd;
static uint64_t piece = 1ull << 20;

SETUP(everything_is_there)
{
	EXPECT_CORE();
	fd = pin_open();
	EXPECT(fd >= 0, "/dev/peerpin: %s", strerror(errno));
	EXPECT(!core_register(DEVICE), "register");
	if (kernel_checks_itself())	/* it keeps a record of each extent's mapping, for a million of which it lacks the memory */
		piece = 64ull << 20;
}

static void pin_tebibyte(const char *parameter, struct peerpin_pin *pin)
{
	int ret = module_load("test/null_provider.ko", parameter);

	EXPECT(!ret, "null_provider: %s", strerror(-ret));
	ret = pin_by(fd, GIB, TIB, PEERPIN_PROVIDER_TEGRA, pin);
	EXPECT(!ret, "pin: %s", strerror(-ret));
	ret = core_get(core, fd, pin->out_region);
	EXPECT(!ret, "get: %s", strerror(-ret));
	ret = core_do(core, CORE_CHECK_ATTACH, DEVICE);
	EXPECT(!ret, "attach: %s", strerror(-ret));
}

static void unpin_tebibyte(const struct peerpin_pin *pin)
{
	EXPECT(!core_do(core, CORE_CHECK_DETACH, DEVICE) && !core_do(core, CORE_CHECK_PUT, DEVICE), "detach");
	EXPECT(!unpin(fd, pin->out_region), "unpin");
	EXPECT_CLEAN();
	EXPECT(!module_remove("null_provider"), "null_provider: %s", strerror(errno));
}

static void expect_extents(const struct peerpin_pin *pin, uint32_t extents)
{
	struct peerpin_query c;
	int ret = query(fd, pin->out_region, &c);

	EXPECT(!ret && c.out_length == TIB && c.out_extents == extents, "query: %d, %#llx bytes, %u extents", ret, c.out_length,
	       c.out_extents);
}

static uint64_t bus_in_one_extent(uint64_t offset)
{
	return NOWHERE + offset;
}

static uint64_t bus_in_pieces(uint64_t offset)
{
	return NOWHERE + offset / piece * 2 * piece + offset % piece;
}

/* DMA of two pages at @offset gets the addresses of exactly these pages. */
static void expect_bus(uint64_t offset, uint64_t (*bus_of)(uint64_t offset))
{
	struct core_check c = { .peer = DEVICE, .max = PAGE };
	int ret = core_begin(core, DEVICE, 0, offset, 2 * PAGE);

	EXPECT(!ret, "begin at %#lx: %d", offset, ret);
	EXPECT(!core_call(core, CORE_CHECK_WALK, &c) && c.out_count == 2, "walk at %#lx: %u pieces", offset, c.out_count);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT(c.out_bus[i] == bus_of(offset + i * PAGE) && c.out_len[i] == PAGE, "page %u at %#lx: %#llx, %#x bytes", i,
		       offset, c.out_bus[i], c.out_len[i]);
	EXPECT(!core_end(core, 0), "end");
}

static void expect_all_bus(uint64_t (*bus_of)(uint64_t offset))
{
	static const uint64_t offsets[] = {
		0, (1 << 20) - PAGE, (64 << 20) - PAGE, 2 * GIB - PAGE, 4 * GIB - PAGE, 4 * GIB, 64 * GIB - PAGE, TIB - 4 * GIB - PAGE, TIB - 2 * PAGE,
	};

	for (unsigned int i = 0; i < sizeof(offsets) / sizeof(offsets[0]) && vmtest_result == VMTEST_OK; i++)
		expect_bus(offsets[i], bus_of);
}

static void expect_refused(uint64_t offset, uint64_t length)
{
	int ret = core_begin(core, DEVICE, 0, offset, length);

	EXPECT(ret == -EINVAL, "begin at %#lx, %#lx bytes: %d", offset, length, ret);
}

CASE(one_extent_of_a_tebibyte)
{
	struct core_check c = { .peer = DEVICE };
	struct peerpin_pin pin;

	pin_tebibyte("", &pin);
	CHECK_CASE();
	expect_extents(&pin, 1);
	expect_all_bus(bus_in_one_extent);
	EXPECT(!core_call(core, CORE_CHECK_SGT, &c) && c.out_count == TIB / (2 * GIB), "%u entries", c.out_count);
	expect_refused(TIB - PAGE, 2 * PAGE);
	expect_refused(PAGE, TIB);
	expect_refused(PAGE, ~0ull);
	expect_refused(~0ull - PAGE, 2 * PAGE);
	CHECK_CASE();
	unpin_tebibyte(&pin);
}

CASE(many_extents)
{
	struct peerpin_pin pin;
	char parameter[32];

	snprintf(parameter, sizeof(parameter), "piece=%lu", piece);
	pin_tebibyte(parameter, &pin);
	CHECK_CASE();
	expect_extents(&pin, TIB / piece);
	expect_all_bus(bus_in_pieces);
	CHECK_CASE();
	unpin_tebibyte(&pin);
}

/* Counts the traced calls of pp_map_free(): all, and those in an interrupt. */
static unsigned int tables_freed(unsigned int *in_irq)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[256], flags[8];
	unsigned int n = 0;

	*in_irq = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (*line == '#' || sscanf(line, "%*[^]]] %7s", flags) != 1)
			continue;
		n++;
		*in_irq += strpbrk(flags, "hHs") != NULL;
	}
	if (f)
		fclose(f);
	return n;
}

CASE(interrupt_frees_no_large_table)
{
	unsigned int freed, in_irq, i;
	struct peerpin_pin pin;
	char parameter[32];

	snprintf(parameter, sizeof(parameter), "piece=%lu", piece);
	pin_tebibyte(parameter, &pin);
	CHECK_CASE();
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT(!system("cd " TRACING " && echo p:table/freed peerpin:pp_map_free > kprobe_events && echo > trace && "
		       "echo 1 > events/table/freed/enable"), "probe");
	EXPECT(!core_do_in_irq(core, CORE_CHECK_DETACH, DEVICE) && !core_do(core, CORE_CHECK_PUT, DEVICE), "detach");
	for (i = 0; i < 1500 && module_remove("null_provider"); i++)
		usleep(20000);
	freed = tables_freed(&in_irq);
	EXPECT(!system("cd " TRACING " && echo 0 > events/table/freed/enable && echo > kprobe_events"), "probe");
	EXPECT(i < 1500, "null_provider: %s", strerror(errno));
	EXPECT(freed && !in_irq, "%u tables freed, %u in an interrupt", freed, in_irq);
	EXPECT_CLEAN();
}

/* The whole region as one DMA, as a device's page table would list it */
CASE(a_tebibyte_in_one_transfer)
{
	struct core_check c = { .peer = DEVICE, .max = ~0u };
	struct peerpin_pin pin;

	pin_tebibyte("", &pin);
	CHECK_CASE();
	EXPECT(!core_begin(core, DEVICE, 0, 0, TIB), "begin");
	EXPECT(!core_call(core, CORE_CHECK_WALK, &c) && c.out_count == TIB / (2 * GIB), "%u pieces", c.out_count);
	EXPECT(!core_end(core, 0), "end");
	unpin_tebibyte(&pin);
}

CASE(nothing_is_left)
{
	EXPECT(!core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
}

VMTEST_MAIN
