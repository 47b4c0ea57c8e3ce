/* SPDX-License-Identifier: MIT */
/*
 * Removal during RDMA: a child process uses the adapter and GPU memory, and a thread of its parent removes
 * something. Afterwards nothing is left, and a new child works.
 */
#ifndef TEST_RDMA_REMOVAL_H
#define TEST_RDMA_REMOVAL_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "rdma.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/harness/module.h"

enum {
	LENGTH = 256 << 10,
	OPS = 4,
	EVENT_MS = 15000,	/* upper limit of an event or a failure that must come */
	LINGER_MS = 400,	/* a removal must still wait after this time */
};

/* ---- the user of the adapter: the child process ------------------------------------- */

/** struct use - what the child reports */
struct use {
	int err;		/* at the start, -errno */
	int status[WAYS][OPS];	/* of each operation after the first failure; enum ibv_wc_status */
	int event;		/* enum ibv_event_type; -1: none */
	uint64_t closed_ns;	/* just before the child exits, still with the adapter open */
};

static struct memory memories[WAYS];
static int ways;	/* that the child uses */

/* The GIDs of a new adapter come a moment later. */
static inline int use_loop(void)
{
	int tries, err = -ENODEV;

	for (tries = 0; tries < 100 && (err = loop_open(&loop)); tries++) {
		if (loop.near.ctx)
			ibv_close_device(loop.near.ctx);
		usleep(50000);
	}
	return err;
}

static inline int use_open(int first_ways)
{
	int way, err;

	ways = first_ways;
	if (!cu_start(0) || pp_open(&peerpin))
		return -ENODEV;
	err = use_loop();
	if (err)
		return err;
	host = ibv_reg_mr(loop.near.pd, bytes, sizeof(bytes), ACCESS);
	if (!host)
		return -errno;
	for (way = 0; way < ways && !err; way++)
		err = memory_open(&memories[way], loop.near.pd, way);
	return err;
}

static inline int use_close(void)
{
	int way, err = 0;

	for (way = 0; way < ways && !err; way++)
		err = memory_close(&memories[way]);
	return err;
}

static inline int use_once(int way, int op)
{
	const struct ibv_mr *mr = memories[way].mr;
	const uint64_t at = (uintptr_t)mr->addr;
	int received;

	switch (op) {
	case 0:
		return rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, host, (uintptr_t)bytes, at, mr->rkey, LENGTH);
	case 1:
		return rc_transfer(&loop.near, IBV_WR_RDMA_READ, host, (uintptr_t)bytes, at, mr->rkey, LENGTH);
	case 2:
		return loop_atomic(&loop, host, at, mr->rkey, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	default:
		return loop_send(&loop, host, (uintptr_t)bytes, mr, at, LENGTH, &received);
	}
}

static inline int use_all(void)
{
	int i, err = 0;

	for (i = 0; i < ways * OPS && !err; i++)
		err = use_once(i / OPS, i % OPS);
	return err;
}

/* Each operation on a new connection: the first failure ended the connection. */
static inline void use_status(struct use *u)
{
	int i;

	for (i = 0; i < ways * OPS; i++)
		u->status[i / OPS][i % OPS] = loop_restart() ? -1 : use_once(i / OPS, i % OPS);
}

