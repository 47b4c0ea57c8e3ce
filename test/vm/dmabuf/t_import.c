// SPDX-License-Identifier: MIT
/* dma-bufs whose memory stays in place: refused pins, and DMA by devices. */
#include "test/kmod/raw_dmabuf.h"
#include "import.h"

#include <cuda.h>
#include <linux/udmabuf.h>
#include <pthread.h>

static unsigned char buffer[SIZE];

SETUP(everything_is_there)
{
	EXPECT_NODES();
	EXPECT(!set_dynamic(false), "dmabuf_dynamic");
	EXPECT(!host_make(&host, SIZE), "host memory");
	EXPECT_ALL_GONE();
}

static void expect_pin(int dmabuf, uint64_t offset, uint64_t length, int err, unsigned int reason)
{
	struct peerpin_pin pin;
	int got = pin_dmabuf(dmabuf, offset, length, &pin);

	EXPECT(got == err && pin.out_reason == reason, "%#lx + %#lx: %d, reason %u", offset, length, got, pin.out_reason);
}

CASE(pin_needs_whole_pages_within_dmabuf)
{
	int dmabuf = new_dmabuf(BLOCK);

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	expect_pin(dmabuf, 1, PAGE, -EINVAL, PEERPIN_REASON_UNALIGNED);
	expect_pin(dmabuf, PAGE / 2, PAGE, -EINVAL, PEERPIN_REASON_UNALIGNED);
	expect_pin(dmabuf, 0, PAGE - 1, -EINVAL, PEERPIN_REASON_UNALIGNED);
	expect_pin(dmabuf, 0, PAGE + 1, -EINVAL, PEERPIN_REASON_UNALIGNED);
	expect_pin(dmabuf, 0, BLOCK + PAGE, -EINVAL, PEERPIN_REASON_NONE);
	expect_pin(dmabuf, BLOCK, PAGE, -EINVAL, PEERPIN_REASON_NONE);
	expect_pin(dmabuf, BLOCK - PAGE, 2 * PAGE, -EINVAL, PEERPIN_REASON_NONE);
	expect_pin(dmabuf, 1ull << 62, PAGE, -EINVAL, PEERPIN_REASON_NONE);
	expect_pin(dmabuf, PAGE, 1ull << 62, -EINVAL, PEERPIN_REASON_NONE);
	expect_pin(dmabuf, -(uint64_t)PAGE, 2 * PAGE, -EINVAL, PEERPIN_REASON_NONE);
	expect_pin(dmabuf, 0, 0, -EINVAL, PEERPIN_REASON_NONE);
	CHECK_CASE();
	close(dmabuf);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

CASE(other_files_are_not_dmabufs)
{
	int null = open("/dev/null", O_RDWR);

	expect_pin(null, 0, PAGE, -EBADF, PEERPIN_REASON_NOT_DMABUF);
	expect_pin(fd, 0, PAGE, -EBADF, PEERPIN_REASON_NOT_DMABUF);
	expect_pin(-1, 0, PAGE, -EBADF, PEERPIN_REASON_NOT_DMABUF);
	expect_pin(99999, 0, PAGE, -EBADF, PEERPIN_REASON_NOT_DMABUF);
	close(null);
}

CASE(tokens_and_flags_are_refused)
{
	int dmabuf = new_dmabuf(BLOCK);
	struct peerpin_pin pin = {
		.size = sizeof(pin), .length = PAGE, .provider = PEERPIN_PROVIDER_DMABUF, .fd = dmabuf,
	};

	pin.p2p_token = 1;
	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, &pin) && errno == EINVAL, "pin with a token");
	pin.p2p_token = 0;
	pin.flags = PEERPIN_PIN_PERSISTENT;
	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, &pin) && errno == EOPNOTSUPP, "persistent");
	pin.flags = 0;
	pin.provider = PEERPIN_PROVIDER_AUTO;
	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, &pin) && errno == EINVAL, "any provider");
	close(dmabuf);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

