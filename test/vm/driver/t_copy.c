// SPDX-License-Identifier: MIT
/* The peer device must move all bytes of a copy, and no other bytes, by its own DMA. */
#include <sys/mount.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	ZONE = 4096,			/* size of the red zone on either side */
	BIG = 32 << 20,
	AREA = BIG + 2 * ZONE + 65536,
	AREA_BLOCKS = 34 << 20,
};

#define TRACE_DMA "/sys/kernel/tracing/events/dma/dma_map_phys"

/* Source or destination of copies: an area of GPU or host memory, pinned as a whole */
struct area {
	int is_gpu;
	uint64_t va;
	struct peerpin_pin pin;
};

static int gpu, fd, lsi, check;
static struct area gpu_a, gpu_b, host_a, host_b;
static unsigned char *expected, *seen;

static int area_write(const struct area *a, uint64_t at, const void *from, uint64_t n)
{
	if (a->is_gpu)
		return emu_write(gpu, a->va + at, from, n);
	memcpy((void *)(a->va + at), from, n);
	return 0;
}

static int area_read(const struct area *a, uint64_t at, void *to, uint64_t n)
{
	if (a->is_gpu)
		return emu_read(gpu, to, a->va + at, n);
	memcpy(to, (void *)(a->va + at), n);
	return 0;
}

static struct end area_end(const struct area *a, uint64_t at)
{
	return (struct end){ fd, a->pin.out_region, at };
}

static void make_gpu(struct area *a, uint64_t va)
{
	a->is_gpu = 1;
	a->va = va;
	EXPECT(!emu_alloc(gpu, va, AREA_BLOCKS), "alloc");
	EXPECT(!pin_at(fd, va, AREA_BLOCKS, &a->pin), "pin: reason %u", a->pin.out_reason);
}

static void make_host(struct area *a)
{
	void *p = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED, "mmap");
	a->va = (uintptr_t)p;
	EXPECT(!pin_at(fd, a->va, AREA, &a->pin), "pin: reason %u", a->pin.out_reason);
}

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	check = check_open();
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0 && check >= 0, "%d %d %d %d", gpu, fd, lsi, check);
	expected = malloc(AREA);
	seen = malloc(AREA);
	EXPECT(expected && seen, "malloc");
	make_gpu(&gpu_a, GPU_A);
	CHECK_CASE();
	make_gpu(&gpu_b, GPU_B);
	CHECK_CASE();
	make_host(&host_a);
	CHECK_CASE();
	make_host(&host_b);
}

/* Copy into an area between two red zones, and compare every byte. */
static void copy_one(const struct area *dst, uint64_t to, const struct area *src, uint64_t from, uint64_t n)
{
	static uint64_t seed;
	uint64_t i;
	int ret;

	seed++;
	pattern_fill(expected, seed, n);
	EXPECT(!area_write(src, from, expected, n), "write source");
	memset(seen, 0xA5, n + 2 * ZONE);
	EXPECT(!area_write(dst, to - ZONE, seen, n + 2 * ZONE), "write red zones");
	ret = lsi_copy(lsi, area_end(dst, to), area_end(src, from), n);
	EXPECT(!ret, "copy %lu from +%lu to +%lu: %d", n, from, to, ret);
	EXPECT(!area_read(dst, to - ZONE, seen, n + 2 * ZONE), "read");
	for (i = 0; i < ZONE; i++)
		EXPECT(seen[i] == 0xA5 && seen[ZONE + n + i] == 0xA5, "red zone, %lu from +%lu to +%lu", n, from, to);
	EXPECT(!memcmp(seen + ZONE, expected, n), "%lu from +%lu to +%lu differs", n, from, to);
}

static void copy_sizes(const struct area *dst, const struct area *src)
{
	const uint64_t sizes[] = {
		1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097, 65535, 65536, 65537,
		131072, 1000003, 2 << 20, (8 << 20) - 1, 8 << 20, 16777212, 16777216, BIG - 1, BIG,
	};
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		copy_one(dst, ZONE, src, 0, sizes[i]);
		CHECK_CASE();
		copy_one(dst, ZONE + 3, src, 65529, sizes[i]);
		CHECK_CASE();
	}
}

