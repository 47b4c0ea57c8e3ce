/* SPDX-License-Identifier: MIT */
/*
 * A constructor of a library calls a function that looks for a library itself. Link the test with -rdynamic:
 * fake_plugin.c calls plugin_is_loading().
 */
#ifndef LOADING_H
#define LOADING_H

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>
#include "test/unit/unit.h"

static void (*loading_call)(void);	/* the tested function */
static sem_t loading;

void plugin_is_loading(void);

/* This thread holds the dynamic loader's lock, and the other thread waits for the lock. */
void plugin_is_loading(void)
{
	const struct timespec settle = { .tv_nsec = 100000000 };

	sem_post(&loading);
	nanosleep(&settle, NULL);
	loading_call();
}

static void *call_meanwhile(void *arg)
{
	sem_wait(&loading);
	loading_call();
	return arg;
}

/* Two threads call @call: a constructor in dlopen(), and another. If they wait for each other, the alarm ends the test. */
static void load_plugin(void (*call)(void))
{
	pthread_t other;
	void *plugin;

	loading_call = call;
	sem_init(&loading, 0, 0);
	pthread_create(&other, NULL, call_meanwhile, NULL);
	alarm(10);
	plugin = dlopen(BUILD "/bin/test/fake/plugin.so", RTLD_NOW | RTLD_LOCAL);
	assert_non_null(plugin);
	pthread_join(other, NULL);
	alarm(0);
	dlclose(plugin);
	sem_destroy(&loading);
}

#endif
