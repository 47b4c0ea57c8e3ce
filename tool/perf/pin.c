// SPDX-License-Identifier: MIT
/* Pin and unpin, without a cache. */
#include <errno.h>
#include <sys/mman.h>
#include "memory.h"

static struct {
	struct pp_ctx *ctx;
	struct perf_memory memory;
	struct pp_region region;
} pin;

static int open_ctx(const struct perf_args *args, long arg, struct perf_why *why)
{
	(void)args, (void)arg;
	return perf_need_ctx(&pin.ctx, why);
}

static int begin(uint64_t bytes, long arg, struct perf_why *why)
{
	return memory_get(&pin.memory, (enum perf_kind)arg, bytes, why);
}

static void end(long arg)
{
	(void)arg;
	memory_put(&pin.memory);
}

static int do_pin(uint64_t bytes, long arg, struct perf_why *why)
{
	struct pp_why reason = { 0 };
	int ret = pp_pin(pin.ctx, memory_at(&pin.memory), bytes, &pin.region, &reason);

	(void)arg;
	return ret ? perf_refuse_pin(why, ret, &reason) : 0;
}

static int do_unpin(uint64_t bytes, long arg, struct perf_why *why)
{
	int ret = pp_unpin(pin.ctx, &pin.region);

	(void)bytes, (void)arg;
	return ret ? perf_refuse_call(why, "pp_unpin", ret) : 0;
}

static int lock(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)arg;
	return mlock(memory_at(&pin.memory), bytes) ? perf_refuse_call(why, "mlock", errno) : 0;
}

static int unlock(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)arg;
	return munlock(memory_at(&pin.memory), bytes) ? perf_refuse_call(why, "munlock", errno) : 0;
}

static const struct perf_calls pin_calls = {
	.open = open_ctx, .begin = begin, .run = do_pin, .after = do_unpin, .end = end,
};

static const struct perf_calls unpin_calls = {
	.open = open_ctx, .begin = begin, .before = do_pin, .run = do_unpin, .end = end,
};

static const struct perf_calls mlock_calls = {
	.begin = begin, .run = lock, .after = unlock, .end = end,
};

const struct perf_op pin_ops[] = {
	{ "mlock", "pin", "mlock, host", NULL, false, &mlock_calls, PERF_HOST },
	{ "pin_host", "pin", "pin, host", "mlock", false, &pin_calls, PERF_HOST },
	{ "unpin_host", "pin", "unpin, host", NULL, false, &unpin_calls, PERF_HOST },
	{ "pin_gpu", "pin", "pin, GPU", "pin_host", false, &pin_calls, PERF_GPU },
	{ "unpin_gpu", "pin", "unpin, GPU", "unpin_host", false, &unpin_calls, PERF_GPU },
	{ 0 },
};
