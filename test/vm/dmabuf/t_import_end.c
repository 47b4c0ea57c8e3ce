// SPDX-License-Identifier: MIT
/* Revocation of dynamic dma-bufs and removal of devices while DMA is in flight. */
#include "test/kmod/raw_dmabuf.h"
#include "import.h"
#include "test/vm/harness/vmstat.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { DRAIN_MS = 1000 };	/* value of drain_timeout_ms */

static volatile const uint32_t *epochs;
static int lsi1;

SETUP(everything_is_there)
{
	EXPECT_NODES();
	lsi1 = open("/dev/lsi1", O_RDWR | O_CLOEXEC);
	EXPECT(lsi1 >= 0, "no /dev/lsi1; type: emu/vm/run --peers 2 ...");
	epochs = epochs_map(fd);
	EXPECT(epochs, "epochs");
	EXPECT(!set_dynamic(true), "dmabuf_dynamic");
	EXPECT(!host_make(&host, SIZE), "host memory");
	EXPECT_ALL_GONE();
}

/* Allocate memory at GPU_A, pin it through a dma-buf, and close the dma-buf's descriptor. */
static int pin_new(struct peerpin_pin *pin)
{
	return pin_and_close(new_dmabuf(SIZE), SIZE, pin);
}

static bool epoch_lives(const struct peerpin_pin *pin)
{
	return epochs[pin->out_slot] == pin->out_epoch;
}

static int64_t timed_free(void)
{
	uint64_t start = now_ns();
	int err = emu_free(gpu, GPU_A);

	return err ?: (int64_t)ms_since(start);
}

static int64_t timed_unpin(const struct peerpin_pin *pin)
{
	uint64_t start = now_ns();
	int err = unpin(fd, pin->out_region);

	return err ?: (int64_t)ms_since(start);
}

/* Wait: work items unmap the exporter's mapping a moment after the revocation. */
static void await_unmapped(const struct peerpin_pin *pin)
{
	uint64_t start = now_ns();

	while (attached_to(pin) && ms_since(start) < 1000)
		usleep(1000);
}

static void expect_revoked(const struct peerpin_pin *pin)
{
	EXPECT(!epoch_lives(pin), "the epoch did not change");
	await_unmapped(pin);
	EXPECT(state_of(pin) == PEERPIN_STATE_REVOKED && !attached_to(pin), "state %u, attached %u", state_of(pin),
	       attached_to(pin));
	EXPECT(copy_out(pin, 0, PAGE) == -ESTALE, "copied");
}

/* ---- revocations without DMA ------------------------------------------------------ */

CASE(free_revokes_the_region)
{
	struct peerpin_pin pin;

	EXPECT(!pin_new(&pin), "pin: reason %u", pin.out_reason);
	EXPECT(!copy_out(&pin, 0, SIZE) && !copy_in(&pin, 0, SIZE), "copy");
	EXPECT(epoch_lives(&pin) && attached_to(&pin) == 1, "attached %u", attached_to(&pin));
	EXPECT(!emu_free(gpu, GPU_A), "free");
	expect_revoked(&pin);
	CHECK_CASE();
	EXPECT_ALL_GONE();	/* all must be gone before the unpin */
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(free_revokes_regions_of_all_devices)
{
	struct peerpin_pin whole, part, other;
	int dmabuf = new_dmabuf(SIZE);

	EXPECT(!pin_dmabuf(dmabuf, 0, SIZE, &whole) && !pin_dmabuf(dmabuf, SIZE - PAGE, PAGE, &part), "pin");
	close(dmabuf);
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_and_close(export(GPU_B, BLOCK), BLOCK, &other), "other");
	EXPECT(!lsi_copy(lsi, end_of(&whole, 0), end_of(&part, 0), PAGE), "copy");
	EXPECT(!lsi_copy(lsi1, end_of(&whole, 0), end_of(&part, 0), PAGE), "copy by the second device");
	EXPECT(!copy_out(&other, 0, PAGE), "copy from another dma-buf");
	EXPECT(attached_to(&whole) == 2 && attached_to(&part) == 2, "%u %u", attached_to(&whole), attached_to(&part));
	EXPECT(!emu_free(gpu, GPU_A), "free");
	expect_revoked(&whole);
	expect_revoked(&part);
	EXPECT(epoch_lives(&other) && !copy_out(&other, 0, PAGE), "another dma-buf was revoked");
	EXPECT(!unpin(fd, whole.out_region) && !unpin(fd, part.out_region) && !unpin(fd, other.out_region), "unpin");
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT_ALL_GONE();
}

