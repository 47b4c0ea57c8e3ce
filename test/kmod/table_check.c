// SPDX-License-Identifier: GPL-2.0
/*
 * Checks tables, cookies, epochs and reference counts at limits that no region reaches. The checks run when the
 * module is loaded. If a check fails, loading fails, and the log names the check.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include "../../kmod/core/region/ref.c"
#include "../../kmod/core/region/table.c"
#include "../../kmod/core/region/cookie.c"
#include "../../kmod/core/region/epoch.c"

enum {
	LIMIT = 300,		/* an index in the second chunk */
	MANY = 5000,		/* more entries than four chunks */
	THREADS = 4,
	THREAD_ROUNDS = 20000,
	THREAD_ENTRIES = 64,
	WALKED = 1000,
	PIN_WORDS = 2 * 4,	/* two words for each of four providers: a pin asks at most four */
};

/* True: the running check has failed. Only the first failure is logged. */
static bool wrong;

#define CHECK(condition, format, ...) \
	do { \
		if (!(condition) && !wrong) { \
			wrong = true; \
			pr_err("table_check: not ok %s:%d: %s: " format "\n", __func__, __LINE__, #condition, \
			       ##__VA_ARGS__); \
		} \
	} while (0)

/* Functions of region.c that the tables call */
void pp_region_get(struct peerpin_region *r)
{
	pp_ref_get(&r->ref);
}

bool pp_region_tryget(struct peerpin_region *r)
{
	return pp_ref_tryget(&r->ref);
}

static struct peerpin_region *regions;	/* array of MANY regions */
static atomic_t released;

static void count_release(struct pp_ref *ref)
{
	atomic_inc(&released);
}

static unsigned int refs(unsigned int i)
{
	return refcount_read(&regions[i].ref.few);
}

/* ---- tables -------------------------------------------------------------------- */

static void check_reuse(struct pp_table *t)
{
	u32 a, b, c, turn;

	CHECK(!pp_table_take(t, &regions[0], &a, &turn) && a == 0 && turn == 0, "%u %u", a, turn);
	CHECK(!pp_table_take(t, &regions[1], &b, NULL) && b == 1, "%u", b);
	pp_table_give(t, a);
	pp_table_give(t, b);
	CHECK(!pp_table_take(t, &regions[1], &c, &turn) && c == b && turn == 1, "%u %u", c, turn);
	CHECK(!pp_table_take(t, &regions[0], &c, &turn) && c == a && turn == 1, "%u %u", c, turn);
	CHECK(!pp_table_take(t, NULL, &c, &turn) && c == 2 && turn == 0, "%u %u", c, turn);
}

static void check_limit(struct pp_table *t)
{
	u32 i, index;

	for (i = 0; i < LIMIT; i++)
		CHECK(!pp_table_take(t, &regions[i], &index, NULL) && index == i, "%u: %u", i, index);
	CHECK(pp_table_take(t, &regions[0], &index, NULL) == -ENOSPC, "");
	pp_table_give(t, 17);
	CHECK(!pp_table_take(t, &regions[0], &index, NULL) && index == 17, "%u", index);
	CHECK(pp_table_take(t, &regions[0], &index, NULL) == -ENOSPC, "");
}

/* Entries of different chunks must not overlap. */
static void check_growth(struct pp_table *t)
{
	u32 i, index;

	for (i = 0; i < MANY; i++)
		CHECK(!pp_table_take(t, &regions[i], &index, NULL) && index == i, "%u: %u", i, index);
	for (i = 0; i < MANY; i++)
		CHECK(pp_table_find(t, i, NULL) == &regions[i] && refs(i) == 2, "%u: %u", i, refs(i));
	CHECK(!pp_table_find(t, MANY, NULL) && !pp_table_find(t, U32_MAX, NULL), "found what never was");
}

/* The largest index is in the last chunk. */
static void check_chunks(struct pp_table *t)
{
	unsigned int chunk;

	for (chunk = 0; chunk < PP_TABLE_CHUNKS; chunk++) {
		u32 first = table_chunk_start(chunk);

		CHECK(table_chunk(first) == chunk, "%u: %u", first, chunk);
		CHECK(table_chunk(first + (PP_TABLE_FIRST << chunk) - 1) == chunk, "%u: %u", first, chunk);
	}
	CHECK(table_chunk(PP_TABLE_MAX - 1) == PP_TABLE_CHUNKS - 1, "%u", PP_TABLE_MAX);
	CHECK(PP_TABLE_MAX <= BIT(INDEX_BITS), "an index does not fit into a cookie");
}

static void check_take_out(struct pp_table *t)
{
	u32 index, other, turn;

	CHECK(!pp_table_take(t, NULL, &index, &turn), "");
	CHECK(!pp_table_find(t, index, NULL) && !pp_table_glance(t, index), "found before it was put");
	pp_table_put(t, index, &regions[3]);
	CHECK(pp_table_find(t, index, &turn) == &regions[3] && refs(3) == 2, "%u", refs(3));
	CHECK(pp_table_glance(t, index) == &regions[3] && refs(3) == 3, "%u", refs(3));
	CHECK(pp_table_take_out(t, index) == &regions[3] && refs(3) == 3, "%u", refs(3));
	CHECK(!pp_table_take_out(t, index) && !pp_table_find(t, index, &turn) && !pp_table_glance(t, index), "twice");
	CHECK(!pp_table_take_out(t, index + 1), "what never was");
	CHECK(!pp_table_take(t, &regions[4], &other, NULL) && other != index, "a taken entry was taken");
}

static void check_turns(struct pp_table *t)
{
	u32 index, again, turn, later;

	CHECK(!pp_table_take(t, &regions[0], &index, &turn), "");
	CHECK(pp_table_find(t, index, &turn) == &regions[0], "");
	pp_table_give(t, index);
	CHECK(!pp_table_find(t, index, &turn), "found though given up");
	CHECK(!pp_table_take(t, &regions[1], &again, &later) && again == index && later == turn + 1, "%u", later);
	CHECK(!pp_table_find(t, index, &turn) && refs(1) == 1, "a later turn was found by an earlier one");
	CHECK(pp_table_find(t, index, &later) == &regions[1], "");
	later++;
	CHECK(!pp_table_find(t, index, &later), "found by a turn to come");
}

/* ---- reference counts --------------------------------------------------------------- */

/* References from before and after the count is spread, dropped before and after it is gathered */
static void check_ref(struct pp_table *t)
{
	struct pp_ref *ref = &regions[0].ref;

	pp_ref_get(ref);
	pp_ref_spread(ref);
	CHECK(ref->spread && !pp_ref_is_one(ref), "not spread");
	pp_ref_get(ref);
	pp_ref_put(ref);
	pp_ref_put(ref);
	CHECK(pp_ref_tryget(ref), "no reference though it has one");
	pp_ref_gather(ref);
	pp_ref_gather(ref);
	CHECK(!pp_ref_tryget(ref), "a gathered count");
	pp_ref_put(ref);
	rcu_barrier();
	CHECK(!atomic_read(&released), "released though it has a reference");
	pp_ref_get(ref);
	pp_ref_put(ref);
	CHECK(!atomic_read(&released), "released though it has a reference");
	pp_ref_put(ref);
	CHECK(atomic_read(&released) == 1, "%d", atomic_read(&released));
	CHECK(!pp_ref_tryget(ref), "a reference of a released object");
}

static void check_ref_dropped_early(struct pp_table *t)
{
	struct pp_ref *ref = &regions[0].ref;

	pp_ref_spread(ref);
	pp_ref_gather(ref);
	pp_ref_put(ref);
	rcu_barrier();
	CHECK(atomic_read(&released) == 1, "%d", atomic_read(&released));
}

/* ---- several threads -------------------------------------------------------------- */

/* State of an entry. Only the thread that sets @owner may write @turns. */
static struct owned {
	atomic_t owner;
	u32 turns;
} owned[THREADS * THREAD_ENTRIES];

struct worker {
	struct pp_table *table;
	unsigned int id;
	u32 held[THREAD_ENTRIES];
	unsigned int count;
	const char *wrong;
};

static const char *worker_take(struct worker *w)
{
	struct owned *o;
	u32 index, turn;

	if (pp_table_take(w->table, &regions[w->id], &index, &turn) || index >= ARRAY_SIZE(owned))
		return "not taken, or too high";
	o = &owned[index];
	if (atomic_cmpxchg(&o->owner, 0, w->id + 1))
		return "taken by two";
	if (o->turns++ != turn)
		return "a turn was left out or came twice";
	w->held[w->count++] = index;
	return NULL;
}

static const char *worker_give(struct worker *w)
{
	u32 index = w->held[--w->count];

	if (pp_table_find(w->table, index, NULL) != &regions[w->id])
		return "another's region";
	if (atomic_cmpxchg(&owned[index].owner, w->id + 1, 0) != w->id + 1)
		return "given by two";
	pp_table_give(w->table, index);
	return NULL;
}

static int worker_run(void *data)
{
	struct worker *w = data;
	unsigned int i;

	for (i = 0; i < THREAD_ROUNDS && !w->wrong; i++) {
		bool take = !w->count || (w->count < THREAD_ENTRIES && get_random_u8() & 1);

		w->wrong = take ? worker_take(w) : worker_give(w);
		cond_resched();
	}
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static void check_threads(struct pp_table *t)
{
	static struct worker workers[THREADS];
	struct task_struct *tasks[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .table = t, .id = i };
		tasks[i] = kthread_run(worker_run, &workers[i], "table_check/%u", i);
	}
	for (i = 0; i < THREADS; i++)
		if (!IS_ERR(tasks[i]))
			kthread_stop(tasks[i]);
	for (i = 0; i < THREADS; i++)
		CHECK(!IS_ERR(tasks[i]) && !workers[i].wrong, "thread %u: %s", i, workers[i].wrong);
	CHECK(t->ever <= THREADS * THREAD_ENTRIES, "%u were never used again", t->ever);
}

/* ---- cookies --------------------------------------------------------------------- */

static struct pp_table *shard_at(unsigned long cookie)
{
	return &shards[shard_of(cookie)];
}

static struct pp_table_entry *entry_at(unsigned long cookie)
{
	struct pp_table *t = shard_at(cookie);
	struct pp_table_entry *e;

	spin_lock(&t->lock);
	e = table_entry(t, index_of(cookie));
	spin_unlock(&t->lock);
	return e;
}

static void check_cookie(struct pp_table *unused)
{
	struct peerpin_region *r = &regions[0];
	unsigned long old;

	CHECK(!pp_cookie_insert(r) && pp_cookie_find(r->cookie) == r && refs(0) == 2, "%lx", r->cookie);
	old = r->cookie;
	pp_cookie_erase(r);
	CHECK(!pp_cookie_find(old), "%lx", old);
	CHECK(!pp_cookie_insert(&regions[1]) && regions[1].cookie != old, "%lx again", old);
	CHECK(!pp_cookie_find(old) && refs(1) == 1, "%lx finds another region", old);
	CHECK(!pp_cookie_find(~0ul) && !pp_cookie_find(0xf0000000), "what never was");
}

/* A slot serves its last turn, and is not used afterwards. */
static void check_last_turn(struct pp_table *unused)
{
	struct peerpin_region *r = &regions[0], *next = &regions[1];
	unsigned long first, last;

	CHECK(!pp_cookie_insert(r), "");
	first = r->cookie;
	pp_cookie_erase(r);
	entry_at(first)->turn = U32_MAX;
	CHECK(!pp_cookie_insert(r), "");
	last = r->cookie;
	CHECK((u32)last == (u32)first && last >> PLACE_BITS == U32_MAX, "%lx after %lx", last, first);
	CHECK(pp_cookie_find(last) == r && !pp_cookie_find(first), "the last turn is not found");
	pp_cookie_erase(r);
	CHECK(!pp_cookie_find(last) && !pp_cookie_find(first), "found after its end");
	CHECK(!pp_cookie_insert(next) && (u32)next->cookie != (u32)last, "a place was used again: %lx", next->cookie);
	CHECK(!pp_cookie_find(last) && pp_cookie_find(next->cookie) == next, "");
}

static void check_last_turn_here(struct pp_table *unused)
{
	migrate_disable();	/* take all cookies from one CPU's table */
	check_last_turn(unused);
	migrate_enable();
}

static void check_walk(struct pp_table *unused)
{
	struct peerpin_region *r;
	unsigned int i, count = 0;
	u64 place = 0;

	for (i = 0; i < WALKED; i++)
		CHECK(!pp_cookie_insert(&regions[i]), "%u", i);
	for (i = 0; i < WALKED; i += 3)
		pp_cookie_erase(&regions[i]);
	while ((r = pp_cookie_next(&place)))
		count += r >= regions && r < regions + WALKED && (r - regions) % 3;
	CHECK(count == WALKED - DIV_ROUND_UP(WALKED, 3), "%u", count);
	for (i = 0; i < WALKED; i++)
		CHECK(refs(i) == (i % 3 ? 2 : 1), "region %u was seen %u times", i, refs(i) - 1);
	CHECK(!pp_cookie_next(&place), "more after the end");
}

/* ---- epochs ------------------------------------------------------------------------ */

static void check_epoch(struct pp_table *unused)
{
	u32 word = 0, epoch, last = 0;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		epoch = pp_epoch_begin(&word);
		CHECK(epoch == word && epoch & 1 && epoch > last, "%u after %u", epoch, last);
		pp_epoch_end(&word);
		CHECK(word == epoch + 1 && !pp_epoch_exhausted(&word), "%u", word);
		last = epoch;
	}
}

