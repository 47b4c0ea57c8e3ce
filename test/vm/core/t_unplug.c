// SPDX-License-Identifier: MIT
/* Hot-unplug of a GPU or a peer in use, by driver unbind or by device removal. Then the device returns. */
#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "test/kmod/raw_dmabuf.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/harness/module.h"
#include "view.h"
#include "test/vm/harness/vmtest.h"

enum {
	SIZE = 2 * BLOCK,
	GONE_MS = 15000,	/* upper limit of a removal, which waits DRAIN_MS for DMA */
	DRAIN_MS = 1000,
	LONG_MS = 60000,	/* a timeout that must not expire */
};

/* State of the running case */
static int gpu = -1, fd = -1, check = -1, dmabuf = -1;
static unsigned char *host;
static struct peerpin_pin gpu_pin, host_pin;
static struct hotplug the_gpu, the_peer;
static char peer_node[16];

/* ---- nodes of peers: a returned peer gets a new number while an old file is open ---------- */

static int first_peer(char node[16])
{
	DIR *dir = opendir("/sys/class/misc");
	struct dirent *entry;

	*node = '\0';
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "lsi", 3) && (!*node || strcmp(entry->d_name, node) < 0))
			snprintf(node, 16, "%.15s", entry->d_name);
	if (dir)
		closedir(dir);
	return *node ? 0 : -ENOENT;
}

static int node_open(const char *node)
{
	char path[24];

	snprintf(path, sizeof(path), "/dev/%.15s", node);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Open the node of @device. */
static int peer_open(const struct hotplug *device)
{
	DIR *dir = opendir("/sys/class/misc");
	struct dirent *entry;
	int lsi = -1;

	while (dir && lsi < 0 && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "lsi", 3) &&
		    !strcmp(hotplug_of_node(entry->d_name).address, device->address))
			lsi = node_open(entry->d_name);
	if (dir)
		closedir(dir);
	return lsi;
}

/* ---- begin and end of each case ------------------------------------------ */

static void close_all(void)
{
	if (host)
		munmap(host, SIZE);
	close(dmabuf);
	close(check);
	close(fd);
	close(gpu);
	host = NULL;
	gpu = fd = check = dmabuf = -1;
}

/* Allocate GPU memory and host memory with a pattern, and pin both. */
static void begin(unsigned int flags)
{
	struct emugpu_info info;

	close_all();
	hotplug_bind("emugpu", &the_gpu);
	hotplug_bind("peerpin_lsi", &the_peer);
	hotplug_rescan();
	gpu = emu_open();
	fd = pin_open();
	EXPECT(gpu >= 0 && fd >= 0, "%d %d", gpu, fd);
	EXPECT(!emu_info(gpu, 0, &info), "no GPU");
	the_gpu = hotplug_gpu(&info);
	EXPECT(!first_peer(peer_node), "no peer");
	the_peer = hotplug_of_node(peer_node);
	host = host_memory(SIZE);
	EXPECT(host && !emu_alloc(gpu, GPU_A, SIZE), "memory");
	pattern_fill(host, 1, SIZE);
	gpu_pin = (struct peerpin_pin){ .size = sizeof(gpu_pin), .addr = GPU_A, .length = SIZE, .flags = flags };
	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &gpu_pin), "pin: %d", errno);
	EXPECT(!pin_at(fd, (uintptr_t)host, SIZE, &host_pin), "pin of the host's");
}

#define BEGIN(flags) \
	do { \
		begin(flags); \
		CHECK_CASE(); \
	} while (0)

static int copy_there(int lsi)
{
	return lsi_copy(lsi, (struct end){ fd, gpu_pin.out_region, 0 }, (struct end){ fd, host_pin.out_region, 0 }, SIZE);
}

static int copy_back(int lsi, unsigned char *to)
{
	struct peerpin_pin pin;
	int err = pin_at(fd, (uintptr_t)to, SIZE, &pin);

	if (err)
		return err;
	err = lsi_copy(lsi, (struct end){ fd, pin.out_region, 0 }, (struct end){ fd, gpu_pin.out_region, 0 }, SIZE);
	return unpin(fd, pin.out_region) ?: err;
}

/* Copy to GPU memory and back through the current node of the peer, and compare. */
static int round_trip(void)
{
	unsigned char *back = host_memory(SIZE);
	int lsi = peer_open(&the_peer), err = back ? copy_there(lsi) : -ENOMEM;

	if (!err)
		err = copy_back(lsi, back);
	if (!err && memcmp(host, back, SIZE))
		err = -EILSEQ;
	munmap(back, SIZE);
	close(lsi);
	return err;
}

