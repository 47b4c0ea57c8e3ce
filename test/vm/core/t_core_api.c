// SPDX-License-Identifier: MIT
/* Every function of the in-kernel API, with every error that its documentation names. */
#include <pthread.h>
#include <signal.h>

#include "core.h"

static int fd;

SETUP(everything_is_there)
{
	unsigned int i;

	EXPECT_CORE();
	EXPECT(!emu_scatter(gpu, 0), "scatter");
	fd = pin_open();
	EXPECT(fd >= 0, "/dev/peerpin");
	for (i = 0; i < CORE_CHECK_DEVICES; i++)
		EXPECT(!core_register(i), "device %u", i);
	EXPECT_CLEAN();
}

/* ---- pin ------------------------------------------------------------------------ */

static void expect_range(uint64_t start, uint64_t length)
{
	struct core_check c = { 0 }, irq = { .in_irq = 1 };

	EXPECT(!core_call(core, CORE_CHECK_RANGE, &c), "range");
	EXPECT(c.out_start == start && c.out_length == length, "%#llx + %#llx", c.out_start, c.out_length);
	EXPECT(!core_call(core, CORE_CHECK_RANGE, &irq) && irq.out_start == start && irq.out_length == length, "in irq");
}

CASE(gpu_memory_is_pinned)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	EXPECT(!core_pin(core, GPU_A + GPU_PAGE + 5, GPU_PAGE), "pin");
	expect_range(GPU_A + GPU_PAGE, 2 * GPU_PAGE);
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT_CLEAN();
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

static char *host_memory(uint64_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

CASE(host_memory_is_pinned)
{
	char *m = host_memory(BLOCK);

	EXPECT(!core_pin(core, (uintptr_t)m + 5, PAGE), "pin");
	expect_range((uintptr_t)m, 2 * PAGE);
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT_CLEAN();
	munmap(m, BLOCK);
}

CASE(a_persistent_pin_outlives_its_memory)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	EXPECT(!core_pin_by(core, GPU_A, BLOCK, PEERPIN_PROVIDER_AUTO, PEERPIN_PIN_PERSISTENT), "pin");
	EXPECT(!core_do(core, CORE_CHECK_ATTACH, 0), "attach");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!core_begin(core, 0, 0, 0, BLOCK) && core_stale(core, 0) == 0 && !core_end(core, 0), "dma");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !core_do(core, CORE_CHECK_DETACH, 0), "unpin");
	EXPECT_CLEAN();
}

static int export_block(uint64_t va)
{
	struct emugpu_export e = { .va = va, .size = BLOCK };

	return emu_call(gpu, EMUGPU_IOC_EXPORT, &e) ?: e.out_fd;
}

CASE(a_dmabuf_is_pinned)
{
	struct core_check c = { .addr = PAGE, .length = BLOCK - PAGE, .provider = PEERPIN_PROVIDER_DMABUF };

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	c.fd = export_block(GPU_A);
	EXPECT(c.fd >= 0, "export: %d", c.fd);
	EXPECT(!core_call(core, CORE_CHECK_PIN, &c), "pin");
	close(c.fd);
	expect_range(PAGE, BLOCK - PAGE);
	EXPECT(!core_do(core, CORE_CHECK_ATTACH, 0), "attach");
	EXPECT(!core_begin(core, 0, 0, BLOCK - 2 * PAGE, PAGE) && !core_end(core, 0), "dma");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !core_do(core, CORE_CHECK_DETACH, 0), "unpin");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

static void expect_refused(struct core_check c, int error, unsigned int reason)
{
	int ret = core_call(core, CORE_CHECK_PIN, &c);

	EXPECT(ret == error && c.out_reason == reason, "%#llx + %#llx: %d, reason %u; wanted %d, %u", c.addr, c.length,
	       ret, c.out_reason, error, reason);
}