/* After a pin has passed pp_epoch_exhausted(), the word must not wrap, even if every provider is tried. */
static void check_epoch_end(struct pp_table *unused)
{
	u32 word = U32_MAX - 101, before;
	unsigned int i, pinned = 0;

	while (!pp_epoch_exhausted(&word) && !wrong) {
		for (i = 0; i < PIN_WORDS / 2; i++) {
			before = word;
			CHECK(pp_epoch_begin(&word) > before, "wrapped after %u", before);
			pp_epoch_end(&word);
			CHECK(word > before, "wrapped after %u", before);
		}
		pinned++;
	}
	CHECK(pinned > 5, "retired too early: %u", pinned);
	before = 0;
	CHECK(!pp_epoch_exhausted(&before), "a new word");
	before = U32_MAX - 1;
	CHECK(pp_epoch_exhausted(&before), "the last word");
}

static void epoch_words(struct pp_epochs *e)
{
	u32 *first = pp_epoch_word(e, 0), *last = pp_epoch_word(e, PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES - 1), *other;

	CHECK(first && last && !*first && !*last, "no words");
	*first = 1;
	*last = 3;
	other = pp_epoch_word(e, WORDS_PER_PAGE);
	CHECK(other && !*other && other != first, "words of two pages are one");
	CHECK(pp_epoch_word(e, 1) == first + 1, "words of a page are apart");
	CHECK(pp_epoch_word(e, 0) == first && *first == 1 && *last == 3, "a word moved");
}

