// SPDX-License-Identifier: MIT
/* The wait for a library's own thread at exit */
#include <stdbool.h>
#include <unistd.h>
#include "lib/sys/thread.h"
#include "test/unit/unit.h"

enum { HOUR_S = 3600, PATIENCE_S = 20 };

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

/* The time of day is set back by an hour after each reading. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	int ret = __real_clock_gettime(clock, out);

	if (clock == CLOCK_REALTIME)
		out->tv_sec += HOUR_S;
	return ret;
}

static void *stay(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void join_ends_though_clock_is_set_back(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pp_thread_make(&thread, "stays", stay), 0);
	alarm(PATIENCE_S);
	assert_false(pp_thread_join(thread));
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_ends_though_clock_is_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
