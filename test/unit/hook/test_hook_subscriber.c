// SPDX-License-Identifier: MIT
/* Subscribers of libpeerpin-hook: calls of a subscriber begin with pp_hook_add() and end with pp_hook_remove(). */
#include "hook_case.h"
#include "libpeerpin-hook.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test/unit/unit.h"

int cuMemFree_v2(uint64_t addr);
int cuCtxDestroy_v2(void *ctx);

enum {
	ADDR = 3 * ALLOCATION_SIZE,
	FREERS = 3,
	ROUNDS = 3000,
};

static char order[16];
static unsigned int length;

static void letter(void *arg, uint64_t addr, uint64_t size)
{
	(void)addr;
	(void)size;
	order[length++] = *(char *)arg;
	order[length] = '\0';
}

static const char *after_free(void)
{
	length = 0;
	order[0] = '\0';
	cuMemFree_v2(ADDR);
	return order;
}

static void subscribers_are_called_in_order(void **state)
{
	char a = 'a', b = 'b';

	(void)state;
	assert_int_equal(pp_hook_add(letter, &a), 0);
	assert_int_equal(pp_hook_add(letter, &b), 0);
	assert_int_equal(pp_hook_add(letter, &a), 0);
	assert_string_equal(after_free(), "aba");
	assert_int_equal(pp_hook_remove(letter, &a), 0);
	assert_string_equal(after_free(), "ba");
	assert_int_equal(pp_hook_remove(letter, &b), 0);
	assert_int_equal(pp_hook_remove(letter, &a), 0);
	assert_string_equal(after_free(), "");
}

static void bad_subscriptions_are_refused(void **state)
{
	char a = 'a';

	(void)state;
	assert_int_equal(pp_hook_add(NULL, &a), -EINVAL);
	assert_int_equal(pp_hook_remove(letter, &a), -ENOENT);
	assert_int_equal(pp_hook_add(letter, &a), 0);
	assert_int_equal(pp_hook_remove(letter, &length), -ENOENT);
	assert_int_equal(pp_hook_remove(letter, &a), 0);
	assert_int_equal(pp_hook_remove(letter, &a), -ENOENT);
}

static void change_errno(void *arg, uint64_t addr, uint64_t size)
{
	(void)arg;
	(void)addr;
	(void)size;
	errno = EDOM;
}

static void hook_preserves_errno(void **state)
{
	(void)state;
	assert_int_equal(pp_hook_add(change_errno, NULL), 0);
	errno = ERANGE;
	cuMemFree_v2(ADDR);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(pp_hook_remove(change_errno, NULL), 0);
}

/* ---- calls that a subscriber may make from its callback ---------------------------------------- */

static int from_inside;

static void remove_itself(void *arg, uint64_t addr, uint64_t size)
{
	letter(arg, addr, size);
	from_inside = pp_hook_remove(remove_itself, arg);
}

static void subscriber_may_remove_itself(void **state)
{
	char a = 'a', b = 'b';

	(void)state;
	assert_int_equal(pp_hook_add(remove_itself, &a), 0);
	assert_int_equal(pp_hook_add(letter, &b), 0);
	assert_string_equal(after_free(), "ab");
	assert_int_equal(from_inside, -EBUSY);
	assert_string_equal(after_free(), "b");
	assert_int_equal(pp_hook_remove(letter, &b), 0);
}

static void remove_next(void *arg, uint64_t addr, uint64_t size)
{
	letter((char *)arg, addr, size);
	from_inside = pp_hook_remove(letter, (char *)arg + 1);
}

static void subscriber_may_remove_another(void **state)
{
	char letters[] = "abc";

	(void)state;
	assert_int_equal(pp_hook_add(remove_next, &letters[0]), 0);
	assert_int_equal(pp_hook_add(letter, &letters[1]), 0);
	assert_int_equal(pp_hook_add(letter, &letters[2]), 0);
	assert_string_equal(after_free(), "ac");
	assert_int_equal(from_inside, 0);
	assert_int_equal(pp_hook_remove(remove_next, &letters[0]), 0);
	assert_int_equal(pp_hook_remove(letter, &letters[2]), 0);
}

static void free_more(void *arg, uint64_t addr, uint64_t size)
{
	letter(arg, addr, size);
	if (length < 3)
		cuCtxDestroy_v2(NULL);
}

static void subscriber_may_free(void **state)
{
	char a = 'a';

	(void)state;
	assert_int_equal(pp_hook_add(free_more, &a), 0);
	assert_string_equal(after_free(), "aaa");
	assert_int_equal(pp_hook_remove(free_more, &a), 0);
}

/* ---- threads ---------------------------------------------------------------------------- */

static sem_t called, go_on;
static atomic_bool returned;

static void stay(void *arg, uint64_t addr, uint64_t size)
{
	(void)arg;
	(void)addr;
	(void)size;
	sem_post(&called);
	sem_wait(&go_on);
	returned = true;
}

static void *free_one(void *arg)
{
	cuMemFree_v2(ADDR);
	return arg;
}

static void *let_go(void *arg)
{
	const struct timespec ts = { .tv_nsec = 50000000 };

	nanosleep(&ts, NULL);
	sem_post(&go_on);
	return arg;
}