static void copy_alignments(const struct area *dst, const struct area *src)
{
	uint64_t to, from;

	for (to = 0; to < 16; to++) {
		for (from = 0; from < 16; from++) {
			copy_one(dst, 65536 + to, src, 4096 + from, 257);
			CHECK_CASE();
		}
	}
	/* Try offsets around the edges of 4 KiB and 64 KiB pages, for destination and source. */
	for (to = 65536 - 2; to <= 65536 + 2; to++) {
		for (from = 131072 - 2; from <= 131072 + 2; from++) {
			copy_one(dst, to, src, from, 65536 + 1);
			CHECK_CASE();
			copy_one(dst, to - 4096, src, from - 61440, 4096);
			CHECK_CASE();
		}
	}
}

CASE(gpu_to_gpu_sizes)
{
	copy_sizes(&gpu_b, &gpu_a);
}

CASE(host_to_gpu_sizes)
{
	copy_sizes(&gpu_b, &host_a);
}

/* Physical address of @va; 0: unknown. */
static uint64_t physical(uint64_t va)
{
	int node = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (pread(node, &entry, sizeof(entry), (off_t)(va / 4096 * sizeof(entry))) != sizeof(entry))
		entry = 0;
	close(node);
	return (entry & ((1ull << 55) - 1)) * 4096;
}

/* Needs memory above 4 GiB. The chip gets the bus address of a bounce buffer below 4 GiB. */
CASE_BY_NAME(host_memory_is_bounced_below_4g)
{
	struct peer_check c = { .fd = fd, .length = 4096, .max = ~0u };
	struct peerpin_pin p;

	EXPECT(physical(host_a.va) >> 32 && physical(host_b.va) >> 32, "host memory is at %#lx and %#lx",
	       physical(host_a.va), physical(host_b.va));
	EXPECT(!pin_at(fd, host_a.va, 4096, &p), "pin: reason %u", p.out_reason);
	c.region = p.out_region;
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register: %d", errno);
	EXPECT(!check_call(check, PEER_CHECK_SEGMENTS, &c), "segments: %d", errno);
	EXPECT(c.out_count == 1 && !(c.out_bus[0] >> 32), "%u, the first at %#llx", c.out_count, c.out_bus[0]);
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c) && !unpin(fd, p.out_region), "end");
}

CASE(gpu_to_host_sizes)
{
	copy_sizes(&host_b, &gpu_a);
}

CASE(host_to_host_sizes)
{
	copy_sizes(&host_b, &host_a);
}

CASE(gpu_to_gpu_alignments)
{
	copy_alignments(&gpu_b, &gpu_a);
}

CASE(host_to_gpu_alignments)
{
	copy_alignments(&gpu_b, &host_a);
}

CASE(gpu_to_host_alignments)
{
	copy_alignments(&host_b, &gpu_a);
}

/* Number of the driver's interrupts so far, on all CPUs; -1: the driver has no interrupt. */
static long interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "re");
	long sum = -1, count;
	char line[512], *at;
	int used;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "lsi0"))
			continue;
		at = strchr(line, ':') + 1;
		for (sum = 0; sscanf(at, "%ld%n", &count, &used) == 1; at += used)
			sum += count;
	}
	if (f)
		fclose(f);
	return sum;
}

/* With poll_us 0 the driver does not poll. So every copy must wait for the interrupt. */
CASE(copy_completes_by_interrupt)
{
	long before = interrupts();

	EXPECT(!module_set("peerpin_lsi/parameters/poll_us", "0"), "parameter");
	copy_one(&gpu_b, ZONE, &gpu_a, 0, 65537);
	copy_one(&host_b, ZONE, &gpu_a, 3, BIG);
	EXPECT(!module_set("peerpin_lsi/parameters/poll_us", "20"), "parameter");
	EXPECT(interrupts() > before, "%ld interrupts, then %ld", before, interrupts());
}

CASE(copy_inside_one_region)
{
	copy_one(&gpu_a, 4 << 20, &gpu_a, 0, 2 << 20);
}

CASE(copy_works_without_a_cpu_window)
{
	enum { N = 8 << 20 };
	int ret;

	pattern_fill(expected, 42, N);
	EXPECT(!area_write(&gpu_a, 0, expected, N), "write");
	EXPECT(!emu_fill(gpu, GPU_B, 1, 0, N), "clear");
	EXPECT(!emu_cpu_window(gpu, 0), "unmap");
	EXPECT(emu_read(gpu, seen, GPU_B, 1) == -EBUSY, "the kernel can still reach the BAR");
	ret = lsi_copy(lsi, area_end(&gpu_b, 0), area_end(&gpu_a, 0), N);
	EXPECT(!emu_cpu_window(gpu, 1), "map");
	EXPECT(!ret, "copy: %d", ret);
	EXPECT(!area_read(&gpu_b, 0, seen, N), "read");
	EXPECT(!memcmp(seen, expected, N), "differs");
}