#define REFUSED(error, reason, ...) \
	do { \
		expect_refused((struct core_check){ __VA_ARGS__ }, error, PEERPIN_REASON_ ## reason); \
		CHECK_CASE(); \
	} while (0)

CASE(refused_pins_of_bad_ranges)
{
	char *m = host_memory(BLOCK);

	REFUSED(-EINVAL, NONE, .addr = GPU_A);
	REFUSED(-EINVAL, NONE, .addr = ~0ull - PAGE, .length = 2 * PAGE);
	REFUSED(-EINVAL, NONE, .addr = ~0ull - PAGE, .length = PAGE);
	REFUSED(-EINVAL, NONE, .addr = (uintptr_t)m, .length = PAGE, .provider = 99);
	REFUSED(-EINVAL, NONE, .addr = (uintptr_t)m, .length = PAGE, .fd = 3);
	REFUSED(-EOPNOTSUPP, NONE, .addr = (uintptr_t)m, .length = PAGE, .flags = 4);
	REFUSED(-EOPNOTSUPP, NO_PROVIDER, .addr = (uintptr_t)m, .length = PAGE, .flags = PEERPIN_PIN_PCIE);
	REFUSED(-EINVAL, NOT_MAPPED, .addr = GPU_A, .length = PAGE);
	REFUSED(-EINVAL, NOT_MAPPED, .addr = GPU_A, .length = PAGE, .provider = PEERPIN_PROVIDER_HOST);
	REFUSED(-EINVAL, VENDOR_REFUSED, .addr = (uintptr_t)m, .length = PAGE, .provider = PEERPIN_PROVIDER_NV);
	REFUSED(-EOPNOTSUPP, NO_PROVIDER, .addr = (uintptr_t)m, .length = PAGE, .provider = PEERPIN_PROVIDER_TEGRA);
	REFUSED(-EOPNOTSUPP, NO_PROVIDER, .addr = (uintptr_t)m, .length = PAGE, .provider = PEERPIN_PROVIDER_HOST,
		.flags = PEERPIN_PIN_PERSISTENT);
	REFUSED(-EBADF, NOT_DMABUF, .length = PAGE, .provider = PEERPIN_PROVIDER_DMABUF, .fd = core);
	munmap(m, BLOCK);
	EXPECT_CLEAN();
}

CASE(refused_pins_of_existing_memory)
{
	struct core_check c = { .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF };

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	c.fd = export_block(GPU_A);
	REFUSED(-EINVAL, UNALIGNED, .addr = 1, .length = PAGE, .provider = PEERPIN_PROVIDER_DMABUF, .fd = c.fd);
	REFUSED(-EINVAL, NONE, .addr = PAGE, .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF, .fd = c.fd);
	close(c.fd);
	EXPECT(!emu_bar1_free(gpu, GPU_PAGE), "bar1");
	REFUSED(-ENOMEM, NO_BAR1, .addr = GPU_A, .length = BLOCK);
	EXPECT(!emu_bar1_free(gpu, ~0ull), "bar1");
	EXPECT(!emu_fail(gpu, 1, -EIO), "fail");
	REFUSED(-EIO, VENDOR_ERROR, .addr = GPU_A, .length = BLOCK);
	EXPECT(!module_set("peerpin/parameters/max_process_bytes", "65536"), "limit");
	REFUSED(-EDQUOT, PROCESS_BYTES, .addr = GPU_A, .length = BLOCK);
	EXPECT(!module_set("peerpin/parameters/max_process_bytes", "0"), "limit");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* ---- get ------------------------------------------------------------------------- */

static struct peerpin_pin pin;

static int child_gets(void)
{
	return core_get(core_open(), fd, pin.out_region) == -EACCES ? 0 : 1;
}

CASE(get_finds_only_regions_of_caller)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, BLOCK, &pin), "pin");
	EXPECT(core_get(core, core, pin.out_region) == -EBADF, "not a file of ours");
	EXPECT(core_get(core, 999, pin.out_region) == -EBADF, "not a file");
	EXPECT(core_get(core, fd, pin.out_region + 1) == -ENOENT, "no such region");
	EXPECT(core_get(core, fd, PEERPIN_MAX_REGIONS) == -ENOENT, "no such id");
	EXPECT(emu_in_child(child_gets) == 0, "a child got the region of its parent");
	EXPECT(!core_get(core, fd, pin.out_region), "get");
	expect_range(GPU_A, BLOCK);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	expect_range(GPU_A, BLOCK);
	EXPECT(core_do(core, CORE_CHECK_ATTACH, 0) == -ESTALE, "an unpinned region was attached");
	EXPECT(!core_do_in_irq(core, CORE_CHECK_PUT, 0), "the last put, in an interrupt");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* ---- attach ------------------------------------------------------------------------ */

