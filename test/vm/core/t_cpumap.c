// SPDX-License-Identifier: MIT
/* CPU mappings (views) of regions: their contents, and refused calls. */
#include <sys/resource.h>
#include <sys/uio.h>

#include "view.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGES = 32,
	SIZE = PAGES * PAGE,
	BIG = 64 << 20,
};

static int gpu, fd;
static unsigned char *host;
static unsigned char expected[SIZE], seen[SIZE];

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	EXPECT(gpu >= 0 && fd >= 0, "gpu %d peerpin %d", gpu, fd);
	EXPECT(!view_catch(), "sigaction %d", errno);
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	host = host_memory(SIZE);
	EXPECT(host, "mmap");
}

/* ---- contents ------------------------------------------------------------ */

/* Read and write both ends of one view. @expected holds the bytes of the region. */
static void check_part(uint32_t region, size_t offset, size_t length)
{
	unsigned char *p = view_map(fd, region, offset, length, PROT_READ | PROT_WRITE);
	unsigned char mark = offset / PAGE * 7 + length / PAGE;
	size_t last = length - 1;

	EXPECT(p, "offset %zu length %zu: errno %d", offset, length, errno);
	EXPECT(p[0] == expected[offset] && p[last] == expected[offset + last], "offset %zu length %zu: wrong bytes",
	       offset, length);
	p[1] = mark;
	p[last - 1] = mark + 1;
	expected[offset + 1] = mark;
	expected[offset + last - 1] = mark + 1;
	munmap(p, length);
}

static void check_all_parts(uint32_t region)
{
	size_t offset, length;

	for (offset = 0; offset < SIZE; offset += PAGE) {
		for (length = PAGE; length <= SIZE - offset; length += PAGE) {
			check_part(region, offset, length);
			CHECK_CASE();
		}
	}
}

static void check_gpu(uint64_t addr)
{
	struct peerpin_pin p;

	pattern_fill(expected, addr, SIZE);
	EXPECT(!emu_write(gpu, addr, expected, SIZE), "write");
	EXPECT(!pin_at(fd, addr, SIZE, &p), "pin: %u", p.out_reason);
	EXPECT(p.out_caching == PEERPIN_CACHING_COMBINED, "caching %u", p.out_caching);
	check_all_parts(p.out_region);
	CHECK_CASE();
	EXPECT(!emu_read(gpu, seen, addr, SIZE), "read");
	EXPECT(!memcmp(seen, expected, SIZE), "the GPU does not see the CPU's writes");
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(gpu_view_at_each_offset)
{
	check_gpu(GPU_A);
}

CASE(scattered_view_at_each_offset)
{
	struct emugpu_test first, second;

	EXPECT(!emu_scatter(gpu, 1) && !emu_alloc(gpu, GPU_B, BLOCK) && !emu_scatter(gpu, 0), "alloc");
	EXPECT(!emu_translate(gpu, GPU_B, &first) && !emu_translate(gpu, GPU_B + 65536, &second), "translate");
	EXPECT(first.translate.out_vram_page + 16 != second.translate.out_vram_page, "the memory is not scattered");
	check_gpu(GPU_B);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_B), "free");
}

