/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit, or, for kernels without CONFIG_KUNIT, the small part of it that the suites use. Debian's kernels have no
 * KUnit. There the suites run when the module is loaded. If a case fails, loading fails with EINVAL, and the log
 * names the case.
 */
#ifndef _TEST_KUNIT_H
#define _TEST_KUNIT_H

#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/test.h>
#else

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>

struct kunit {
	const char *name;
	bool failed;
	void *priv;
};

struct kunit_case {
	const char *name;
	void (*run_case)(struct kunit *test);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(test_name) { .name = #test_name, .run_case = test_name }

/* Logs the first failure of a case; the others often follow from it. */
#define kunit_expect(test, condition, words, format, ...) \
	({ \
		bool kunit_holds = condition; \
		if (!kunit_holds && !(test)->failed) { \
			(test)->failed = true; \
			pr_err(KBUILD_MODNAME ": not ok %s: %s:%d: %s " format "\n", (test)->name, __func__, __LINE__, words, ##__VA_ARGS__); \
		} \
		kunit_holds; \
	})

#define kunit_expect_binary(test, left, op, right, format, ...) \
	({ \
		typeof(left) kunit_left = left; \
		typeof(right) kunit_right = right; \
		kunit_expect(test, kunit_left op kunit_right, #left " " #op " " #right, "(%llx, %llx) " format, \
			     (u64)kunit_left, (u64)kunit_right, ##__VA_ARGS__); \
	})

#define KUNIT_EXPECT_TRUE(test, condition) ((void)kunit_expect(test, condition, #condition, ""))
#define KUNIT_EXPECT_FALSE(test, condition) KUNIT_EXPECT_TRUE(test, !(condition))
#define KUNIT_EXPECT_NULL(test, pointer) KUNIT_EXPECT_TRUE(test, !(pointer))
#define KUNIT_EXPECT_NOT_NULL(test, pointer) KUNIT_EXPECT_TRUE(test, pointer)
#define KUNIT_EXPECT_EQ(test, left, right) ((void)kunit_expect_binary(test, left, ==, right, ""))
#define KUNIT_EXPECT_NE(test, left, right) ((void)kunit_expect_binary(test, left, !=, right, ""))
#define KUNIT_EXPECT_GT(test, left, right) ((void)kunit_expect_binary(test, left, >, right, ""))
#define KUNIT_EXPECT_PTR_EQ(test, left, right) KUNIT_EXPECT_TRUE(test, (left) == (right))
#define KUNIT_EXPECT_EQ_MSG(test, left, right, ...) ((void)kunit_expect_binary(test, left, ==, right, __VA_ARGS__))
#define KUNIT_EXPECT_PTR_EQ_MSG(test, left, right, ...) \
	((void)kunit_expect(test, (left) == (right), #left " == " #right, __VA_ARGS__))

/* KUnit ends the case. Here the function returns, so only functions without a result assert. */
#define KUNIT_ASSERT_EQ(test, left, right) \
	do { \
		if (!kunit_expect_binary(test, left, ==, right, "")) \
			return; \
	} while (0)
#define KUNIT_ASSERT_NOT_NULL(test, pointer) \
	do { \
		if (!kunit_expect(test, pointer, #pointer, "")) \
			return; \
	} while (0)

static inline bool kunit_run_case(const struct kunit_suite *suite, const struct kunit_case *c)
{
	struct kunit test = { .name = c->name };

	if (suite->init && suite->init(&test)) {
		pr_err(KBUILD_MODNAME ": not ok %s: init of %s\n", c->name, suite->name);
		return false;
	}
	c->run_case(&test);
	if (suite->exit)
		suite->exit(&test);
	if (!test.failed)
		pr_info(KBUILD_MODNAME ": ok %s\n", c->name);
	return !test.failed;
}

static inline bool kunit_run_suite(const struct kunit_suite *suite)
{
	const struct kunit_case *c;
	bool passed = true;

	pr_info(KBUILD_MODNAME ": # Subtest: %s\n", suite->name);
	for (c = suite->test_cases; c->run_case; c++)
		passed &= kunit_run_case(suite, c);
	return passed;
}

#define kunit_test_suites(...) \
	static const struct kunit_suite *const kunit_suites[] = { __VA_ARGS__ }; \
	static int __init kunit_init(void) \
	{ \
		bool passed = true; \
		unsigned int i; \
		for (i = 0; i < ARRAY_SIZE(kunit_suites); i++) \
			passed &= kunit_run_suite(kunit_suites[i]); \
		return passed ? 0 : -EINVAL; \
	} \
	static void __exit kunit_exit(void) \
	{ \
	} \
	module_init(kunit_init); \
	module_exit(kunit_exit)

#endif
#endif
