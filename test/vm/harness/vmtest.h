/* SPDX-License-Identifier: MIT */
/*
 * The frame of every test program for the VM. A program is a list of cases:
 *
 *	CASE(freed_memory_is_refused)
 *	{
 *		EXPECT(free_it() == 0, "free: %s", strerror(errno));
 *	}
 *
 *	VMTEST_MAIN
 *
 * Cases run in source order. Each case prints one line: `ok NAME`, `not ok NAME: why` or `skip
 * NAME: why`. The exit status is 0 if no case failed and if at least one case ran or was skipped.
 *
 * Arguments name the cases to run:
 * - A SETUP always runs, because the cases use what the SETUP opens.
 * - A CASE_BY_NAME runs only if it is named: it disturbs the kernel, and the caller expects that.
 * - `--has NAME...` runs no case. The exit status says whether the program has one of these cases.
 *
 * The first failed EXPECT or SKIP ends its function. If the case called this function, CHECK_CASE()
 * ends the case, too.
 */
#ifndef VMTEST_H
#define VMTEST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum vmtest_kind { VMTEST_CASE, VMTEST_SETUP, VMTEST_BY_NAME };

struct vmtest_case {
	const char *name;
	void (*run)(void);
	enum vmtest_kind kind;
	struct vmtest_case *next;
};

enum vmtest_result { VMTEST_OK, VMTEST_FAILED, VMTEST_SKIPPED };

static struct vmtest_case *vmtest_cases;
static struct vmtest_case **vmtest_last = &vmtest_cases;
static enum vmtest_result vmtest_result;
static char vmtest_why[256];

static inline void vmtest_add(struct vmtest_case *c)
{
	*vmtest_last = c;
	vmtest_last = &c->next;
}

__attribute__((format(printf, 2, 3)))
static inline void vmtest_end(enum vmtest_result result, const char *format, ...)
{
	va_list args;

	if (vmtest_result != VMTEST_OK)
		return;
	vmtest_result = result;
	va_start(args, format);
	vsnprintf(vmtest_why, sizeof(vmtest_why), format, args);
	va_end(args);
}

#define VMTEST_ADD(function, kind) \
	static void function(void); \
	__attribute__((constructor)) static void vmtest_add_##function(void) \
	{ \
		static struct vmtest_case c = { #function, function, kind, NULL }; \
		vmtest_add(&c); \
	} \
	static void function(void)

#define CASE(function) VMTEST_ADD(function, VMTEST_CASE)
#define SETUP(function) VMTEST_ADD(function, VMTEST_SETUP)
#define CASE_BY_NAME(function) VMTEST_ADD(function, VMTEST_BY_NAME)

/* Fail the case unless @condition is true. @format, ...: printf arguments that name the actual values */
#define EXPECT(condition, format, ...) \
	do { \
		if (!(condition)) { \
			vmtest_end(VMTEST_FAILED, "line %d: %s: " format, __LINE__, #condition, ##__VA_ARGS__); \
			return; \
		} \
	} while (0)

#define SKIP(...) \
	do { \
		vmtest_end(VMTEST_SKIPPED, __VA_ARGS__); \
		return; \
	} while (0)

/* In a case: end the case after a called function with EXPECTs has failed or skipped. */
#define CHECK_CASE() \
	do { \
		if (vmtest_result != VMTEST_OK) \
			return; \
	} while (0)

/* The rounds or seconds of a race: @n, or a quarter of it, at least 1, if SHORT is in the environment (`make check`) */
static inline int vmtest_rounds(int n)
{
	return getenv("SHORT") ? (n + 3) / 4 : n;
}

static inline int vmtest_is_named(const struct vmtest_case *c, char **names)
{
	for (; *names; names++)
		if (!strcmp(*names, c->name))
			return 1;
	return 0;
}

static inline int vmtest_wanted(const struct vmtest_case *c, char **names)
{
	if (!*names)
		return c->kind != VMTEST_BY_NAME;
	return c->kind == VMTEST_SETUP || vmtest_is_named(c, names);
}

static inline int vmtest_has(char **names)
{
	const struct vmtest_case *c;

	for (c = vmtest_cases; c; c = c->next)
		if (vmtest_is_named(c, names))
			return 1;
	return 0;
}

static inline enum vmtest_result vmtest_run_one(const struct vmtest_case *c)
{
	vmtest_result = VMTEST_OK;
	c->run();
	if (vmtest_result == VMTEST_OK)
		printf("ok %s\n", c->name);
	else
		printf("%s %s: %s\n", vmtest_result == VMTEST_FAILED ? "not ok" : "skip", c->name, vmtest_why);
	fflush(stdout);
	return vmtest_result;
}

static inline int vmtest_main(char **names)
{
	const struct vmtest_case *c;
	int run = 0, failed = 0;

	if (*names && !strcmp(*names, "--has"))
		return !vmtest_has(names + 1);
	if (*names && !vmtest_has(names)) {
		printf("not ok %s: no case of that name\n", *names);
		return 1;
	}
	for (c = vmtest_cases; c; c = c->next) {
		if (!vmtest_wanted(c, names))
			continue;
		run++;
		failed += vmtest_run_one(c) == VMTEST_FAILED;
	}
	return failed || !run;
}

#define VMTEST_MAIN \
	int main(int argc, char **argv) \
	{ \
		return argc ? vmtest_main(argv + 1) : 1; \
	}

#endif
