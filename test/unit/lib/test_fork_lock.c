// SPDX-License-Identifier: MIT
/* A child of fork() calls a library while a thread of the parent holds the library's lock. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gdrapi.h"
#include "lib/ucm/ucm.h"
#include "libpeerpin-fi.h"
#include "test/unit/unit.h"

enum {
	PATIENCE_S = 10,
};

static __thread bool stops;	/* this thread stops when it has taken its next lock */
static bool has_stopped;
static sem_t there, may_go;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int ret = __real_pthread_mutex_lock(mutex);

	if (stops) {
		stops = false;
		has_stopped = true;
		sem_post(&there);
		sem_wait(&may_go);
	}
	return ret;
}

static void (*call)(void);

static void *call_and_stop(void *unused)
{
	stops = true;
	call();
	stops = false;
	sem_post(&there);
	return unused;
}

static int in_child(void)
{
	alarm(PATIENCE_S);
	call();
	return 0;
}

static void fork_beside_lock(void (*function)(void))
{
	pthread_t thread;
	int status;
	pid_t pid;

	call = function;
	has_stopped = false;
	sem_init(&there, 0, 0);
	sem_init(&may_go, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, call_and_stop, NULL), 0);
	sem_wait(&there);
	pid = fork();
	if (!pid)
		_exit(in_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	sem_post(&may_go);
	pthread_join(thread, NULL);
	assert_true(has_stopped);
	assert_int_equal(status, 0);
}

static void ask_ucm(void)
{
	pp_ucm_watches();
}

static void child_asks_for_ucx(void **state)
{
	(void)state;
	fork_beside_lock(ask_ucm);
}

static void import_fi(void)
{
	pp_fi_import();
}

static void child_imports_monitor(void **state)
{
	(void)state;
	fork_beside_lock(import_fi);
}

static void open_gdr(void)
{
	gdr_t g = gdr_open();

	if (g)
		gdr_close(g);
}

static void child_opens_gdrapi(void **state)
{
	(void)state;
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	fork_beside_lock(open_gdr);
}

/* The libraries take their locks only if they find these. */
static int load_fakes(void **state)
{
	(void)state;
	return !dlopen(BUILD "/bin/test/fake/libfabric.so.1", RTLD_NOW) ||
	       !dlopen(BUILD "/bin/test/fake/libucm.so.0", RTLD_NOW) || !dlopen(BUILD "/emu/libcuda.so.1", RTLD_NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_asks_for_ucx),
		cmocka_unit_test(child_imports_monitor),
		cmocka_unit_test(child_opens_gdrapi),
	};

	return cmocka_run_group_tests(tests, load_fakes, NULL);
}
