// SPDX-License-Identifier: MIT
/*
 * 2 to 16 threads get and put regions. They also free memory and allocate it again at the same
 * address. Limits force evictions, processes fork, threads start and end. An entry must stay
 * registered until its put. Its owner must not be older than the owner at the start of the get.
 *
 *	test_cache_torture [SECONDS]	TEST_SEED=N gives each thread the same choices
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/check.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

enum {
	BLOCKS = 32,
	BLOCK_PAGES = 1024,
	PAGE = 4096,
	REGS = 4096,
	MAX_THREADS = 16,
	HANDED = 8,
	STEPS_PER_THREAD = 3000,
	MAX_ENTRIES = 24,
	MAX_PAGES = 12 * BLOCK_PAGES,
};

#define BASE 0x7000000000ull
#define STRIDE 0x40000000ull

/** struct reg - a registration; @serial is odd while the registration is pinned */
struct reg {
	uint64_t addr;
	uint64_t length;
	unsigned int block;
	uint32_t word;
	atomic_uint serial;
	struct reg *next;
};

struct worker {
	pthread_t thread;
	uint64_t rnd;
};

static struct pp_cache *cache;
static bool tells;		/* true: invalidate the cache before memory is freed */
static _Atomic uint32_t words[BLOCKS];	/* one word for each block; an even value means: allocated */
static struct reg regs[REGS];
static struct reg *free_regs;
static pthread_mutex_t regs_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_ulong pins, unpins, got, refused;
static _Atomic(const struct pp_cache_entry *) handed[HANDED];
static double seconds = 0.5;	/* duration of each case */
static unsigned long forks;
static uint64_t seed;

/* ---- memory ------------------------------------------------------------ */

static void *block_addr(unsigned int block)
{
	return (void *)(uintptr_t)(BASE + block * STRIDE);
}

static struct reg *take_reg(void)
{
	struct reg *r;

	pthread_mutex_lock(&regs_lock);
	r = free_regs;
	CHECK(r);
	free_regs = r->next;
	pthread_mutex_unlock(&regs_lock);
	return r;
}

static void give_reg(struct reg *r)
{
	pthread_mutex_lock(&regs_lock);
	r->next = free_regs;
	free_regs = r;
	pthread_mutex_unlock(&regs_lock);
}

static bool is_within_a_block(uint64_t addr, uint64_t length)
{
	return (addr - BASE) % STRIDE + length <= BLOCK_PAGES * PAGE;
}

static int pin(void *arg, uint64_t addr, uint64_t length, void **out, struct pp_why *why)
{
	unsigned int block = (addr - BASE) / STRIDE;
	uint32_t word = atomic_load(&words[block]);
	struct reg *r;

	(void)arg;
	(void)why;
	CHECK(is_within_a_block(addr, length));
	if (word & 1)
		return -EINVAL;
	if (word % 64 == 62)	/* the memory of some owners cannot be pinned */
		return -ENOMEM;
	r = take_reg();
	r->addr = addr;
	r->length = length;
	r->block = block;
	r->word = word;
	atomic_fetch_add(&r->serial, 1);
	atomic_fetch_add(&pins, 1);
	*out = r;
	return 0;
}

static void unpin(void *arg, void *reg)
{
	struct reg *r = reg;

	(void)arg;
	CHECK(atomic_fetch_add(&r->serial, 1) & 1);
	atomic_fetch_add(&unpins, 1);
	give_reg(r);
}

static const uint32_t *word_of(void *arg, void *reg, uint32_t *value)
{
	struct reg *r = reg;

	(void)arg;
	*value = r->word;
	return (const uint32_t *)&words[r->block];
}

static int valid(void *arg, void *reg)
{
	struct reg *r = reg;

	(void)arg;
	return r->word == atomic_load(&words[r->block]);
}

static int grow(void *arg, uint64_t *addr, uint64_t *length)
{
	(void)arg;
	*addr = BASE + (*addr - BASE) / STRIDE * STRIDE;
	*length = BLOCK_PAGES * PAGE;
	return 1;
}