static unsigned int state_of(const struct peerpin_pin *pin)
{
	struct peerpin_query q;

	return query(fd, pin->out_region, &q) ? 0 : q.out_state;
}

static unsigned int attached_to(const struct peerpin_pin *pin)
{
	struct peerpin_query q;

	return query(fd, pin->out_region, &q) ? ~0u : q.out_attached;
}

static bool says_nothing(const char *file, const char *rest)
{
	char path[64], text[256];
	FILE *f;
	bool same;

	snprintf(path, sizeof(path), "/sys/kernel/debug/peerpin/%s", file);
	f = fopen(path, "re");
	same = f && fgets(text, sizeof(text), f) && (fgets(text, sizeof(text), f) ? !strcmp(text, rest) : !*rest);
	if (f)
		fclose(f);
	return same;
}

static bool all_is_free(int client, unsigned int number)
{
	struct emugpu_info info;
	struct emugpu_test t;

	return !emu_info(client, number, &info) && info.out_vram_free == info.out_vram_total && !info.out_bar1_used &&
	       !emu_counts_of(client, number, &t) && !t.counts.out_pins && !t.counts.out_dma_maps &&
	       !t.counts.out_violations;
}

/* A work item completes the unpin after the end of the GPU driver's pin. */
static bool nothing_is_pinned(int client, unsigned int number)
{
	(void)client;
	(void)number;
	return says_nothing("regions", "") && says_nothing("accounts", "all 0 - - - -\n");
}

static bool soon(bool (*is)(int client, unsigned int number), int client, unsigned int number)
{
	int tries;

	for (tries = 0; tries < 50 && !is(client, number); tries++)
		usleep(20000);
	return is(client, number);
}

/* Close all files. Then nothing may be pinned. */
static void end(void)
{
	int client;

	close_all();
	client = emu_open();
	EXPECT(soon(all_is_free, client, 0) && soon(all_is_free, client, 1), "memory, BAR1, or pins of a GPU are left");
	EXPECT(soon(nothing_is_pinned, client, 0), "regions or bytes are left");
	close(client);
}

/* End the case and check that a new case works. */
static void end_and_use_again(void)
{
	end();
	CHECK_CASE();
	BEGIN(0);
	EXPECT(!round_trip(), "copy after the return of the device: %d", round_trip());
	end();
}

/* ---- ways of hot-unplug --------------------------------------------------------------- */

static const struct way {
	const char *name;
	int (*go)(void);
	int (*come)(void);
} *way;

static int gpu_unbind(void) { return hotplug_unbind("emugpu", &the_gpu); }
static int gpu_bind(void) { return hotplug_bind("emugpu", &the_gpu); }
static int gpu_remove(void) { return hotplug_remove(&the_gpu); }
static int peer_unbind(void) { return hotplug_unbind("peerpin_lsi", &the_peer); }
static int peer_bind(void) { return hotplug_bind("peerpin_lsi", &the_peer); }
static int peer_remove(void) { return hotplug_remove(&the_peer); }

static const struct way gpu_ways[] = {
	{ "unbound", gpu_unbind, gpu_bind },
	{ "removed", gpu_remove, hotplug_rescan },
	{ NULL, NULL, NULL },
};

static const struct way peer_ways[] = {
	{ "unbound", peer_unbind, peer_bind },
	{ "removed", peer_remove, hotplug_rescan },
	{ NULL, NULL, NULL },
};

static void each_way(const struct way *ways, void (*run)(void))
{
	for (way = ways; way->name; way++) {
		run();
		CHECK_CASE();
	}
}

#define EXPECT_IN_TIME(start) \
	EXPECT(now_ns() - (start) < GONE_MS * 1000000ull, "%s: took %lu ms", way->name, (now_ns() - (start)) / 1000000)

static void *go(void *ret)
{
	*(int *)ret = way->go();
	return NULL;
}

/* ---- the GPU ---------------------------------------------------------------------- */

