// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "file.h"
#include "emu/judge/log/stack.h"
#include "test.h"

enum {
	TEST_MS = 20000,
	LINGER_MS = 1000,	/* time by which children of the test may outlive the test */
	KILL_MS = 2000,
	STOP_MS = 500,
	PAUSE_US = 1000,
	OUTPUT_MAX = 2048,
	EXIT_NOT_RUN = 126,	/* as shells, env(1) and the dynamic linker exit */
	EXIT_NOT_FOUND = 127,
};

static char shim[4096];
static char output[OUTPUT_MAX];
static size_t output_length;

static void children_path(char *path, size_t size)
{
	snprintf(path, size, "/proc/self/task/%d/children", getpid());
}

/* Makes this process a subreaper. A subreaper inherits the test's orphans, so this process can kill them all. */
int tests_init(void)
{
	char children[64];
	ssize_t length = readlink("/proc/self/exe", shim, sizeof(shim) - sizeof("shim.so"));

	shim[length < 0 ? 0 : length] = '\0';
	strcpy(strrchr(shim, '/') + 1, "shim.so");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	children_path(children, sizeof(children));
	return access(children, R_OK) ? -errno : 0;
}

static int open_share(struct test *test)
{
	test->pid = 0;
	test->ended = false;
	test->share_fd = memfd_create("judge", MFD_CLOEXEC);
	if (test->share_fd < 0 || ftruncate(test->share_fd, sizeof(*test->share)))
		return -errno;
	test->share = mmap(NULL, sizeof(*test->share), PROT_READ | PROT_WRITE, MAP_SHARED, test->share_fd, 0);
	return test->share == MAP_FAILED ? -errno : 0;
}

int tests_open(struct tests *tests, size_t nr)
{
	int ret = 0;

	tests->nr = 0;
	tests->spared = 0;
	tests->stuck = false;
	tests->child_stuck = false;
	while (!ret && tests->nr < nr)
		ret = open_share(&tests->at[tests->nr++]);
	return ret;
}

void tests_close(struct tests *tests)
{
	size_t i;

	for (i = 0; i < tests->nr; i++) {
		munmap(tests->at[i].share, sizeof(*tests->at[i].share));
		close(tests->at[i].share_fd);
	}
}

static void set_environment(const struct scenario *s, const struct test *test, pid_t guest)
{
	char text[64], name[256];
	size_t i;

	for (i = 0; i < s->nr_env; i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(s->env[i], "="), s->env[i]);
		setenv(name, strchr(s->env[i], '=') + 1, 1);
	}
	snprintf(text, sizeof(text), "/proc/%d/fd/%d", guest, test->share_fd);
	setenv(SHARE_ENV, text, 1);
	if (getenv("LD_PRELOAD")) {
		strncat(shim, " ", sizeof(shim) - strlen(shim) - 1);
		strncat(shim, getenv("LD_PRELOAD"), sizeof(shim) - strlen(shim) - 1);
	}
	setenv("LD_PRELOAD", shim, 1);
}

static void become_test(const struct scenario *s, const struct test *test, char **argv, int out, pid_t guest)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	set_environment(s, test, guest);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(EXIT_NOT_RUN);
}

static int start(struct test *test, const struct scenario *s, char **argv, int out)
{
	pid_t guest = getpid();

	test->pid = fork();
	if (test->pid < 0)
		return -errno;
	if (!test->pid)
		become_test(s, test, argv, out, guest);
	setpgid(test->pid, test->pid);
	test->pidfd = (int)syscall(SYS_pidfd_open, test->pid, 0);
	return 0;
}

/* Reads some output and keeps the end of all output. Returns false if nothing is left to read now. */
static bool read_output(int fd)
{
	char more[OUTPUT_MAX / 2];
	ssize_t got = read(fd, more, sizeof(more));

	if (got <= 0)
		return false;
	if (output_length + (size_t)got > sizeof(output)) {
		memmove(output, output + output_length - sizeof(more), sizeof(more));
		output_length = sizeof(more);
	}
	memcpy(output + output_length, more, (size_t)got);
	output_length += (size_t)got;
	return true;
}

