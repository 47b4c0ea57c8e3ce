// SPDX-License-Identifier: MIT
/* Peers that end their DMA, a peer that does not end its DMA, and a removed peer. */
#include <pthread.h>

#include "test/vm/harness/emu.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	BLOCK = 2 << 20,
	SIZE = 8 << 20,
};

static int gpu, fd, lsi, check;
static volatile const uint32_t *epochs;
static struct peerpin_pin a;

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	check = check_open();
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0 && check >= 0, "%d %d %d %d", gpu, fd, lsi, check);
	epochs = epochs_map(fd);
	EXPECT(epochs, "epochs");
	EXPECT(!emu_alloc(gpu, GPU_A, SIZE), "alloc");
	EXPECT(!pin_at(fd, GPU_A, SIZE, &a), "pin");
}

static struct peer_check held;

static void hold(uint64_t va, int end_in_stop, struct peerpin_pin *pin)
{
	EXPECT(!emu_alloc(gpu, va, BLOCK), "alloc");
	EXPECT(!pin_at(fd, va, BLOCK, pin), "pin");
	held = (struct peer_check){
		.fd = fd, .region = pin->out_region, .length = BLOCK, .end_in_stop = end_in_stop,
	};
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &held), "hold: %d", errno);
}

static uint64_t timed_free(uint64_t va)
{
	uint64_t start = now_ns();

	return emu_free(gpu, va) ? 0 : (now_ns() - start) / 1000000;
}

CASE(free_stops_once_and_waits)
{
	struct peer_check before = { 0 }, after = { 0 };
	struct peerpin_pin pin;
	uint64_t ms;

	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &held), "register");
	check_call(check, PEER_CHECK_STOPS, &before);
	hold(GPU_B, 1, &pin);
	CHECK_CASE();
	ms = timed_free(GPU_B);
	check_call(check, PEER_CHECK_STOPS, &after);
	EXPECT(after.out_count == before.out_count + 1, "stops %u", after.out_count - before.out_count);
	EXPECT(ms < 500, "free took %lu ms", ms);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

static void *end_after_200_ms(void *arg)
{
	struct peer_check c = { 0 };

	(void)arg;
	usleep(200000);
	check_call(check, PEER_CHECK_END, &c);
	return NULL;
}