static void pin_and_attach(uint64_t va)
{
	EXPECT(!emu_alloc(gpu, va, BLOCK), "alloc");
	EXPECT(!core_pin(core, va, BLOCK), "pin");
	EXPECT(!core_do(core, CORE_CHECK_ATTACH, 0), "attach");
}

CASE(second_attach_reuses_the_mapping)
{
	struct peerpin_query q;
	int other = core_open();

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, BLOCK, &pin), "pin");
	EXPECT(!core_get(core, fd, pin.out_region) && !core_get(other, fd, pin.out_region), "get");
	EXPECT(!core_do(core, CORE_CHECK_ATTACH, 0) && !core_do(other, CORE_CHECK_ATTACH, 0), "attach");
	EXPECT(!query(fd, pin.out_region, &q) && q.out_maps == 1 && q.out_attached == 1, "%u maps", q.out_maps);
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0) && !core_do(core, CORE_CHECK_ATTACH, 0), "again");
	EXPECT(!query(fd, pin.out_region, &q) && q.out_maps == 1 && q.out_attached == 1, "%u maps", q.out_maps);
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0) && !core_do(core, CORE_CHECK_PUT, 0), "put");
	EXPECT(!unpin(fd, pin.out_region) && !emu_free(gpu, GPU_A), "unpin");
	close(other);
	EXPECT_CLEAN();
}

CASE(attach_after_free_is_ESTALE)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !core_pin(core, GPU_A, BLOCK), "pin");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(core_do(core, CORE_CHECK_ATTACH, 0) == -ESTALE, "attached");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT_CLEAN();
}

CASE(attach_out_of_reach_is_EIO)
{
	struct core_check c = { .peer = 7, .mask = 24 };

	EXPECT(!core_unregister(7) && !core_call(core, CORE_CHECK_REGISTER, &c), "register");
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !core_pin(core, GPU_A, BLOCK), "pin");
	EXPECT(core_do(core, CORE_CHECK_ATTACH, 7) == -EIO, "attached");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !emu_free(gpu, GPU_A), "unpin");
	EXPECT(!core_unregister(7) && !core_register(7), "register");
	EXPECT_CLEAN();
}

static void *unregister_0(void *arg)
{
	*(int *)arg = core_unregister(0);
	return NULL;
}

/* Wait until stop() of device 0 has been called @n times. The DMA in flight does not end by itself. */
static void expect_stops(unsigned int n)
{
	int i;

	for (i = 0; i < 10000 && core_stops(0) < n; i++)
		usleep(1000);
	EXPECT(core_stops(0) == n, "%u stops", core_stops(0));
}

/* The core maps a dma-buf by another function than memory of a provider. */
static void expect_enodev_of_a_dmabuf(void)
{
	struct core_check c = { .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF }, late = { .late = 1 };
	struct emugpu_export e = { .va = GPU_A, .size = BLOCK };
	int other = core_open();

	EXPECT(!emu_call(gpu, EMUGPU_IOC_EXPORT, &e), "export");
	c.fd = e.out_fd;
	EXPECT(!core_call(other, CORE_CHECK_PIN, &c), "pin: reason %u", c.out_reason);
	EXPECT(core_call(other, CORE_CHECK_ATTACH, &late) == -ENODEV, "attached");
	close(e.out_fd);
	close(other);
}

/* The unregistration waits, because a DMA that began earlier has not ended. */
static void expect_enodev_while_going(void)
{
	struct core_check late = { .late = 1 };
	int other = core_open();

	while (core_stale(core, 0) == 0)
		usleep(1000);
	EXPECT(core_stale(core, 0) == 1, "stale");
	EXPECT(core_begin(core, 0, 1, 0, PAGE) == -ENODEV, "DMA began");
	EXPECT(!core_pin(other, GPU_A, GPU_PAGE), "pin");
	EXPECT(core_call(other, CORE_CHECK_ATTACH, &late) == -ENODEV, "attached");
	close(other);
	expect_enodev_of_a_dmabuf();
}