const char *tests_output(void)
{
	static char line[OUTPUT_MAX + 1];
	char *last;

	while (output_length && (unsigned char)output[output_length - 1] <= ' ')
		output_length--;
	snprintf(line, sizeof(line), "%.*s", (int)output_length, output);
	last = strrchr(line, '\n');
	return last ? last + 1 : line;
}

static void take_status(struct test *test)
{
	int status;

	if (waitpid(test->pid, &status, WNOHANG) != test->pid)
		return;
	test->ended = true;
	test->end = WIFSIGNALED(status) ? TEST_SIGNAL : TEST_EXIT;
	test->value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	close(test->pidfd);
}

bool tests_not_begun(const struct tests *tests)
{
	const struct test *test = &tests->at[0];

	return test->end == TEST_EXIT && (test->value == EXIT_NOT_RUN || test->value == EXIT_NOT_FOUND) &&
	       !__atomic_load_n(&test->share->count, __ATOMIC_ACQUIRE);
}

static bool all_ended(const struct tests *tests)
{
	size_t i;

	for (i = 0; i < tests->nr; i++)
		if (!tests->at[i].ended)
			return false;
	return true;
}

/* The file stat has "pid (name) STATE ..."; name may contain any character. Without a file, the thread has ended. */
static bool is_stopped(uint32_t pid, const char *tid)
{
	char path[64], text[512], *end;

	snprintf(path, sizeof(path), "/proc/%u/task/%.16s/stat", pid, tid);
	if (file_read(path, text, sizeof(text)))
		return true;
	end = strrchr(text, ')');
	return end && end[1] && end[2] == 'T';
}

static bool all_stopped(uint32_t pid)
{
	struct dirent *entry;
	bool all = true;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			all &= is_stopped(pid, entry->d_name);
	if (dir)
		closedir(dir);
	return all;
}

/* Stops all threads of @pid. The shim continues the threads later. */
static bool stop(uint32_t pid)
{
	long end = now_ms() + STOP_MS;

	kill((pid_t)pid, SIGSTOP);
	while (now_ms() < end) {
		if (all_stopped(pid))
			return true;
		usleep(PAUSE_US);
	}
	return false;
}

static void take_request(const struct tests *tests)
{
	struct share *share = tests->at[0].share;
	bool done;
	char ask;

	if (read(tests->requests, &ask, 1) != 1)
		return;
	done = ask == SHARE_ASK_STOP ? stop(share->caller) : tests->answer((enum share_ask)ask);
	__atomic_store_n(&share->answered, done ? SHARE_DONE : SHARE_NOT_DONE, __ATOMIC_RELEASE);
}

static void wait_some(struct tests *tests, int ms)
{
	struct pollfd fds[PLAN_COPIES_MAX + 2];
	size_t i;

	for (i = 0; i < tests->nr; i++)
		fds[i] = (struct pollfd){ .fd = tests->at[i].ended ? -1 : tests->at[i].pidfd, .events = POLLIN };
	fds[i] = (struct pollfd){ .fd = tests->output, .events = POLLIN };
	fds[i + 1] = (struct pollfd){ .fd = tests->requests, .events = POLLIN };
	if (poll(fds, i + 2, ms) <= 0)
		return;
	if (fds[i].revents & POLLIN)
		read_output(tests->output);
	if (fds[i + 1].revents & POLLIN)
		take_request(tests);
	for (i = 0; i < tests->nr; i++)
		if (fds[i].revents)
			take_status(&tests->at[i]);
}

static void wait_for_all(struct tests *tests, int ms)
{
	long end = now_ms() + ms, now;

	while (!all_ended(tests) && (now = now_ms()) < end)
		wait_some(tests, (int)(end - now));
}

