// SPDX-License-Identifier: MIT
/* Output of commands to a terminal: progress of verify and colours of top. */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/unit/unit.h"
#include "emu/judge/run/progress.h"

/** struct terminal - a terminal; @said: all output so far */
struct terminal {
	int master;
	int slave;
	char said[1 << 16];
	size_t length;
};

static struct terminal terminal;

static int setup(void **state)
{
	struct winsize size = { .ws_row = 24, .ws_col = 40 };

	(void)state;
	terminal.length = 0;
	setenv("TERM", "xterm-256color", 1);
	return openpty(&terminal.master, &terminal.slave, NULL, NULL, &size);
}

static int teardown(void **state)
{
	(void)state;
	close(terminal.master);
	close(terminal.slave);
	return 0;
}

static void take(int ms)
{
	struct pollfd from = { .fd = terminal.master, .events = POLLIN };
	size_t room = sizeof(terminal.said) - 1 - terminal.length;
	ssize_t got = 0;

	if (poll(&from, 1, ms) > 0 && from.revents & POLLIN)
		got = read(terminal.master, terminal.said + terminal.length, room);
	if (got > 0)
		terminal.length += (size_t)got;
	terminal.said[terminal.length] = '\0';
}

/* The kernel delivers output in pieces. Write a mark, read up to the mark, and drop the mark. */
static void take_the_rest(void)
{
	static const char mark = '\003';

	assert_int_equal(write(terminal.slave, &mark, 1), 1);
	do
		take(-1);
	while (!terminal.length || terminal.said[terminal.length - 1] != mark);
	terminal.said[--terminal.length] = '\0';
}

/* ---- verify ---------------------------------------------------------------------- */

/* Progress of verify after 100 of @planned scenarios; @planned 0: the number is unknown. */
static const char *progress_of(size_t planned)
{
	struct progress progress = { 0 };
	int err = dup(STDERR_FILENO);

	dup2(terminal.slave, STDERR_FILENO);
	progress_start(&progress);
	progress_show(&progress, "high-memory/late-close-at-user-1000", 100, planned, 17);
	progress_clear(&progress);
	fflush(stderr);
	dup2(err, STDERR_FILENO);
	close(err);
	take_the_rest();
	return terminal.said;
}

/* The cursor stays in the line, and \r returns to its start. */
static void progress_fits_the_terminal(void **state)
{
	static const char begin[] = "\r\033[K";

	(void)state;
	assert_string_equal(progress_of(200), "\r\033[K100 of 200 scenarios, 17 broke a rule, \r\033[K");
	terminal.length = 0;
	ioctl(terminal.slave, TIOCSWINSZ, &(struct winsize) { .ws_row = 24, .ws_col = 200 });
	assert_non_null(strstr(progress_of(0), "what can be tested, 17 broke a rule; now high-memory/late-close-at-user-1000\r"));
	assert_int_equal(strncmp(terminal.said, begin, strlen(begin)), 0);
	/* The terminal does not report its size. */
	terminal.length = 0;
	ioctl(terminal.slave, TIOCSWINSZ, &(struct winsize) { 0 });
	progress_of(0);
	assert_int_equal(terminal.length, 2 * strlen(begin) + 79);
}

static void dumb_terminal_gets_no_progress(void **state)
{
	(void)state;
	setenv("TERM", "dumb", 1);
	assert_string_equal(progress_of(200), "");
	unsetenv("TERM");
	assert_string_equal(progress_of(200), "");
}

/* ---- top ------------------------------------------------------------------------- */

static pid_t start_top(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(terminal.slave, STDIN_FILENO);
	dup2(terminal.slave, STDOUT_FILENO);
	execl(BUILD "/bin/peerpin", "peerpin", "top", "--count", "1", "--interval", "0.1", NULL);
	_exit(127);
}

/* True if @said has the escape codes of top's colours: "\033[33m" and "\033[39;49m". */
static bool has_colours(const char *said)
{
	while ((said = strstr(said, "\033[")))
		if (*(said += 2) == '3' && said[strspn(said, "0123456789;")] == 'm')
			return true;
	return false;
}

static bool top_has_colours(void)
{
	int status = 0;
	pid_t pid = start_top();

	while (waitpid(pid, &status, WNOHANG) != pid)
		take(10);
	take_the_rest();
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	assert_non_null(strstr(terminal.said, "peerpin top"));
	return has_colours(terminal.said);
}

static void colours_can_be_turned_off(void **state)
{
	(void)state;
	unsetenv("NO_COLOR");
	assert_true(top_has_colours());
	terminal.length = 0;
	setenv("NO_COLOR", "1", 1);
	assert_false(top_has_colours());
	terminal.length = 0;
	setenv("NO_COLOR", "", 1);
	assert_true(top_has_colours());
	unsetenv("NO_COLOR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(progress_fits_the_terminal, setup, teardown),
		cmocka_unit_test_setup_teardown(dumb_terminal_gets_no_progress, setup, teardown),
		cmocka_unit_test_setup_teardown(colours_can_be_turned_off, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