/* The exporter notifies attached importers only. A later attach must be refused. */
CASE(attach_after_free_is_ENODEV)
{
	struct peerpin_pin pin;

	EXPECT(!pin_new(&pin), "pin: reason %u", pin.out_reason);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!vram_used(), "the memory is kept");
	EXPECT(copy_out(&pin, 0, SIZE) == -ENODEV, "copied");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

CASE(moved_memory_is_pinned_again)
{
	struct peerpin_pin old, again;
	int i;

	EXPECT(!emu_alloc(gpu, GPU_A, SIZE), "alloc");
	for (i = 0; i < 20; i++) {
		EXPECT(!pin_and_close(export(GPU_A, SIZE), SIZE, &old) && !copy_out(&old, 0, PAGE), "pin");
		EXPECT(!emu_revoke(gpu, GPU_A), "revoke");
		expect_revoked(&old);
		CHECK_CASE();
		EXPECT(!pin_and_close(export(GPU_A, SIZE), SIZE, &again) && !copy_out(&again, 0, SIZE), "pin again");
		EXPECT(again.out_region != old.out_region, "the id of a revoked region was given out");
		EXPECT(!unpin(fd, old.out_region) && epoch_lives(&again) && !unpin(fd, again.out_region), "unpin");
	}
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

CASE(unbind_of_gpu_revokes)
{
	struct emugpu_info gpu_there = gpu_info();
	struct peerpin_pin pin;

	EXPECT(!pin_new(&pin) && !copy_out(&pin, 0, PAGE), "pin: reason %u", pin.out_reason);
	EXPECT(!emu_sysfs(&gpu_there, "unbind"), "unbind");
	expect_revoked(&pin);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A) && !emu_sysfs(&gpu_there, "bind"), "bind");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

/* Make a dma-buf that lists the BAR page of GPU_A. Its exporter does not know the GPU. -1 on error. */
static int raw_page_of_bar(void)
{
	struct emugpu_test test;
	int node, dmabuf = -1;
	char text[32];

	if (emu_alloc(gpu, GPU_A, SIZE) || emu_translate(gpu, GPU_A, &test) ||
	    module_load("test/raw_dmabuf.ko", ""))
		return -1;
	snprintf(text, sizeof(text), "%#llx", test.translate.out_phys);
	node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	if (!module_set("raw_dmabuf/parameters/bus", text))
		dmabuf = ioctl(node, RAW_DMABUF_NEW);
	close(node);
	return dmabuf;
}

/* Peers below one switch get bus addresses of the BAR. The IOMMU does not know these addresses. */
CASE(unbind_revokes_foreign_dmabuf_of_bar)
{
	struct emugpu_info gpu_there = gpu_info();
	int dmabuf = raw_page_of_bar();
	struct peerpin_pin pin;

	EXPECT(dmabuf >= 0 && !pin_dmabuf(dmabuf, 0, PAGE, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!hold(&pin, 0) && !end_held(), "attach");
	EXPECT(!emu_sysfs(&gpu_there, "unbind"), "unbind");
	expect_revoked(&pin);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A) && !emu_sysfs(&gpu_there, "bind"), "bind");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	close(dmabuf);
	EXPECT(!module_remove("raw_dmabuf"), "remove");
	EXPECT_ALL_GONE();
}

/* ---- DMA in flight ------------------------------------------------------------------ */

static unsigned int stops(void)
{
	struct peer_check c = { 0 };

	return check_call(check, PEER_CHECK_STOPS, &c) ? ~0u : c.out_count;
}

static void *end_after_200_ms(void *arg)
{
	(void)arg;
	usleep(200000);
	end_held();
	return NULL;
}

