// SPDX-License-Identifier: MIT
/*
 * Three threads. The writer misses and evicts without pause. A signal stops the writer: its handler returns only on
 * command. Meanwhile the reader makes hits, and the witness one miss. If the witness does not finish within WITNESS_NS,
 * the writer was stopped inside its critical section.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include "bench/bench.h"
#include "stall.h"
#include "team.h"

enum {
	HOT = 16,
	LIMIT = 1000,
	RANGES = 4 * LIMIT,
	WITNESSED = LIMIT,		/* number of ranges of the witness */
	BETWEEN = 64,			/* misses between uses of the hot ranges; these uses keep them cached */
	HITS = 2000,
	WITNESS_NS = 1000 * 1000,
	READER_NS = 300 * 1000 * 1000,	/* for HITS, which take some microseconds */
};

/* A thread that waits for a command, executes it and reports */
struct worker {
	pthread_t thread;
	sem_t begin;
	sem_t end;
};

static struct scene {
	const struct contender *c;
	void *cache;
	struct ranges hot;
	struct ranges cold;
	struct lookup lookups[HITS];
	struct worker reader;
	struct worker witness;
	pthread_t writer;
	atomic_bool over;
} scene;

/* Number of the present stop, from 1; 0: not stopped. A writer that wakes up in the next stop must see a change. */
static atomic_uint held;
static sem_t stopped;

static void hold(int signal)
{
	unsigned int by = atomic_load(&held);
	int error = errno;

	(void)signal;
	sem_post(&stopped);
	while (atomic_load(&held) == by)
		syscall(SYS_futex, &held, FUTEX_WAIT_PRIVATE, by, NULL, NULL, 0);
	errno = error;
}

static void let_go(void)
{
	atomic_store(&held, 0);
	syscall(SYS_futex, &held, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *write_on(void *unused)
{
	unsigned int i = 0;

	(void)unused;
	team_move_to(1);
	while (!atomic_load(&scene.over)) {
		scene.c->use(scene.cache, &scene.cold.at[WITNESSED + i++ % (RANGES - WITNESSED)], 1);
		if (i % BETWEEN == 0)
			scene.c->use(scene.cache, scene.hot.at, HOT);
	}
	return NULL;
}

static void *read_on(void *unused)
{
	(void)unused;
	team_move_to(0);
	for (;;) {
		sem_wait(&scene.reader.begin);
		if (atomic_load(&scene.over))
			return NULL;
		bench_need(scene.c->hits(scene.cache, scene.lookups, HITS) == HITS, scene.c->name, EIO);
		sem_post(&scene.reader.end);
	}
}

/* The witness uses its ranges in turn: a range that it used recently would be a hit. */
static void *witness_on(void *unused)
{
	unsigned int i = 0;

	(void)unused;
	team_move_to(1);
	for (;;) {
		sem_wait(&scene.witness.begin);
		if (atomic_load(&scene.over))
			return NULL;
		scene.c->use(scene.cache, &scene.cold.at[i++ % WITNESSED], 1);
		sem_post(&scene.witness.end);
	}
}

/* Wait for @sem, at most @ns */
static bool in_time(sem_t *sem, uint64_t ns)
{
	struct timespec until;
	int ret;

	clock_gettime(CLOCK_REALTIME, &until);
	ns += until.tv_nsec;
	until.tv_sec += ns / 1000000000;
	until.tv_nsec = ns % 1000000000;
	do {
		ret = sem_timedwait(sem, &until);
	} while (ret && errno == EINTR);
	return !ret;
}

static void stop_once(struct stall *s)
{
	bool done, witnessed;

	usleep(100 + random() % 200);
	atomic_store(&held, s->stops + 1);
	pthread_kill(scene.writer, SIGUSR1);
	sem_wait(&stopped);
	sem_post(&scene.reader.begin);
	sem_post(&scene.witness.begin);
	done = in_time(&scene.reader.end, READER_NS);
	witnessed = in_time(&scene.witness.end, WITNESS_NS);
	let_go();
	if (!done)
		sem_wait(&scene.reader.end);
	if (!witnessed)
		sem_wait(&scene.witness.end);
	s->stops++;
	s->inside += !witnessed;
	s->waited += !done;
	s->hits += done ? HITS : 0;
}

static void worker_start(struct worker *w, void *(*work)(void *unused))
{
	sem_init(&w->begin, 0, 0);
	sem_init(&w->end, 0, 0);
	bench_need(!pthread_create(&w->thread, NULL, work, NULL), "pthread_create", EAGAIN);
}

static void worker_join(struct worker *w)
{
	sem_post(&w->begin);
	pthread_join(w->thread, NULL);
}

static void set_scene(const struct contender *c)
{
	struct sigaction action = { .sa_handler = hold, .sa_flags = SA_RESTART };
	struct ranges all = ranges_dense(HOT + RANGES, ASKED);

	scene.c = c;
	scene.cache = c->make(all.count, LIMIT);
	scene.hot = (struct ranges){ all.at, HOT };
	scene.cold = (struct ranges){ all.at + HOT, RANGES };
	scene.over = false;
	ranges_look_up(&scene.hot, scene.lookups, HITS);
	c->use(scene.cache, scene.hot.at, HOT);
	sem_init(&stopped, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	worker_start(&scene.reader, read_on);
	worker_start(&scene.witness, witness_on);
	bench_need(!pthread_create(&scene.writer, NULL, write_on, NULL), "pthread_create", EAGAIN);
}

static void clear_scene(void)
{
	atomic_store(&scene.over, true);
	pthread_join(scene.writer, NULL);
	worker_join(&scene.reader);
	worker_join(&scene.witness);
	scene.c->drop(scene.cache);
	ranges_free(&scene.hot);
}

struct stall stall(const struct contender *c, unsigned int stops, unsigned int enough)
{
	struct stall s = { 0 };

	set_scene(c);
	while (s.stops < stops && s.waited < enough)
		stop_once(&s);
	clear_scene();
	printf("writer stopped: %s, %u times, %u inside its critical section; %lu hits, the reader waited %u times\n",
	       c->name, s.stops, s.inside, s.hits, s.waited);
	return s;
}