CASE(host_view_at_each_offset)
{
	struct peerpin_pin p;

	pattern_fill(host, 1, SIZE);
	memcpy(expected, host, SIZE);
	EXPECT(!pin_at(fd, (uintptr_t)host, SIZE, &p), "pin: %u", p.out_reason);
	EXPECT(p.out_caching == PEERPIN_CACHING_CACHED, "caching %u", p.out_caching);
	check_all_parts(p.out_region);
	CHECK_CASE();
	EXPECT(!memcmp(host, expected, SIZE), "host memory lacks the writes through views");
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(view_shows_gpu_writes_at_once)
{
	struct peerpin_pin p;
	unsigned char *view;
	int i;

	EXPECT(!pin_at(fd, GPU_A, SIZE, &p), "pin");
	view = view_map(fd, p.out_region, 0, SIZE, PROT_READ);
	EXPECT(view, "errno %d", errno);
	for (i = 1; i < 20; i++) {
		EXPECT(!emu_fill(gpu, GPU_A, 1, i, SIZE), "fill");
		EXPECT(view[0] == i && view[SIZE / 2] == i && view[SIZE - 1] == i, "round %d: %u", i, view[0]);
	}
	munmap(view, SIZE);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(two_views_show_the_same_memory)
{
	struct peerpin_pin p;
	unsigned char *a, *b;

	EXPECT(!pin_at(fd, GPU_A, SIZE, &p), "pin");
	a = view_map(fd, p.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	b = view_map(fd, p.out_region, 5 * PAGE, PAGE, PROT_READ | PROT_WRITE);
	EXPECT(a && b, "errno %d", errno);
	a[5 * PAGE + 9] = 0x31;
	EXPECT(b[9] == 0x31, "%x", b[9]);
	b[9] = 0x32;
	EXPECT(a[5 * PAGE + 9] == 0x32, "%x", a[5 * PAGE + 9]);
	munmap(a, SIZE);
	EXPECT(!view_put(b, 1), "view b was unmapped with view a");
	munmap(b, PAGE);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* 16384 pages need 32 page tables, or 33 if the view is not aligned to a page table. Read backwards. */
CASE(a_large_view_takes_few_faults)
{
	struct peerpin_pin p;
	unsigned char *view;
	uint64_t sum = 0;
	long before;
	size_t i;

	EXPECT(!emu_alloc(gpu, GPU_B, BIG) && !emu_fill(gpu, GPU_B, 1, 3, BIG), "alloc");
	EXPECT(!pin_at(fd, GPU_B, BIG, &p), "pin: %u", p.out_reason);
	view = view_map(fd, p.out_region, 0, BIG, PROT_READ);
	EXPECT(view, "errno %d", errno);
	before = faults();
	for (i = BIG; i; i -= sizeof(uint64_t))
		sum += *(volatile uint64_t *)(view + i - sizeof(uint64_t));
	EXPECT(faults() - before <= 40, "%ld faults", faults() - before);
	EXPECT(sum == BIG / 8 * 0x0303030303030303ull, "sum %lx", sum);
	munmap(view, BIG);
	EXPECT(!unpin(fd, p.out_region) && !emu_free(gpu, GPU_B), "unpin");
}

/* True if the kernel's PAT list has the page at @phys as write-combining; -1: no list */
static int is_combined(uint64_t phys)
{
	FILE *list = fopen("/sys/kernel/debug/x86/pat_memtype_list", "r");
	unsigned long start, end;
	char line[128];
	int found = 0;

	if (!list)
		return -1;
	while (fgets(line, sizeof(line), list))
		if (strstr(line, "write-combining") && strchr(line, '[') &&
		    sscanf(strchr(line, '['), "[mem %lx-%lx]", &start, &end) == 2)
			found |= start <= phys && phys < end;
	fclose(list);
	return found;
}

/* First close the driver's own mapping: it is write-combining, too. */
CASE(gpu_view_is_write_combined)
{
	struct emugpu_test at;
	struct peerpin_pin p;
	unsigned char *view;

	if (is_combined(0) < 0)
		SKIP("/sys/kernel/debug/x86/pat_memtype_list is not there");
	EXPECT(!pin_at(fd, GPU_A, SIZE, &p) && !emu_translate(gpu, GPU_A, &at), "pin");
	EXPECT(!emu_cpu_window(gpu, 0), "close the window");
	EXPECT(!is_combined(at.translate.out_phys), "before the first view");
	view = view_map(fd, p.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && !view_touch(view), "view");
	EXPECT(is_combined(at.translate.out_phys), "with a view");
	munmap(view, SIZE);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(!is_combined(at.translate.out_phys), "write-combining is left after unpin");
	EXPECT(!emu_cpu_window(gpu, 1), "open the window");
}

/* ---- protection -------------------------------------------------- */

CASE(write_through_read_only_view_faults)
{
	struct peerpin_pin p;
	unsigned char *view;

	EXPECT(!pin_at(fd, GPU_A, SIZE, &p), "pin");
	view = view_map(fd, p.out_region, 0, SIZE, PROT_READ);
	EXPECT(view, "errno %d", errno);
	EXPECT(!view_touch(view), "read");
	EXPECT(view_put(view, 1) == SIGSEGV, "written");
	EXPECT(!mprotect(view, SIZE, PROT_READ | PROT_WRITE), "errno %d", errno);
	EXPECT(!view_put(view, 2) && view[0] == 2, "not written");
	EXPECT(!view_put(view + SIZE - PAGE, 3), "no write to a page that was not read before");
	EXPECT(!mprotect(view, SIZE, PROT_READ), "errno %d", errno);
	EXPECT(view_put(view, 4) == SIGSEGV && view[0] == 2, "written");
	EXPECT(!mprotect(view, SIZE, PROT_NONE) && view_touch(view) == SIGSEGV, "read");
	munmap(view, SIZE);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(readable_file_gives_readable_views)
{
	int reader = open("/dev/peerpin", O_RDONLY | O_CLOEXEC);
	struct peerpin_pin p;
	unsigned char *view;

	EXPECT(!pin_at(reader, GPU_A, SIZE, &p), "pin");
	EXPECT(!view_map(reader, p.out_region, 0, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES, "errno %d", errno);
	view = view_map(reader, p.out_region, 0, SIZE, PROT_READ);
	EXPECT(view && !view_touch(view), "errno %d", errno);
	EXPECT(mprotect(view, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES, "errno %d", errno);
	EXPECT(!unpin(reader, p.out_region), "unpin");
	EXPECT(view_is(view, SIZE, SIGBUS), "the view outlives its region");
	munmap(view, SIZE);
	close(reader);
}

/* Refuse such pins: a page reference would outlive the view. */
CASE(pages_of_a_view_are_unpinnable)
{
	struct iovec to = { seen, PAGE }, from = { NULL, PAGE };
	struct peerpin_pin p, q;
	unsigned char *view;

	EXPECT(!pin_at(fd, (uintptr_t)host, SIZE, &p), "pin");
	view = view_map(fd, p.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && !view_touch(view), "errno %d", errno);
	from.iov_base = view;
	EXPECT(process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == EFAULT, "read, errno %d", errno);
	EXPECT(pin_at(fd, (uintptr_t)view, SIZE, &q) == -EINVAL, "pinned");
	EXPECT(madvise(view, SIZE, MADV_DOFORK) && errno == EINVAL, "given to children");
	munmap(view, SIZE);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

/* ---- refused views -------------------------------------------------------------- */

struct range {
	const char *what;
	uint64_t offset, length;
};

CASE(a_view_lies_within_the_region)
{
	const struct range bad[] = {
		{ "a page too long", 0, SIZE + PAGE },
		{ "a byte too long", 0, SIZE + 1 },
		{ "behind the end", SIZE, PAGE },
		{ "across the end", SIZE - PAGE, 2 * PAGE },
		{ "far behind the end", 1ull << 40, PAGE },
		{ "where the next region would be, less a page", PEERPIN_MMAP_SPAN - PAGE, PAGE },
		{ "empty", 0, 0 },
		{ "not on pages", 512, PAGE },
	};
	struct peerpin_pin p;
	unsigned int i;

	EXPECT(!pin_at(fd, GPU_A, SIZE, &p), "pin");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT(view_refused(fd, p.out_region, bad[i].offset, bad[i].length) == EINVAL, "%s: %d", bad[i].what,
		       view_refused(fd, p.out_region, bad[i].offset, bad[i].length));
	EXPECT(!view_refused(fd, p.out_region, SIZE - PAGE, 1), "view of the last page refused");
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(a_private_view_is_refused)
{
	struct peerpin_pin p;
	void *view;

	EXPECT(!pin_at(fd, GPU_A, SIZE, &p), "pin");
	view = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)PEERPIN_MMAP_OFFSET(p.out_region));
	EXPECT(view == MAP_FAILED && errno == EINVAL, "errno %d", errno);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(view_of_a_missing_region_fails)
{
	struct peerpin_pin p;
	int other = pin_open();

	EXPECT(view_refused(fd, 0, 0, PAGE) == ENOENT, "never pinned");
	EXPECT(view_refused(fd, PEERPIN_MAX_REGIONS, 0, PAGE) == ENOENT, "past the last");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, SIZE, &p), "pin");
	EXPECT(view_refused(other, p.out_region, 0, PAGE) == ENOENT, "view of another file's region mapped");
	close(other);
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(view_refused(fd, p.out_region, 0, PAGE) == ESTALE, "revoked");
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(view_refused(fd, p.out_region, 0, PAGE) == ENOENT, "unpinned");
}

CASE(view_of_a_dmabuf_is_refused)
{
	struct emugpu_export export = { .va = GPU_A, .size = SIZE };
	struct peerpin_pin p = { .size = sizeof(p), .length = SIZE, .provider = PEERPIN_PROVIDER_DMABUF };

	EXPECT(!emu_call(gpu, EMUGPU_IOC_EXPORT, &export), "export");
	p.fd = export.out_fd;
	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &p), "pin: %d, %u", errno, p.out_reason);
	EXPECT(p.out_caching == PEERPIN_CACHING_NONE, "caching %u", p.out_caching);
	EXPECT(view_refused(fd, p.out_region, 0, PAGE) == EOPNOTSUPP, "not EOPNOTSUPP");
	EXPECT(!unpin(fd, p.out_region), "unpin");
	close(export.out_fd);
}

static uint32_t shared_region;

static int child_is_refused(void)
{
	return view_refused(fd, shared_region, 0, PAGE);
}

CASE(view_by_another_process_is_refused)
{
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, GPU_A, SIZE, &p), "pin");
	shared_region = p.out_region;
	EXPECT(emu_in_child(child_is_refused) == EACCES, "not EACCES");
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(nothing_is_left)
{
	EXPECT(view_pins(gpu) == 0, "%u pins", view_pins(gpu));
	close(fd);
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

VMTEST_MAIN