CASE(unregistered_peer_is_ENODEV)
{
	int ret = -1;
	pthread_t t;

	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_begin(core, 0, 0, 0, BLOCK), "begin");
	EXPECT(!pthread_create(&t, NULL, unregister_0, &ret), "thread");
	expect_enodev_while_going();
	expect_stops(1);
	EXPECT(!core_end(core, 0), "end");
	pthread_join(t, NULL);
	CHECK_CASE();
	EXPECT(!ret && core_stops(0) == 1, "%d, %u stops", ret, core_stops(0));
	EXPECT(core_begin(core, 0, 0, 0, PAGE) == -ENODEV && !core_do(core, CORE_CHECK_DETACH, 0),
	       "the unregistered device still works");
	EXPECT(!core_register(0) && !core_do(core, CORE_CHECK_ATTACH, 0), "register the device again");
	EXPECT(!core_unregister(0) && core_begin(core, 0, 0, 0, PAGE) == -ENODEV,
	       "DMA began on an unregistered device");
	EXPECT(!core_register(0), "register");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !core_do(core, CORE_CHECK_DETACH, 0), "unpin");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* A serial engine ends no DMA before stop() has been called for each. So stop() must come for both first. */
CASE(unregister_stops_all_before_it_waits)
{
	int ret = -1, other = core_open();
	pthread_t t;

	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_pin(other, GPU_A, GPU_PAGE) && !core_do(other, CORE_CHECK_ATTACH, 0), "pin");
	EXPECT(!core_begin(core, 0, 0, 0, PAGE) && !core_begin(other, 0, 0, 0, PAGE), "begin");
	EXPECT(!pthread_create(&t, NULL, unregister_0, &ret), "thread");
	expect_stops(2);
	EXPECT(!core_end(core, 0) && !core_end(other, 0), "end");
	pthread_join(t, NULL);
	EXPECT(!ret && !core_register(0), "unregister %d", ret);
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !core_do(core, CORE_CHECK_DETACH, 0), "unpin");
	close(other);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* ---- dma ---------------------------------------------------------------------------- */

CASE(dma_outside_the_region_is_EINVAL)
{
	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(core_begin(core, 0, 0, 0, 0) == -EINVAL, "empty");
	EXPECT(core_begin(core, 0, 0, 0, BLOCK + 1) == -EINVAL, "too long");
	EXPECT(core_begin(core, 0, 0, BLOCK, 1) == -EINVAL, "behind the end");
	EXPECT(core_begin(core, 0, 0, BLOCK + 1, 1) == -EINVAL, "far behind the end");
	EXPECT(core_begin(core, 0, 0, 1, ~0ull) == -EINVAL, "overflow");
	EXPECT(!core_begin(core, 0, 0, BLOCK - 1, 1) && !core_end(core, 0), "the last byte");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT(core_begin(core, 0, 0, 0, 1) == -ESTALE, "unpinned");
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0) && !emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

static void expect_walk(uint64_t offset, uint64_t length, unsigned int max, unsigned int irq)
{
	struct core_check sgt = { 0 }, c = { .offset = offset, .length = length, .max = max, .in_irq = irq };
	uint64_t done = 0;
	unsigned int i;

	EXPECT(!core_call(core, CORE_CHECK_SGT, &sgt) && sgt.out_count == 1, "%u entries", sgt.out_count);
	EXPECT(!core_call(core, CORE_CHECK_BEGIN, &c) && !core_call(core, CORE_CHECK_WALK, &c), "walk");
	EXPECT(c.out_count == (length + max - 1) / max, "%u pieces", c.out_count);
	for (i = 0; i < c.out_count && i < CORE_CHECK_PIECES; i++) {
		EXPECT(c.out_bus[i] == sgt.out_bus[0] + offset + done, "piece %u at %#llx", i, c.out_bus[i]);
		done += c.out_len[i];
	}
	EXPECT(done == length, "%#lx bytes", done);
	EXPECT(!core_call(core, CORE_CHECK_WALK, &c) && !c.out_count, "more after the end");
	EXPECT(!core_call(core, CORE_CHECK_END, &c), "end");
}

