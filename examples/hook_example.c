// SPDX-License-Identifier: MIT
/*
 * A callback before GPU memory is freed. The library must come before libcuda: link -lpeerpin-hook
 * first, or run the program with LD_PRELOAD=libpeerpin-hook.so.1.
 */
#include <cuda.h>
#include <libpeerpin-hook.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE = 1 << 20,
};

/** struct seen - the last callback; @times: number of callbacks; @alive: the memory was still valid */
struct seen {
	uint64_t addr;
	uint64_t length;
	int times;
	int alive;
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "hook: %s: %s\n", what, why);
	exit(1);
}

static CUdeviceptr gpu_memory(void)
{
	CUdeviceptr gpu;

	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", "no memory");
	return gpu;
}

/* Runs in the freeing thread, before the driver's call: end registrations here. */
static void gone(void *arg, uint64_t addr, uint64_t length)
{
	struct seen *seen = arg;
	char byte;

	seen->addr = addr;
	seen->length = length;
	seen->times++;
	seen->alive = !cuMemcpyDtoH(&byte, addr, 1) && pp_hook_is_going(addr, length);
	printf("gone: %llu bytes at %#llx\n", (unsigned long long)length, (unsigned long long)addr);
}

static void told_once(struct seen *seen)
{
	CUdeviceptr gpu = gpu_memory(), other = gpu_memory();

	need(!cuMemFree(gpu), "cuMemFree", "failed");
	need(seen->times == 1 && seen->addr == gpu && seen->length == SIZE, "cuMemFree()", "no callback");
	need(seen->alive, "callback", "the memory was freed already");
	need(!pp_hook_is_going(gpu, SIZE), "pp_hook_is_going", "true after cuMemFree()");
	need(!pp_hook_remove(gone, seen), "pp_hook_remove", "failed");
	need(!cuMemFree(other) && seen->times == 1, "pp_hook_remove", "a callback came afterwards");
}

int main(void)
{
	struct seen seen = { 0 };
	CUcontext ctx;
	int ret;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
	ret = pp_hook_add(gone, &seen);
	need(!ret, "pp_hook_add", strerror(-ret));
	told_once(&seen);
	puts("hook: OK");
	return 0;
}