/* The region must be revoked, and each use of the memory must fail. */
static void expect_gone(void)
{
	struct peerpin_pin again;
	int lsi = peer_open(&the_peer);

	EXPECT(state_of(&gpu_pin) == PEERPIN_STATE_REVOKED && !attached_to(&gpu_pin), "%s: state %u, %u attached",
	       way->name, state_of(&gpu_pin), attached_to(&gpu_pin));
	EXPECT(copy_there(lsi) == -ESTALE, "%s: copy: %d", way->name, copy_there(lsi));
	close(lsi);
	EXPECT(pin_by(fd, GPU_A, SIZE, PEERPIN_PROVIDER_NV, &again) == -EINVAL &&
	       again.out_reason == PEERPIN_REASON_VENDOR_REFUSED, "%s: pinned again, reason %u", way->name,
	       again.out_reason);
	EXPECT(emu_read(gpu, host, GPU_A, PAGE) == -ENODEV, "%s: read: %d", way->name,
	       emu_read(gpu, host, GPU_A, PAGE));
}

static void while_pinned(unsigned int flags)
{
	volatile const uint32_t *epochs;
	uint64_t start;

	BEGIN(flags);
	epochs = epochs_map(fd);
	EXPECT(!round_trip() && epochs && epochs[gpu_pin.out_slot] == gpu_pin.out_epoch,
	       "copy or epoch before the unplug");
	start = now_ns();
	EXPECT(!way->go(), "%s: %d", way->name, errno);
	EXPECT_IN_TIME(start);
	EXPECT(epochs[gpu_pin.out_slot] != gpu_pin.out_epoch, "%s: the epoch did not change", way->name);
	expect_gone();
	CHECK_CASE();
	EXPECT(!way->come(), "%s: return: %d", way->name, errno);
	EXPECT(state_of(&gpu_pin) == PEERPIN_STATE_REVOKED, "%s: the region is live after the return", way->name);
	EXPECT(!unpin(fd, gpu_pin.out_region) && !emu_free(gpu, GPU_A), "%s: unpin", way->name);
	munmap((void *)epochs, PEERPIN_MAX_REGIONS * sizeof(uint32_t));
	end_and_use_again();
}

static void gpu_while_pinned(void) { while_pinned(0); }
static void gpu_while_pinned_for_ever(void) { while_pinned(PEERPIN_PIN_PERSISTENT); }

CASE(gpu_unplug_revokes_pins)
{
	each_way(gpu_ways, gpu_while_pinned);
}

/* For a persistent pin the GPU driver runs no callback. */
CASE(gpu_unplug_revokes_persistent_pins)
{
	each_way(gpu_ways, gpu_while_pinned_for_ever);
}

static volatile int copies;

static void *copy_until_error(void *error)
{
	int lsi = peer_open(&the_peer);

	while (!(*(int *)error = copy_there(lsi)))
		copies++;
	close(lsi);
	return NULL;
}

/* Start the copying thread and wait for its first copy. */
static void start_copying(pthread_t *thread, int *error)
{
	int ms = 0;

	copies = 0;
	EXPECT(!pthread_create(thread, NULL, copy_until_error, error), "thread");
	while (!copies && ms++ < 5000)
		usleep(1000);
	EXPECT(copies, "no copy: %d", *error);
}

static void while_copying(unsigned int flags)
{
	uint64_t start;
	pthread_t t;
	int error;

	BEGIN(flags);
	start_copying(&t, &error);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!way->go(), "%s", way->name);
	EXPECT_IN_TIME(start);
	pthread_join(t, NULL);
	EXPECT(error == -ESTALE, "%s: copy %d: %d", way->name, copies, error);
	expect_gone();
	CHECK_CASE();
	EXPECT(!way->come(), "%s: return", way->name);
	end_and_use_again();
}

static void gpu_while_copying(void) { while_copying(0); }
static void gpu_while_copying_for_ever(void) { while_copying(PEERPIN_PIN_PERSISTENT); }

CASE(gpu_unplug_during_copies)
{
	each_way(gpu_ways, gpu_while_copying);
}

CASE(gpu_unplug_during_persistent_copies)
{
	each_way(gpu_ways, gpu_while_copying_for_ever);
}

static struct peer_check held;

static bool set_drain(int ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", ms);
	return !hotplug_write("/sys/module/peerpin/parameters/drain_timeout_ms", text);
}

static void hold(int end_in_stop)
{
	int err;

	check = check_open();
	err = check_call(check, PEER_CHECK_REGISTER, &held);
	EXPECT(!err || err == -EEXIST, "register: %d", err);
	EXPECT(set_drain(end_in_stop ? LONG_MS : DRAIN_MS), "drain_timeout_ms");
	held = (struct peer_check){
		.fd = fd, .region = gpu_pin.out_region, .length = SIZE, .end_in_stop = end_in_stop,
	};
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &held), "hold: %d", errno);
}

