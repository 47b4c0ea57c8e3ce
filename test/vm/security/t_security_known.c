// SPDX-License-Identifier: MIT
/* Information that a process can get about another process. */
#include "victim.h"

enum {
	VIEWS = 8,
	SECRET_BYTES = 16 << 20,
};

SETUP(everything_is_there)
{
	int peerpin = pin_open(), emu = emu_open();

	EXPECT(peerpin >= 0 && emu >= 0, "%d %d", peerpin, emu);
	close(peerpin);
	close(emu);
}

/* ---- the revocation page -------------------------------------------------------- */

static bool all_zero(volatile const uint32_t *words)
{
	uint32_t i, any = 0;

	for (i = 0; i < PEERPIN_MAX_REGIONS; i++)
		any |= words[i];
	return !any;
}

static int pin_and_unpin(int fd, unsigned int times)
{
	static unsigned char mine[PAGE];
	struct peerpin_pin p;

	while (times--)
		if (pin_at(fd, (uintptr_t)mine, 1, &p) || unpin(fd, p.out_region))
			return -1;
	return 0;
}

static void watches_an_empty_page(void)
{
	volatile const uint32_t *mine = epochs_map(pin_open());
	int other = pin_open();

	EXPECT(mine && all_zero(mine), "a non-zero word in a new page");
	EXPECT(!pin_and_unpin(other, 50), "pin");
	EXPECT(epochs_map(other)[0] >= 100, "the other file's own word is %u", epochs_map(other)[0]);
	EXPECT(all_zero(mine), "the page shows words of another file");
	close(other);
	EXPECT(all_zero(epochs_map(pin_open())), "words of a file that was closed");
}

CASE(revocation_page_shows_own_file_only)
{
	ATTACK(watches_an_empty_page);
}

static int write_own_memory(const volatile void *to)
{
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC), ret;
	uint32_t word = 1;

	ret = pwrite(mem, &word, sizeof(word), (uintptr_t)to) == sizeof(word) ? 0 : -errno;
	close(mem);
	return ret;
}