CASE(free_does_not_wait_after_stop)
{
	unsigned int before = stops();
	struct peerpin_pin pin;
	int64_t ms;

	EXPECT(!pin_new(&pin) && !hold(&pin, 1), "hold");
	ms = timed_free();
	EXPECT(ms >= 0 && ms < DRAIN_MS / 2, "free: %ld ms", ms);
	EXPECT(stops() == before + 1, "stopped %u times", stops() - before);
	expect_revoked(&pin);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

CASE(free_waits_for_dma_in_flight)
{
	struct peerpin_pin pin;
	pthread_t thread;
	int64_t ms;

	EXPECT(!pin_new(&pin) && !hold(&pin, 0) && !pthread_create(&thread, NULL, end_after_200_ms, NULL), "hold");
	ms = timed_free();
	pthread_join(thread, NULL);
	EXPECT(ms >= 150 && ms < DRAIN_MS - 100, "free: %ld ms", ms);
	expect_revoked(&pin);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

/* The core stops three devices. The free waits one drain timeout. An overdue DMA keeps the memory. */
CASE(free_times_out_on_overdue_dma)
{
	struct peerpin_pin pin;
	int64_t ms;

	EXPECT(!pin_new(&pin) && !copy_out(&pin, 0, PAGE), "pin: reason %u", pin.out_reason);
	EXPECT(!lsi_copy(lsi1, end_of(&host.pin, 0), end_of(&pin, 0), PAGE) && !hold(&pin, 0), "hold");
	EXPECT(attached_to(&pin) == 3, "attached %u", attached_to(&pin));
	ms = timed_free();
	EXPECT(ms >= DRAIN_MS - 100 && ms < 2 * DRAIN_MS - 100, "free: %ld ms", ms);
	EXPECT(!epoch_lives(&pin) && state_of(&pin) == PEERPIN_STATE_REVOKED, "state %u", state_of(&pin));
	EXPECT(copy_out(&pin, 0, PAGE) == -ESTALE, "copied");
	usleep(100000);
	EXPECT(vram_used() == SIZE, "the memory was freed during DMA");
	EXPECT(!end_held(), "end of overdue DMA");
	expect_revoked(&pin);
	EXPECT_ALL_GONE();
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

/* The exporter holds its lock meanwhile. With one timeout for each region, the delay would have no bound. */
CASE(regions_of_a_dmabuf_drain_together)
{
	struct peerpin_pin pins[5];
	int i, dmabuf = new_dmabuf(SIZE);
	int64_t ms;

	for (i = 0; i < 5; i++)
		EXPECT(!pin_dmabuf(dmabuf, i * PAGE, PAGE, &pins[i]) && !hold(&pins[i], 0), "hold %d", i);
	close(dmabuf);
	ms = timed_free();
	EXPECT(ms >= DRAIN_MS - 100 && ms < 2 * DRAIN_MS, "free: %ld ms", ms);
	for (i = 0; i < 5; i++)
		EXPECT(!epoch_lives(&pins[i]) && attached_to(&pins[i]) == 1, "%d is attached to %u", i, attached_to(&pins[i]));
	EXPECT(vram_used() == SIZE, "the memory was freed during DMA");
	EXPECT(!end_held(), "end of overdue DMA");
	for (i = 0; i < 5; i++) {
		expect_revoked(&pins[i]);
		EXPECT(!unpin(fd, pins[i].out_region), "unpin");
	}
	EXPECT_ALL_GONE();
}

CASE(unpin_waits_for_dma_in_flight)
{
	struct peerpin_pin pin;
	pthread_t thread;
	int64_t ms;

	EXPECT(!pin_new(&pin) && !hold(&pin, 0) && !pthread_create(&thread, NULL, end_after_200_ms, NULL), "hold");
	ms = timed_unpin(&pin);
	pthread_join(thread, NULL);
	EXPECT(ms >= 150 && ms < DRAIN_MS - 100, "unpin: %ld ms", ms);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

/* Unpin with an overdue DMA. The memory must stay for the device. */
static void overdue(bool dynamic)
{
	struct peerpin_pin pin;
	int64_t ms;

	EXPECT(!set_dynamic(dynamic), "dmabuf_dynamic");
	EXPECT(!pin_new(&pin) && !hold(&pin, 0), "hold");
	ms = timed_unpin(&pin);
	EXPECT(ms >= DRAIN_MS - 100 && ms < 2 * DRAIN_MS, "unpin: %ld ms", ms);
	EXPECT(!set_dynamic(true), "dmabuf_dynamic");
}

CASE(unpinned_memory_stays_for_overdue_dma)
{
	overdue(false);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	usleep(100000);
	EXPECT(vram_used() == SIZE && bar1_used() == SIZE,
	       "freed during DMA: VRAM %lu BAR1 %lu", vram_used(), bar1_used());
	EXPECT(!end_held(), "end");
	EXPECT_ALL_GONE();
}

CASE(freed_memory_stays_for_overdue_dma)
{
	int64_t ms;

	overdue(true);
	CHECK_CASE();
	EXPECT(vram_used() == SIZE && bar1_used() == SIZE,
	       "freed during DMA: VRAM %lu BAR1 %lu", vram_used(), bar1_used());
	ms = timed_free();
	EXPECT(ms >= 0 && ms < 2 * DRAIN_MS, "free: %ld ms", ms);
	usleep(100000);
	EXPECT(vram_used() == SIZE, "the memory was freed during DMA");
	EXPECT(!end_held(), "end of overdue DMA");
	EXPECT_ALL_GONE();
}

/* End the DMA after the drain timeout, which starts with the revocation. A busy VM may begin that late. */
static void *end_overdue(void *arg)
{
	const struct peerpin_pin *pin = arg;

	while (epoch_lives(pin))
		usleep(1000);
	usleep((DRAIN_MS + 400) * 1000);
	end_held();
	return NULL;
}

/* RAW_DMABUF_TAKE holds the reservation lock, which the unmap needs. */
static void take_from_overdue_dma(int node, const char *others, const char *copies)
{
	int dmabuf = ioctl(node, RAW_DMABUF_NEW), waited;
	struct peerpin_pin pin;
	pthread_t thread;
	uint64_t start;

	EXPECT(!module_set("raw_dmabuf/parameters/others", others), "module parameter others");
	EXPECT(!module_set("raw_dmabuf/parameters/copies", copies), "copies");
	EXPECT(dmabuf >= 0 && !pin_dmabuf(dmabuf, 0, PAGE, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!hold(&pin, 0) && !pthread_create(&thread, NULL, end_overdue, &pin), "hold");
	start = now_ns();
	waited = ioctl(node, RAW_DMABUF_TAKE, dmabuf);
	pthread_join(thread, NULL);
	EXPECT(waited == 1, "%d: %s", waited, strerror(errno));
	EXPECT(ms_since(start) >= DRAIN_MS + 300 && ms_since(start) < 10 * DRAIN_MS, "%lu ms", ms_since(start));
	expect_revoked(&pin);
	EXPECT(ioctl(node, RAW_DMABUF_TAKE, dmabuf) == 0, "a fence is left");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	close(dmabuf);
}

/*
 * A new reservation object has room for four or five fences. It has room for 21 if it is made for 5
 * other users and 16 engines. Test these limits.
 */
CASE(exporter_waits_for_overdue_dma)
{
	static const char *const fences[][2] = { { "0", "1" }, { "3", "1" }, { "4", "1" }, { "5", "16" } };
	unsigned int i;
	int node;

	EXPECT(!module_load("test/raw_dmabuf.ko", ""), "raw_dmabuf: %s", strerror(errno));
	node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	for (i = 0; i < sizeof(fences) / sizeof(*fences); i++) {
		take_from_overdue_dma(node, fences[i][0], fences[i][1]);
		CHECK_CASE();
	}
	close(node);
	EXPECT(!module_remove("raw_dmabuf"), "remove");
	EXPECT_ALL_GONE();
}

/* ---- memory that was pinned, exported and imported again ------------------------------- */

/* Pin GPU_A as @first, export the region, pin the dma-buf as @again, and begin DMA to @again. */
static void import_own_export(struct peerpin_pin *first, struct peerpin_pin *again)
{
	struct peerpin_export export = { .size = sizeof(export), .length = SIZE };

	EXPECT(!emu_alloc(gpu, GPU_A, SIZE) && !pin_at(fd, GPU_A, SIZE, first), "pin: reason %u", first->out_reason);
	export.region = first->out_region;
	EXPECT(!ioctl(fd, PEERPIN_IOC_EXPORT, &export), "export: %s", strerror(errno));
	EXPECT(!pin_and_close(export.out_fd, SIZE, again) && !hold(again, 0), "import: reason %u", again->out_reason);
}

static void expect_both_revoked(const struct peerpin_pin *first, const struct peerpin_pin *again)
{
	expect_revoked(first);
	expect_revoked(again);
	EXPECT(!unpin(fd, again->out_region) && !unpin(fd, first->out_region), "unpin");
	EXPECT_ALL_GONE();
}

CASE(free_waits_for_reimported_regions_dma)
{
	struct peerpin_pin first, again;
	pthread_t thread;
	int64_t ms;

	import_own_export(&first, &again);
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, end_after_200_ms, NULL), "thread");
	ms = timed_free();
	pthread_join(thread, NULL);
	EXPECT(ms >= 150 && ms < DRAIN_MS - 100, "free: %ld ms", ms);
	expect_both_revoked(&first, &again);
}

CASE(free_times_out_on_reimported_dma)
{
	struct peerpin_pin first, again;
	int64_t ms;

	import_own_export(&first, &again);
	CHECK_CASE();
	ms = timed_free();
	EXPECT(ms >= DRAIN_MS - 100 && ms < 2 * DRAIN_MS, "free: %ld ms", ms);
	EXPECT(!end_held(), "end of overdue DMA");
	expect_both_revoked(&first, &again);
}

/* Without a wait for the fence, other owners would get the host pages during the DMA. */
CASE(host_pages_stay_for_reimported_dma)
{
	struct peerpin_export export = { .size = sizeof(export), .length = SIZE };
	struct peerpin_pin again;
	struct host memory;
	int64_t ms;
	long pages;

	EXPECT(!host_make(&memory, SIZE), "pin");
	export.region = memory.pin.out_region;
	EXPECT(!ioctl(fd, PEERPIN_IOC_EXPORT, &export), "export: %s", strerror(errno));
	EXPECT(!pin_and_close(export.out_fd, SIZE, &again) && !hold(&again, 0), "import: reason %u", again.out_reason);
	pages = vmstat_pinned();
	ms = timed_unpin(&memory.pin);
	EXPECT(ms >= DRAIN_MS - 100 && ms < 3 * DRAIN_MS, "unpin: %ld ms", ms);
	munmap(memory.at, SIZE);
	usleep(2 * DRAIN_MS * 1000);
	EXPECT(vmstat_pinned() == pages, "%ld pages pinned, of %ld", vmstat_pinned(), pages);
	EXPECT(!end_held(), "end of overdue DMA");
	EXPECT(vmstat_pinned_is(pages - SIZE / PAGE), "%ld pages pinned, of %ld", vmstat_pinned(), pages);
	expect_revoked(&again);
	EXPECT(!unpin(fd, again.out_region), "unpin");
	EXPECT_ALL_GONE();
}

CASE(unpin_revokes_the_reimported_region)
{
	struct peerpin_pin first, again;
	pthread_t thread;
	int64_t ms;

	import_own_export(&first, &again);
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, end_after_200_ms, NULL), "thread");
	ms = timed_unpin(&first);
	pthread_join(thread, NULL);
	EXPECT(ms >= 150 && ms < DRAIN_MS - 100, "unpin: %ld ms", ms);
	expect_revoked(&again);
	EXPECT(!unpin(fd, again.out_region) && !emu_free(gpu, GPU_A), "end");
	EXPECT_ALL_GONE();
}

/* ---- removal of devices ----------------------------------------------------------------------- */

static int write_file(const char *path, const char *text)
{
	int f = open(path, O_WRONLY | O_CLOEXEC);
	int err = f < 0 || write(f, text, strlen(text)) < 0 ? -errno : 0;

	close(f);
	return err;
}

static const char *device_of_lsi1(void)
{
	static char path[256];
	ssize_t n = readlink("/sys/class/misc/lsi1/device", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

CASE(device_can_be_removed_and_rebound)
{
	const char *device = device_of_lsi1();
	struct peerpin_pin pin;

	EXPECT(!pin_new(&pin) && !copy_out(&pin, 0, PAGE), "pin: reason %u", pin.out_reason);
	EXPECT(!lsi_copy(lsi1, end_of(&host.pin, 0), end_of(&pin, 0), PAGE), "copy");
	EXPECT(!write_file("/sys/bus/pci/drivers/peerpin_lsi/unbind", device), "unbind %s", device);
	EXPECT(attached_to(&pin) == 1 && epoch_lives(&pin) && !copy_out(&pin, 0, PAGE), "attached %u",
	       attached_to(&pin));
	EXPECT(lsi_copy(lsi1, end_of(&host.pin, 0), end_of(&pin, 0), PAGE) == -ENODEV, "copied");
	close(lsi1);
	EXPECT(!write_file("/sys/bus/pci/drivers/peerpin_lsi/bind", device), "bind");
	lsi1 = open("/dev/lsi1", O_RDWR | O_CLOEXEC);
	EXPECT(!lsi_copy(lsi1, end_of(&host.pin, 0), end_of(&pin, 0), PAGE), "copy");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	expect_revoked(&pin);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

CASE(unregister_waits_for_its_dma)
{
	struct peer_check c = { 0 };
	struct peerpin_pin pin;
	pthread_t thread;
	uint64_t start;

	EXPECT(!pin_new(&pin) && !hold(&pin, 0) && !pthread_create(&thread, NULL, end_after_200_ms, NULL), "hold");
	start = now_ns();
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	EXPECT(ms_since(start) >= 150, "%lu ms", ms_since(start));
	pthread_join(thread, NULL);
	EXPECT(epoch_lives(&pin) && !attached_to(&pin) && !bar1_used(), "attached %u, %lu bytes of BAR1",
	       attached_to(&pin), bar1_used());
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register");
	EXPECT(!unpin(fd, pin.out_region) && !emu_free(gpu, GPU_A), "end");
	EXPECT_ALL_GONE();
}

static void *free_it(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)emu_free(gpu, GPU_A);
}

/* The unregistration and the free both wait for one DMA. */
CASE(unregister_races_with_free)
{
	struct peer_check c = { 0 };
	struct peerpin_pin pin;
	pthread_t freeing, ending;
	void *err;

	EXPECT(!pin_new(&pin) && !hold(&pin, 0), "hold");
	EXPECT(!pthread_create(&freeing, NULL, free_it, NULL), "thread");
	usleep(50000);
	EXPECT(!pthread_create(&ending, NULL, end_after_200_ms, NULL), "thread");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	pthread_join(freeing, &err);
	pthread_join(ending, NULL);
	EXPECT(!err, "free: %ld", (long)err);
	expect_revoked(&pin);
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

/* ---- end of processes ----------------------------------------------------------------------- */

static void be_killed_in_a_copy(int ready)
{
	struct peerpin_pin pin;

	gpu = emu_open();
	fd = pin_open();
	if (host_make(&host, SIZE) || pin_new(&pin))
		_exit(1);
	while (!copy_out(&pin, 0, SIZE))
		if (write(ready, "", 1) != 1)
			break;
	_exit(2);
}

static bool kill_in_a_copy(int us)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	if (pipe(ready))
		return false;
	pid = fork();
	if (!pid)
		be_killed_in_a_copy(ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		usleep(us);
	kill(pid, SIGKILL);
	close(ready[0]);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

CASE(kill_during_a_copy)
{
	int i;

	for (i = 0; i < 30; i++) {
		EXPECT(kill_in_a_copy(i * 97 % 3000), "the process exited by itself");
		EXPECT_ALL_GONE();
	}
}

static int die_with_dma_in_flight(void)
{
	struct peerpin_pin pin;

	gpu = emu_open();
	fd = pin_open();
	return set_dynamic(false) || pin_new(&pin) || hold(&pin, 0);
}

CASE(dma_outlives_the_process)
{
	EXPECT(!emu_in_child(die_with_dma_in_flight) && !set_dynamic(true), "child");
	EXPECT(vram_used() == SIZE, "the memory was freed during DMA");
	EXPECT(!end_held(), "end");
	EXPECT_ALL_GONE();
}

CASE(nothing_is_left)
{
	struct peer_check c = { 0 };
	struct emugpu_test t;

	EXPECT(!set_dynamic(false), "dmabuf_dynamic");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	close(fd);
	close(lsi);
	close(lsi1);
	close(check);
	EXPECT_ALL_GONE();
	EXPECT(!emu_counts(gpu, &t) && !t.counts.out_pins && !t.counts.out_violations && !t.counts.out_blocks,
	       "pins %u violations %llu blocks %u", t.counts.out_pins, t.counts.out_violations, t.counts.out_blocks);
	close(gpu);
}

VMTEST_MAIN