static void while_held(unsigned int flags, int end_in_stop)
{
	struct peer_check c = { 0 };
	uint64_t start, ms;

	BEGIN(flags);
	hold(end_in_stop);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!way->go(), "%s", way->name);
	ms = (now_ns() - start) / 1000000;
	EXPECT((end_in_stop || ms >= DRAIN_MS - 100) && ms < GONE_MS, "%s: took %lu ms", way->name, ms);
	EXPECT(set_drain(DRAIN_MS), "drain_timeout_ms");
	expect_gone();
	CHECK_CASE();
	EXPECT(check_call(check, PEER_CHECK_END, &c) == (end_in_stop ? -ENOENT : 0), "end");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	EXPECT(!way->come(), "%s: return", way->name);
	end_and_use_again();
}

static void gpu_while_stopped(void) { while_held(0, 1); }
static void gpu_while_held(void) { while_held(0, 0); }
static void gpu_while_stopped_for_ever(void) { while_held(PEERPIN_PIN_PERSISTENT, 1); }
static void gpu_while_held_for_ever(void) { while_held(PEERPIN_PIN_PERSISTENT, 0); }

CASE(gpu_unplug_stops_dma)
{
	each_way(gpu_ways, gpu_while_stopped);
}

CASE(gpu_unplug_times_out_on_dma)
{
	each_way(gpu_ways, gpu_while_held);
}

CASE(gpu_unplug_during_persistent_dma)
{
	each_way(gpu_ways, gpu_while_stopped_for_ever);
	CHECK_CASE();
	each_way(gpu_ways, gpu_while_held_for_ever);
}

/* The region is unpinned, but an overdue DMA keeps the pages pinned. */
static void gpu_while_left(void)
{
	struct peer_check c = { 0 };

	BEGIN(PEERPIN_PIN_PERSISTENT);
	hold(0);
	CHECK_CASE();
	EXPECT(!unpin(fd, gpu_pin.out_region) && !unpin(fd, host_pin.out_region), "unpin");
	EXPECT(!says_nothing("regions", ""), "no region is left for the DMA");
	EXPECT(!way->go(), "%s", way->name);
	EXPECT(says_nothing("regions", ""), "%s: the region is still listed", way->name);
	EXPECT(!check_call(check, PEER_CHECK_END, &c) && !check_call(check, PEER_CHECK_UNREGISTER, &c), "end");
	EXPECT(!way->come(), "%s: return", way->name);
	end_and_use_again();
}

CASE(gpu_unplug_ends_late_unpins)
{
	each_way(gpu_ways, gpu_while_left);
}

/* Pin the memory in another region, with DMA in flight. */
static int hold_another(void)
{
	struct peerpin_pin pin = {
		.size = sizeof(pin), .addr = GPU_A, .length = SIZE, .flags = PEERPIN_PIN_PERSISTENT,
	};
	struct peer_check c = { .fd = fd, .length = SIZE };

	if (ioctl(fd, PEERPIN_IOC_PIN, &pin))
		return -errno;
	c.region = pin.out_region;
	return check_call(check, PEER_CHECK_HOLD, &c);
}

/* All regions must drain within one timeout, plus the time of a slow VM. */
static void gpu_while_many_are_held(void)
{
	struct peer_check c = { 0 };
	uint64_t start, ms;
	int i;

	BEGIN(PEERPIN_PIN_PERSISTENT);
	hold(0);
	for (i = 1; i < PEER_CHECK_HELD_MAX; i++)
		EXPECT(!hold_another(), "region %d: %d", i, errno);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!way->go(), "%s", way->name);
	ms = (now_ns() - start) / 1000000;
	EXPECT(ms >= DRAIN_MS - 100 && ms < PEER_CHECK_HELD_MAX * DRAIN_MS / 2, "%s: took %lu ms", way->name, ms);
	expect_gone();
	CHECK_CASE();
	EXPECT(!check_call(check, PEER_CHECK_END, &c) && !check_call(check, PEER_CHECK_UNREGISTER, &c), "end");
	EXPECT(!way->come(), "%s: return", way->name);
	end_and_use_again();
}

CASE(gpu_unplug_drains_regions_together)
{
	each_way(gpu_ways, gpu_while_many_are_held);
}