/* A thread makes the word odd. It owns the block until the word is even again. */
static void free_and_give_out(unsigned int block)
{
	uint32_t word = atomic_load(&words[block]);

	if (word & 1 || !atomic_compare_exchange_strong(&words[block], &word, word + 1))
		return;
	if (tells)
		pp_cache_invalidate(cache, block_addr(block), BLOCK_PAGES * PAGE);
	atomic_fetch_add(&words[block], 1);
}

/* ---- threads ----------------------------------------------------------- */

static void check_error(int ret, unsigned int block, uint32_t before)
{
	bool stayed = !(before & 1) && atomic_load(&words[block]) == before;

	atomic_fetch_add(&refused, 1);
	if (before % 64 == 62 && ret == -ENOMEM)
		return;
	CHECK(!stayed);
	CHECK(ret == -EINVAL || ret == -ESTALE || ret == -ENOMEM);
}

static void check_entry(const struct pp_cache_entry *e, const void *addr, uint64_t length, uint32_t before)
{
	const struct reg *r = e->reg;

	CHECK(atomic_load(&r->serial) & 1);
	CHECK(r->addr == e->addr && r->length == e->length);
	CHECK(r->addr <= (uintptr_t)addr && (uintptr_t)addr + length <= r->addr + r->length);
	CHECK((int32_t)(r->word - before) >= 0);
}

static void put(const struct pp_cache_entry *e)
{
	const struct reg *r = e->reg;

	CHECK(atomic_load(&r->serial) & 1);
	pp_cache_put(cache, e);
}

/* Put the entry, or sometimes hand it to another thread, which puts it later. */
static void put_or_hand_on(struct worker *w, const struct pp_cache_entry *e)
{
	if (!random_below(&w->rnd, 16))
		e = atomic_exchange(&handed[random_below(&w->rnd, HANDED)], e);
	if (e)
		put(e);
}

static void hold(struct worker *w, const struct pp_cache_entry *e)
{
	const struct reg *r = e->reg;
	unsigned int serial = atomic_load(&r->serial);

	if (!random_below(&w->rnd, 8))
		sched_yield();
	CHECK(atomic_load(&r->serial) == serial);
}

/* Word of the block's owner. A block that is being freed counts as allocated until the cache is invalidated. */
static uint32_t word_now(unsigned int block)
{
	uint32_t word = atomic_load(&words[block]);

	return tells ? word & ~1u : word;
}

static void get_and_put(struct worker *w)
{
	unsigned int block = random_below(&w->rnd, BLOCKS);
	unsigned int first = random_below(&w->rnd, BLOCK_PAGES / 2);
	uint64_t length = 1 + random_below(&w->rnd, BLOCK_PAGES / 2 * PAGE);
	const char *addr = (const char *)block_addr(block) + first * PAGE;
	uint32_t before = word_now(block);
	const struct pp_cache_entry *e;
	int ret = pp_cache_get(cache, addr, length, &e, NULL);

	if (ret) {
		check_error(ret, block, before);
		return;
	}
	atomic_fetch_add_explicit(&got, 1, memory_order_relaxed);
	check_entry(e, addr, length, before);
	hold(w, e);
	put_or_hand_on(w, e);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; i < STEPS_PER_THREAD; i++) {
		unsigned int what = random_below(&w->rnd, 1000);

		if (what < 20)
			free_and_give_out(random_below(&w->rnd, BLOCKS));
		else if (what < 21)
			pp_cache_flush(cache);
		else
			get_and_put(w);
	}
	return NULL;
}

/* ---- processes --------------------------------------------------------- */

static int in_child(const struct pp_cache_entry *e)
{
	unsigned long before = atomic_load(&unpins);
	const struct pp_cache_entry *mine;

	if (pp_cache_get(cache, block_addr(0), PAGE, &mine, NULL) != -EACCES)
		return 2;
	if (e)
		pp_cache_put(cache, e);
	pp_cache_invalidate(cache, block_addr(0), BLOCKS * STRIDE);
	pp_cache_flush(cache);
	pp_cache_destroy(cache);
	return atomic_load(&unpins) == before ? 0 : 3;
}

