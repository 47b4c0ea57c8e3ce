// SPDX-License-Identifier: MIT
/*
 * dma-bufs of non-revocable memory: host memory, and GPU memory with a persistent pin. An importer
 * that cannot be notified must keep the memory.
 */
#include "export.h"
#include "test/vm/harness/group.h"
#include "test/vm/harness/vmstat.h"

#include <pthread.h>

enum kind { HOST, PERSISTENT, KINDS };

static int whole;	/* dma-buf of the whole region */
static struct peerpin_pin region;
static unsigned char *memory;	/* memory of kind HOST */
static long pinned_before;

/* ---- number of pins ---- */

/* Number of pinned host pages, or of pins of the GPU driver. */
static long pinned(enum kind kind)
{
	if (kind == PERSISTENT)
		return gpu_pins();
	return vmstat_pinned();
}

static bool is_pinned(enum kind kind)
{
	return pinned(kind) == pinned_before + (kind == HOST ? (long)(BLOCK / 4096) : 1);
}

static bool is_given_back(enum kind kind)
{
	int i;

	for (i = 0; i < 100 && pinned(kind) != pinned_before; i++)
		usleep(10000);
	return pinned(kind) == pinned_before;
}

/* ---- memory ---- */

static void *host_memory(int value)
{
	void *m = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	madvise(m, BLOCK, MADV_NOHUGEPAGE);	/* a collapse to a huge page would revoke the pin */
	return memset(m, value, BLOCK);
}

/* Fill memory with @value and pin it. Any process may call this. */
static int pin_kind(enum kind kind, int gpu, int file, int value)
{
	if (kind == HOST) {
		memory = host_memory(value);
		return pin_by(file, (uintptr_t)memory, BLOCK, PEERPIN_PROVIDER_HOST, &region);
	}
	return emu_alloc(gpu, VA, BLOCK) ?: emu_fill(gpu, VA, 1, value, BLOCK) ?:
	       pin_persistent(file, VA, BLOCK, &region);
}

static void start(enum kind kind)
{
	pinned_before = pinned(kind);
	EXPECT(pin_kind(kind, fd, peerpin, 0x11) == 0, "pin");
	EXPECT(is_pinned(kind), "%ld, before %ld", pinned(kind), pinned_before);
	whole = export_part(region.out_region, 0, BLOCK);
	EXPECT(whole >= 0, "export: %d", whole);
}

static void start_import(enum kind kind, enum dmabuf_check_kind importer, bool unmap_in_notify)
{
	start(kind);
	CHECK_CASE();
	EXPECT(import_as(0, whole, importer, unmap_in_notify) == 0, "import");
	EXPECT(peer_reads(0, 0, 0, 0x11), "contents");
}

static int free_kind(enum kind kind)
{
	return kind == HOST ? munmap(memory, BLOCK) : emu_free(fd, VA);
}

/* Release all other objects after the end of the pin. */
static void finish(enum kind kind)
{
	EXPECT(is_given_back(kind), "%ld, before %ld", pinned(kind), pinned_before);
	EXPECT(close(whole) == 0 && free_kind(kind) == 0 && nothing_left(), "end");
}

/* On older kernels, attach() maps for a static importer. So either attach() or map() may fail. */
static int try_import(unsigned int slot, enum dmabuf_check_kind importer)
{
	int err = import_as(slot, whole, importer, true);

	if (err)
		detach(slot);
	return err;
}

/* The region is unpinned, but the importer in slot 0 keeps the pages. */
static void expect_held(enum kind kind)
{
	EXPECT(is_pinned(kind), "pages unpinned during DMA");
	EXPECT(peer_write(0, 0, 128, 0x22) == 0 && peer_reads(0, 0, 128, 0x22), "DMA");
	EXPECT(try_import(1, DMABUF_CHECK_DYNAMIC) == -ENODEV, "mapped after the unpin");
	EXPECT(try_import(1, DMABUF_CHECK_STATIC) == -ENODEV, "mapped after the unpin");
}

#define FOR_EACH_KIND(call) \
	do { \
		enum kind kind; \
		for (kind = 0; kind < KINDS; kind++) { \
			call; \
			CHECK_CASE(); \
		} \
	} while (0)

SETUP(nodes_are_there)
{
	EXPECT_EXPORT_NODES();
	EXPECT(shorten_waits() == 0, "parameter");
	await_log();
}

