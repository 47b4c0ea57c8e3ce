// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "emu/include/emugpu.h"
#include "calls.h"

enum {
	KIB = 1 << 10,
	GPUS = 3,	/* one more GPU than exists */
};

static void open_gpu(struct world *world, struct choices *c)
{
	world_put_fd(world, FD_GPU, c, open("/dev/emugpu", O_RDWR | O_CLOEXEC));
}

static void end_block(struct world *world, struct choices *c, struct range block)
{
	struct emugpu_free args = { .va = block.at };

	if (block.size)
		ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_FREE, &args);
}

static void alloc(struct world *world, struct choices *c)
{
	struct emugpu_alloc args = {
		.gpu = choose_rarely(c, 4) ? (uint32_t)choose(c, GPUS) : 0,
		.flags = choose_rarely(c, 8) ? (uint32_t)choose(c, 8) : world->integrated ? EMUGPU_ALLOC_HOST : 0,
		.va = (1 + choose(c, 64)) * EMUGPU_BLOCK_SIZE,
		.size = (1 + choose(c, 4)) * EMUGPU_BLOCK_SIZE,
		.context = choose_rarely(c, 3) ? world_key(world, c).id : 0,
		.memory = choose_rarely(c, 4) ? world_key(world, c).id : 0,
	};

	if (!ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_ALLOC, &args))
		end_block(world, c, world_put_range(world, RANGE_BLOCK, c, (struct range){ args.va, args.size }));
}

static void free_block(struct world *world, struct choices *c)
{
	end_block(world, c, world_put_range(world, RANGE_BLOCK, c, (struct range){ 0 }));
}

static void alloc_junk(struct world *world, struct choices *c)
{
	struct emugpu_alloc args = {
		.gpu = (uint32_t)choose_number(c), .flags = (uint32_t)choose_number(c), .va = choose_number(c),
		.size = choose_number(c), .offset = choose_number(c), .memory = (uint32_t)choose_number(c),
	};

	ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_ALLOC, &args);
}

static void memory_new(struct world *world, struct choices *c)
{
	struct emugpu_memory_new args = { .size = (1 + choose(c, 4)) * EMUGPU_BLOCK_SIZE };

	if (!ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_MEMORY, &args))
		world_put_key(world, c, (struct key){ .id = args.out_memory });
}

static void context_new(struct world *world, struct choices *c)
{
	struct emugpu_context_new args = { .gpu = 0 };

	if (!ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_CONTEXT, &args))
		world_put_key(world, c, (struct key){ args.out_context, args.out_va_space, args.out_p2p_token });
}

static void drop(struct world *world, struct choices *c)
{
	struct emugpu_drop args = { .id = world_key(world, c).id };

	ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_DROP, &args);
}

static void export(struct world *world, struct choices *c)
{
	struct range memory = choose_memory(world, c);
	struct emugpu_export args = { .va = memory.at & ~4095ull, .size = memory.size & ~4095ull };

	if (!ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_EXPORT, &args))
		world_put_fd(world, FD_DMABUF, c, args.out_fd);
}

static void copy(struct world *world, struct choices *c)
{
	struct range dst = choose_memory(world, c), src = choose_memory(world, c);
	struct emugpu_copy args = {
		.kind = (uint32_t)choose(c, 5), .dst = dst.at, .src = src.at,
		.length = choose_rarely(c, 8) ? dst.size : dst.size % (64 * KIB),
	};

	args.elem = args.kind == EMUGPU_FILL ? 1u << choose(c, 4) : 0;
	ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_COPY, &args);
}

static void info(struct world *world, struct choices *c)
{
	struct emugpu_info args = { .gpu = (uint32_t)choose(c, GPUS) };

	ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_INFO, &args);
}

static void test(struct world *world, struct choices *c, struct emugpu_test *args)
{
	args->gpu = choose_rarely(c, 4) ? (uint32_t)choose(c, GPUS) : 0;
	ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_TEST, args);
}

/* Revoke memory without a free. */
static void take_away(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_REVOKE, .revoke.va = world_range(world, RANGE_BLOCK, c).at };

	if (choose_rarely(c, 8))
		args = (struct emugpu_test){ .op = EMUGPU_TEST_REVOKE_ALL };
	test(world, c, &args);
}