static void writes_the_page(void)
{
	size_t size = PEERPIN_MAX_REGIONS * sizeof(uint32_t);
	int fd = pin_open();
	void *page = (void *)epochs_map(fd);

	EXPECT(mmap(NULL, size, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM, "mmap: %d", errno);
	EXPECT(mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EINVAL, "copied: %d", errno);
	EXPECT(mmap(NULL, EPOCH_BYTES + 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL, "longer: %d", errno);
	EXPECT(mprotect(page, size, PROT_READ | PROT_WRITE) && errno == EACCES, "mprotect: %d", errno);
	EXPECT(mremap(page, size, 2 * size, MREMAP_MAYMOVE) == MAP_FAILED, "the page can be enlarged");
	EXPECT(write_own_memory(page) == -EIO, "/proc/self/mem: %d", errno);
	EXPECT(all_zero(page), "the page was written");
}

CASE(revocation_page_is_read_only)
{
	AS_USER(MALLORY, writes_the_page);
}

/* ---- offsets of views ------------------------------------------------------------- */

/* /proc/self/maps shows the device offset of each view of this process. */
static int view_offsets(unsigned long long *offsets)
{
	unsigned long start, end;
	char line[256];
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0;

	while (f && n < VIEWS && fgets(line, sizeof(line), f))
		if (strstr(line, "/dev/peerpin"))
			n += sscanf(line, "%lx-%lx %*s %llx", &start, &end, &offsets[n]) == 3;
	if (f)
		fclose(f);
	return n;
}

static int make_view(int fd, void *memory)
{
	struct peerpin_pin p;

	if (pin_at(fd, (uintptr_t)memory, PAGE, &p))
		return -1;
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PEERPIN_MMAP_OFFSET(p.out_region)) == MAP_FAILED;
}

/*
 * An offset depends only on the region id, and each file numbers its ids from 0. So offsets reveal
 * nothing of others.
 */
static void looks_at_offsets(void)
{
	static unsigned char mine[PAGE] __attribute__((aligned(PAGE)));
	unsigned long long offsets[VIEWS];
	int i, fd = pin_open();

	for (i = 0; i < VIEWS; i++)
		EXPECT(!make_view(fd, mine), "view %d: %d", i, errno);
	EXPECT(view_offsets(offsets) == VIEWS, "not all views have a line");
	for (i = 0; i < VIEWS; i++)
		EXPECT(offsets[i] >= PEERPIN_MMAP_OFFSET(0) && offsets[i] < PEERPIN_MMAP_OFFSET(VIEWS),
		       "%#llx is not the offset of an own id", offsets[i]);
}

CASE(view_offsets_show_own_ids_only)
{
	AS_USER(MALLORY, looks_at_offsets);
}

/* ---- memory of another process ----------------------------------------------------- */

static uint64_t vram_free(void)
{
	struct emugpu_info info;

	return emu_info(emu_open(), 0, &info) ? 0 : info.out_vram_free;
}

static void leaves_a_secret(void)
{
	int gpu = emu_open();

	EXPECT(!emu_alloc(gpu, GPU_A, SECRET_BYTES), "alloc");
	EXPECT(!emu_fill(gpu, GPU_A, 4, SECRET, SECRET_BYTES), "fill");
}

static bool has_a_secret(const uint32_t *words, size_t n)
{
	size_t i, any = 0;

	for (i = 0; i < n / sizeof(*words); i++)
		any |= words[i];
	return any;
}

static void searches_all_memory(void)
{
	static unsigned char copy[BLOCK];
	uint64_t at, all = vram_free();
	int gpu = emu_open();

	EXPECT(all >= SECRET_BYTES && !emu_alloc(gpu, GPU_A, all), "all free memory, %llu", (unsigned long long)all);
	for (at = 0; at < all; at += BLOCK) {
		EXPECT(!emu_read(gpu, copy, GPU_A + at, BLOCK), "read");
		EXPECT(!has_a_secret((uint32_t *)copy, BLOCK),
		       "data of another process at %#llx", (unsigned long long)at);
	}
}

CASE(new_gpu_memory_is_zeroed)
{
	AS_USER(ALICE, leaves_a_secret);
	AS_USER(MALLORY, searches_all_memory);
}

/* ---- a received dma-buf -------------------------------------------------------- */

static int to_alice, to_mallory;

static int export_page(int fd, uint32_t region, uint64_t offset)
{
	struct peerpin_export c = { .size = sizeof(c), .region = region, .offset = offset, .length = PAGE };

	return ioctl(fd, PEERPIN_IOC_EXPORT, &c) ? -errno : c.out_fd;
}

enum { MARK = 0xa5 };	/* byte that Mallory writes */

/* Export the second of two pages. Unpin when Mallory has sent a byte. */
static void gives_one_page(void)
{
	unsigned char *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static unsigned char kept[PAGE];
	int dmabuf, fd = pin_open();
	struct peerpin_pin p;
	char byte = 0;

	pattern_fill(two, SECRET, 2 * PAGE);
	memcpy(kept, two, PAGE);
	EXPECT(!pin_at(fd, (uintptr_t)two, 2 * PAGE, &p), "pin");
	dmabuf = export_page(fd, p.out_region, PAGE);
	EXPECT(dmabuf >= 0 && !fd_send(to_mallory, dmabuf), "export: %d", dmabuf);
	EXPECT(recv(to_mallory, &byte, 1, 0) == 1 && !unpin(fd, p.out_region), "unpin");
	EXPECT(send(to_mallory, &byte, 1, 0) == 1, "send");
	EXPECT(two[PAGE] == MARK && !memcmp(two + PAGE, two + PAGE + 1, PAGE - 1), "the exported page was not written");
	EXPECT(!memcmp(two, kept, PAGE), "the other page was written");
}

static int pin_given(int fd, int dmabuf, uint64_t offset, uint64_t length, struct peerpin_pin *p)
{
	*p = (struct peerpin_pin){
		.size = sizeof(*p), .addr = offset, .length = length, .provider = PEERPIN_PROVIDER_DMABUF, .fd = dmabuf,
	};
	return ioctl(fd, PEERPIN_IOC_PIN, p) ? -errno : 0;
}

static void takes_one_page(void)
{
	static unsigned char copy[PAGE] __attribute__((aligned(PAGE))), want[2 * PAGE];
	int fd = pin_open(), lsi = lsi_open(), dmabuf = fd_receive(to_alice), ret;
	struct peerpin_pin theirs, own;
	char byte = 0;

	EXPECT(dmabuf >= 0 && lsi >= 0, "%d %d", dmabuf, lsi);
	EXPECT(pin_given(fd, dmabuf, 0, 2 * PAGE, &theirs) == -EINVAL, "two pages: %d", errno);
	EXPECT(pin_given(fd, dmabuf, -PAGE, PAGE, &theirs) == -EINVAL, "the first page: %d", errno);
	EXPECT(!pin_given(fd, dmabuf, 0, PAGE, &theirs) && !pin_at(fd, (uintptr_t)copy, PAGE, &own), "pin: %d", errno);
	ret = lsi_copy(lsi, (struct end){ fd, own.out_region, 0 }, (struct end){ fd, theirs.out_region, 0 }, PAGE);
	pattern_fill(want, SECRET, 2 * PAGE);
	EXPECT(!ret && !memcmp(copy, want + PAGE, PAGE), "the page that was given: %d", ret);
	memset(copy, MARK, PAGE);
	ret = lsi_copy(lsi, (struct end){ fd, theirs.out_region, 0 }, (struct end){ fd, own.out_region, 0 }, PAGE);
	EXPECT(!ret, "write to the file: %d", ret);
	EXPECT(send(to_alice, &byte, 1, 0) == 1 && recv(to_alice, &byte, 1, 0) == 1, "Alice did not end the region");
	memset(copy, 0, PAGE);
	ret = lsi_copy(lsi, (struct end){ fd, own.out_region, 0 }, (struct end){ fd, theirs.out_region, 0 }, PAGE);
	EXPECT(ret && !has_a_secret((uint32_t *)copy, PAGE), "after the region's end: %d", ret);
}

CASE(received_dmabuf_gives_only_its_range)
{
	struct user *user;
	int ends[2];

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "%s", strerror(errno));
	to_mallory = ends[0];
	to_alice = ends[1];
	user = user_start(ALICE, gives_one_page);
	AS_USER(MALLORY, takes_one_page);
	user_join(user);
	close(ends[0]);
	close(ends[1]);
}

VMTEST_MAIN
