// SPDX-License-Identifier: MIT
/*
 * A cache deregisters memory while a constructor of a library waits for that. A destructor can wait, too: if it unloads
 * a CUDA module, libpeerpin-hook tells the caches, which wait for deregistrations in progress.
 */
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include "test/unit/loading.h"

static struct ibv_mr *mr;
static int (*dereg_mr)(struct ibv_mr *mr);

static void deregister(void)
{
	dereg_mr(mr);
}

static void load_verbs(void)
{
	assert_non_null(dlopen(BUILD "/bin/test/fake/libibverbs.so.1", RTLD_NOW));
}

static void *load_ucm(void)
{
	void *ucm;

	assert_non_null(dlopen(BUILD "/lib/libpeerpin.so.1", RTLD_NOW));
	ucm = dlopen(BUILD "/lib/libpeerpin-ucm.so.1", RTLD_NOW);
	assert_non_null(ucm);
	*(void **)&dereg_mr = dlsym(ucm, "ibv_dereg_mr");
	return ucm;
}

/* By a function that the library does not replace. In a child, because the other case loads libibverbs later. */
static void deregistration_of_other_memory_does_not_wait(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		load_verbs();
		load_ucm();
		load_with(await_other_call, deregister);
		_exit(loading_waited ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void deregistration_does_not_wait_for_a_constructor(void **state)
{
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access);

	(void)state;
	*(void **)&reg_mr = dlsym(load_ucm(), "ibv_reg_mr");
	load_verbs();
	mr = reg_mr(NULL, NULL, 0, 0);
	assert_non_null(mr);
	load_plugin_meanwhile(deregister);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deregistration_of_other_memory_does_not_wait),
		cmocka_unit_test(deregistration_does_not_wait_for_a_constructor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