static void fail_nth(struct world *world, struct choices *c)
{
	static const int errors[] = { -ENOMEM, -EINVAL, -EIO, -EINTR };
	struct emugpu_test args = { .op = EMUGPU_TEST_FAIL, .fail = {
		.nth = (uint32_t)choose(c, 8), .error = errors[choose(c, 4)], .call = (uint32_t)choose(c, 2),
	} };

	test(world, c, &args);
}

static void revoke_at(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_PLAN, .plan = {
		.nth = (uint32_t)choose(c, 16), .action = (uint32_t)choose(c, 3),
	} };

	test(world, c, &args);
}

static void change_gpu(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_SCATTER, .scatter.on = (uint32_t)choose(c, 2) };

	if (choose_rarely(c, 2))
		args = (struct emugpu_test){ .op = EMUGPU_TEST_DELAY_CALLBACK, .delay = { (uint32_t)choose(c, 4), 1 } };
	test(world, c, &args);
}

/* Limit the free space of BAR1 to a few pins, or restore all of BAR1. */
static void change_bar1(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_BAR1_FREE, .bar1_free.bytes = ~0ull };

	if (choose_rarely(c, 4))
		args.bar1_free.bytes = choose(c, 64) * 2 * EMUGPU_PAGE_SIZE;
	test(world, c, &args);
}

/* Operations that change nothing. */
static void ask(struct world *world, struct choices *c)
{
	static struct emugpu_event events[8];
	char bytes[512];
	struct emugpu_test asked[] = {
		{ .op = EMUGPU_TEST_COUNTS },
		{ .op = EMUGPU_TEST_TRANSLATE, .translate.va = choose_memory(world, c).at },
		{ .op = EMUGPU_TEST_PEEK, .peek = {
			.vram_page = choose(c, 1 << 12), .buf = (uintptr_t)bytes, .offset = (uint32_t)choose(c, 1 << 16),
			.length = (uint32_t)choose(c, sizeof(bytes) + 1),
		} },
		{ .op = EMUGPU_TEST_VIOLATIONS, .violations.rule = (uint32_t)choose(c, EMUGPU_RULES + 1) },
		{ .op = EMUGPU_TEST_EVENTS, .events = { .buf = (uintptr_t)events, .max = (uint32_t)choose(c, 9) } },
	};

	test(world, c, &asked[choose(c, sizeof(asked) / sizeof(*asked))]);
}

static void change_window(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_CPU_WINDOW, .cpu_window.mapped = !choose_rarely(c, 4) };

	test(world, c, &args);
}

/* Guard revoked pages for a moment, or hide pinned memory. */
static void watch_memory(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_GUARD, .guard.ms = (uint32_t)choose(c, 3),
				    .guard.mapped = (uint32_t)choose(c, 2) };

	if (choose_rarely(c, 2))
		args = (struct emugpu_test){ .op = EMUGPU_TEST_STASH, .stash.on = (uint32_t)choose(c, 2) };
	test(world, c, &args);
}

/* Map GPU memory for the CPU. Works for an integrated GPU only. */
static void map_block(struct world *world, struct choices *c)
{
	struct range block = world_range(world, RANGE_BLOCK, c);
	int fd = world_fd(world, FD_GPU, c);
	void *at = mmap(NULL, block.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)block.at);

	memory_keep(world, c, RANGE_VIEW, at, block.size);
}

static void test_junk(struct world *world, struct choices *c)
{
	struct emugpu_test args = { .op = 256 | (uint32_t)choose_number(c), .gpu = (uint32_t)choose_number(c) };

	ioctl(world_fd(world, FD_GPU, c), EMUGPU_IOC_TEST, &args);
}

const struct call gpu_calls[] = {
	{ 6, open_gpu },
	{ 30, alloc },
	{ 16, free_block },
	{ 2, alloc_junk },
	{ 3, memory_new },
	{ 3, context_new },
	{ 3, drop },
	{ 8, export },
	{ 8, copy },
	{ 1, info },
	{ 4, take_away },
	{ 1, fail_nth },
	{ 1, revoke_at },
	{ 1, change_gpu },
	{ 1, change_bar1 },
	{ 3, ask },
	{ 1, change_window },
	{ 1, watch_memory },
	{ 8, map_block },
	{ 1, test_junk },
	{ 0, NULL },
};
