/* SPDX-License-Identifier: MIT */
/*
 * dma-bufs of the emulated GPU and the importer dmabuf_check.ko. Calls return 0, or the -errno of
 * the exporter or the kernel. A slot is an attachment.
 */
#ifndef TEST_DMABUF_H
#define TEST_DMABUF_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test/kmod/dmabuf_check.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE ((uint64_t)EMUGPU_PAGE_SIZE)
#define BLOCK ((uint64_t)EMUGPU_BLOCK_SIZE)
#define ENOTSUPP 524	/* errno.h lacks this */

static int fd, check;

/* Opens the nodes before any case, so that each case can run alone. */
__attribute__((constructor)) static void open_nodes(void)
{
	fd = emu_open();
	check = open("/dev/dmabuf_check", O_RDWR | O_CLOEXEC);
}

/* ---- the exporter ---- */

static inline int export_by(int client, uint64_t va, uint64_t size)
{
	struct emugpu_export export = { .va = va, .size = size };
	int err = emu_call(client, EMUGPU_IOC_EXPORT, &export);

	return err ?: export.out_fd;
}

static inline int export(uint64_t va, uint64_t size)
{
	return export_by(fd, va, size);
}

/* Make later exports dynamic or static. */
static inline int set_dynamic(bool on)
{
	int param = open("/sys/module/emugpu/parameters/dmabuf_dynamic", O_WRONLY);
	int err = write(param, on ? "1" : "0", 1) == 1 ? 0 : -errno;

	close(param);
	return err;
}

static inline int scatter(bool on)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_SCATTER, .scatter.on = on };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

static inline int bar1_free(uint64_t bytes)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_BAR1_FREE, .bar1_free.bytes = bytes };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

static inline uint64_t phys(uint64_t va)
{
	struct emugpu_test test;

	return emu_translate(fd, va, &test) ? 0 : test.translate.out_phys;
}

static inline struct emugpu_info info(void)
{
	struct emugpu_info seen;

	if (emu_info(fd, 0, &seen))
		memset(&seen, 0xff, sizeof(seen));
	return seen;
}

static inline uint64_t bar1_used(void)
{
	return info().out_bar1_used;
}

static inline uint64_t vram_used(void)
{
	struct emugpu_info seen = info();

	return seen.out_vram_total - seen.out_vram_free;
}

static inline bool nothing_left(void)
{
	return !bar1_used() && !vram_used();
}

#define EXPECT_NOTHING_LEFT() \
	EXPECT(nothing_left(), "%lu bytes of BAR1 and %lu of VRAM are in use", bar1_used(), vram_used())

/* ---- the importer ---- */

static inline int attach_as(unsigned int slot, int dmabuf, enum dmabuf_check_kind kind, bool unmap_in_notify)
{
	struct dmabuf_check_attach arg = {
		.slot = slot, .fd = dmabuf, .kind = kind, .unmap_in_notify = unmap_in_notify,
	};

	return emu_call(check, DMABUF_CHECK_ATTACH, &arg);
}

static inline int attach(unsigned int slot, int dmabuf)
{
	return attach_as(slot, dmabuf, DMABUF_CHECK_STATIC, false);
}

static inline int slot_call(unsigned long cmd, unsigned int slot)
{
	struct dmabuf_check_slot arg = { .slot = slot };

	return emu_call(check, cmd, &arg);
}

static inline int map(unsigned int slot)
{
	return slot_call(DMABUF_CHECK_MAP, slot);
}

static inline int unmap(unsigned int slot)
{
	return slot_call(DMABUF_CHECK_UNMAP, slot);
}

static inline int detach(unsigned int slot)
{
	return slot_call(DMABUF_CHECK_DETACH, slot);
}

/* Attach and map as a static importer. */
static inline int import(unsigned int slot, int dmabuf)
{
	int err = attach(slot, dmabuf);

	return err ?: map(slot);
}

static inline struct dmabuf_check_look look(unsigned int slot, unsigned int entry)
{
	struct dmabuf_check_look seen = { .slot = slot, .entry = entry };

	if (emu_call(check, DMABUF_CHECK_LOOK, &seen))
		memset(&seen, 0xff, sizeof(seen));
	return seen;
}

static inline unsigned int notified(unsigned int slot)
{
	return look(slot, 0).out_notified;
}

static inline int limit(unsigned int max_segment, uint64_t bus)
{
	struct dmabuf_check_limit arg = { .max_segment = max_segment, .bus = bus };

	return emu_call(check, DMABUF_CHECK_LIMIT, &arg);
}

/* The peer writes DMABUF_CHECK_BYTES of @value. peer_reads(): true if the peer reads these bytes. */
static inline int peer_write(unsigned int slot, unsigned int entry, unsigned int offset, int value)
{
	struct dmabuf_check_dma dma = { .slot = slot, .entry = entry, .offset = offset, .write = 1 };

	memset(dma.data, value, sizeof(dma.data));
	return emu_call(check, DMABUF_CHECK_DMA, &dma);
}

/*
 * To find copies of hidden memory, the emulator looks at one word in 512 bytes. It must not find what a test of such
 * memory has read, so no such word is in the data.
 */
static inline bool peer_reads(unsigned int slot, unsigned int entry, unsigned int offset, int value)
{
	static _Alignas(512) struct dmabuf_check_dma dma;
	unsigned int i;

	dma = (struct dmabuf_check_dma){ .slot = slot, .entry = entry, .offset = offset };
	memset(dma.data, ~value, sizeof(dma.data));
	if (emu_call(check, DMABUF_CHECK_DMA, &dma))
		return false;
	for (i = 0; i < sizeof(dma.data); i++)
		if (dma.data[i] != (unsigned char)value)
			return false;
	return true;
}

static inline bool iommu_translates(void)
{
	return access("/sys/class/iommu/dmar0", F_OK) == 0;
}

/* ---- two processes ---- */

union fd_message {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static inline int send_fd(int sock, int passed)
{
	union fd_message control = { 0 };
	struct iovec iov = { "", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &passed, sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static inline int receive_fd(int sock)
{
	union fd_message control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int passed;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -EBADMSG;
	memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return passed;
}

/* Another process: fill a block with @value, send its dma-buf, and wait to be killed. */
static inline void be_owner(int sock, int value)
{
	int client = emu_open();

	close(fd);
	close(check);
	if (emu_alloc(client, VA, BLOCK) || emu_fill(client, VA, 1, value, BLOCK))
		_exit(1);
	if (send_fd(sock, export_by(client, VA, BLOCK)))
		_exit(1);
	close(sock);
	pause();
}

static inline pid_t start_owner(int value, int *dmabuf)
{
	int socks[2];
	pid_t pid;

	*dmabuf = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks))
		return -1;
	pid = fork();
	if (!pid)
		be_owner(socks[1], value);
	close(socks[1]);
	*dmabuf = receive_fd(socks[0]);
	close(socks[0]);
	return pid;
}

static inline void kill_owner(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * In each round of a race a thread imports memory, and the caller frees or unpins that memory after a delay in us. If
 * the import came too late, the next delay is longer, else shorter: both orders occur on a VM of any speed.
 */
static inline int next_delay(int us, bool too_late)
{
	return too_late ? us + us / 4 + 20 : us / 4 * 3;
}

#endif
