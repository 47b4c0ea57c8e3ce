// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "stream.h"

enum {
	EXIT_NOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

/*
 * The running command. It writes to pipes, not to the virtio port: a port can be
 * opened only once, but some programs open /dev/stderr again.
 */
struct command {
	pid_t pid;
	int out[2];
	int err[2];
	int child_ended;	/* signalfd of SIGCHLD */
	int status;
};

static void set_environment(const struct config *config)
{
	clearenv();
	setenv("PATH", config->path, 1);
	setenv("LD_LIBRARY_PATH", config->library_path, 1);
	setenv("HOME", "/root", 1);
	setenv("USER", "root", 1);
	setenv("LOGNAME", "root", 1);
	setenv("LANG", "C.UTF-8", 1);
}

static void exec_command(const struct command *command, const struct config *config, char **argv)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	dup2(null, STDIN_FILENO);
	dup2(command->out[1], STDOUT_FILENO);
	dup2(command->err[1], STDERR_FILENO);
	close(null);
	if (chdir(config->cwd))
		fprintf(stderr, "emu/vm/run: %s: %s; running in /\n", config->cwd, strerror(errno));
	execvp(argv[0], argv);
	fprintf(stderr, "emu/vm/run: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static int start(struct command *command, const struct config *config, char **argv)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	command->child_ended = signalfd(-1, &child, SFD_CLOEXEC);
	if (command->child_ended < 0 || pipe2(command->out, O_CLOEXEC) ||
	    pipe2(command->err, O_CLOEXEC))
		return -errno;
	command->pid = fork();
	if (command->pid < 0)
		return -errno;
	if (command->pid == 0)
		exec_command(command, config, argv);
	close(command->out[1]);
	close(command->err[1]);
	return 0;
}

/* Reaps children; pid 1 also gets orphans. Returns 1 after the command itself has ended. */
static int reap(struct command *command, int options)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, options)) > 0) {
		if (pid != command->pid)
			continue;
		command->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		return 1;
	}
	return 0;
}

static int check_child(struct command *command)
{
	struct signalfd_siginfo info;

	if (read(command->child_ended, &info, sizeof(info)) < 0)
		return 0;
	return reap(command, WNOHANG);
}

static void relay(struct pollfd *poll_fd, enum frame_kind kind)
{
	if (poll_fd->revents && !stream_copy(poll_fd->fd, kind))
		poll_fd->fd = -1;
}

static void relay_until_end(struct command *command)
{
	struct pollfd fds[] = {
		{ .fd = command->out[0], .events = POLLIN },
		{ .fd = command->err[0], .events = POLLIN },
		{ .fd = command->child_ended, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 3, -1) < 0)
			continue;
		relay(&fds[0], FRAME_STDOUT);
		relay(&fds[1], FRAME_STDERR);
		if (fds[2].revents && check_child(command))
			return;
	}
}

/*
 * Kills all processes that the command left, because they may hold references to modules.
 * Then no process has the pipes open for writing, so the reads of both pipes reach EOF.
 */
static void end_all(struct command *command)
{
	kill(-1, SIGKILL);
	reap(command, 0);
	while (stream_copy(command->out[0], FRAME_STDOUT))
		;
	while (stream_copy(command->err[0], FRAME_STDERR))
		;
}

int command_run(const struct config *config, char **argv)
{
	struct command command = { .status = EXIT_NOT_RUN };
	int ret;

	set_environment(config);
	ret = start(&command, config, argv);
	if (ret) {
		stream_note("cannot start the command: %s", strerror(-ret));
		return EXIT_NOT_RUN;
	}
	relay_until_end(&command);
	end_all(&command);
	return command.status;
}