static void while_mapped(unsigned int flags)
{
	unsigned char *view;

	BEGIN(flags);
	view = view_map(fd, gpu_pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && view_is(view, SIZE, 0), "%s: view: %d", way->name, errno);
	EXPECT(!way->go(), "%s", way->name);
	EXPECT(view_is(view, SIZE, SIGBUS), "%s: the view can be read", way->name);
	EXPECT(view_refused(fd, gpu_pin.out_region, 0, SIZE) == ESTALE, "%s: a new mmap succeeded", way->name);
	EXPECT(!way->come(), "%s: return", way->name);
	EXPECT(view_is(view, SIZE, SIGBUS), "%s: the view can be read after the return", way->name);
	munmap(view, SIZE);
	end_and_use_again();
}

static void gpu_while_mapped(void) { while_mapped(0); }
static void gpu_while_mapped_for_ever(void) { while_mapped(PEERPIN_PIN_PERSISTENT); }

CASE(gpu_unplug_ends_cpu_mappings)
{
	EXPECT(!view_catch(), "signals");
	each_way(gpu_ways, gpu_while_mapped);
	CHECK_CASE();
	each_way(gpu_ways, gpu_while_mapped_for_ever);
}

/* ---- dma-bufs --------------------------------------------------------------------- */

static int export_of_gpu(void)
{
	struct emugpu_export arg = { .va = GPU_A, .size = SIZE };

	return emu_call(gpu, EMUGPU_IOC_EXPORT, &arg) ?: arg.out_fd;
}

/* Pin @dmabuf as a region. */
static int pin_dmabuf(struct peerpin_pin *pin, uint64_t length)
{
	*pin = (struct peerpin_pin){
		.size = sizeof(*pin), .length = length, .provider = PEERPIN_PROVIDER_DMABUF, .fd = dmabuf,
	};
	return ioctl(fd, PEERPIN_IOC_PIN, pin) ? -errno : 0;
}

static bool set_dynamic(const char *value)
{
	return !hotplug_write("/sys/module/emugpu/parameters/dmabuf_dynamic", value);
}

static int copy_from(const struct peerpin_pin *pin)
{
	int lsi = peer_open(&the_peer), err;

	err = lsi_copy(lsi, (struct end){ fd, host_pin.out_region, 0 }, (struct end){ fd, pin->out_region, 0 },
		       pin->length);
	close(lsi);
	return err;
}

/* A peer maps a dma-buf of the GPU driver. */
static void gpu_while_its_dmabuf_is_mapped(void)
{
	struct peerpin_pin pin;
	uint64_t start;
	int err;

	BEGIN(0);
	dmabuf = export_of_gpu();
	EXPECT(dmabuf >= 0 && !pin_dmabuf(&pin, SIZE) && !copy_from(&pin), "export");
	start = now_ns();
	EXPECT(!way->go(), "%s", way->name);
	EXPECT_IN_TIME(start);
	EXPECT(!attached_to(&pin), "%s: %u mappings are left", way->name, attached_to(&pin));
	err = copy_from(&pin);
	EXPECT(err == -ESTALE || err == -ENODEV, "%s: copy: %d", way->name, err);
	EXPECT(!way->come(), "%s: return", way->name);
	err = copy_from(&pin);
	EXPECT(err == -ESTALE || err == -ENODEV, "%s: copy after the return: %d", way->name, err);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	end_and_use_again();
}

CASE(gpu_unplug_ends_dmabuf_mappings)
{
	each_way(gpu_ways, gpu_while_its_dmabuf_is_mapped);
}

CASE(gpu_unplug_ends_dynamic_dmabuf_mappings)
{
	EXPECT(set_dynamic("1"), "dmabuf_dynamic");
	each_way(gpu_ways, gpu_while_its_dmabuf_is_mapped);
	EXPECT(set_dynamic("0"), "dmabuf_dynamic");
}

/* The exporter lists an address in a BAR of the GPU, and notifies no importer. */
static int exporter_load(void)
{
	char path[64], parameter[32];
	unsigned long bar = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", the_gpu.address);
	f = fopen(path, "re");
	while (f && !bar && fscanf(f, "%lx %*x %*x", &bar) == 1)
		;
	if (f)
		fclose(f);
	snprintf(parameter, sizeof(parameter), "bus=%lu", bar);
	return bar ? module_load("test/raw_dmabuf.ko", parameter) : -ENODEV;
}