CASE(free_waits_for_dma_in_flight)
{
	struct peerpin_pin pin;
	pthread_t t;
	uint64_t ms;

	hold(GPU_B, 0, &pin);
	CHECK_CASE();
	pthread_create(&t, NULL, end_after_200_ms, NULL);
	ms = timed_free(GPU_B);
	pthread_join(t, NULL);
	EXPECT(ms >= 150 && ms < 900, "free took %lu ms", ms);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(unpin_waits_for_dma_in_flight)
{
	struct peerpin_pin pin;
	uint64_t start;
	pthread_t t;

	hold(GPU_B, 0, &pin);
	CHECK_CASE();
	pthread_create(&t, NULL, end_after_200_ms, NULL);
	start = now_ns();
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT(now_ns() - start > 150000000, "returned early");
	pthread_join(t, NULL);
	EXPECT(!emu_free(gpu, GPU_B), "free");
}

CASE(overdue_dma_is_unmapped)
{
	struct peerpin_pin pin;
	struct peerpin_query q;
	uint64_t ms;

	hold(GPU_B, 0, &pin);
	CHECK_CASE();
	ms = timed_free(GPU_B);
	EXPECT(ms >= 900 && ms < 3000, "free took %lu ms; drain_timeout_ms is 1000", ms);
	EXPECT(!query(fd, pin.out_region, &q) && !q.out_attached, "still mapped");
	EXPECT(!check_call(check, PEER_CHECK_END, &held), "late end: %d", errno);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(unregister_waits_for_dma_in_flight)
{
	struct peer_check c = { 0 };
	struct peerpin_pin pin;
	struct peerpin_query q;
	uint64_t start;
	pthread_t t;

	hold(GPU_B, 0, &pin);
	CHECK_CASE();
	pthread_create(&t, NULL, end_after_200_ms, NULL);
	start = now_ns();
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	EXPECT(now_ns() - start > 150000000, "returned early");
	pthread_join(t, NULL);
	EXPECT(!query(fd, pin.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE && !q.out_attached,
	       "state %u attached %u", q.out_state, q.out_attached);
	EXPECT(!unpin(fd, pin.out_region) && !emu_free(gpu, GPU_B), "free");
}

/* ---- host memory: the pages stay pinned until the DMA ends ------------------------------ */

static long pinned_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void hold_host(char **m, struct peerpin_pin *pin)
{
	*m = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(*m != MAP_FAILED, "mmap");
	EXPECT(!pin_at(fd, (uintptr_t)*m, BLOCK, pin), "pin");
	held = (struct peer_check){ .fd = fd, .region = pin->out_region, .length = BLOCK };
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &held), "hold: %d", errno);
}

CASE(munmap_does_not_wait_for_dma)
{
	struct peer_check c = { 0 };
	struct peerpin_pin pin;
	uint64_t start;
	char *m;

	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register");
	hold_host(&m, &pin);
	CHECK_CASE();
	start = now_ns();
	munmap(m, BLOCK);
	EXPECT(now_ns() - start < 500000000, "munmap took %lu ns; drain_timeout_ms is 1000", now_ns() - start);
	EXPECT(epochs[pin.out_slot] != pin.out_epoch, "munmap did not raise the epoch");
	EXPECT(!check_call(check, PEER_CHECK_END, &held), "end");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(pages_stay_until_overdue_dma_ends)
{
	long before = pinned_kib();
	struct peerpin_pin pin;
	uint64_t start;
	char *m;
	int i;

	hold_host(&m, &pin);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT(now_ns() - start > 900000000, "unpin did not wait for the DMA");
	EXPECT(pinned_kib() == before + BLOCK / 1024, "pages unpinned during DMA: %ld KiB, before %ld", pinned_kib(),
	       before);
	EXPECT(!check_call(check, PEER_CHECK_END, &held), "end");
	for (i = 0; i < 100 && pinned_kib() != before; i++)
		usleep(10000);
	EXPECT(pinned_kib() == before, "%ld KiB stay pinned, before %ld", pinned_kib(), before);
	munmap(m, BLOCK);
}

CASE(unregister_waits_for_overdue_dma)
{
	struct peer_check c = { 0 };
	struct peerpin_pin pin;
	uint64_t start;
	pthread_t t;

	hold(GPU_B, 0, &pin);
	CHECK_CASE();
	EXPECT(timed_free(GPU_B) >= 900, "free did not wait");
	pthread_create(&t, NULL, end_after_200_ms, NULL);
	start = now_ns();
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	EXPECT(now_ns() - start > 150000000, "returned early");
	pthread_join(t, NULL);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

/* ---- removal of the peer ------------------------------------------------------ */

static int write_file(const char *path, const char *text)
{
	int f = open(path, O_WRONLY);
	int ret = f < 0 || write(f, text, strlen(text)) < 0 ? -errno : 0;

	if (f >= 0)
		close(f);
	return ret;
}

static void *copy_until_error(void *arg)
{
	int *error = arg;

	do {
		*error = lsi_copy(lsi, (struct end){ fd, a.out_region, 0 },
				  (struct end){ fd, a.out_region, SIZE / 2 }, SIZE / 2);
	} while (!*error);
	return NULL;
}

CASE(peer_removed_while_busy)
{
	char path[256] = "", *device;
	struct peerpin_query q;
	int i, error;
	pthread_t t;

	EXPECT(readlink("/sys/class/misc/lsi0/device", path, sizeof(path) - 1) > 0, "readlink");
	device = strrchr(path, '/') + 1;
	for (i = 0; i < 10; i++) {
		EXPECT(!pthread_create(&t, NULL, copy_until_error, &error), "thread");
		usleep(3000 + i * 700);
		EXPECT(!write_file("/sys/bus/pci/drivers/peerpin_lsi/unbind", device), "unbind %s", device);
		pthread_join(t, NULL);
		EXPECT(error == -ENODEV, "copy: %d", error);
		EXPECT(!query(fd, a.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE && !q.out_attached,
		       "state %u attached %u", q.out_state, q.out_attached);
		close(lsi);
		EXPECT(!write_file("/sys/bus/pci/drivers/peerpin_lsi/bind", device), "bind");
		lsi = lsi_open();
		EXPECT(lsi >= 0, "lsi0 did not come back: %d", errno);
	}
}

CASE(nothing_is_left)
{
	struct emugpu_test t;

	close(fd);
	close(lsi);
	close(check);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!emu_counts(gpu, &t), "counts");
	EXPECT(!t.counts.out_pins && !t.counts.out_violations && !t.counts.out_blocks,
	       "pins %u violations %llu blocks %u", t.counts.out_pins, t.counts.out_violations, t.counts.out_blocks);
	close(gpu);
}

VMTEST_MAIN
