// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "action.h"
#include "ask.h"
#include "foreign.h"
#include "gpu.h"
#include "mapping.h"
#include "node.h"
#include "process.h"

enum {
	OUTLIVE_MS = 200,
	INHERIT_MS = 1000,
	SPIN_USEC = 2000,	/* nanosleep() may return this late, so busy-wait for the last part of a delay */
};

static void fired(struct share *share)
{
	__atomic_store_n(&share->fired, 1, __ATOMIC_RELEASE);
}

/* Sets @fired even if no memory was pinned: the action may still make the test fail. */
static void fired_at_pins(struct share *share, bool pinned)
{
	share->missed = !pinned;
	fired(share);
}

/* Call before memory is revoked. */
static void note_mappings(struct share *share)
{
	share->mapped = mapping_has_tested();
}

static void take_memory(struct share *share)
{
	int gpu = gpu_open();
	uint64_t before;
	bool told;

	if (gpu < 0)
		return;
	note_mappings(share);
	if (!gpu_callbacks(gpu, &before) && !gpu_revoke(gpu, false, before, &told))
		fired_at_pins(share, told);
	gpu_close(gpu);
}

static void end_by_signal(struct share *share)
{
	fired_at_pins(share, gpu_has_pins());
	kill(getpid(), SIGKILL);
}

static void leave(struct share *share)
{
	fired_at_pins(share, gpu_has_pins());
	_exit(0);
}

/* The child inherits all files and mappings. The child exits after the test, and so closes the files last. */
static void fork_and_hold(struct share *share)
{
	pid_t parent = getpid(), pid = process_fork();
	int ms;

	if (pid > 0)
		fired(share);
	if (pid)
		return;
	while (getppid() == parent)
		process_nap();
	for (ms = 0; ms < OUTLIVE_MS; ms++)
		process_nap();
	_exit(0);
}

static void repeat_in_child(struct share *share, const struct call *call)
{
	pid_t pid = process_fork();

	if (!pid) {
		call_do(call);
		_exit(0);
	}
	if (pid > 0)
		fired(share);
	process_wait(pid, INHERIT_MS);
}

static void close_now(int fd)
{
	syscall(SYS_close, fd);
}

/* Closes the GPU files first: the GPU memory is freed while it is pinned. Then closes the driver's file. */
static void close_in_wrong_order(struct share *share, const struct call *call)
{
	note_mappings(share);
	fired_at_pins(share, gpu_has_pins());
	node_each(NODE_GPU, close_now);
	close_now(call->fd);
	_exit(0);
}

static bool driver_is_open;

static void check_open(int fd)
{
	driver_is_open |= node_of_driver(fd, ask_share());
}

static bool has_driver_open(void)
{
	driver_is_open = false;
	node_each(NODE_DRIVER, check_open);
	return driver_is_open;
}

/* Does nothing if the test has no file of the driver under test open: then removing the driver is no misuse. */
static void remove_module(struct share *share)
{
	if (!has_driver_open())
		return;
	fired(share);
	ask_guest(SHARE_ASK_RMMOD);
}

static void unbind(struct share *share)
{
	fired(share);
	ask_guest(SHARE_ASK_UNBIND);
	share->missed = __atomic_load_n(&share->answered, __ATOMIC_ACQUIRE) == SHARE_NOT_DONE;
}

static void unmap_now(void *at, size_t length)
{
	syscall(SYS_munmap, at, length);
}

static void close_if_of_driver(int fd)
{
	if (node_of_driver(fd, ask_share()))
		close_now(fd);
}

/* Only while the process lives do pins show that the driver keeps after the last close: the memory is still allocated. */
static void close_and_look(struct share *share)
{
	if (!has_driver_open())
		return;
	fired_at_pins(share, gpu_has_pins());
	mapping_each(unmap_now);
	node_each(NODE_DRIVER, close_if_of_driver);
	ask_guest(SHARE_ASK_CLOSED);
	_exit(0);
}

static void duplicate_and_close(int fd)
{
	if (node_of_driver(fd, ask_share()))
		close_now(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

/* Closes only duplicates, so that the test's own files stay open. The kernel calls flush() of the driver, not release(). */
static void close_duplicates(struct share *share)
{
	if (!has_driver_open())
		return;
	node_each(NODE_DRIVER, duplicate_and_close);
	fired(share);
}

void action_before(struct share *share, const struct call *call)
{
	int error = errno;

	switch (share->action) {
	case SHARE_REVOKE:
		take_memory(share);
		break;
	case SHARE_KILL:
		end_by_signal(share);
		break;
	case SHARE_FORK:
		fork_and_hold(share);
		break;
	case SHARE_FOREIGN:
		foreign_try(share);
		break;
	case SHARE_INHERIT:
		repeat_in_child(share, call);
		break;
	case SHARE_EXIT:
		leave(share);
		break;
	case SHARE_LATE_CLOSE:
		close_in_wrong_order(share, call);
		break;
	case SHARE_RMMOD:
		remove_module(share);
		break;
	case SHARE_UNBIND:
		unbind(share);
		break;
	case SHARE_CLOSE:
		close_and_look(share);
		break;
	case SHARE_DUP:
		close_duplicates(share);
		break;
	}
	errno = error;
}

/* ---- SHARE_DURING: revoke while the call runs ---------------------------------- */

struct during {
	struct share *share;
	uint32_t usec;
	int gpu;
	int ready;	/* atomic; the revoking thread runs */
	int go;		/* atomic; the call begins now */
	int ret;
	bool told;
};

static long usec_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000000 + (now.tv_nsec - start->tv_nsec) / 1000;
}

static void wait_usec(long usec)
{
	long sleep = usec - SPIN_USEC;
	struct timespec start, nap = { .tv_sec = sleep / 1000000, .tv_nsec = sleep % 1000000 * 1000 };

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (sleep > 0)
		nanosleep(&nap, NULL);
	while (usec_since(&start) < usec)
		;
}

static void *revoke_later(void *arg)
{
	struct during *during = arg;
	uint64_t before;
	int ret = gpu_callbacks(during->gpu, &before);

	__atomic_store_n(&during->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&during->go, __ATOMIC_ACQUIRE))
		sched_yield();
	wait_usec(during->usec);
	note_mappings(during->share);
	during->ret = ret ? ret : gpu_revoke(during->gpu, during->usec % 2, before, &during->told);
	return NULL;
}

/* The new thread blocks all signals: only threads of the test may handle signals. */
static int start_thread(pthread_t *thread, struct during *during)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(thread, NULL, revoke_later, during);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

/* The call begins only after the revoking thread runs on a processor. */
static long call_beside(struct during *during, const struct call *call)
{
	pthread_t thread;
	int error;
	long ret;

	during->ret = -start_thread(&thread, during);
	if (during->ret)
		return call_do(call);
	while (!__atomic_load_n(&during->ready, __ATOMIC_ACQUIRE))
		sched_yield();
	__atomic_store_n(&during->go, 1, __ATOMIC_RELEASE);
	ret = call_do(call);
	error = errno;
	pthread_join(thread, NULL);
	errno = error;
	return ret;
}

long action_during(struct share *share, const struct call *call)
{
	struct during during = { .share = share, .usec = share->usec, .gpu = gpu_open() };
	long ret;
	int error;

	if (during.gpu < 0)
		return call_do(call);
	ret = call_beside(&during, call);
	error = errno;
	gpu_close(during.gpu);
	if (!during.ret)
		fired_at_pins(share, during.told);
	errno = error;
	return ret;
}