static struct peerpin_pin raw_pin;
static volatile pid_t copier_tid;

static void *copy_from_exporter(__attribute__((unused)) void *arg)
{
	copier_tid = syscall(SYS_gettid);
	return (void *)(long)copy_from(&raw_pin);
}

/* True if the copying thread waits for the exporter's fence. Then the exporter has mapped. */
static bool copier_waits(void)
{
	char path[64], function[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/wchan", copier_tid);
	f = fopen(path, "re");
	if (f && !fgets(function, sizeof(function), f))
		*function = '\0';
	if (f)
		fclose(f);
	return strstr(function, "dma_fence");
}

static void gpu_while_its_dmabuf_is_being_mapped(void)
{
	pthread_t thread;
	int node, ms;
	void *err;

	BEGIN(0);
	EXPECT(!exporter_load(), "raw_dmabuf: %d", errno);
	node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	dmabuf = ioctl(node, RAW_DMABUF_NEW);
	EXPECT(dmabuf >= 0 && !pin_dmabuf(&raw_pin, PAGE) && !ioctl(node, RAW_DMABUF_MOVE, dmabuf), "pin: %d", errno);
	copier_tid = 0;
	EXPECT(!pthread_create(&thread, NULL, copy_from_exporter, NULL), "thread");
	for (ms = 0; ms < 5000 && !copier_waits(); ms++)
		usleep(1000);
	EXPECT(copier_waits() && !way->go(), "%s", way->name);
	EXPECT(!ioctl(node, RAW_DMABUF_MOVED), "moved");
	pthread_join(thread, &err);
	EXPECT((long)err == -ESTALE && !attached_to(&raw_pin), "%s: copy: %ld", way->name, (long)err);
	EXPECT(!unpin(fd, raw_pin.out_region) && !close(node) && !close(dmabuf), "unpin");
	dmabuf = -1;
	EXPECT(!module_remove("raw_dmabuf"), "remove: %d", errno);
	EXPECT(!way->come(), "%s: return", way->name);
	end_and_use_again();
}

CASE(gpu_unplug_during_dmabuf_map)
{
	each_way(gpu_ways, gpu_while_its_dmabuf_is_being_mapped);
}

/* Export a region as a dma-buf, and pin the dma-buf. */
static void while_exported(unsigned int flags)
{
	struct peerpin_export out;
	struct peerpin_pin pin;
	uint64_t start;
	int err;

	BEGIN(flags);
	out = (struct peerpin_export){ .size = sizeof(out), .region = gpu_pin.out_region, .length = SIZE };
	EXPECT(!ioctl(fd, PEERPIN_IOC_EXPORT, &out), "export: %d", errno);
	dmabuf = out.out_fd;
	EXPECT(!pin_dmabuf(&pin, SIZE) && !copy_from(&pin), "pin of the dma-buf");
	start = now_ns();
	EXPECT(!way->go(), "%s", way->name);
	EXPECT_IN_TIME(start);
	EXPECT(state_of(&gpu_pin) == PEERPIN_STATE_REVOKED, "%s: state %u", way->name, state_of(&gpu_pin));
	err = copy_from(&pin);
	EXPECT(err == -ESTALE || err == -ENODEV, "%s: copy: %d", way->name, err);
	EXPECT(!way->come(), "%s: return", way->name);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	end_and_use_again();
}

static void gpu_while_exported(void) { while_exported(0); }
static void gpu_while_exported_for_ever(void) { while_exported(PEERPIN_PIN_PERSISTENT); }

CASE(gpu_unplug_revokes_exports)
{
	each_way(gpu_ways, gpu_while_exported);
}

CASE(gpu_unplug_revokes_persistent_exports)
{
	each_way(gpu_ways, gpu_while_exported_for_ever);
}

/* Unplug of GPU 0 must not affect GPU 1 and its pins. */
static void the_other(void)
{
	struct peerpin_pin other;
	struct end from, to;
	int lsi, err;

	BEGIN(0);
	EXPECT(!emu_alloc_on(gpu, 1, GPU_B, SIZE) && !pin_at(fd, GPU_B, SIZE, &other), "the other GPU");
	EXPECT(!way->go(), "%s", way->name);
	lsi = peer_open(&the_peer);
	to = (struct end){ fd, other.out_region, 0 };
	from = (struct end){ fd, host_pin.out_region, 0 };
	err = lsi_copy(lsi, to, from, SIZE);
	close(lsi);
	EXPECT(!err && state_of(&other) == PEERPIN_STATE_LIVE, "%s: %d, state %u", way->name, err, state_of(&other));
	EXPECT(!way->come(), "%s: return", way->name);
	end_and_use_again();
}

CASE(gpu_unplug_spares_the_other_gpu)
{
	each_way(gpu_ways, the_other);
}

/* ---- the peer --------------------------------------------------------------------- */

static void peer_while_attached(void)
{
	unsigned char *view;
	int lsi;

	BEGIN(0);
	EXPECT(!round_trip() && attached_to(&gpu_pin) == 1, "%u attached", attached_to(&gpu_pin));
	lsi = peer_open(&the_peer);
	view = view_map(fd, gpu_pin.out_region, 0, SIZE, PROT_READ);
	EXPECT(view && !way->go(), "%s", way->name);
	EXPECT(state_of(&gpu_pin) == PEERPIN_STATE_LIVE && !attached_to(&gpu_pin), "%s: state %u, %u attached", way->name,
	       state_of(&gpu_pin), attached_to(&gpu_pin));
	EXPECT(copy_there(lsi) == -ENODEV, "%s: copy: %d", way->name, copy_there(lsi));
	EXPECT(!memcmp(view, host, SIZE), "%s: the memory changed", way->name);
	EXPECT(!way->come(), "%s: return", way->name);
	EXPECT(copy_there(lsi) == -ENODEV, "%s: an old file: %d", way->name, copy_there(lsi));
	EXPECT(!round_trip(), "%s: copy after the return: %d", way->name, round_trip());
	munmap(view, SIZE);
	close(lsi);
	end_and_use_again();
}

CASE(peer_unplug_keeps_the_region)
{
	each_way(peer_ways, peer_while_attached);
}

static void peer_while_copying(void)
{
	uint64_t start;
	pthread_t t;
	int error;

	BEGIN(0);
	start_copying(&t, &error);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!way->go(), "%s", way->name);
	EXPECT_IN_TIME(start);
	pthread_join(t, NULL);
	EXPECT(error == -ENODEV, "%s: copy %d: %d", way->name, copies, error);
	EXPECT(state_of(&gpu_pin) == PEERPIN_STATE_LIVE && !attached_to(&gpu_pin), "%s: state %u", way->name,
	       state_of(&gpu_pin));
	EXPECT(!way->come() && !round_trip(), "%s: copy after the return: %d", way->name, round_trip());
	end_and_use_again();
}

