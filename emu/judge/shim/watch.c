// SPDX-License-Identifier: MIT
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "action.h"
#include "ask.h"
#include "history.h"
#include "mapping.h"
#include "node.h"
#include "watch.h"

bool watch_wants(const struct call *call)
{
	if (!ask_share())
		return false;
	if (call->kind == CALL_MUNMAP)
		return mapping_has(call->at, call->length);
	return call->fd >= 0 && node_kind(call->fd, NULL) == NODE_DRIVER;
}

static uint32_t count(struct share *share, const struct call *call)
{
	uint32_t n = __atomic_add_fetch(&share->count, 1, __ATOMIC_ACQ_REL);
	char path[NODE_PATH_MAX] = "a mapping";

	if (call->fd >= 0 && node_of_driver(call->fd, share))
		__atomic_add_fetch(&share->calls, 1, __ATOMIC_RELAXED);
	if (n > SHARE_EVENTS_MAX)
		return n;
	if (call->kind != CALL_MUNMAP)
		node_kind(call->fd, path);
	call_describe(call, path, share->events[n - 1], SHARE_TEXT_MAX);
	return n;
}

/* SHARE_LATE_CLOSE happens at the first close() from event @nth on. */
static bool is_time(const struct share *share, const struct call *call, uint32_t n)
{
	if (!share->nth || share->fired)
		return false;
	if (share->action == SHARE_LATE_CLOSE)
		return n >= share->nth && call->kind == CALL_CLOSE;
	return n == share->nth;
}

/*
 * Whether a mapping of the file may be GPU memory that the driver under test maps. The nodes of RDMA adapters, which may
 * appear with a client of peer memory, map only queues.
 */
static bool may_map_gpu(const struct share *share, int fd)
{
	char path[NODE_PATH_MAX];

	return node_of_driver(fd, share) && node_kind(fd, path) == NODE_DRIVER && !strstr(path, "/dev/infiniband/");
}

static void note_mapping(const struct share *share, const struct call *call, long ret)
{
	if (call->kind == CALL_MMAP && ret != (long)MAP_FAILED)
		mapping_add((void *)ret, call->length, may_map_gpu(share, call->fd));
	if (call->kind == CALL_MUNMAP && !ret)
		mapping_remove(call->at, call->length);
}

static long make(struct share *share, const struct call *call, bool now)
{
	if (now && share->action == SHARE_DURING)
		return action_during(share, call);
	if (now)
		action_before(share, call);
	return share->action == SHARE_FOREIGN ? history_do(call) : call_do(call);
}

static long usec_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

long watch_do(const struct call *call)
{
	struct share *share = ask_share();
	uint32_t n = count(share, call);
	long start = usec_now(), ret = make(share, call, is_time(share, call, n));

	if (n <= SHARE_EVENTS_MAX)
		share->took[n - 1] = (uint32_t)(usec_now() - start);
	note_mapping(share, call, ret);
	return ret;
}
