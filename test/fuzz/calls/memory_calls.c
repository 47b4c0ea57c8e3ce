// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "calls.h"

enum {
	PAGE = 4096,
	HUGE = 2 << 20,
	CHILD_US = 2000,
};

static void unmap(struct range range)
{
	if (range.size)
		munmap((void *)range.at, range.size);
}

void memory_keep(struct world *world, struct choices *c, enum range_kind kind, void *at, uint64_t size)
{
	if (at != MAP_FAILED)
		unmap(world_put_range(world, kind, c, (struct range){ (uintptr_t)at, size }));
}

static void map_host(struct world *world, struct choices *c)
{
	uint64_t size = choose_rarely(c, 3) ? 2 * HUGE : (1 + choose(c, 64)) * PAGE;
	bool shared = choose_rarely(c, 4), file = choose_rarely(c, 8);
	int prot = choose_rarely(c, 8) ? (int)choose(c, 4) : PROT_READ | PROT_WRITE;
	int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | (file ? 0 : MAP_ANONYMOUS);
	void *at = mmap(NULL, size, prot, flags, file ? world->memory : -1, 0);

	if (at != MAP_FAILED && size > HUGE)
		madvise(at, size, MADV_HUGEPAGE);
	memory_keep(world, c, RANGE_HOST, at, size);
}

/* Map the memory of a dma-buf. */
static void map_dmabuf(struct world *world, struct choices *c)
{
	uint64_t size = (1 + choose(c, 64)) * PAGE;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, world_fd(world, FD_DMABUF, c), 0);

	memory_keep(world, c, RANGE_VIEW, at, size);
}

static struct range mapped(struct world *world, struct choices *c)
{
	return world_range(world, choose_rarely(c, 2) ? RANGE_VIEW : RANGE_HOST, c);
}

/* Choose some pages of @whole, at least one. */
static struct range pages_of(struct range whole, struct choices *c)
{
	uint64_t pages = whole.size / PAGE, skip;

	if (pages < 2 || !choose_rarely(c, 2))
		return whole;
	skip = choose(c, pages);
	return (struct range){ whole.at + skip * PAGE, (1 + choose(c, pages - skip)) * PAGE };
}

static void unmap_some(struct world *world, struct choices *c)
{
	unmap(pages_of(mapped(world, c), c));
}

static void forget(struct world *world, struct choices *c)
{
	unmap(world_put_range(world, choose_rarely(c, 2) ? RANGE_VIEW : RANGE_HOST, c, (struct range){ 0 }));
}

static void protect(struct world *world, struct choices *c)
{
	struct range r = pages_of(mapped(world, c), c);

	mprotect((void *)r.at, r.size, (int)choose(c, 4));
}

static void advise(struct world *world, struct choices *c)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTFORK, MADV_DOFORK, MADV_PAGEOUT,
		MADV_WILLNEED,
	};
	struct range r = pages_of(mapped(world, c), c);

	madvise((void *)r.at, r.size, advice[choose(c, sizeof(advice) / sizeof(*advice))]);
}

static void move(struct world *world, struct choices *c)
{
	enum range_kind kind = choose_rarely(c, 2) ? RANGE_VIEW : RANGE_HOST;
	struct range r = world_put_range(world, kind, c, (struct range){ 0 });
	uint64_t size = choose_rarely(c, 2) ? (1 + choose(c, 64)) * PAGE : r.size;
	void *at = r.size ? mremap((void *)r.at, r.size, size, MREMAP_MAYMOVE) : MAP_FAILED;

	if (at == MAP_FAILED)
		unmap(r);
	memory_keep(world, c, kind, at, size);
}

/* Touch the memory by read() or write() of a file: missing memory gives an error, not a signal. */
static void touch(struct world *world, struct choices *c)
{
	struct range r = choose_memory(world, c);
	uint64_t size = r.size % (8 * PAGE);

	if (choose_rarely(c, 2))
		(void)!pwrite(world->memory, (void *)r.at, size, 0);
	else
		(void)!pread(world->memory, (void *)r.at, size, 0);
}

static void shrink_file(struct world *world, struct choices *c)
{
	(void)!ftruncate(world->memory, (off_t)choose(c, 2 * HUGE));
}

/* In a child: use the inherited objects, then exit or exec. */
static void be_child(struct world *world, struct choices *c)
{
	uint32_t end = c->at + 24;
	struct choices own = *c;
	struct program part = *c->program;
	int i;

	for (i = 0; i < CHILDREN; i++)
		world->children[i] = 0;
	if (part.length > end)
		part.length = end;
	own.program = &part;
	calls_run(world, &own);
	if (choose_rarely(c, 2))
		usleep(CHILD_US);
	if (choose_rarely(c, 8))
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static void fork_child(struct world *world, struct choices *c)
{
	pid_t child;

	pthread_mutex_lock(&world->lock);
	child = fork();
	if (!child)
		pthread_mutex_init(&world->lock, NULL);
	else
		pthread_mutex_unlock(&world->lock);
	if (!child)
		be_child(world, c);
	if (child > 0)
		world_put_child(world, c, child);
}

static void reap(struct world *world, struct choices *c)
{
	world_put_child(world, c, 0);
}

/* Start a timer whose signal interrupts calls that sleep. */
static void signal_soon(struct world *world, struct choices *c)
{
	struct itimerval timer = { .it_value.tv_usec = (suseconds_t)choose(c, 4096) };

	(void)world;
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void limit_memory(struct world *world, struct choices *c)
{
	struct rlimit limit = { choose(c, 256) << 14, RLIM_INFINITY };

	(void)world;
	setrlimit(RLIMIT_MEMLOCK, &limit);
}

const struct call memory_calls[] = {
	{ 24, map_host },
	{ 4, map_dmabuf },
	{ 10, unmap_some },
	{ 6, forget },
	{ 4, protect },
	{ 6, advise },
	{ 4, move },
	{ 10, touch },
	{ 2, shrink_file },
	{ 1, fork_child },
	{ 2, reap },
	{ 3, signal_soon },
	{ 1, limit_memory },
	{ 0, NULL },
};