static void check_words(struct pp_table *unused)
{
	struct pp_epochs *e = kzalloc(sizeof(*e), GFP_KERNEL);

	CHECK(e, "no memory");
	if (!e)
		return;
	pp_epochs_init(e);
	epoch_words(e);
	pp_epochs_free(e);
	kfree(e);
}

/* -------------------------------------------------------------------------------------- */

static const struct check {
	const char *name;
	u32 limit;
	void (*run)(struct pp_table *t);
} checks[] = {
	{ "what_is_given_up_last_is_taken_first", LIMIT, check_reuse },
	{ "a_limit", LIMIT, check_limit },
	{ "growth_over_chunks", PP_TABLE_MAX, check_growth },
	{ "every_index_has_a_chunk", LIMIT, check_chunks },
	{ "take_out", LIMIT, check_take_out },
	{ "turns", LIMIT, check_turns },
	{ "threads", PP_TABLE_MAX, check_threads },
	{ "cookies", LIMIT, check_cookie },
	{ "the_last_turn_of_a_place", LIMIT, check_last_turn_here },
	{ "a_walk_sees_each_once", LIMIT, check_walk },
	{ "epochs", LIMIT, check_epoch },
	{ "the_last_epoch_of_a_word", LIMIT, check_epoch_end },
	{ "words_of_the_page", LIMIT, check_words },
	{ "a_spread_count_of_references", LIMIT, check_ref },
	{ "last_reference_dropped_before_gathering", LIMIT, check_ref_dropped_early },
};