static void bus_and_physical(uint64_t *bus, uint64_t *phys)
{
	struct peer_check c = { .fd = fd, .region = gpu_a.pin.out_region, .length = 65536, .max = 65536 };
	struct emugpu_test t;

	EXPECT(!check_call(check, PEER_CHECK_SEGMENTS, &c), "segments: %d", errno);
	EXPECT(!emu_translate(gpu, GPU_A, &t), "translate");
	*bus = c.out_bus[0];
	*phys = t.translate.out_phys;
}

static int iommu_translates(void)
{
	char type[16] = "";
	FILE *f = fopen("/sys/class/misc/lsi0/device/iommu_group/type", "r");

	if (!f)
		return 0;
	if (!fgets(type, sizeof(type), f))
		type[0] = 0;
	fclose(f);
	return !strncmp(type, "DMA", 3);
}

CASE(bus_is_physical_unless_iommu_translates)
{
	struct peer_check c = { 0 };
	uint64_t bus = 0, phys = 0;

	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register: %d", errno);
	bus_and_physical(&bus, &phys);
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister: %d", errno);
	CHECK_CASE();
	EXPECT((bus != phys) == iommu_translates(), "bus %lx physical %lx, IOMMU translates: %d", bus, phys,
	       iommu_translates());
}

static void trace_dma(const char *on)
{
	FILE *f = fopen(TRACE_DMA "/enable", "w");

	EXPECT(f && fputs(on, f) >= 0 && !fclose(f), "tracing: %s", strerror(errno));
}

/* Memory of a coherent GPU is system memory: an IOMMU of Arm would map MMIO so that the device does not snoop. */
CASE(only_a_bar_is_mapped_as_mmio)
{
	char trace[1 << 16], mapping[64];
	struct peer_check c = { 0 };
	struct emugpu_info info;
	uint64_t bus = 0, phys = 0;
	const char *line;
	FILE *f;

	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (access(TRACE_DMA, F_OK))
		SKIP("only Linux 6.18 and later trace the attributes of these DMA mappings");
	f = fopen("/sys/kernel/tracing/trace", "w");	/* empties it */
	EXPECT(f && !fclose(f) && !emu_info(gpu, 0, &info), "trace: %s", strerror(errno));
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register: %d", errno);
	trace_dma("1");
	bus_and_physical(&bus, &phys);
	trace_dma("0");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister: %d", errno);
	CHECK_CASE();
	f = fopen("/sys/kernel/tracing/trace", "r");
	EXPECT(f, "trace: %s", strerror(errno));
	trace[fread(trace, 1, sizeof(trace) - 1, f)] = 0;
	fclose(f);
	snprintf(mapping, sizeof(mapping), "phys_addr=%lx ", phys);
	line = strstr(trace, mapping);
	EXPECT(line, "no mapping of %lx: %.200s", phys, trace);
	EXPECT((memmem(line, strcspn(line, "\n"), "MMIO", 4) == NULL) == info.out_coherent, "coherent %u: %.100s",
	       info.out_coherent, line);
}

CASE(second_copy_maps_nothing)
{
	struct peerpin_query q;
	uint32_t maps;

	EXPECT(!query(fd, gpu_a.pin.out_region, &q), "query");
	EXPECT(q.out_attached == 1 && q.out_maps >= 1, "attached %u maps %u", q.out_attached, q.out_maps);
	maps = q.out_maps;
	EXPECT(!lsi_copy(lsi, area_end(&gpu_b, 0), area_end(&gpu_a, 0), 1), "copy");
	EXPECT(!query(fd, gpu_a.pin.out_region, &q) && q.out_maps == maps, "maps %u, before %u", q.out_maps, maps);
}

