// SPDX-License-Identifier: MIT
/* cuInit() of the emulated CUDA while other threads fork, or while the calling thread is cancelled. */
#include "test/unit/unit.h"

#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/cuda/context/init.c"

enum { CHILD_S = 5 };	/* a child that takes longer hangs */

static sem_t opening, go_on;

/* Wait for @go_on in cuInit(). Like open(), sem_wait() is a cancellation point. */
CUresult node_open(void)
{
	sem_post(&opening);
	sem_wait(&go_on);
	return CUDA_SUCCESS;
}

void node_close(void)
{
}

CUresult device_probe(void)
{
	return CUDA_SUCCESS;
}

CUresult space_reserve(void)
{
	return CUDA_SUCCESS;
}

void ctx_setup(void)
{
}

void engine_setup(void)
{
}

bool engine_calls_host(void)
{
	return false;
}

/* Reset the library to its state before cuInit(). */
static int setup(void **unused)
{
	(void)unused;
	atomic_store(&state, NEW);
	sem_init(&opening, 0, 0);
	sem_init(&go_on, 0, 0);
	return 0;
}

static void *init(void *result)
{
	*(CUresult *)result = cuInit(0);
	pthread_testcancel();
	return NULL;
}

static pthread_t start_init(CUresult *result)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, init, result), 0);
	sem_wait(&opening);
	return thread;
}

static void *let_go(void *unused)
{
	(void)unused;
	usleep(50000);
	sem_post(&go_on);
	return NULL;
}

/* Result of cuInit() in a child; -1: it hangs */
static int init_in_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(CHILD_S);
		_exit(cuInit(0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_fork_waits_for_init(void **unused)
{
	CUresult result = CUDA_ERROR_UNKNOWN;
	pthread_t thread = start_init(&result), timer;

	(void)unused;
	assert_int_equal(pthread_create(&timer, NULL, let_go, NULL), 0);
	assert_int_equal(init_in_child(), CUDA_ERROR_NOT_INITIALIZED);
	pthread_join(timer, NULL);
	pthread_join(thread, NULL);
	assert_int_equal(result, CUDA_SUCCESS);
	assert_int_equal(lib_ready(), CUDA_SUCCESS);
}

static void test_child_may_init_before_parent(void **unused)
{
	(void)unused;
	sem_post(&go_on);
	assert_int_equal(init_in_child(), CUDA_SUCCESS);
	assert_int_equal(lib_ready(), CUDA_ERROR_NOT_INITIALIZED);
}

static void test_cancelled_init_releases_the_lock(void **unused)
{
	CUresult result = CUDA_ERROR_UNKNOWN;
	pthread_t thread = start_init(&result);
	void *end;

	(void)unused;
	assert_int_equal(pthread_cancel(thread), 0);
	sem_post(&go_on);
	pthread_join(thread, &end);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_int_equal(result, CUDA_SUCCESS);
	assert_int_equal(pthread_mutex_trylock(&init_mutex), 0);
	pthread_mutex_unlock(&init_mutex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_fork_waits_for_init, setup),
		cmocka_unit_test_setup(test_child_may_init_before_parent, setup),
		cmocka_unit_test_setup(test_cancelled_init_releases_the_lock, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
