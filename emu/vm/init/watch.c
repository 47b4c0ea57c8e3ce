// SPDX-License-Identifier: MIT
/*
 * Runs QEMU and splits the stream of the virtual machine (VM) into stdout and stderr.
 * Ends QEMU after the verdict, at the time-out, on a signal, and when this process dies.
 *
 *   watch BOOT_SECONDS SECONDS LOG BOOTING RESULTS QEMU ARG...
 *
 * BOOT_SECONDS	time-out of the boot
 * SECONDS	time-out of the command, including the boot; or of each command, with RESULTS
 * LOG		file to which QEMU writes the VM's console. This program waits for the line
 *		"vm: end" in LOG, because a kernel thread may print late.
 * BOOTING	file that this program removes after the boot
 * RESULTS	"", or a directory if the VM runs several commands. The output and the exit
 *		status of the command NAME go to RESULTS/NAME.out, .err and .status.
 *
 * QEMU inherits the write end of the stream as file descriptor 3. Exit status: the
 * verdict; 70 the VM ended without a verdict, or output could not be written;
 * 124 time-out; 128+n signal n. With status 70, stderr has the error, or how QEMU ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

#define LOG_END "vm: end"

enum {
	STREAM_FD = 3,
	STREAM_SIZE = 1 << 20,
	LOG_TAIL = 1 << 16,
	LOG_TRIES = 500,	/* of 10 ms */
	EXIT_NO_VERDICT = 70,
	EXIT_LOST = 70,
	EXIT_TIMEOUT = 124,
};

/* Pid of QEMU; 0 before the fork, and in the child */
static volatile pid_t qemu;

/* True if some output could not be written */
static bool lost;

/* A signal handler also calls this, so it must not allocate or take a lock. */
static void end_qemu(void)
{
	if (!qemu)
		return;
	kill(qemu, SIGKILL);
	while (waitpid(qemu, NULL, 0) < 0 && errno == EINTR)
		;
}

static void end_by_signal(int signo)
{
	end_qemu();
	_exit(signo == SIGALRM ? EXIT_TIMEOUT : 128 + signo);
}

/* Whether SIGHUP shall end this program: not if the parent ignores SIGHUP, as nohup(1) does. */
static bool hangs_up(void)
{
	struct sigaction action;

	return sigaction(SIGHUP, NULL, &action) || action.sa_handler != SIG_IGN;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGPIPE, SIGALRM };
	struct sigaction action = { .sa_handler = end_by_signal };
	size_t i;

	sigfillset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	if (hangs_up())
		sigaction(SIGHUP, &action, NULL);
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* Time at which the command times out, by the clock of now() */
static time_t deadline;

/* Sets the alarm to @end, or to the deadline if that is earlier. */
static void limit_time(time_t end)
{
	time_t left = (end < deadline ? end : deadline) - now();

	alarm(left > 0 ? (unsigned int)left : 1);
}

/*
 * QEMU gets its own process group: otherwise Ctrl-C would end QEMU, which looks like a
 * normal exit. The death signal ends QEMU if SIGKILL ends this process.
 */
static void exec_qemu(char **argv, int stream, pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(stream, STREAM_FD) < 0)
		_exit(EXIT_NO_VERDICT);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(EXIT_NO_VERDICT);
}

/*
 * If the caller has closed a descriptor from 0 to 2, a pipe would get that number and then
 * receive output. Occupies the number with a descriptor that cannot be written to.
 */
static void fill_closed(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
}

static int start_qemu(char **argv)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fcntl(ends[1], F_SETPIPE_SZ, STREAM_SIZE);
	qemu = fork();
	if (qemu < 0)
		return -1;
	if (qemu == 0)
		exec_qemu(argv, ends[1], parent);
	close(ends[1]);
	return ends[0];
}

static int read_all(int fd, void *to, size_t length)
{
	char *p = to;
	ssize_t got;

	for (; length; p += got, length -= (size_t)got) {
		got = read(fd, p, length);
		if (got <= 0)
			return -1;
	}
	return 0;
}

/* @fd may be non-blocking. If @fd is a pipe without a reader, the write raises SIGPIPE. */
static int write_all(int fd, const char *p, size_t length)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t put;

	while (length) {
		put = write(fd, p, length);
		if (put < 0 && errno != EAGAIN)
			return -1;
		if (put < 0) {
			poll(&room, 1, -1);
			continue;
		}
		p += put;
		length -= (size_t)put;
	}
	return 0;
}

static void pass_on(int fd, const struct frame *frame)
{
	if (!write_all(fd, frame->data, frame->head.length) || lost)
		return;
	lost = true;
	fprintf(stderr, "watch: %s: %s\n", fd == STDERR_FILENO ? "stderr" : "stdout", strerror(errno));
}

