// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tool/util/grow.h"
#include "tool/tool.h"
#include "vm.h"

/*
 * slub_debug=FZP: poison freed memory and add red zones.
 * rcu_expedited: halves the time to load and unload a module.
 * log_buf_len: the log buffer must hold all messages of a test, as the guest reads the log only after the test.
 */
#define APPEND "log_buf_len=4M rcupdate.rcu_expedited=1 slub_debug=FZP"

/* slub_debug=FZPU: splats also name the callers that allocated and freed the object. A run takes a fifth longer. */
#define APPEND_OWNERS APPEND "U"

/* In MiB. Memory beyond 2 GiB is above the address 4 GiB, where 32-bit devices cannot reach it. */
#define HIGH_MEMORY "3072"

/* A week: verify detects a hang by silence, not by this timeout. */
#define TIMEOUT "604800"

/* struct command_line - the words of a command line; the last is NULL */
struct command_line {
	const char **at;
	size_t count;
};

static void add_word(struct command_line *line, const char *word)
{
	line->at = grow(line->at, line->count, sizeof(*line->at));
	line->at[line->count++] = word;
}

static void add_option(struct command_line *line, const char *name, const char *value)
{
	add_word(line, name);
	add_word(line, value);
}

static const char *nvidia_of(const struct verify_args *args, enum boot boot)
{
	bool open = !strcmp(args->nvidia, "open");

	return open == (boot != BOOT_OTHER_NVIDIA) ? "open" : "proprietary";
}

static void add_boot(struct command_line *line, enum boot boot)
{
	if (boot == BOOT_IOMMU || boot == BOOT_IOMMU_LAZY)
		add_word(line, "--iommu");
	if (boot == BOOT_IOMMU_LAZY)
		add_option(line, "--append", "iommu.strict=0");
	if (boot == BOOT_NO_SHARING)
		add_option(line, "--module-param", "emugpu.bar_sharing=0");
	if (boot == BOOT_HIGH_MEMORY)
		add_option(line, "--mem", HIGH_MEMORY);
}

static bool is_rdma(const struct verify_args *args)
{
	return !strcmp(args->device, "rdma");
}

static void add_device(struct command_line *line, const char *device)
{
	if (!strcmp(device, "rdma")) {
		add_option(line, "--peers", "0");
		add_option(line, "--adapters", "1");
	} else if (!strcmp(device, "none")) {
		add_option(line, "--peers", "0");
	} else {
		add_option(line, "--peer-type", device);
	}
}

/* Whether the file of "FILE.ko K=V..." is named @name */
static bool is_named(const char *driver, const char *name)
{
	const char *end = strstr(driver, ".ko "), *slash;
	size_t length = end ? (size_t)(end - driver) + strlen(".ko") : strlen(driver);

	slash = memrchr(driver, '/', length);
	if (slash)
		length -= (size_t)(slash + 1 - driver);
	return length == strlen(name) && !memcmp(slash ? slash + 1 : driver, name, length);
}

/*
 * The adapter's driver may itself be the driver under test. Then peerpin_ibpeer is its client of peer memory. Without
 * persistent pins, freeing GPU memory ends the memory regions.
 */
static void add_modules(struct command_line *line, const struct verify_args *args)
{
	if (!is_rdma(args)) {
		add_option(line, "--modules", "emu/emugpu kmod/peerpin kmod/peerpin_nv emu/judge");
	} else if (is_named(args->driver, "emurdma.ko")) {
		add_option(line, "--modules",
			   "emu/emugpu kmod/peerpin kmod/peerpin_nv emu/ib_peer_shim kmod/peerpin_ibpeer emu/judge");
		add_option(line, "--module-param", "peerpin_ibpeer.persistent=0");
	} else {
		add_option(line, "--modules",
			   "emu/emugpu kmod/peerpin kmod/peerpin_nv emu/ib_peer_shim emu/emurdma emu/judge");
	}
}

static void add_guest(struct command_line *line, const struct verify_args *args, const struct place *place)
{
	char **arg;

	add_word(line, place->guest);
	if (is_rdma(args))
		add_option(line, "--adapter", place->adapter);
	add_word(line, place->plan);
	add_word(line, place->driver);
	add_word(line, place->test);
	for (arg = args->test_args; *arg; arg++)
		add_word(line, *arg);
}

static void make_command(struct command_line *line, const struct verify_args *args, const struct place *place,
			 enum boot boot)
{
	add_word(line, place->run);
	add_modules(line, args);
	add_option(line, "--nvidia", nvidia_of(args, boot));
	if (args->kernel)
		add_option(line, "--kernel", args->kernel);
	add_option(line, "--append", args->only ? APPEND_OWNERS : APPEND);
	add_boot(line, boot);
	add_device(line, args->device);
	add_option(line, "--share", place->shared);
	add_option(line, "--log", place->log);
	add_option(line, "--timeout", TIMEOUT);
	add_word(line, "--");
	add_guest(line, args, place);
	add_word(line, NULL);
}

static int write_plan(const struct place *place, const struct scenarios *plan, bool record)
{
	FILE *file = fopen(place->plan, "wxe");
	bool bad = !file;
	size_t i;

	for (i = 0; !bad && i < plan->count; i++)
		bad = fprintf(file, "%s%s%s%s\n", plan->at[i].id, *plan->at[i].keys ? " " : "", plan->at[i].keys,
			      record && !i ? " record=1" : "") < 0;
	if (file)
		bad |= fclose(file) != 0;
	if (!bad)
		return 0;
	fail("%s could not be written: %s; set TMPDIR to where there is room", place->plan, strerror(errno));
	return EXIT_USAGE;
}

/*
 * Runs in the child. The child gets its own process group, so that Ctrl-C reaches only
 * verify, which then ends the VM. PDEATHSIG: if verify is killed, the VM ends, too.
 */
static void become(const struct command_line *line, const struct place *place, int out)
{
	int null = open("/dev/null", O_RDONLY);
	int err = open(place->complaints, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv(line->at[0], (char **)line->at);
	_exit(127);
}

static int spawn(struct vm *vm, const struct command_line *line, const struct place *place)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		fail("no pipe could be made: %s", strerror(errno));
		return EXIT_USAGE;
	}
	vm->out = ends[0];
	vm->pid = fork();
	if (!vm->pid)
		become(line, place, ends[1]);
	close(ends[1]);
	if (vm->pid > 0)
		return 0;
	fail("no process could be started: %s", strerror(errno));
	close(vm->out);
	return EXIT_USAGE;
}

int vm_start(struct vm *vm, const struct verify_args *args, struct place *place,
	     const struct scenarios *plan, bool record)
{
	struct command_line line = { 0 };
	int ret = place_share(place);

	if (!ret)
		ret = write_plan(place, plan, record);
	if (ret)
		return ret;
	unlink(place->log);
	make_command(&line, args, place, plan->at[0].boot);
	ret = spawn(vm, &line, place);
	free(line.at);
	return ret;
}

ssize_t vm_read(const struct vm *vm, char *data, size_t size, int ms)
{
	struct pollfd poll_fd = { .fd = vm->out, .events = POLLIN };
	int ready = poll(&poll_fd, 1, ms);
	ssize_t got;

	if (!ready)
		return -EAGAIN;
	if (ready < 0)
		return -errno;
	got = read(vm->out, data, size);
	return got < 0 ? -errno : got;
}

int vm_stop(struct vm *vm)
{
	int status = 0;

	kill(vm->pid, SIGTERM);
	close(vm->out);
	while (waitpid(vm->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