/* Run one check with new tables and regions. */
static int check_run(const struct check *check, struct pp_table *t)
{
	unsigned int i;

	wrong = false;
	for (i = 0; i < MANY; i++)
		pp_ref_init(&regions[i].ref, count_release);
	atomic_set(&released, 0);
	memset(shards, 0, sizeof(shards));
	pp_cookie_init();
	*t = (struct pp_table){};
	pp_table_init(t, check->limit, GFP_KERNEL);
	check->run(t);
	pp_table_destroy(t);
	pp_cookie_exit();
	if (!wrong)
		pr_info("table_check: ok %s\n", check->name);
	return wrong ? -EINVAL : 0;
}

static int check_all(struct pp_table *t)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(checks) && !ret; i++)
		ret = check_run(&checks[i], t);
	return ret;
}

static int __init table_check_init(void)
{
	static struct pp_table table;
	int ret;

	regions = vcalloc(MANY, sizeof(*regions));
	if (!regions)
		return -ENOMEM;
	ret = check_all(&table);
	vfree(regions);
	return ret;
}

static void __exit table_check_exit(void)
{
}

module_init(table_check_init);
module_exit(table_check_exit);
MODULE_DESCRIPTION("peerpin test of tables, cookies and epochs");
MODULE_LICENSE("GPL");
