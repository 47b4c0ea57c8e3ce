// SPDX-License-Identifier: MIT
/* The tool's commands when descriptors are closed, the output is full, or memory runs out. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tool/util/grow.h"
#include "tool/tool.h"
#include "tree_maker.h"

#define PEERPIN BUILD "/bin/peerpin"

/* ---- files ----------------------------------------------------------------------- */

static bool leads_to_null(pid_t pid, int fd)
{
	char path[64], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(path, target, sizeof(target));
	return n == (ssize_t)strlen("/dev/null") && !memcmp(target, "/dev/null", (size_t)n);
}

static pid_t start_with_closed_files(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	execl(PEERPIN, "peerpin", "top", "--once", "--interval", "60", NULL);
	_exit(127);
}

/* With a closed descriptor, output would go into the next opened file, perhaps a file of the user. */
static void closed_descriptors_lead_to_null(void **state)
{
	pid_t pid = start_with_closed_files();
	int fd;

	(void)state;
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		while (!leads_to_null(pid, fd)) {
			assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
			usleep(1000);
		}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Run @command. Returns the text of stderr and stores the exit status in @status. */
static const char *run(const char *command, int *status)
{
	static char err[4096];
	FILE *f = popen(command, "r");

	assert_non_null(f);
	err[fread(err, 1, sizeof(err) - 1, f)] = '\0';
	*status = WEXITSTATUS(pclose(f));
	return err;
}

static void failed_output_is_reported(void **state)
{
	char *root = make_tree(), command[256];
	const char *err;
	int status;

	(void)state;
	make_file(root, "sys/bus/pci/devices/none/vendor", "%s", "");
	snprintf(command, sizeof(command), PEERPIN " doctor --root %s 2>&1 >/dev/full", root);
	err = run(command, &status);
	remove_tree(root);
	assert_non_null(strstr(err, "could not be written"));
	assert_int_equal(status, EXIT_FAILED);
	assert_non_null(strstr(run(PEERPIN " help 2>&1 >&-", &status), "could not be written"));
	assert_int_equal(status, EXIT_FAILED);
	assert_null(strstr(run(PEERPIN " copy --size x 2>&1 >/dev/full", &status), "could not be written"));
	assert_int_equal(status, EXIT_USAGE);
}

/* peerpin bar lists processes with pinned memory even without a GPU. */
static void bar_needs_no_gpu(void **state)
{
	int status;

	(void)state;
	run(PEERPIN " bar", &status);
	assert_int_equal(status, EXIT_OK);
}

/* The pipe has no writer and no size: the tool must not wait for data. */
static void a_pipe_is_not_waited_for(void **state)
{
	char dir[] = "/tmp/peerpin-test.XXXXXX", pipe[64], command[128];
	const char *err;
	int status;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(pipe, sizeof(pipe), "%s/pipe", dir);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	snprintf(command, sizeof(command), "timeout 10 " PEERPIN " copy --from file:%s 2>&1", pipe);
	err = run(command, &status);
	unlink(pipe);
	rmdir(dir);
	assert_non_null(strstr(err, "has no size"));
	assert_int_equal(status, EXIT_FAILED);
}

/* ---- memory ---------------------------------------------------------------------- */

/* Exit status 1 would mean a finding of doctor or verify. */
static void out_of_memory_is_no_finding(void **state)
{
	FILE *err = tmpfile();
	static const char words[] = "peerpin: there is no memory left\n";
	char text[1 << 14] = "";
	size_t length;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_non_null(err);
	if (!pid) {
		dup2(fileno(err), STDERR_FILENO);
		grow(NULL, (size_t)1 << 62, 8);
		_exit(100);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(err);
	length = fread(text, 1, sizeof(text) - 1, err);
	fclose(err);
	/* A sanitizer may print a warning first. */
	assert_in_range(length, strlen(words), sizeof(text) - 2);
	assert_string_equal(text + length - strlen(words), words);
	assert_int_equal(WEXITSTATUS(status), EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_descriptors_lead_to_null),
		cmocka_unit_test(failed_output_is_reported),
		cmocka_unit_test(bar_needs_no_gpu),
		cmocka_unit_test(a_pipe_is_not_waited_for),
		cmocka_unit_test(out_of_memory_is_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