CASE(query_describes_the_dmabuf_region)
{
	struct peerpin_export export = { .size = sizeof(export), .length = PAGE };
	struct peerpin_query q;
	struct peerpin_pin pin;
	int dmabuf = new_dmabuf(BLOCK);
	void *p;

	EXPECT(!pin_dmabuf(dmabuf, 3 * PAGE, 5 * PAGE, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(pin.out_provider == PEERPIN_PROVIDER_DMABUF && pin.out_page_size == PAGE, "%u %u", pin.out_provider,
	       pin.out_page_size);
	EXPECT(pin.out_addr == 3 * PAGE && pin.out_length == 5 * PAGE, "%#llx %#llx", pin.out_addr, pin.out_length);
	EXPECT(pin.out_caching == PEERPIN_CACHING_NONE, "%u", pin.out_caching);
	EXPECT(!query(fd, pin.out_region, &q), "query");
	EXPECT(q.out_state == PEERPIN_STATE_LIVE && q.out_provider == PEERPIN_PROVIDER_DMABUF && !q.out_extents &&
	       !q.out_attached && q.out_addr == 3 * PAGE, "%u %u %u %u", q.out_state, q.out_provider, q.out_extents,
	       q.out_attached);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PEERPIN_MMAP_OFFSET(pin.out_region));
	EXPECT(p == MAP_FAILED && errno == EOPNOTSUPP, "mmap: %p %d", p, errno);
	export.region = pin.out_region;
	EXPECT(ioctl(fd, PEERPIN_IOC_EXPORT, &export) && errno == EOPNOTSUPP, "export: %d", errno);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	close(dmabuf);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

/* ---- DMA ---------------------------------------------------------- */

/* Fill GPU memory at GPU_A with the pattern of @seed. */
static int fill_gpu(uint64_t seed, uint64_t size)
{
	pattern_fill(buffer, seed, size);
	return emu_write(gpu, GPU_A, buffer, size);
}

CASE(copies_both_ways)
{
	struct peerpin_pin pin;
	int64_t bad;

	EXPECT(!pin_and_close(new_dmabuf(SIZE), SIZE, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!fill_gpu(1, SIZE), "fill");
	EXPECT(!copy_out(&pin, 0, SIZE), "copy out");
	bad = pattern_differs(host.at, 1, 0, SIZE);
	EXPECT(bad < 0, "byte %ld", bad);
	pattern_fill(host.at, 2, SIZE);
	EXPECT(!copy_in(&pin, 0, SIZE), "copy in");
	EXPECT(!emu_read(gpu, buffer, GPU_A, SIZE), "read");
	bad = pattern_differs(buffer, 2, 0, SIZE);
	EXPECT(bad < 0, "byte %ld", bad);
	EXPECT(!unpin(fd, pin.out_region) && !emu_free(gpu, GPU_A), "end");
	EXPECT_ALL_GONE();
}

/* A region of a dma-buf must hold the bytes of its range, however the exporter splits its list. */
static void copy_range(int dmabuf, uint64_t offset, uint64_t length)
{
	struct peerpin_pin pin;
	int64_t bad;

	EXPECT(!pin_dmabuf(dmabuf, offset, length, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!fill_gpu(3, SIZE), "fill");
	memset(host.at, 0, SIZE);
	EXPECT(!copy_out(&pin, 0, length), "copy out");
	bad = pattern_differs(host.at, 3, offset, length);
	EXPECT(bad < 0, "%#lx + %#lx: byte %ld", offset, length, bad);
	memset(host.at, 0xC4, length);
	EXPECT(!copy_in(&pin, 0, length), "copy in");
	EXPECT(copy_in(&pin, length, 1) == -EINVAL && copy_in(&pin, 0, length + 1) == -EINVAL, "beyond the range");
	EXPECT(!emu_read(gpu, buffer, GPU_A, SIZE), "read");
	EXPECT(pattern_differs(buffer, 3, 0, offset) < 0, "written before the range");
	EXPECT(!memcmp(buffer + offset, host.at, length), "the range was not written");
	EXPECT(pattern_differs(buffer + offset + length, 3, offset + length, SIZE - offset - length) < 0,
	       "written behind the range");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

static void copy_ranges(bool scattered)
{
	static const struct {
		uint64_t offset, length;
	} ranges[] = {
		{ 0, PAGE }, { SIZE - PAGE, PAGE }, { PAGE, SIZE - PAGE }, { 65536 - PAGE, 2 * PAGE },
		{ 65536 + PAGE, 5 * 65536 }, { BLOCK - PAGE, 3 * PAGE }, { 65536, 65536 },
	};
	int dmabuf, i;

	EXPECT(!emu_scatter(gpu, scattered), "scatter");
	dmabuf = new_dmabuf(SIZE);
	for (i = 0; i < (int)(sizeof(ranges) / sizeof(ranges[0])) && vmtest_result == VMTEST_OK; i++)
		copy_range(dmabuf, ranges[i].offset, ranges[i].length);
	close(dmabuf);
	EXPECT(!emu_scatter(gpu, 0) && !emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

CASE(ranges_of_contiguous_memory)
{
	copy_ranges(false);
}

CASE(ranges_of_scattered_memory)
{
	copy_ranges(true);
}

/* Get the DMA segments of @pin in @c; false on error. */
static bool segments(const struct peerpin_pin *pin, struct peer_check *c)
{
	*c = (struct peer_check){ .fd = fd, .region = pin->out_region, .length = pin->out_length, .max = ~0u };
	return !check_call(check, PEER_CHECK_SEGMENTS, c);
}

/* The core must merge the exporter's entries, as it merges entries of its own pins. */
CASE(dmabuf_maps_like_a_direct_pin)
{
	struct peerpin_pin pin, direct;
	struct peer_check imported, pinned;
	const uint64_t big = 64 << 20;

	EXPECT(!pin_and_close(new_dmabuf(big), big, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!pin_at(fd, GPU_A, big, &direct), "pin: reason %u", direct.out_reason);
	EXPECT(segments(&pin, &imported) && segments(&direct, &pinned), "segments");
	if (access("/sys/class/iommu/dmar0", F_OK))
		EXPECT(imported.out_count == pinned.out_count && imported.out_bus[0] == pinned.out_bus[0],
		       "%u at %#llx, %u at %#llx", imported.out_count, imported.out_bus[0], pinned.out_count,
		       pinned.out_bus[0]);
	EXPECT(imported.out_count <= 6, "%u pieces", imported.out_count);
	EXPECT(!unpin(fd, pin.out_region) && !unpin(fd, direct.out_region) && !emu_free(gpu, GPU_A), "end");
	EXPECT_ALL_GONE();
}

CASE(memory_of_cuda)
{
	struct peerpin_pin pin;
	CUdeviceptr p = 0;
	CUcontext ctx;
	int dmabuf = -1;

	EXPECT(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx) && !cuMemAlloc(&p, BLOCK),
	       "cuMemAlloc");
	EXPECT(!cuMemGetHandleForAddressRange(&dmabuf, p, BLOCK, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0), "export");
	EXPECT(!cuMemsetD8(p, 0x5A, BLOCK) && !cuCtxSynchronize(), "memset");
	EXPECT(!pin_and_close(dmabuf, BLOCK, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!copy_out(&pin, 0, BLOCK), "copy");
	EXPECT(host.at[0] == 0x5A && !memcmp(host.at, host.at + 1, BLOCK - 1), "contents");
	EXPECT(!unpin(fd, pin.out_region) && !cuMemFree(p) && !cuDevicePrimaryCtxRelease(0), "end");
	EXPECT_ALL_GONE();
}

/* ---- lifetime of the memory ------------------------------------------------------------- */

CASE(unpin_frees_the_memory)
{
	struct peerpin_pin pin;

	EXPECT(!pin_and_close(new_dmabuf(SIZE), SIZE, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!fill_gpu(4, SIZE) && !emu_free(gpu, GPU_A), "free");
	EXPECT(state_of(&pin) == PEERPIN_STATE_LIVE && vram_used() == SIZE, "state %u, %lu bytes", state_of(&pin),
	       vram_used());
	EXPECT(!copy_out(&pin, 0, SIZE) && pattern_differs(host.at, 4, 0, SIZE) < 0, "copy");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

static void *free_other(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)emu_free(gpu, GPU_B);
}

/* Unpin must return after the unmap, even if the GPU driver is busy with a callback. */
CASE(unpin_waits_for_the_unmapping)
{
	struct peerpin_pin pin, other;
	pthread_t thread;
	uint64_t start;

	EXPECT(!pin_and_close(new_dmabuf(SIZE), SIZE, &pin) && !copy_out(&pin, 0, PAGE), "pin: reason %u",
	       pin.out_reason);
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &other), "other");
	EXPECT(!emu_delay_callbacks(gpu, 1000, 1) && !pthread_create(&thread, NULL, free_other, NULL), "thread");
	usleep(200000);
	start = now_ns();
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT(ms_since(start) >= 300, "%lu ms", ms_since(start));
	EXPECT(!bar1_used(), "%lu bytes of BAR1", bar1_used());
	pthread_join(thread, NULL);
	EXPECT(!unpin(fd, other.out_region) && !emu_free(gpu, GPU_A), "end");
	EXPECT_ALL_GONE();
}

CASE(close_frees_the_memory)
{
	struct peerpin_pin pin;
	int other = pin_open(), mine = fd;

	fd = other;
	EXPECT(!pin_and_close(new_dmabuf(SIZE), SIZE, &pin), "pin: reason %u", pin.out_reason);
	fd = mine;
	EXPECT(!lsi_copy(lsi, end_of(&host.pin, 0), (struct end){ other, pin.out_region, 0 }, SIZE), "copy");
	EXPECT(!emu_free(gpu, GPU_A) && vram_used() == SIZE, "free");
	close(other);
	EXPECT_ALL_GONE();
}

CASE(regions_of_one_dmabuf_are_independent)
{
	struct peerpin_pin a, b;
	int dmabuf = new_dmabuf(SIZE);

	EXPECT(!pin_dmabuf(dmabuf, 0, SIZE, &a) && !pin_dmabuf(dmabuf, PAGE, PAGE, &b), "pin");
	EXPECT(a.out_region != b.out_region, "%u", a.out_region);
	EXPECT(!lsi_copy(lsi, end_of(&b, 0), end_of(&a, 2 * PAGE), PAGE), "copy between the two dma-bufs");
	EXPECT(!unpin(fd, a.out_region) && state_of(&b) == PEERPIN_STATE_LIVE, "unpin");
	EXPECT(!copy_in(&b, 0, PAGE), "copy");
	EXPECT(!unpin(fd, b.out_region) && unpin(fd, b.out_region) == -ENOENT, "unpin");
	close(dmabuf);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

CASE(exporters_map_error_is_returned)
{
	struct peerpin_pin pin;

	EXPECT(!pin_and_close(new_dmabuf(SIZE), SIZE, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!emu_bar1_free(gpu, 0), "bar1_free");
	EXPECT(copy_out(&pin, 0, SIZE) == -ENOMEM, "no BAR1");
	EXPECT(!emu_bar1_free(gpu, ~0ull), "bar1_free");
	EXPECT(!copy_out(&pin, 0, SIZE), "copy");
	EXPECT(!unpin(fd, pin.out_region) && !emu_free(gpu, GPU_A), "end");
	EXPECT_ALL_GONE();
}

/* ---- other exporters ----------------------------------------------------------------- */

static int sealed_memfd(uint64_t size)
{
	int memfd = memfd_create("import", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	return ftruncate(memfd, size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK) ? -1 : memfd;
}

/* Make a dma-buf of @size bytes of host memory, mapped at *@at; -1 on error. */
static int udmabuf_new(uint64_t size, unsigned char **at)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), dmabuf;

	create.memfd = sealed_memfd(size);
	*at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, create.memfd, 0);
	dmabuf = ioctl(node, UDMABUF_CREATE, &create);
	close(create.memfd);
	close(node);
	return dmabuf;
}

CASE(host_memory_of_udmabuf)
{
	struct peerpin_pin pin;
	unsigned char *at;
	int dmabuf;

	if (access("/dev/udmabuf", F_OK))
		SKIP("this kernel has no udmabuf");
	dmabuf = udmabuf_new(SIZE, &at);
	EXPECT(dmabuf >= 0 && at != MAP_FAILED, "%d: %s", dmabuf, strerror(errno));
	EXPECT(!pin_dmabuf(dmabuf, PAGE, SIZE - PAGE, &pin), "pin: reason %u", pin.out_reason);
	close(dmabuf);
	pattern_fill(at, 5, SIZE);
	EXPECT(!copy_out(&pin, 0, SIZE - PAGE), "copy");
	EXPECT(pattern_differs(host.at, 5, PAGE, SIZE - PAGE) < 0, "read");
	memset(host.at, 0x3C, SIZE);
	EXPECT(!copy_in(&pin, PAGE, PAGE), "copy");
	EXPECT(at[3 * PAGE - 1] == 0x3C && !memcmp(at + 2 * PAGE, host.at, PAGE) &&
	       pattern_differs(at, 5, 0, 2 * PAGE) < 0 &&
	       pattern_differs(at + 3 * PAGE, 5, 3 * PAGE, SIZE - 3 * PAGE) < 0, "written");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	munmap(at, SIZE);
	EXPECT_ALL_GONE();
}

/* Needs memory above 4 GiB, which the chip does not reach: udmabuf would map a bounce buffer. */
CASE_BY_NAME(bounced_dmabuf_is_eio)
{
	struct peerpin_pin pin;
	unsigned char *at;
	int dmabuf, err;

	if (access("/dev/udmabuf", F_OK))
		SKIP("this kernel has no udmabuf");
	dmabuf = udmabuf_new(SIZE, &at);
	EXPECT(dmabuf >= 0 && at != MAP_FAILED, "%d: %s", dmabuf, strerror(errno));
	memset(at, 1, SIZE);
	EXPECT(!pin_and_close(dmabuf, SIZE, &pin), "pin: reason %u", pin.out_reason);
	err = copy_out(&pin, 0, SIZE);
	EXPECT(err == (access("/sys/class/iommu/dmar0", F_OK) ? -EIO : 0), "%d", err);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	munmap(at, SIZE);
	EXPECT_ALL_GONE();
}

/* Copy into a dma-buf whose exporter lists @bus for every device. */
static void expect_copy_of_raw(int node, uint64_t bus, int err)
{
	struct peerpin_pin pin;
	char text[32];
	int got;

	snprintf(text, sizeof(text), "%#lx", bus);
	EXPECT(!module_set("raw_dmabuf/parameters/bus", text), "bus");
	EXPECT(!pin_and_close(ioctl(node, RAW_DMABUF_NEW), PAGE, &pin), "pin: reason %u", pin.out_reason);
	got = copy_in(&pin, 0, PAGE);
	EXPECT(got == err, "%s: %d, not %d", text, got, err);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

/* The 32-bit chip would truncate the first two addresses. The third is memory without an IOMMU mapping. */
CASE(bad_bus_addresses_are_eio)
{
	int node;

	EXPECT(!module_load("test/raw_dmabuf.ko", ""), "raw_dmabuf: %s", strerror(errno));
	node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	EXPECT(node >= 0, "%s", strerror(errno));
	expect_copy_of_raw(node, 0x1000000000, -EIO);
	CHECK_CASE();
	expect_copy_of_raw(node, 0xfffff001, -EIO);
	CHECK_CASE();
	if (!access("/sys/class/iommu/dmar0", F_OK))
		expect_copy_of_raw(node, 0x10000000, -EIO);
	CHECK_CASE();
	close(node);
	EXPECT(!module_remove("raw_dmabuf"), "remove");
}

/* Export a region of GPU memory, and import the dma-buf as a region. */
CASE(export_can_be_imported_again)
{
	struct peerpin_export export = { .size = sizeof(export), .offset = PAGE, .length = SIZE - PAGE };
	struct peerpin_pin first, again;

	EXPECT(!emu_alloc(gpu, GPU_A, SIZE) && !pin_at(fd, GPU_A, SIZE, &first), "pin: reason %u", first.out_reason);
	export.region = first.out_region;
	EXPECT(!ioctl(fd, PEERPIN_IOC_EXPORT, &export), "export: %s", strerror(errno));
	EXPECT(!pin_dmabuf(export.out_fd, PAGE, PAGE, &again), "pin: reason %u", again.out_reason);
	close(export.out_fd);
	EXPECT(!fill_gpu(6, SIZE), "fill");
	EXPECT(!copy_out(&again, 0, PAGE) && pattern_differs(host.at, 6, 2 * PAGE, PAGE) < 0, "copy");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(state_of(&first) == PEERPIN_STATE_REVOKED && state_of(&again) == PEERPIN_STATE_REVOKED, "%u %u",
	       state_of(&first), state_of(&again));
	EXPECT(copy_out(&again, 0, PAGE) == -ESTALE, "copy");
	EXPECT(!unpin(fd, again.out_region) && !unpin(fd, first.out_region), "unpin");
	EXPECT_ALL_GONE();
}

VMTEST_MAIN