CASE(copy_refuses_bad_ranges)
{
	const uint64_t size = AREA_BLOCKS;
	const struct {
		const char *what;
		uint64_t to, from, n;
	} bad[] = {
		{ "empty", 0, 0, 0 },
		{ "past the end of the destination", size - 9, 0, 10 },
		{ "past the end of the source", 0, size - 9, 10 },
		{ "behind the end", size, 0, 1 },
		{ "longer than the region", 0, 0, size + 1 },
		{ "offset overflows", ~0ull, 0, 2 },
		{ "length overflows", 16, 16, ~0ull },
	};
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ret = lsi_copy(lsi, area_end(&gpu_b, bad[i].to), area_end(&gpu_a, bad[i].from), bad[i].n);
		EXPECT(ret == -EINVAL, "%s: %d", bad[i].what, ret);
	}
	EXPECT(lsi_copy(lsi, area_end(&gpu_a, 0), area_end(&gpu_a, 99), 100) == -EINVAL, "overlap up");
	EXPECT(lsi_copy(lsi, area_end(&gpu_a, 99), area_end(&gpu_a, 0), 100) == -EINVAL, "overlap down");
	EXPECT(lsi_copy(lsi, area_end(&gpu_a, 0), area_end(&gpu_a, 0), 1) == -EINVAL, "onto itself");
	EXPECT(!lsi_copy(lsi, area_end(&gpu_a, 100), area_end(&gpu_a, 0), 100), "side by side");
}

CASE(copy_refuses_bad_ends)
{
	struct end good = area_end(&gpu_a, 0), bad = area_end(&gpu_b, 0);

	bad.fd = -1;
	EXPECT(lsi_copy(lsi, bad, good, 1) == -EBADF, "no file");
	EXPECT(lsi_copy(lsi, good, bad, 1) == -EBADF, "no file");
	bad.fd = lsi;
	EXPECT(lsi_copy(lsi, bad, good, 1) == -EBADF, "a copy took a descriptor that is no pin file");
	bad = area_end(&gpu_b, 0);
	bad.region = 4711;
	EXPECT(lsi_copy(lsi, bad, good, 1) == -ENOENT, "no region");
	EXPECT(lsi_copy(lsi, good, bad, 1) == -ENOENT, "no region");
}

CASE(copy_checks_its_struct)
{
	struct {
		struct peerpin_lsi_copy c;
		unsigned char more[16];
	} u = { .c = { .size = sizeof(u) } };

	u.more[3] = 1;
	EXPECT(ioctl(lsi, PEERPIN_LSI_IOC_COPY, &u) && errno == E2BIG, "trailing: %d", errno);
	u.c.size = sizeof(u.c) - 8;
	EXPECT(ioctl(lsi, PEERPIN_LSI_IOC_COPY, &u) && errno == EINVAL, "short: %d", errno);
	u.c.size = sizeof(u.c);
	u.c.flags = 4;
	EXPECT(ioctl(lsi, PEERPIN_LSI_IOC_COPY, &u) && errno == EOPNOTSUPP, "flags: %d", errno);
	EXPECT(ioctl(lsi, PEERPIN_LSI_IOC_COPY, NULL) && errno == EFAULT, "NULL: %d", errno);
	EXPECT(ioctl(lsi, _IO(PEERPIN_LSI_TYPE, 1), &u) && errno == ENOTTY, "unknown: %d", errno);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* bench/engine reads the result. The copy is the copy of engine_bare. */
CASE_BY_NAME(measure_8_MiB)
{
	enum { RUNS = 21, N = 8 << 20 };
	uint64_t engine[RUNS], total[RUNS], start;
	int i;

	for (i = 0; i < RUNS; i++) {
		start = now_ns();
		EXPECT(!lsi_copy_ns(lsi, area_end(&gpu_b, 0), area_end(&gpu_a, 0), N, &engine[i]), "copy");
		total[i] = now_ns() - start;
	}
	qsort(engine, RUNS, sizeof(engine[0]), compare);
	qsort(total, RUNS, sizeof(total[0]), compare);
	printf("registered: %d bytes median %lu ns min %lu ns of %d, of it engine %lu ns\n", N, total[RUNS / 2],
	       total[0], RUNS, engine[RUNS / 2]);
}

CASE(nothing_is_left)
{
	struct emugpu_test t;

	close(fd);
	close(lsi);
	EXPECT(!emu_free(gpu, GPU_A) && !emu_free(gpu, GPU_B), "free");
	EXPECT(!emu_counts(gpu, &t), "counts");
	EXPECT(!t.counts.out_pins && !t.counts.out_violations, "pins %u violations %llu", t.counts.out_pins,
	       t.counts.out_violations);
	close(check);
	close(gpu);
}

VMTEST_MAIN
