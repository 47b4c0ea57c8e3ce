/* SPDX-License-Identifier: MIT */
/*
 * dma-bufs of the emulated GPU and of other exporters, pinned through /dev/peerpin. Calls return 0
 * or -errno, or a descriptor.
 */
#ifndef TEST_IMPORT_H
#define TEST_IMPORT_H

#include <stdbool.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGE = 4096,
	BLOCK = 2 << 20,
	SIZE = 4 << 20,	/* default size of an imported dma-buf */
};

static int gpu, fd, lsi, check;

/* Opens the nodes before any case, so that each case can run alone. */
__attribute__((constructor)) static void open_nodes(void)
{
	struct peer_check c = { 0 };

	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	check = check_open();
	check_call(check, PEER_CHECK_REGISTER, &c);
}

/* Check for the first case of each program. */
#define EXPECT_NODES() \
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0 && check >= 0, "open: %d %d %d %d; type: emu/vm/run " \
	       "--insmod build/KERNEL/test/peer_check.ko ...", gpu, fd, lsi, check)

/* ---- exporters ---- */

static inline int export(uint64_t va, uint64_t size)
{
	struct emugpu_export arg = { .va = va, .size = size };
	int err = emu_call(gpu, EMUGPU_IOC_EXPORT, &arg);

	return err ?: arg.out_fd;
}

/* Make later dma-bufs dynamic: they end with their memory and notify importers. Or make them static. */
static inline int set_dynamic(bool on)
{
	return module_set("emugpu/parameters/dmabuf_dynamic", on ? "1" : "0");
}

/* Allocate memory at GPU_A and export it as a dma-buf. */
static inline int new_dmabuf(uint64_t size)
{
	int err = emu_alloc(gpu, GPU_A, size);

	return err ?: export(GPU_A, size);
}

/* ---- pins ---- */

static inline int pin_dmabuf(int dmabuf, uint64_t offset, uint64_t length, struct peerpin_pin *pin)
{
	*pin = (struct peerpin_pin){
		.size = sizeof(*pin), .addr = offset, .length = length, .provider = PEERPIN_PROVIDER_DMABUF,
		.fd = dmabuf,
	};
	return ioctl(fd, PEERPIN_IOC_PIN, pin) ? -errno : 0;
}

/* Pin all of @dmabuf, then close @dmabuf. */
static inline int pin_and_close(int dmabuf, uint64_t size, struct peerpin_pin *pin)
{
	int err = pin_dmabuf(dmabuf, 0, size, pin);

	close(dmabuf);
	return err;
}

static inline unsigned int state_of(const struct peerpin_pin *pin)
{
	struct peerpin_query q;

	return query(fd, pin->out_region, &q) ? 0 : q.out_state;
}

static inline unsigned int attached_to(const struct peerpin_pin *pin)
{
	struct peerpin_query q;

	return query(fd, pin->out_region, &q) ? ~0u : q.out_attached;
}

static inline struct end end_of(const struct peerpin_pin *pin, uint64_t offset)
{
	return (struct end){ fd, pin->out_region, offset };
}

/* ---- memory of the process that devices copy to and from ---- */

struct host {
	unsigned char *at;
	struct peerpin_pin pin;
};

static struct host host;

static inline int host_make(struct host *h, uint64_t size)
{
	h->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return h->at == MAP_FAILED ? -errno : pin_at(fd, (uintptr_t)h->at, size, &h->pin);
}

static inline int copy_out(const struct peerpin_pin *pin, uint64_t offset, uint64_t length)
{
	return lsi_copy(lsi, end_of(&host.pin, 0), end_of(pin, offset), length);
}

static inline int copy_in(const struct peerpin_pin *pin, uint64_t offset, uint64_t length)
{
	return lsi_copy(lsi, end_of(pin, offset), end_of(&host.pin, 0), length);
}

/* Index of the first byte that differs from the pattern of @seed from offset @from on; -1: all are equal. */
static inline int64_t pattern_differs(const unsigned char *p, uint64_t seed, uint64_t from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (p[i] != pattern(seed, from + i))
			return i;
	return -1;
}

/* ---- DMA that stays in flight ---- */

static inline int hold(const struct peerpin_pin *pin, int end_in_stop)
{
	struct peer_check c = {
		.fd = fd, .region = pin->out_region, .length = pin->out_length, .end_in_stop = end_in_stop,
	};

	return check_call(check, PEER_CHECK_HOLD, &c);
}

static inline int end_held(void)
{
	struct peer_check c = { 0 };

	return check_call(check, PEER_CHECK_END, &c);
}

/* ---- leftovers ---- */

static inline struct emugpu_info gpu_info(void)
{
	struct emugpu_info info;

	if (emu_info(gpu, 0, &info))
		memset(&info, 0xff, sizeof(info));
	return info;
}

static inline uint64_t vram_used(void)
{
	struct emugpu_info info = gpu_info();

	return info.out_vram_total - info.out_vram_free;
}

static inline uint64_t bar1_used(void)
{
	return gpu_info().out_bar1_used;
}

/* Number of dma-bufs in the system; -1: no debugfs file. */
static inline int dmabufs(void)
{
	static char text[1 << 16];
	const char *total = module_debugfs("dma_buf/bufinfo", text, sizeof(text));
	int n = -1;

	while ((total = strstr(total, "\nTotal ")))	/* the last total counts dma-bufs, others devices */
		sscanf(++total, "Total %d", &n);
	return n;
}

static inline bool memory_is_gone(void)
{
	return !vram_used() && !bar1_used();
}

static inline bool all_is_gone(void)
{
	return memory_is_gone() && dmabufs() <= 0;
}

/* Try for a while: the kernel drops the last reference of a dma-buf a moment after the holder's call. */
static inline bool soon(bool (*gone)(void))
{
	int i;

	for (i = 0; i < 200 && !gone(); i++)
		usleep(5000);
	return gone();
}

#define EXPECT_ALL_GONE() \
	EXPECT(soon(all_is_gone), \
	       "left: %lu bytes of VRAM, %lu of BAR1, %d dma-bufs", vram_used(), bar1_used(), dmabufs())

static inline uint64_t ms_since(uint64_t start)
{
	return (now_ns() - start) / 1000000;
}

#endif