/* ---- static importers ---- */

static void static_keeps_until_it_unmaps(enum kind kind)
{
	uint64_t began;

	start_import(kind, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(look(0, 0).out_has_page == (kind == HOST), "%u", look(0, 0).out_has_page);
	began = now_ns();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(ms_since(began) < 700, "unpin took %lu ms", ms_since(began));
	expect_held(kind);
	CHECK_CASE();
	EXPECT(detach(0) == 0, "detach");
	finish(kind);
}

CASE(static_importer_keeps_memory_after_unpin)
{
	FOR_EACH_KIND(static_keeps_until_it_unmaps(kind));
}

/*
 * The static importer cannot be notified, and holds the memory until it unmaps. So nothing is to wait for its fence,
 * even if a dynamic importer is attached, which has no mapping.
 */
static void static_with_fence_keeps(enum kind kind, bool beside_dynamic)
{
	uint64_t began;

	start_import(kind, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0, "fence");
	EXPECT(!beside_dynamic || attach_as(2, whole, DMABUF_CHECK_DYNAMIC, false) == 0, "attach");
	log_skip();
	began = now_ns();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(ms_since(began) < 700 && !log_has("still uses a dma-buf", "0000:"), "unpin took %lu ms", ms_since(began));
	expect_held(kind);
	CHECK_CASE();
	EXPECT(!beside_dynamic || (notified(2) == 1 && detach(2) == 0), "detach of the dynamic importer");
	EXPECT(slot_call(DMABUF_CHECK_SIGNAL, 0) == 0 && detach(0) == 0, "detach");
	finish(kind);
}

CASE(fence_beside_static_importer_delays_nothing)
{
	FOR_EACH_KIND(static_with_fence_keeps(kind, false));
	FOR_EACH_KIND(static_with_fence_keeps(kind, true));
}

static void static_gone_before(enum kind kind)
{
	start_import(kind, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && is_pinned(kind), "detach");
	EXPECT(unpin(peerpin, region.out_region) == 0 && pinned(kind) == pinned_before, "unpin");
	finish(kind);
}

CASE(detached_importer_keeps_nothing)
{
	FOR_EACH_KIND(static_gone_before(kind));
}

static void static_keeps_after_close(enum kind kind)
{
	int file = pin_open();

	pinned_before = pinned(kind);
	EXPECT(pin_kind(kind, fd, file, 0x11) == 0, "pin");
	whole = export_by_file(file, region.out_region, 0, BLOCK);
	EXPECT(whole >= 0 && import(0, whole) == 0, "import");
	close(file);
	expect_held(kind);
	CHECK_CASE();
	EXPECT(detach(0) == 0, "detach");
	finish(kind);
}

CASE(static_importer_keeps_memory_after_close)
{
	FOR_EACH_KIND(static_keeps_after_close(kind));
}

static void static_keeps_after_free(enum kind kind, bool unpin_first)
{
	start_import(kind, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	if (unpin_first)
		EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(free_kind(kind) == 0, "free");
	EXPECT(is_pinned(kind) && peer_reads(0, 0, 0, 0x11), "pages unpinned during DMA");
	if (!unpin_first)
		EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	expect_held(kind);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && is_given_back(kind), "%ld, before %ld", pinned(kind), pinned_before);
	EXPECT(close(whole) == 0 && nothing_left(), "%lu %lu", bar1_used(), vram_used());
}

CASE(static_importer_keeps_freed_memory)
{
	FOR_EACH_KIND(static_keeps_after_free(kind, false));
	FOR_EACH_KIND(static_keeps_after_free(kind, true));
}

/* The region ends, but the importer keeps its mapping. The GPU can be bound again only after detach. */
CASE(static_importer_keeps_unbound_gpus_memory)
{
	struct emugpu_info gpu = info();
	struct peerpin_query q;
	int i;

	start_import(PERSISTENT, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(emu_sysfs(&gpu, "unbind") == 0, "unbind");
	EXPECT(!query(peerpin, region.out_region, &q) && q.out_state == PEERPIN_STATE_REVOKED, "state %u", q.out_state);
	EXPECT(emu_sysfs(&gpu, "bind") == -EBUSY, "GPU bound while a device maps its memory");
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_sysfs(&gpu,
	       "bind") == -EBUSY, "the unpin released the mapped memory");
	EXPECT(detach(0) == 0 && free_kind(PERSISTENT) == 0, "detach");
	for (i = 0; i < 100 && emu_sysfs(&gpu, "bind"); i++)
		usleep(10000);
	EXPECT(close(whole) == 0 && nothing_left(), "%lu %lu", bar1_used(), vram_used());
}

/* The memory is left by an unpin, before the unbind. */
CASE(unbind_reports_memory_left_by_unpin)
{
	struct emugpu_info gpu = info();
	int i;

	start_import(PERSISTENT, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0 && is_pinned(PERSISTENT), "unpin");
	log_skip();
	EXPECT(emu_sysfs(&gpu, "unbind") == 0, "unbind");
	EXPECT(log_has("goes while a device still has a mapping", "0000:"), "no log line about the mapping");
	EXPECT(emu_sysfs(&gpu, "bind") == -EBUSY, "GPU bound while a device maps its memory");
	EXPECT(detach(0) == 0 && free_kind(PERSISTENT) == 0, "detach");
	for (i = 0; i < 100 && emu_sysfs(&gpu, "bind"); i++)
		usleep(10000);
	EXPECT(close(whole) == 0 && nothing_left(), "%lu %lu", bar1_used(), vram_used());
}

/* ---- dynamic importers ---- */

static void dynamic_is_told(enum kind kind, bool unmap_in_notify)
{
	start_import(kind, DMABUF_CHECK_DYNAMIC, unmap_in_notify);
	CHECK_CASE();
	EXPECT(notified(0) == 0 && unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(notified(0) == 1, "%u notifications", notified(0));
	if (importers_are_revocable() && !unmap_in_notify)
		EXPECT(is_pinned(kind), "pages unpinned before the unmap");
	else
		EXPECT(pinned(kind) == pinned_before,
		       "%ld pins after the notification, before %ld", pinned(kind), pinned_before);
	unmap(0);
	EXPECT(map(0) == -ENODEV && detach(0) == 0, "mapped");
	finish(kind);
}

CASE(unpin_notifies_dynamic_importer)
{
	FOR_EACH_KIND(dynamic_is_told(kind, true));
	FOR_EACH_KIND(dynamic_is_told(kind, false));
}

/* The fence is not signalled: the importer's device may still do DMA. */
static void late_keeps(enum kind kind)
{
	start_import(kind, DMABUF_CHECK_DYNAMIC, false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0, "fence");
	log_skip();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(log_has("still uses a dma-buf", "0000:"), "no log line about the importer");
	expect_held(kind);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_SIGNAL, 0) == 0 && is_pinned(kind), "signal");
	EXPECT(unmap(0) == 0 && is_given_back(kind), "%ld, before %ld", pinned(kind), pinned_before);
	EXPECT(notified(0) == 1 && detach(0) == 0, "%u notifications", notified(0));
	finish(kind);
}

