// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <peerpin.h>
#include <peerpin_lsi.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "emu/include/emugpu.h"
#include "calls.h"

static void open_lsi(struct world *world, struct choices *c)
{
	const char *node = choose_rarely(c, 4) ? "/dev/lsi1" : "/dev/lsi0";

	world_put_fd(world, FD_LSI, c, open(node, O_RDWR | O_CLOEXEC));
}

/* Choose a region or an address of memory. */
static struct peerpin_lsi_end choose_end(struct world *world, struct choices *c, bool pointer, uint64_t *length)
{
	struct pin pin = world_pin(world, c);
	struct range memory;

	if (pointer) {
		memory = choose_memory(world, c);
		*length = memory.size;
		return (struct peerpin_lsi_end){ .offset = memory.at };
	}
	*length = pin.length;
	return (struct peerpin_lsi_end){ pin.fd, pin.region, choose_rarely(c, 2) ? choose(c, 1 << 16) : 0 };
}

static void copy(struct world *world, struct choices *c)
{
	struct peerpin_lsi_copy args = { .size = sizeof(args), .flags = choose_rarely(c, 4) ? (uint32_t)choose(c, 4) : 0 };
	uint64_t to, from;

	args.dst = choose_end(world, c, args.flags & PEERPIN_LSI_DST_POINTER, &to);
	args.src = choose_end(world, c, args.flags & PEERPIN_LSI_SRC_POINTER, &from);
	args.length = to < from ? to : from;
	if (choose_rarely(c, 2))
		args.length = choose(c, 1 << 16);
	else if (args.length > args.dst.offset + args.src.offset && !args.flags)
		args.length -= args.dst.offset + args.src.offset;
	ioctl(world_fd(world, FD_LSI, c), PEERPIN_LSI_IOC_COPY, &args);
}

static int any_fd(struct world *world, struct choices *c)
{
	return world_fd(world, (enum fd_kind)choose(c, FD_KINDS), c);
}

/* Make any ioctl on any file, with random arguments. */
static void any_ioctl(struct world *world, struct choices *c)
{
	static const unsigned long calls[] = {
		PEERPIN_IOC_PIN, PEERPIN_IOC_UNPIN, PEERPIN_IOC_QUERY, PEERPIN_IOC_EXPORT, PEERPIN_LSI_IOC_COPY,
		EMUGPU_IOC_INFO, EMUGPU_IOC_FREE, EMUGPU_IOC_DROP, EMUGPU_IOC_CONTEXT, EMUGPU_IOC_MEMORY,
		DMA_BUF_IOCTL_SYNC, DMA_BUF_SET_NAME,
	};
	unsigned long call = calls[choose(c, sizeof(calls) / sizeof(*calls))];
	uint64_t words[64];
	size_t i;

	for (i = 0; i < 16; i++)
		words[i] = choose_rarely(c, 2) ? choose_number(c) : 0;
	memset(words + i, choose_rarely(c, 8) ? 1 : 0, sizeof(words) - i * sizeof(*words));
	if (choose_rarely(c, 2))
		memcpy(words, &(uint32_t){ (uint32_t)choose(c, sizeof(words) + 8) }, sizeof(uint32_t));
	ioctl(any_fd(world, c), choose_rarely(c, 16) ? choose_number(c) : call, words);
}

/* Export the fences of a dma-buf, or import any file as a fence. */
static void sync_file(struct world *world, struct choices *c)
{
	struct dma_buf_export_sync_file args = { .flags = (uint32_t)choose(c, 4), .fd = -1 };
	int dmabuf = world_fd(world, FD_DMABUF, c);

	if (choose_rarely(c, 2)) {
		ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
		      &(struct dma_buf_import_sync_file){ .flags = (uint32_t)choose(c, 4), .fd = any_fd(world, c) });
		return;
	}
	if (!ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &args))
		world_put_fd(world, FD_DMABUF, c, args.fd);
}

/* Pass an argument in memory that may be unmapped or read-only. */
static void ioctl_at(struct world *world, struct choices *c)
{
	static const unsigned long calls[] = { PEERPIN_IOC_PIN, PEERPIN_IOC_QUERY, PEERPIN_IOC_EXPORT, EMUGPU_IOC_INFO };

	ioctl(any_fd(world, c), calls[choose(c, 4)], choose_memory(world, c).at);
}

static void read_and_write(struct world *world, struct choices *c)
{
	int fd = any_fd(world, c);
	char bytes[64] = "";

	(void)!read(fd, bytes, sizeof(bytes));
	(void)!write(fd, bytes, sizeof(bytes));
	lseek(fd, (off_t)choose_number(c), (int)choose(c, 3));
	poll(&(struct pollfd){ fd, POLLIN | POLLOUT, 0 }, 1, 0);
}

static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];

	if (fd < 0)
		return;
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	close(fd);
}

static void read_info(struct world *world, struct choices *c)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", any_fd(world, c));
	read_file(path);
}

static void read_debugfs(struct world *world, struct choices *c)
{
	static const char *const files[] = {
		"peerpin/accounts", "peerpin/regions", "peerpin/peers", "emugpu/pins", "emugpu/violations",
		"emugpu_tegra/pins", "emugpu_tegra/violations", "dma_buf/bufinfo",
	};
	char path[64];

	(void)world;
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", files[choose(c, sizeof(files) / sizeof(*files))]);
	read_file(path);
}

static void close_fd(struct world *world, struct choices *c)
{
	world_put_fd(world, (enum fd_kind)choose(c, FD_KINDS), c, -1);
}

static void dup_fd(struct world *world, struct choices *c)
{
	enum fd_kind kind = (enum fd_kind)choose(c, FD_KINDS);

	world_put_fd(world, kind, c, fcntl(world_fd(world, kind, c), F_DUPFD_CLOEXEC, 0));
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr message(struct iovec *byte, union control *control)
{
	return (struct msghdr){
		.msg_iov = byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control->room),
	};
}

/* Send a file. The next process that receives gets the file, usually another process. */
static void send_fd(struct world *world, struct choices *c)
{
	union control control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { "", 1 };
	struct msghdr m = message(&byte, &control);
	int fd = any_fd(world, c);

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(world->friend[0], &m, MSG_DONTWAIT);
}

static void receive_fd(struct world *world, struct choices *c)
{
	union control control = { 0 };
	char bytes[1];
	struct iovec byte = { bytes, 1 };
	struct msghdr m = message(&byte, &control);
	int fd;

	if (recvmsg(world->friend[1], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0 || !CMSG_FIRSTHDR(&m))
		return;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	world_put_fd(world, (enum fd_kind)choose(c, FD_KINDS), c, fd);
}

const struct call peer_calls[] = {
	{ 4, open_lsi },
	{ 30, copy },
	{ 6, any_ioctl },
	{ 2, sync_file },
	{ 3, ioctl_at },
	{ 1, read_and_write },
	{ 2, read_info },
	{ 1, read_debugfs },
	{ 3, close_fd },
	{ 2, dup_fd },
	{ 2, send_fd },
	{ 2, receive_fd },
	{ 0, NULL },
};
