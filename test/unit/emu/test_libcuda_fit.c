// SPDX-License-Identifier: MIT
/* The allocator of the emulated CUDA's memory, which hands out runs of units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/cuda/memory/fit.c"

enum { UNITS = 256, STEPS = 20000 };

static void test_lowest_units_come_first(void **state)
{
	struct fit *fit = fit_new(UNITS);

	(void)state;
	assert_int_equal(fit_take(fit, 3), 0);
	assert_int_equal(fit_take(fit, 70), 3);
	assert_int_equal(fit_take(fit, 1), 73);
	fit_give(fit, 0, 3);
	assert_int_equal(fit_take(fit, 4), 74);
	assert_int_equal(fit_take(fit, 2), 0);
	assert_int_equal(fit_take(fit, 2), 78);
	assert_int_equal(fit_take(fit, 1), 2);
	fit_delete(fit);
}

static void test_same_size_reuses_same_place(void **state)
{
	struct fit *fit = fit_new(UNITS);

	(void)state;
	assert_int_equal(fit_take(fit, 10), 0);
	assert_int_equal(fit_take(fit, 100), 10);
	assert_int_equal(fit_take(fit, 10), 110);
	fit_give(fit, 10, 100);
	assert_int_equal(fit_take(fit, 100), 10);
	fit_delete(fit);
}

static void test_full_space_refuses(void **state)
{
	struct fit *fit = fit_new(UNITS);

	(void)state;
	assert_int_equal(fit_take(fit, 0), -1);
	assert_int_equal(fit_take(fit, UNITS + 1), -1);
	assert_int_equal(fit_take(fit, UNITS), 0);
	assert_int_equal(fit_take(fit, 1), -1);
	fit_give(fit, 100, 50);
	assert_int_equal(fit_take(fit, 51), -1);
	assert_int_equal(fit_take(fit, 50), 100);
	fit_delete(fit);
}

static void test_take_at_certain_place(void **state)
{
	struct fit *fit = fit_new(UNITS);

	(void)state;
	assert_true(fit_take_at(fit, 60, 10));
	assert_false(fit_take_at(fit, 60, 1));
	assert_false(fit_take_at(fit, 50, 11));
	assert_true(fit_take_at(fit, 50, 10));
	assert_false(fit_take_at(fit, 69, 2));
	assert_true(fit_take_at(fit, UNITS - 1, 1));
	assert_false(fit_take_at(fit, UNITS, 1));
	assert_false(fit_take_at(fit, UNITS - 2, 3));
	assert_false(fit_take_at(fit, 0, 0));
	assert_int_equal(fit_take(fit, 51), 70);
	fit_give(fit, 50, 20);
	assert_int_equal(fit_take(fit, 70), 0);
	fit_delete(fit);
}

/* ---- comparison with a model: one byte a unit ----------------------------------------------------- */

static long model_take(unsigned char *model, unsigned int n)
{
	unsigned int run = 0;

	for (unsigned int i = 0; i < UNITS; i++) {
		run = model[i] ? 0 : run + 1;
		if (run < n)
			continue;
		memset(model + i + 1 - n, 1, n);
		return i + 1 - n;
	}
	return -1;
}

struct run {
	long at;
	unsigned int n;
};

static void step(struct fit *fit, unsigned char *model, struct run *run)
{
	if (run->n) {
		fit_give(fit, run->at, run->n);
		memset(model + run->at, 0, run->n);
		run->n = 0;
		return;
	}
	run->n = 1 + rand() % (rand() % 8 ? 5 : 130);
	run->at = fit_take(fit, run->n);
	assert_int_equal(run->at, model_take(model, run->n));
	if (run->at < 0)
		run->n = 0;
}

static void test_fit_equals_model(void **state)
{
	unsigned int seed = time(NULL);
	unsigned char model[UNITS] = { 0 };
	struct run runs[64] = { 0 };
	struct fit *fit = fit_new(UNITS);

	(void)state;
	print_message("seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < STEPS; i++)
		step(fit, model, &runs[rand() % 64]);
	fit_delete(fit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lowest_units_come_first),
		cmocka_unit_test(test_same_size_reuses_same_place),
		cmocka_unit_test(test_full_space_refuses),
		cmocka_unit_test(test_take_at_certain_place),
		cmocka_unit_test(test_fit_equals_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