CASE(dma_is_walked_in_pieces)
{
	unsigned int irq;

	pin_and_attach(GPU_A);
	for (irq = 0; irq < 2; irq++) {
		expect_walk(0, BLOCK, ~0u, irq);
		expect_walk(0, BLOCK, BLOCK / 128, irq);
		expect_walk(12345, 100000, 1000, irq);
		expect_walk(BLOCK - 1, 1, 1, irq);
	}
	CHECK_CASE();
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !core_do(core, CORE_CHECK_DETACH, 0), "unpin");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(dma_calls_work_in_an_interrupt)
{
	struct core_check c = { .in_irq = 1, .length = BLOCK };

	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_call(core, CORE_CHECK_BEGIN, &c), "begin");
	EXPECT(!core_call(core, CORE_CHECK_STALE, &c) && !c.out_count, "stale");
	EXPECT(!core_call(core, CORE_CHECK_SGT, &c) && c.out_count == 1 && c.out_len[0] == BLOCK, "%u", c.out_count);
	EXPECT(!core_call(core, CORE_CHECK_END, &c), "end");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT(core_call(core, CORE_CHECK_BEGIN, &c) == -ESTALE, "begun though unpinned");
	EXPECT(!core_do_in_irq(core, CORE_CHECK_DETACH, 0), "the last put");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* The kernel must warn. Another DMA of the attachment must stay in flight. */
CASE_BY_NAME(dma_end_twice_warns)
{
	struct core_check c = { .length = BLOCK }, other = { .flight = 1, .length = BLOCK };

	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_call(core, CORE_CHECK_BEGIN, &c) && !core_call(core, CORE_CHECK_BEGIN, &other), "begin");
	EXPECT(!core_call(core, CORE_CHECK_END, &c), "end");
	EXPECT(!core_call(core, CORE_CHECK_END_AGAIN, &c) && c.out_count == 1, "again: %u", c.out_count);
	EXPECT(!core_call(core, CORE_CHECK_STALE, &other) && !other.out_count, "the other");
	EXPECT(!core_call(core, CORE_CHECK_END, &other), "end of the other");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !core_do(core, CORE_CHECK_DETACH, 0), "unpin");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* The DMA holds the last references: of the attachment, the region, the provider and the account. */
CASE(overdue_end_in_interrupt_frees_all)
{
	struct core_check c = { .in_irq = 1, .length = BLOCK };

	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "50"), "timeout");
	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_call(core, CORE_CHECK_BEGIN, &c), "begin");
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0), "detach");
	EXPECT(!emu_free(gpu, GPU_A) && core_stale(core, 0) == 1, "free");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT(!core_call(core, CORE_CHECK_END, &c), "end");
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "timeout");
	EXPECT_CLEAN();
}

/* ---- stop ------------------------------------------------------------------------------ */

CASE(free_stops_each_device_once)
{
	unsigned int i, before[CORE_CHECK_DEVICES];
	uint64_t start;

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !core_pin(core, GPU_A, BLOCK), "pin");
	for (i = 0; i < CORE_CHECK_DEVICES; i++) {
		before[i] = core_stops(i);
		EXPECT(!core_do(core, CORE_CHECK_ATTACH, i), "attach %u", i);
		EXPECT(!core_begin_until_stopped(core, i, i, BLOCK), "begin %u", i);
	}
	start = now_ns();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(now_ns() - start < 500000000, "free took %lu us", (now_ns() - start) / 1000);
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	for (i = 0; i < CORE_CHECK_DEVICES; i++) {
		EXPECT(core_stops(i) == before[i] + 1, "device %u: %u stops", i, core_stops(i) - before[i]);
		EXPECT(core_end(core, i) == -ENOENT, "%u was not ended by stop()", i);
		EXPECT(!core_do(core, CORE_CHECK_DETACH, i), "detach");
	}
	EXPECT_CLEAN();
}