/* The child puts an entry of the parent. The parent must keep its reference. */
static void fork_off(void)
{
	const struct pp_cache_entry *e = atomic_exchange(&handed[0], NULL);
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(in_child(e));
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	if (e)
		put(e);
	forks++;
}

/* ---- cases ------------------------------------------------------------- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void one_wave(unsigned int threads)
{
	struct worker w[MAX_THREADS];
	unsigned int i;

	for (i = 0; i < threads; i++) {
		w[i].rnd = random_next(&seed);
		CHECK(!pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	fork_off();
	for (i = 0; i < threads; i++)
		pthread_join(w[i].thread, NULL);
}

static void prepare(const struct pp_cache_ops *ops)
{
	const struct pp_cache_attr attr = { .max_bytes = MAX_PAGES * PAGE, .max_entries = MAX_ENTRIES };
	unsigned int i;

	free_regs = NULL;
	for (i = 0; i < REGS; i++)
		give_reg(&regs[i]);
	for (i = 0; i < BLOCKS; i++)
		atomic_store(&words[i], 2 * i);
	tells = !ops->word && !ops->valid;
	atomic_store(&pins, 0);
	atomic_store(&unpins, 0);
	forks = 0;
	atomic_store(&got, 0);
	atomic_store(&refused, 0);
	assert_int_equal(pp_cache_create(ops, NULL, &attr, &cache), 0);
}

static void put_handed(void)
{
	const struct pp_cache_entry *e;
	unsigned int i;

	for (i = 0; i < HANDED; i++) {
		e = atomic_exchange(&handed[i], NULL);
		if (e)
			put(e);
	}
}

static void check_end(void)
{
	struct pp_cache_stats s;

	pp_cache_stats(cache, &s);
	CHECK(s.entries <= MAX_ENTRIES && s.bytes <= MAX_PAGES * PAGE);
	CHECK(s.pins == atomic_load(&pins) && s.unpins == atomic_load(&unpins));
	CHECK(s.hits && s.evictions && (tells || s.revocations));
	printf("# %lu forks, %llu hits, %llu misses, %llu revocations, %llu evictions\n", forks,
	       (unsigned long long)s.hits, (unsigned long long)s.misses, (unsigned long long)s.revocations,
	       (unsigned long long)s.evictions);
	CHECK(atomic_load(&got) > 10 * atomic_load(&refused));
	pp_cache_flush(cache);
	pp_cache_stats(cache, &s);
	CHECK(!s.entries && !s.bytes);
	pp_cache_destroy(cache);
	CHECK(atomic_load(&pins) == atomic_load(&unpins));
}

static void run(const struct pp_cache_ops *ops, unsigned int threads)
{
	double end = now() + seconds;

	seed = random_seed();
	prepare(ops);
	do {
		one_wave(threads);
	} while (now() < end);
	put_handed();
	check_end();
}

static const struct pp_cache_ops by_word = { .pin = pin, .unpin = unpin, .word = word_of, .grow = grow };
static const struct pp_cache_ops by_call = { .pin = pin, .unpin = unpin, .valid = valid };
static const struct pp_cache_ops told = { .pin = pin, .unpin = unpin };

#define CASE(name, ops, threads)		\
	static void name(void **state)		\
	{					\
		(void)state;			\
		run(&(ops), threads);		\
	}

CASE(words_2_threads, by_word, 2)
CASE(words_4_threads, by_word, 4)
CASE(words_16_threads, by_word, 16)
CASE(calls_3_threads, by_call, 3)
CASE(invalidate_2_threads, told, 2)
CASE(invalidate_8_threads, told, 8)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_2_threads),
		cmocka_unit_test(words_4_threads),
		cmocka_unit_test(words_16_threads),
		cmocka_unit_test(calls_3_threads),
		cmocka_unit_test(invalidate_2_threads),
		cmocka_unit_test(invalidate_8_threads),
	};

	if (argc > 1)
		seconds = strtod(argv[1], NULL) / (sizeof(tests) / sizeof(tests[0]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