static void remove_waits_for_running_calls(void **state)
{
	pthread_t freer, other;

	(void)state;
	sem_init(&called, 0, 0);
	sem_init(&go_on, 0, 0);
	assert_int_equal(pp_hook_add(stay, NULL), 0);
	pthread_create(&freer, NULL, free_one, NULL);
	sem_wait(&called);
	pthread_create(&other, NULL, let_go, NULL);
	assert_int_equal(pp_hook_remove(stay, NULL), 0);
	assert_true(returned);
	pthread_join(freer, NULL);
	pthread_join(other, NULL);
}

static void be_cancelled(void *arg, uint64_t addr, uint64_t size)
{
	(void)addr;
	(void)size;
	++*(unsigned int *)arg;
	pthread_testcancel();
}

static void *free_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	cuMemFree_v2(ADDR);
	return arg;
}

/* Callbacks must not be cancelled: the free would stay in progress for ever. */
static void callback_is_no_cancellation_point(void **state)
{
	unsigned int calls = 0;
	pthread_t freer;
	void *result;

	(void)state;
	alarm(60);
	assert_int_equal(pp_hook_add(be_cancelled, &calls), 0);
	pthread_create(&freer, NULL, free_cancelled, &calls);
	pthread_join(freer, &result);
	assert_int_equal(calls, 1);
	assert_int_equal(pp_hook_remove(be_cancelled, &calls), 0);
	assert_ptr_equal(result, &calls);
	assert_false(pp_hook_is_going(ADDR, 1));
	alarm(0);
}

static atomic_bool stop;
static atomic_uint dead_told, live_told;

static void is_alive(void *arg, uint64_t addr, uint64_t size)
{
	(void)addr;
	(void)size;
	if (*(atomic_bool *)arg)
		live_told++;
	else
		dead_told++;
}

static void *free_on(void *arg)
{
	while (!stop)
		cuMemFree_v2(ADDR);
	return arg;
}

/* Add and remove subscribers with an argument on the stack, which is reused at once. */
static void *come_and_go(void *arg)
{
	atomic_bool alive;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		alive = true;
		if (pp_hook_add(is_alive, &alive))
			dead_told++;
		if (i % 8 == 0)
			cuMemFree_v2(ADDR);
		if (pp_hook_remove(is_alive, &alive))
			dead_told++;
		alive = false;
	}
	return arg;
}

static void removed_subscriber_is_never_called(void **state)
{
	pthread_t freers[FREERS], others[2];

	(void)state;
	for (unsigned int i = 0; i < FREERS; i++)
		pthread_create(&freers[i], NULL, free_on, NULL);
	for (unsigned int i = 0; i < 2; i++)
		pthread_create(&others[i], NULL, come_and_go, NULL);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(others[i], NULL);
	stop = true;
	for (unsigned int i = 0; i < FREERS; i++)
		pthread_join(freers[i], NULL);
	assert_int_equal(dead_told, 0);
	/* Each thread frees in every eighth round. */
	assert_true(live_told >= 2 * ROUNDS / 8);
}

/* ---- children ----------------------------------------------------------------------------- */

static int status_of(pid_t child)
{
	int status = -1;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int in_child(void)
{
	char b = 'b';

	if (*after_free())
		return 1;
	if (pp_hook_add(letter, &b) || after_free()[0] != 'b' || order[1])
		return 2;
	return pp_hook_remove(letter, &b) ? 3 : 0;
}

static void child_starts_without_subscribers(void **state)
{
	char a = 'a';
	pid_t child;

	(void)state;
	assert_int_equal(pp_hook_add(letter, &a), 0);
	child = fork();
	if (!child)
		_exit(in_child());
	assert_int_equal(status_of(child), 0);
	assert_string_equal(after_free(), "a");
	assert_int_equal(pp_hook_remove(letter, &a), 0);
}

static pid_t forked = -1;

static void fork_inside(void *arg, uint64_t addr, uint64_t size)
{
	letter(arg, addr, size);
	forked = fork();
}

static void fork_in_callback_calls_no_more(void **state)
{
	char a = 'a', b = 'b';

	(void)state;
	assert_int_equal(pp_hook_add(fork_inside, &a), 0);
	assert_int_equal(pp_hook_add(letter, &b), 0);
	after_free();
	if (!forked)
		_exit(order[1] ? 1 : in_child());
	assert_int_equal(status_of(forked), 0);
	assert_string_equal(order, "ab");
	assert_int_equal(pp_hook_remove(fork_inside, &a), 0);
	assert_int_equal(pp_hook_remove(letter, &b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subscribers_are_called_in_order),
		cmocka_unit_test(bad_subscriptions_are_refused),
		cmocka_unit_test(hook_preserves_errno),
		cmocka_unit_test(subscriber_may_remove_itself),
		cmocka_unit_test(subscriber_may_remove_another),
		cmocka_unit_test(subscriber_may_free),
		cmocka_unit_test(remove_waits_for_running_calls),
		cmocka_unit_test(callback_is_no_cancellation_point),
		cmocka_unit_test(removed_subscriber_is_never_called),
		cmocka_unit_test(child_starts_without_subscribers),
		cmocka_unit_test(fork_in_callback_calls_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