CASE(importer_with_fence_keeps_memory)
{
	EXPECT(drain_timeout("200") == 0, "parameter");
	FOR_EACH_KIND(late_keeps(kind));
	EXPECT(drain_timeout("1000") == 0, "parameter");
}

/* If the importer is revocable, it is notified. Then it keeps the memory because it does not unmap. */
static void pinned_keeps(enum kind kind)
{
	unsigned int told = importers_are_revocable();

	start(kind);
	CHECK_CASE();
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC, false) == 0, "attach");
	EXPECT(slot_call(DMABUF_CHECK_PIN, 0) == 0 && map(0) == 0, "pin");
	log_skip();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	expect_held(kind);
	CHECK_CASE();
	EXPECT(notified(0) == told && log_has("still uses a dma-buf", "0000:") == told,
	       "%u notifications of a pinning importer", notified(0));
	EXPECT(unmap(0) == 0 && slot_call(DMABUF_CHECK_UNPIN, 0) == 0 && detach(0) == 0, "unmap, unpin, detach");
	finish(kind);
}

CASE(importer_that_pinned_keeps_memory)
{
	FOR_EACH_KIND(pinned_keeps(kind));
}

static void one_of_each(enum kind kind)
{
	start_import(kind, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(import_as(2, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	EXPECT(import(3, whole) == 0, "import");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(notified(2) == 1 && look(2, 0).out_entries == 0, "%u notifications", notified(2));
	expect_held(kind);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && detach(2) == 0 && is_pinned(kind), "the last static importer lost the memory");
	EXPECT(detach(3) == 0, "detach");
	finish(kind);
}

CASE(last_detach_returns_the_memory)
{
	FOR_EACH_KIND(one_of_each(kind));
}

/* ---- the process's own memory ---- */

CASE(munmap_notifies_soon)
{
	int i;

	start_import(HOST, DMABUF_CHECK_DYNAMIC, true);
	CHECK_CASE();
	EXPECT(munmap(memory, BLOCK) == 0, "munmap");
	EXPECT(export_part(region.out_region, 0, BLOCK) == -ESTALE, "exported");
	for (i = 0; i < 100 && !notified(0); i++)
		usleep(10000);
	EXPECT(notified(0) == 1 && is_given_back(HOST), "%u notifications", notified(0));
	EXPECT(map(0) == -ENODEV && detach(0) == 0 && close(whole) == 0, "mapped");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
}

CASE(pages_need_no_peer2peer)
{
	start_import(HOST, DMABUF_CHECK_DYNAMIC_NO_P2P, true);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0 && detach(0) == 0, "end");
	finish(HOST);
	start(PERSISTENT);
	CHECK_CASE();
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC_NO_P2P, true) == -EOPNOTSUPP, "attached");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	finish(PERSISTENT);
}