static int read_frame(int fd, struct frame *frame)
{
	if (read_all(fd, &frame->head, sizeof(frame->head)) < 0)
		return -1;
	if (frame->head.length > sizeof(frame->data))
		return -1;
	return read_all(fd, frame->data, frame->head.length);
}

static void note_running(const char *booting)
{
	unlink(booting);
	limit_time(deadline);
}

/* The current command of a sequence; @results is NULL if the VM runs one command only */
static struct {
	const char *results;
	unsigned int seconds;
	char name[256];
} sequence;

static int open_result(const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.%s", sequence.results, sequence.name, suffix);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static void send_to(int fd, const char *suffix)
{
	int file = open_result(suffix);

	if (file < 0 || dup2(file, fd) < 0)
		lost = true;
	close(file);
}

static void begin_command(const struct frame *frame)
{
	if (!sequence.results)
		return;
	snprintf(sequence.name, sizeof(sequence.name), "%.*s", (int)frame->head.length, frame->data);
	send_to(STDOUT_FILENO, "out");
	send_to(STDERR_FILENO, "err");
	deadline = now() + sequence.seconds;
	limit_time(deadline);
}

/* Lost output fails the command that wrote it, not the next command. */
static void end_command(int status)
{
	int fd;

	if (!sequence.results)
		return;
	fd = open_result("status");
	if (fd >= 0 && dprintf(fd, "%d\n", lost ? EXIT_LOST : status) > 0)
		lost = false;
	close(fd);
}

/* Returns the verdict, or -1 if the stream ended without a verdict. */
static int copy_until_verdict(int stream, const char *booting)
{
	static struct frame frame;

	while (read_frame(stream, &frame) == 0) {
		switch (frame.head.kind) {
		case FRAME_VERDICT:
			return (unsigned char)frame.data[0];
		case FRAME_RUNNING:
			note_running(booting);
			break;
		case FRAME_COMMAND:
			begin_command(&frame);
			break;
		case FRAME_STATUS:
			end_command((unsigned char)frame.data[0]);
			break;
		default:
			pass_on(frame.head.kind == FRAME_STDERR ? STDERR_FILENO : STDOUT_FILENO, &frame);
		}
	}
	return -1;
}

static bool log_has_end(int log)
{
	static char tail[LOG_TAIL];
	off_t end = lseek(log, 0, SEEK_END);
	ssize_t got = pread(log, tail, sizeof(tail), end > LOG_TAIL ? end - LOG_TAIL : 0);
	const char *line = got > 0 ? memmem(tail, (size_t)got, LOG_END, strlen(LOG_END)) : NULL;

	return line && memchr(line, '\n', (size_t)(tail + got - line));
}

/* Waits up to 5 s for LOG_END in the log. emu/vm/run detects a log without this line. */
static void await_log(const char *path)
{
	int log = open(path, O_RDONLY | O_CLOEXEC);
	int tries;

	if (log < 0)
		return;
	for (tries = 0; tries < LOG_TRIES && !log_has_end(log); tries++)
		usleep(10000);
	close(log);
}

/* QEMU has closed its end of the stream, so QEMU exits now: after a crash, or after a reset of the VM (status 0). */
static void say_how_qemu_ended(void)
{
	pid_t ended = 0;
	int status, tries;

	for (tries = 0; !ended && tries < 50; tries++) {
		ended = waitpid(qemu, &status, WNOHANG);
		if (!ended)
			usleep(100000);
	}
	if (ended <= 0)
		return;
	qemu = 0;
	if (WIFSIGNALED(status))
		fprintf(stderr, "watch: QEMU was ended by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "watch: QEMU ended with status %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	int stream, status;

	if (argc < 7) {
		fprintf(stderr, "usage: watch BOOT_SECONDS SECONDS LOG BOOTING RESULTS QEMU ARG...\n");
		return 2;
	}
	fill_closed();
	catch_signals();
	sequence.results = *argv[5] ? argv[5] : NULL;
	sequence.seconds = (unsigned int)atoi(argv[2]);
	deadline = now() + sequence.seconds;
	limit_time(now() + atoi(argv[1]));
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	stream = start_qemu(argv + 6);
	if (stream < 0) {
		perror("watch");
		return EXIT_NO_VERDICT;
	}
	status = copy_until_verdict(stream, argv[4]);
	if (status < 0) {
		say_how_qemu_ended();
		status = EXIT_NO_VERDICT;
	} else {
		alarm(0);	/* the verdict came in time */
		await_log(argv[3]);
	}
	end_qemu();
	return lost ? EXIT_LOST : status;
}
