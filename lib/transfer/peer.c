// SPDX-License-Identifier: MIT
#include <peerpin_lsi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/cancel.h"
#include "lib/cuda/process.h"
#include "lib/cache/regcache.h"
#include "lib/region/region.h"
#include "lib/sys/sys.h"

/**
 * struct pp_peer - an open peer device
 * @ctx: context of @cache; the driver gets its descriptor with each region id
 */
struct pp_peer {
	int fd;
	uint64_t mark;
	struct pp_cache *cache;
	struct pp_ctx *ctx;
};

/** struct end - one end of a copy and, from get_end() on, its registration */
struct end {
	uint64_t addr;
	const struct pp_cache_entry *entry;
};

/**
 * struct copy - one call of pp_peer_copy()
 * @ran: true after the copy was passed to the device
 */
struct copy {
	struct end dst;
	struct end src;
	uint64_t length;
	bool ran;
	struct pp_cache_work work;
	struct pp_copy_result result;
};

/* An empty copy with invalid descriptors: only a peer device reports -EBADF. */
static int probe(int fd)
{
	struct peerpin_lsi_copy copy = {
		.size = sizeof(copy),
		.dst.fd = -1,
		.src.fd = -1,
	};
	int ret = pp_sys_ioctl(fd, PEERPIN_LSI_IOC_COPY, &copy);

	switch (ret) {
	case -EBADF:
		return 0;
	case 0:			/* another device, with an ioctl of the same number */
	case -EINVAL:
	case -ENOTTY:
		return -ENOTTY;
	default:
		return ret;
	}
}

static int open_device(const char *name)
{
	char path[256];
	int n = snprintf(path, sizeof(path), "%s%s",
			 strchr(name, '/') ? "" : "/dev/", name);
	int fd, ret;

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENOENT;
	fd = pp_sys_open(path);
	if (fd < 0)
		return fd;
	ret = probe(fd);
	if (!ret)
		return fd;
	pp_sys_close(fd);
	return ret;
}

PP_PUBLIC int pp_peer_open(const char *name, struct pp_cache *cache,
			   struct pp_peer **out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_peer *peer;
	int fd;

	if (!name || !cache || !out || !pp_cache_ctx(cache))
		return -EINVAL;
	if (pp_ctx_is_foreign(pp_cache_ctx(cache)))
		return -EACCES;
	peer = malloc(sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	fd = open_device(name);
	if (fd < 0) {
		free(peer);
		return fd;
	}
	*peer = (struct pp_peer) {
		.fd = fd,
		.mark = pp_process_mark(),
		.cache = cache,
		.ctx = pp_cache_ctx(cache),
	};
	*out = peer;
	return 0;
}

PP_PUBLIC void pp_peer_close(struct pp_peer *peer)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	if (!peer)
		return;
	pp_sys_close(peer->fd);
	free(peer);
}

static int get_end(struct pp_peer *peer, struct end *end, struct copy *copy)
{
	return pp_cache_get_counted(peer->cache, end->addr, copy->length,
				    &end->entry, &copy->work,
				    &copy->result.why);
}

static const struct pp_region *region_of(const struct end *end)
{
	return end->entry->reg;
}

/* The region begins at or before the entry, as the pin rounds its range to pages. */
static struct peerpin_lsi_end driver_end(const struct pp_peer *peer,
					 const struct end *end)
{
	return (struct peerpin_lsi_end) {
		.fd = peer->ctx->fd,
		.region = region_of(end)->id,
		.offset = end->addr - region_of(end)->addr,
	};
}

static int run(struct pp_peer *peer, struct copy *copy)
{
	struct peerpin_lsi_copy arg = {
		.size = sizeof(arg),
		.dst = driver_end(peer, &copy->dst),
		.src = driver_end(peer, &copy->src),
		.length = copy->length,
	};
	int ret = pp_sys_ioctl(peer->fd, PEERPIN_LSI_IOC_COPY, &arg);

	copy->ran = true;
	if (ret)
		return ret;
	copy->result.bytes = copy->length;
	copy->result.engine_ns = arg.out_ns;
	return 0;
}

static int attempt(struct pp_peer *peer, struct copy *copy)
{
	int ret = get_end(peer, &copy->src, copy);

	if (ret)
		return ret;
	ret = get_end(peer, &copy->dst, copy);
	if (ret)
		goto put_src;
	ret = run(peer, copy);
	pp_cache_put(peer->cache, copy->dst.entry);
put_src:
	pp_cache_put(peer->cache, copy->src.entry);
	return ret;
}

/*
 * If an end was revoked during the copy, new memory may have been allocated at the same
 * address. Then the second attempt pins the new memory: the revocation page makes the
 * cache miss (except with PP_WATCH_NONE). If the second attempt returns -EINVAL, no
 * memory is allocated at the address any more.
 */
static int attempt_twice(struct pp_peer *peer, struct copy *copy)
{
	int ret = attempt(peer, copy);

	if (ret != -ESTALE || !copy->ran)
		return ret;
	ret = attempt(peer, copy);
	return ret == -EINVAL ? -ESTALE : ret;
}

static void report(struct copy *copy, uint64_t start,
		   struct pp_copy_result *result)
{
	copy->result.pins = copy->work.pins;
	copy->result.pin_ns = copy->work.pin_ns;
	copy->result.total_ns = pp_now_ns() - start;
	if (result)
		*result = copy->result;
}

/* Checked here, because the driver detects an overlap only within one region. */
static bool overlap(const struct copy *copy)
{
	uint64_t dst = copy->dst.addr, src = copy->src.addr;

	return (dst < src ? src - dst : dst - src) < copy->length;
}

static int copy_once(struct pp_peer *peer, struct copy *copy)
{
	if (peer->mark != pp_process_mark())
		return -EACCES;
	return overlap(copy) ? -EINVAL : attempt_twice(peer, copy);
}

PP_PUBLIC int pp_peer_copy(struct pp_peer *peer, void *dst, const void *src,
			   size_t length, struct pp_copy_result *result)
{
	PP_KEEP_ERRNO;
	uint64_t start = pp_now_ns();
	struct copy copy = {
		.dst.addr = (uintptr_t)dst,
		.src.addr = (uintptr_t)src,
		.length = length,
	};
	int ret = copy_once(peer, &copy);

	report(&copy, start, result);
	return ret;
}