/* The device would use a bounce buffer, which would never be copied back. */
CASE(bounced_memory_is_EIO)
{
	if (iommu_translates())
		SKIP("nothing is bounced behind an IOMMU");
	start(HOST);
	CHECK_CASE();
	EXPECT(limit(0, 1 << 20) == 0, "limit");
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == -EIO, "mapped");
	EXPECT(limit(0, 0) == 0 && map(0) == 0 && peer_reads(0, 0, 0, 0x11), "within reach");
	EXPECT(unpin(peerpin, region.out_region) == 0 && detach(0) == 0, "end");
	finish(HOST);
}

/* ---- ends in any order, by any process ----- */

static void let_go_of(enum kind kind, int what)
{
	switch (what) {
	case 0:
		EXPECT(detach(0) == 0, "detach");
		break;
	case 1:
		EXPECT(close(whole) == 0, "close");
		break;
	case 2:
		EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
		break;
	case 3:
		EXPECT(free_kind(kind) == 0, "free");
		break;
	}
}

static void let_go_in_order(enum kind kind, enum dmabuf_check_kind importer, const int *order)
{
	int i;

	start_import(kind, importer, order[0] % 2);
	for (i = 0; i < 4; i++) {
		CHECK_CASE();
		let_go_of(kind, order[i]);
	}
	EXPECT(is_given_back(kind) && nothing_left(), "%d%d%d%d: %ld, before %ld", order[0], order[1], order[2],
	       order[3], pinned(kind), pinned_before);
}

