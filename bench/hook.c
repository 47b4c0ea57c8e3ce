// SPDX-License-Identifier: MIT
/*
 * The cost that libpeerpin-hook adds to cuMemFree() without a subscriber. Measures one function with
 * and without the hook, in turns. Each call depends on the result of the last. Needs no GPU and no VM.
 */
#include <dlfcn.h>
#include <libpeerpin-hook.h>
#include "bench.h"

enum {
	ROUNDS = 101,
	CALLS = 100000,
	LIMIT_NS = 3,
};

int cuMemFree_v2(uint64_t addr);
int bench_free(uint64_t addr);

static void nothing(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg;
	(void)addr;
	(void)length;
}

/* Picoseconds per call */
static uint64_t measure(int (*fn)(uint64_t))
{
	uint64_t start = now_ns(), addr = 1 << 20;

	for (unsigned int i = 0; i < CALLS; i++)
		addr += fn(addr);
	return (now_ns() - start) * 1000 / CALLS;
}

static void compare(const char *what, int (*bare)(uint64_t), int (*hooked)(uint64_t))
{
	uint64_t with[ROUNDS], without[ROUNDS], a, b;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		without[i] = measure(bare);
		with[i] = measure(hooked);
	}
	a = bench_median(without, ROUNDS);
	b = bench_median(with, ROUNDS);
	CLAIM(.what = "cuMemFree() with libpeerpin-hook", .of = what, .ours = b / 1e3, .beside = "without",
	      .theirs = a / 1e3, .more = LIMIT_NS);
	EXPECT(bare != hooked, "they are one");
}

static void *find(const char *name)
{
	void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);

	bench_need(!!found, name, ENOENT);
	return found;
}

CASE(a_linked_call)
{
	compare("linked", bench_free, cuMemFree_v2);
}

CASE(a_call_by_pointer)
{
	compare("by a pointer", (int (*)(uint64_t))find("bench_free"), (int (*)(uint64_t))find("cuMemFree_v2"));
}

CASE(after_the_last_subscriber_has_left)
{
	int ret = pp_hook_add(nothing, NULL);

	bench_need(!ret, "pp_hook_add", ret);
	cuMemFree_v2(1 << 20);
	bench_need(!pp_hook_remove(nothing, NULL), "pp_hook_remove", EINVAL);
	compare("after the last subscriber", bench_free, cuMemFree_v2);
}

VMTEST_MAIN
