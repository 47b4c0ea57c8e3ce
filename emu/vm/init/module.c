// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modinfo.h"
#include "module.h"
#include "stream.h"

enum {
	NAME_MAX_LENGTH = 64,
	UNLOAD_TRIES = 100,
	UNLOAD_PAUSE_US = 10000,
};

static char loaded[CONFIG_LIST_MAX][NAME_MAX_LENGTH];
static size_t nr_loaded;

static int load(const char *file, const char *params)
{
	int fd, ret;

	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	return ret;
}

int modules_load_rig(void)
{
	char name[NAME_MAX_LENGTH], path[NAME_MAX_LENGTH + 8];
	FILE *order = fopen("/rig/order", "re");
	int ret = 0;

	if (!order)
		return -errno;
	while (!ret && fscanf(order, "%63s", name) == 1) {
		snprintf(path, sizeof(path), "/rig/%s", name);
		ret = load(path, "");
	}
	fclose(order);
	return ret;
}

/* The path is the one at which the kernel itself runs modprobe. */
static int run_modprobe(const char *name)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		execl("/sbin/modprobe", "modprobe", name, NULL);
		_exit(EXIT_FAILURE);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return status ? -ENOENT : 0;
}

static int load_from_kernel(const struct config_command *command)
{
	size_t i;
	int ret;

	for (i = 0; i < command->nr_modprobes; i++) {
		ret = run_modprobe(command->modprobe[i]);
		if (!ret)
			continue;
		stream_note("modprobe %s failed; the kernel's log says more (--log FILE)", command->modprobe[i]);
		return ret;
	}
	return 0;
}

static int load_files(const struct config_command *command)
{
	const struct config_module *module;
	size_t i;
	int ret;

	for (i = 0; i < command->nr_insmods; i++) {
		module = &command->insmod[i];
		ret = modinfo_name(module->file, loaded[nr_loaded], NAME_MAX_LENGTH) ?:
		      load(module->file, module->params);
		if (ret) {
			stream_note("cannot load %s: %s; the kernel's log says more (--log FILE)",
				    module->file, strerror(-ret));
			return ret;
		}
		nr_loaded++;
	}
	return 0;
}

int modules_load(const struct config_command *command)
{
	return load_from_kernel(command) ?: load_files(command);
}

/*
 * A kernel worker may drop the last reference shortly after the end of the process that
 * used the module. So removing a busy module is retried for a second.
 */
static int unload(const char *name)
{
	int tries;

	for (tries = 0; tries < UNLOAD_TRIES; tries++) {
		if (syscall(SYS_delete_module, name, O_NONBLOCK) == 0 || errno == ENOENT)
			return 0;
		if (errno != EWOULDBLOCK && errno != EBUSY)
			break;
		usleep(UNLOAD_PAUSE_US);
	}
	return -errno;
}

int modules_unload(void)
{
	int ret, left = 0;

	while (nr_loaded) {
		ret = unload(loaded[--nr_loaded]);
		if (!ret)
			continue;
		left++;
		stream_note("module %s cannot be removed after the command: %s",
			    loaded[nr_loaded],
			    ret == -EWOULDBLOCK ? "something still uses it" : strerror(-ret));
	}
	return left;
}