CASE(stop_is_called_once_per_attachment)
{
	unsigned int before = core_stops(0);

	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "50"), "timeout");
	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_begin(core, 0, 0, 0, BLOCK) && !core_begin(core, 0, 1, 0, PAGE), "begin");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
	EXPECT(core_stops(0) == before + 1, "%u stops", core_stops(0) - before);
	EXPECT(!core_end(core, 1) && !core_end(core, 0), "end");
	EXPECT(!core_unregister(0) && !core_register(0) && core_stops(0) == 0, "register");
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0), "detach");
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "timeout");
	EXPECT_CLEAN();
}

CASE(idle_device_is_not_stopped)
{
	unsigned int before = core_stops(0);

	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_begin(core, 0, 0, 0, BLOCK) && !core_end(core, 0), "dma");
	EXPECT(!emu_free(gpu, GPU_A) && !core_do(core, CORE_CHECK_UNPIN, 0), "free");
	EXPECT(core_stops(0) == before, "%u stops", core_stops(0) - before);
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0), "detach");
	EXPECT_CLEAN();
}

/* ---- end of regions and attachments ------------------------------------------------------- */

CASE(an_attachment_outlives_its_region)
{
	struct core_check c = { 0 };

	pin_and_attach(GPU_A);
	CHECK_CASE();
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0) && !emu_free(gpu, GPU_A), "unpin");
	EXPECT(!core_call(core, CORE_CHECK_SGT, &c) && c.out_count == 1 && c.out_len[0] == BLOCK,
	       "the scatter table is gone");
	EXPECT(core_begin(core, 0, 0, 0, 1) == -ESTALE, "begin");
	EXPECT(!core_do(core, CORE_CHECK_DETACH, 0), "detach");
	EXPECT_CLEAN();
}

static int exits_with_all_in_use(void)
{
	int g = emu_open(), c = core_open();
	char *m = host_memory(BLOCK);

	if (emu_alloc(g, GPU_B, BLOCK) || core_pin(c, GPU_B, BLOCK) || core_do(c, CORE_CHECK_ATTACH, 0) ||
	    core_begin(c, 0, 0, 0, BLOCK))
		return 1;
	c = core_open();
	if (core_pin(c, (uintptr_t)m, BLOCK) || core_do(c, CORE_CHECK_ATTACH, 1) || core_begin(c, 1, 0, 0, BLOCK))
		return 2;
	c = core_open();
	if (core_pin_by(c, GPU_B, BLOCK, PEERPIN_PROVIDER_NV, PEERPIN_PIN_PERSISTENT) ||
	    core_do(c, CORE_CHECK_ATTACH, 2))
		return 3;
	return 0;
}

CASE(exit_leaves_nothing)
{
	EXPECT(emu_in_child(exits_with_all_in_use) == 0, "child");
	EXPECT_CLEAN();
}

static int killed_with_all_in_use(void)
{
	return exits_with_all_in_use() ?: raise(SIGKILL);
}

CASE(kill_leaves_nothing)
{
	EXPECT(emu_in_child(killed_with_all_in_use) == -1, "child");
	EXPECT_CLEAN();
}

/* NVIDIA's driver ignores a put by another process. So the pin lasts until the owner frees the memory. */
CASE(last_close_by_another_process)
{
	struct emugpu_test t;
	int c = core_open(), go[2], status;
	pid_t pid;

	EXPECT(!pipe(go), "pipe");
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !core_pin(c, GPU_A, BLOCK), "pin");
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &status, 1) || close(c));
	}
	close(c);
	close(go[1]);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	close(go[0]);
	EXPECT(!emu_counts(gpu, &t) && t.counts.out_pins == 1, "%u pins", t.counts.out_pins);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	unsigned int i;

	for (i = 0; i < CORE_CHECK_DEVICES; i++)
		EXPECT(!core_unregister(i), "device %u", i);
	EXPECT(core_unregister(0) == -ENODEV, "twice");
	close(fd);
	EXPECT_CLEAN();
}

VMTEST_MAIN
