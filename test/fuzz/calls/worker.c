// SPDX-License-Identifier: MIT
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "calls.h"
#include "cover.h"
#include "random.h"
#include "worker.h"

enum {
	PROGRAMS = 64,	/* number of programs that a thread runs before its process ends */
	NOBODY = 65534,
};

struct thread {
	struct fuzz *fuzz;
	struct world *world;
	unsigned int number;	/* number of the thread among all threads of all workers */
	uint64_t seed;
	struct cover cover;
};

static void next_program(struct thread *thread, struct program *out)
{
	struct fuzz *fuzz = thread->fuzz;

	if (fuzz->replay)
		*out = fuzz->replay[thread->number];
	else
		corpus_next(&fuzz->corpus, out, &thread->seed);
	if (fuzz->keep >= 0)
		(void)!pwrite(fuzz->keep, out, sizeof(*out), (off_t)(thread->number * sizeof(*out)));
}

static void run_program(struct thread *thread)
{
	struct fuzz *fuzz = thread->fuzz;
	struct program program;
	struct choices c = { .program = &program };
	uint64_t made;

	next_program(thread, &program);
	cover_start(&thread->cover);
	made = calls_run(thread->world, &c);
	if (cover_is_new(&thread->cover, &fuzz->corpus))
		corpus_add(&fuzz->corpus, &program);
	__atomic_add_fetch(&fuzz->calls, made, __ATOMIC_RELAXED);
	__atomic_add_fetch(&fuzz->programs, 1, __ATOMIC_RELAXED);
}

static void *run_thread(void *arg)
{
	struct thread *thread = arg;
	int i;

	cover_begin(&thread->cover);
	for (i = 0; i < PROGRAMS; i++)
		run_program(thread);
	return NULL;
}

static void do_nothing(int signo)
{
	(void)signo;
}

/* A signal interrupts a call but has no other effect. */
static void set_signals(void)
{
	static const struct sigaction nothing = { .sa_handler = do_nothing };

	sigaction(SIGALRM, &nothing, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void become_ordinary(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(2);
}

static void run_threads(struct thread *threads, unsigned int nr)
{
	pthread_t ids[THREADS_MAX];
	unsigned int i, started = 0;

	for (i = 0; i < nr; i++)
		started += !pthread_create(&ids[started], NULL, run_thread, &threads[i]);
	for (i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}

void worker_run(struct fuzz *fuzz, unsigned int number, unsigned int life)
{
	static struct world world;
	struct thread threads[THREADS_MAX];
	uint64_t seed = fuzz->seed;
	unsigned int i, first = number * fuzz->threads;

	seed += random_next(&(uint64_t){ (uint64_t)life << 32 | number });
	set_signals();
	for (i = 0; i < fuzz->threads; i++) {
		threads[i] = (struct thread){ fuzz, &world, first + i, random_next(&seed), { 0 } };
		cover_open(&threads[i].cover);
	}
	if (number % 2)
		become_ordinary();
	/* Set this after the change of user, which clears the setting. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	world_init(&world, fuzz->friend);
	run_threads(threads, fuzz->threads);
	_exit(0);
}