CASE(peer_unplug_during_copies)
{
	each_way(peer_ways, peer_while_copying);
}

static void peer_with_a_dmabuf(void)
{
	struct peerpin_pin pin;

	BEGIN(0);
	dmabuf = export_of_gpu();
	EXPECT(dmabuf >= 0 && !pin_dmabuf(&pin, SIZE) && !copy_from(&pin) && attached_to(&pin) == 1, "export");
	EXPECT(!way->go(), "%s", way->name);
	EXPECT(state_of(&pin) == PEERPIN_STATE_LIVE && !attached_to(&pin), "%s: state %u, %u attached", way->name,
	       state_of(&pin), attached_to(&pin));
	EXPECT(!way->come() && !copy_from(&pin), "%s: copy after the return: %d", way->name, copy_from(&pin));
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	end_and_use_again();
}

CASE(peer_unplug_ends_dmabuf_mapping)
{
	each_way(peer_ways, peer_with_a_dmabuf);
}

/* ---- unplug of GPU and peer ------------------------------------------------------- */

CASE(gpu_and_peer_unplug_race)
{
	pthread_t copier, remover;
	int error, removed, i;

	for (i = 0; i < 3; i++) {
		BEGIN(i % 2 ? PEERPIN_PIN_PERSISTENT : 0);
		start_copying(&copier, &error);
		CHECK_CASE();
		way = &gpu_ways[1];
		EXPECT(!pthread_create(&remover, NULL, go, &removed), "thread");
		EXPECT(!peer_remove(), "peer");
		pthread_join(remover, NULL);
		pthread_join(copier, NULL);
		EXPECT(!removed && (error == -ESTALE || error == -ENODEV), "gpu: %d, copy: %d", removed, error);
		EXPECT(!hotplug_rescan(), "rescan");
		end_and_use_again();
		CHECK_CASE();
	}
}

VMTEST_MAIN