static bool is_permutation(const int *order)
{
	return (1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15;
}

static void every_order(enum kind kind)
{
	int i, order[4];

	for (i = 0; i < 256; i++) {
		memcpy(order, (int[4]){ i >> 6, i >> 4 & 3, i >> 2 & 3, i & 3 }, sizeof(order));
		if (!is_permutation(order))
			continue;
		let_go_in_order(kind, DMABUF_CHECK_STATIC, order);
		CHECK_CASE();
		let_go_in_order(kind, DMABUF_CHECK_DYNAMIC, order);
		CHECK_CASE();
	}
}

CASE(lasting_dmabufs_allow_any_release_order)
{
	FOR_EACH_KIND(every_order(kind));
}

/* Pin, export, send the dma-buf, and wait to be killed. */
static void be_pinner(enum kind kind, int sock)
{
	int client = emu_open(), file = pin_open();

	if (!group_join())
		_exit(1);
	close(fd);
	close(check);
	close(peerpin);
	if (pin_kind(kind, client, file, 0x11))
		_exit(1);
	if (send_fd(sock, export_by_file(file, region.out_region, 0, BLOCK)))
		_exit(1);
	pause();
}

static pid_t start_pinner(enum kind kind)
{
	int socks[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		return -1;
	pid = fork();
	if (!pid)
		be_pinner(kind, socks[1]);
	close(socks[1]);
	whole = receive_fd(socks[0]);
	close(socks[0]);
	return pid;
}

static int pin_with_limit(const char *parameter)
{
	uint64_t own = (uintptr_t)host_memory(0);
	char limit[32];
	struct peerpin_pin p;
	int err;

	snprintf(limit, sizeof(limit), "%lu", BLOCK);
	err = module_set(parameter, limit) ?: pin_by(peerpin, own, BLOCK, PEERPIN_PROVIDER_HOST, &p);
	if (!err)
		err = unpin(peerpin, p.out_region);
	munmap((void *)(uintptr_t)own, BLOCK);
	return module_set(parameter, "0") ?: err;
}

/*
 * Pages of a dead owner count against max_total_bytes, not against max_process_bytes. They stay in
 * the owner's memory cgroup.
 */
static void expect_counted(enum kind kind)
{
	long long bytes = group_bytes("memory.current", "%lld");
	int err;

	EXPECT(kind != HOST || bytes >= (long long)BLOCK, "memory.current is %lld", bytes);
	err = pin_with_limit("peerpin/parameters/max_total_bytes");
	EXPECT(err == -EDQUOT, "pin with max_total_bytes exhausted: %d", err);
	err = pin_with_limit("peerpin/parameters/max_process_bytes");
	EXPECT(err == 0, "pin with max_process_bytes: %d", err);
}

static void static_keeps_of_the_dead(enum kind kind)
{
	int core = module_refs("peerpin");
	pid_t pid;

	pinned_before = pinned(kind);
	pid = start_pinner(kind);
	EXPECT(pid > 0 && whole >= 0 && import(0, whole) == 0, "import: %d", whole);
	kill_owner(pid);
	EXPECT(peer_reads(0, 0, 0, 0x11), "contents");
	expect_held(kind);
	CHECK_CASE();
	expect_counted(kind);
	CHECK_CASE();
	EXPECT(module_refs("peerpin") > core, "the pages hold no reference to the module");
	EXPECT(close(whole) == 0 && is_pinned(kind), "close");
	EXPECT(detach(0) == 0 && is_given_back(kind), "%ld, before %ld", pinned(kind), pinned_before);
	usleep(100000);
	EXPECT(group_bytes("memory.current", "%lld") < (long long)BLOCK, "the memory cgroup is still charged");
	EXPECT(pin_with_limit("peerpin/parameters/max_total_bytes") == 0, "still counted in max_total_bytes");
	EXPECT(nothing_left() && module_refs("peerpin") == core, "%d, before %d", module_refs("peerpin"), core);
}

CASE(static_importer_keeps_killed_owners_memory)
{
	EXPECT(group_make(), "a control group: %s", strerror(errno));
	FOR_EACH_KIND(static_keeps_of_the_dead(kind));
	EXPECT(group_end(), "the control group: %s", strerror(errno));
}

/* ---- races ---- */

static void *import_it(void *result)
{
	*(int *)result = try_import(0, DMABUF_CHECK_STATIC);
	return NULL;
}

static int taken, too_late;

static void end_while_imported(enum kind kind)
{
	static int delay[KINDS];
	pthread_t thread;
	int err = -1;

	start(kind);
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, import_it, &err), "thread");
	usleep(delay[kind]);
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	pthread_join(thread, NULL);
	EXPECT(err == 0 || err == -ENODEV, "%d", err);
	EXPECT(err || (is_pinned(kind) && peer_reads(0, 0, 0, 0x11) && detach(0) == 0), "import");
	taken += !err;
	too_late += err == -ENODEV;
	delay[kind] = next_delay(delay[kind], err == -ENODEV);
	finish(kind);
}

CASE(unpin_races_with_import)
{
	int i;

	for (i = 0; i < 50; i++)
		FOR_EACH_KIND(end_while_imported(kind));
	printf("# %d imports in time, %d too late\n", taken, too_late);
	EXPECT(taken && too_late, "%d in time, %d too late", taken, too_late);
}

static void *detach_it(void *result)
{
	*(int *)result = detach(0);
	return NULL;
}

static void end_while_detached(enum kind kind, int us)
{
	pthread_t thread;
	int err = -1;

	start_import(kind, DMABUF_CHECK_STATIC, false);
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, detach_it, &err), "thread");
	usleep(us);
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	pthread_join(thread, NULL);
	EXPECT(err == 0, "detach: %d", err);
	finish(kind);
}

CASE(unpin_races_with_detach)
{
	int i;

	for (i = 0; i < 50; i++)
		FOR_EACH_KIND(end_while_detached(kind, i % 10 * 20));
}

VMTEST_MAIN
