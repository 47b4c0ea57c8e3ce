// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include "bench/bench.h"
#include "team.h"

static struct {
	void (*job)(void *arg, unsigned int me);
	void *arg;
	sem_t begin;
	sem_t end;
	pthread_once_t once;
	cpu_set_t cpus;
} team = { .once = PTHREAD_ONCE_INIT };

static void *serve(void *unused)
{
	(void)unused;
	team_move_to(1);
	for (;;) {
		sem_wait(&team.begin);
		team.job(team.arg, 1);
		sem_post(&team.end);
	}
	return NULL;
}

static void gather(void)
{
	pthread_t second;

	sem_init(&team.begin, 0, 0);
	sem_init(&team.end, 0, 0);
	bench_need(!sched_getaffinity(0, sizeof(team.cpus), &team.cpus), "sched_getaffinity", errno);
	team_move_to(0);
	bench_need(!pthread_create(&second, NULL, serve, NULL), "pthread_create", EAGAIN);
}

unsigned int team_size(void)
{
	pthread_once(&team.once, gather);
	return CPU_COUNT(&team.cpus) < TEAM ? 1 : TEAM;
}

/* If the process has only one CPU, all members share it. */
void team_move_to(unsigned int member)
{
	unsigned int cpu, left = member % CPU_COUNT(&team.cpus);
	cpu_set_t one;

	for (cpu = 0; !CPU_ISSET(cpu, &team.cpus) || left--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

void team_start_second(void (*job)(void *arg, unsigned int me), void *arg)
{
	pthread_once(&team.once, gather);
	team.job = job;
	team.arg = arg;
	sem_post(&team.begin);
}

void team_wait_second(void)
{
	sem_wait(&team.end);
}

void team_run(unsigned int n, void (*job)(void *arg, unsigned int me), void *arg)
{
	pthread_once(&team.once, gather);
	if (n > 1)
		team_start_second(job, arg);
	job(arg, 0);
	if (n > 1)
		team_wait_second();
}

void team_meet(atomic_uint *count, unsigned int n)
{
	atomic_fetch_add(count, 1);
	while (atomic_load(count) < n)
		;
}