/* Sends @signal (0: none) to all children except @spared. Returns the pid of one such child, or 0 if none is left. */
static pid_t signal_rest(const struct tests *tests, int signal)
{
	pid_t pid, left = 0;
	char path[64];
	FILE *file;

	children_path(path, sizeof(path));
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		if (pid == tests->spared)
			continue;
		left = pid;
		kill(pid, signal);
	}
	if (file)
		fclose(file);
	return left;
}

static void kill_all(const struct tests *tests)
{
	size_t i;

	for (i = 0; i < tests->nr; i++)
		kill(-tests->at[i].pid, SIGKILL);
	signal_rest(tests, SIGKILL);
}

/*
 * Reaps children for up to @ms. Sends @signal (0: none) to all children except @spared, also
 * to orphans that this process inherits meanwhile. Returns the pid of a child left, or 0.
 */
static pid_t reap_for(struct tests *tests, int ms, int signal)
{
	long end = now_ms() + ms;
	pid_t pid, left;

	do {
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
		if (pid > 0 && pid == tests->spared)
			tests->spared = 0;
		left = pid < 0 ? 0 : signal_rest(tests, signal);
		if (left && !pid)
			usleep(PAUSE_US);
	} while (left && now_ms() < end);
	return left;
}

/* A test that cannot be killed stays until the VM ends. */
static void end_late(struct tests *tests)
{
	size_t i;

	if (all_ended(tests))
		return;
	for (i = 0; i < tests->nr; i++)
		if (!tests->at[i].ended)
			stack_of(tests->at[i].pid, tests->at[i].where, sizeof(tests->at[i].where));
	kill_all(tests);
	for (i = 0; i < tests->nr; i++) {
		if (tests->at[i].ended)
			continue;
		tests->at[i].end = TEST_TIMEOUT;
		tests->stuck |= child_wait(tests->at[i].pid, KILL_MS) == -ETIMEDOUT;
		close(tests->at[i].pidfd);
	}
}

/* A killed child may stay in the driver as long as a test may run, so wait TEST_MS. */
static void end_rest(struct tests *tests)
{
	pid_t left;

	if (tests->stuck || !reap_for(tests, LINGER_MS, 0))
		return;
	kill_all(tests);
	left = reap_for(tests, TEST_MS, SIGKILL);
	if (!left)
		return;
	tests->stuck = true;
	tests->child_stuck = true;
	stack_of(left, tests->child_where, sizeof(tests->child_where));
}

static int start_all(struct tests *tests, const struct scenario *s, char **argv, int out)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < tests->nr && !ret; i++)
		ret = start(&tests->at[i], s, argv, out);
	return ret;
}

/* Only the read end is non-blocking: a test that prints faster than the guest reads must wait. */
static int open_pipe(int *out_read, int *out_write)
{
	int fds[2] = { -1, -1 };
	int ret = pipe2(fds, O_CLOEXEC) || fcntl(fds[0], F_SETFL, O_NONBLOCK) ? -errno : 0;

	*out_read = fds[0];
	*out_write = fds[1];
	return ret;
}

static int run_piped(struct tests *tests, const struct scenario *s, char **argv, int out)
{
	int ret = start_all(tests, s, argv, out);

	close(out);
	if (!ret)
		wait_for_all(tests, TEST_MS);
	end_late(tests);
	end_rest(tests);
	while (!tests->stuck && read_output(tests->output))
		;
	return ret;
}

int tests_run(struct tests *tests, const struct scenario *s, char **argv)
{
	struct share *share = tests->at[0].share;
	int out, asked, ret = open_pipe(&tests->requests, &asked);

	if (!ret)
		ret = open_pipe(&tests->output, &out);
	if (ret)
		return ret;
	snprintf(share->requests, sizeof(share->requests), "/proc/%d/fd/%d", getpid(), asked);
	output_length = 0;
	ret = run_piped(tests, s, argv, out);
	close(tests->output);
	close(tests->requests);
	close(asked);
	return ret;
}