static inline int use_event(int ms)
{
	struct pollfd p = { .fd = loop.near.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	/* The error of a QP is an event too. */
	while (poll(&p, 1, ms) == 1) {
		if (ibv_get_async_event(loop.near.ctx, &event))
			return -1;
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			return event.event_type;
	}
	return -1;
}

/* A removal may begin when the first byte is in @out. */
static inline int use_until_error(int first_ways, int event_ms, int out)
{
	struct use u = { .err = use_open(first_ways) ?: use_all(), .event = -1 };

	if (u.err || write(out, "", 1) != 1)
		goto out;
	while (!use_all())
		;
	use_status(&u);
	u.event = use_event(event_ms);
	usleep(LINGER_MS * 1000);
out:
	u.closed_ns = now_ns();
	return write(out, &u, sizeof(u)) != sizeof(u);
}

static inline int use_until_fatal(int out)
{
	return use_until_error(WAYS, EVENT_MS, out);
}

/* A static dma-buf of CUDA keeps its memory without the GPU's driver: t_dmabuf tests that. */
static inline int use_until_gpu_error(int out)
{
	return use_until_error(ENDING_WAYS, 0, out);
}

/* Write, read back and compare all memory. */
static inline int use_well(int out)
{
	int way, err = use_open(WAYS);
	size_t i;

	(void)out;
	for (way = 0; way < WAYS && !err; way++) {
		for (i = 0; i < LENGTH; i++)
			bytes[i] = (unsigned char)(i * 7 + i / 251 + way);
		err = use_once(way, 0);
		memset(bytes, 0, LENGTH);
		err = err ?: use_once(way, 1);
		for (i = 0; i < LENGTH && !err; i++)
			err = bytes[i] != (unsigned char)(i * 7 + i / 251 + way);
	}
	if (err)
		fprintf(stderr, "way %d: %d\n", way - 1, err);
	return err ? 1 : !!use_close();
}

/* Use the adapter until the parent writes, then end in order. */
static int gate;

static inline int use_until_told(int out)
{
	int err = use_open(WAYS) ?: use_all();
	char byte;

	if (write(out, err ? "x" : "", 1) != 1 || err)
		return 1;
	if (read(gate, &byte, 1) < 0)
		return 1;
	return !!use_close();
}

/* ---- its parent ----------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int from;
};

/* The child has begun when it has written a byte. */
static inline int child_start(struct child *c, int (*run)(int out))
{
	char byte = 'x';
	int up[2];

	*c = (struct child){ 0 };
	if (pipe(up))
		return -errno;
	c->pid = fork();
	if (!c->pid) {
		close(up[0]);
		_exit(run(up[1]));
	}
	close(up[1]);
	c->from = up[0];
	return read(c->from, &byte, 1) == 1 && !byte ? 0 : -EPIPE;
}

static inline int child_end(struct child *c)
{
	int status = -1;

	waitpid(c->pid, &status, 0);
	close(c->from);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static inline int child_works(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(use_well(-1));
	waitpid(pid, &status, 0);
	return status;
}

static inline int link_add(void)
{
	return system("rdma link add rxe0 type rxe netdev eth0");
}

static inline int link_delete(void)
{
	return system("rdma link delete rxe0");
}

/* Soft-RoCE of Linux 7 takes the objects of programs away: a removal does not wait for their end. */
static inline bool removal_waits(void)
{
	struct utsname name;

	return !uname(&name) && atoi(name.release) < 7;
}

static inline bool link_is_there(void)
{
	return !access("/sys/class/infiniband/rxe0", F_OK);
}

static inline struct hotplug function_of_link(void)
{
	struct hotplug device = { "" };
	char target[256] = "";
	const char *name;

	if (readlink("/sys/class/infiniband/rxe0/device", target, sizeof(target) - 1) < 0)
		return device;
	name = strrchr(target, '/');
	snprintf(device.address, sizeof(device.address), "%.15s", name ? name + 1 : target);
	return device;
}

static inline bool gpu_is_free(void)
{
	struct emugpu_info info;
	struct emugpu_test t;
	int fd = emu_open();
	bool is = !emu_info(fd, 0, &info) && info.out_vram_free == info.out_vram_total && !info.out_bar1_used &&
		  !emu_counts(fd, &t) && !t.counts.out_pins && !t.counts.out_dma_maps && !t.counts.out_violations;

	close(fd);
	return is;
}

/* The work item of a revocation may still run. */
static inline bool all_is_free(void)
{
	char text[256];
	int tries;

	for (tries = 0; tries < 100; tries++) {
		module_debugfs("peerpin/regions", text, sizeof(text));
		if (gpu_is_free() && strchr(text, '\n') && !strchr(text, '\n')[1] && !module_refs("peerpin_ibpeer"))
			return true;
		usleep(20000);
	}
	return false;
}

/* ---- a thread that removes, because a removal may wait ---------------------------------- */

struct removal {
	int (*remove)(void);
	pthread_t thread;
	atomic_bool done;
	int err;
	uint64_t end_ns;
};

static inline void *removal_run(void *arg)
{
	struct removal *r = arg;

	r->err = r->remove();
	r->end_ns = now_ns();
	r->done = true;
	return NULL;
}

static inline void removal_start(struct removal *r, int (*remove)(void))
{
	*r = (struct removal){ .remove = remove };
	EXPECT(!pthread_create(&r->thread, NULL, removal_run, r), "thread");
}

/* The thread cannot be ended, so a removal that hangs ends the test. */
static inline void removal_end(struct removal *r)
{
	int tries;

	for (tries = 0; tries < 3 * EVENT_MS / 10 && !r->done; tries++)
		usleep(10000);
	EXPECT(r->done, "the removal hangs");
	pthread_join(r->thread, NULL);
}

#endif
