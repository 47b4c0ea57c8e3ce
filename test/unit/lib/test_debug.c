// SPDX-License-Identifier: MIT
/* Which values of PEERPIN_DEBUG make the library write to stderr. Each value is read in a child process of its own. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/sys/debug.h"
#include "test/unit/unit.h"

/* glibc's secure_getenv() finds no variable in a setuid program. */
static bool is_setuid;

char *secure_getenv(const char *name)
{
	return is_setuid ? NULL : getenv(name);
}

static void say(const char *value, int to)
{
	if (value)
		setenv("PEERPIN_DEBUG", value, 1);
	else
		unsetenv("PEERPIN_DEBUG");
	dup2(to, STDERR_FILENO);
	pp_debug("%d words", 2);
	_exit(0);
}

/* What the library writes, at most 63 bytes */
static const char *said(const char *value)
{
	static char text[64];
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		say(value, ends[1]);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	n = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static void value_1_makes_it_say(void **state)
{
	(void)state;
	assert_string_equal(said("1"), "peerpin: 2 words\n");
}

static void other_values_keep_it_silent(void **state)
{
	static const char *const values[] = { NULL, "", "0", "1 ", "01", "-1", "11", "yes", "%s%n", "\xff\x01" };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_string_equal(said(values[i]), "");
}

static void setuid_program_is_silent(void **state)
{
	(void)state;
	is_setuid = true;
	assert_string_equal(said("1"), "");
	is_setuid = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_1_makes_it_say),
		cmocka_unit_test(other_values_keep_it_silent),
		cmocka_unit_test(setuid_program_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
