// SPDX-License-Identifier: MIT
/* Pid 1 of the virtual machine: mounts the host's files, runs each command, reports the command's exit status. */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "config.h"
#include "finder.h"
#include "gcov.h"
#include "leak.h"
#include "log.h"
#include "module.h"
#include "root.h"
#include "stream.h"

enum {
	EXIT_MODULE = 1,
	VERDICT_SECONDS = 10,
	TAINT_COMPLAINED = 1 << 5 | 1 << 7 | 1 << 9 | 1 << 14,	/* taints: bad page, oops, warning, lockup */
};

static void must(const char *what, int ret)
{
	if (ret)
		root_fail(what, -ret);
}

static int save_counts(const char *dir)
{
	int ret = dir ? gcov_copy(dir) : 0;

	if (ret)
		stream_note("cannot copy the coverage counts: %s; the kernel needs CONFIG_GCOV_KERNEL",
			    strerror(-ret));
	return ret;
}

/* A module that cannot be removed has leaked a reference: fail even if the command succeeded. */
static int run(const struct config *config, const struct config_command *command, bool last, bool *stuck)
{
	int status = EXIT_MODULE;

	if (!modules_load(command))
		status = command_run(config, command->argv);
	*stuck = modules_unload();
	if (*stuck && !status)
		status = EXIT_MODULE;
	/* the kernel keeps the counts of removed modules */
	if (save_counts(config->gcov) && !status)
		status = EXIT_MODULE;
	if (last)
		leaks_tell();
	finders_tell();
	return status;
}

/* In the kernel log, the lines "vm: running" and "vm: verdict" enclose the messages of the command. */
static int run_and_log(const struct config *config, const struct config_command *command, bool last, bool *stuck)
{
	int status;

	log_line("vm: running %s", *command->name ? command->name : command->argv[0]);
	status = run(config, command, last, stuck);
	log_line("vm: verdict %d, tainted %lu", status, log_taints());
	return status;
}

/*
 * Stops after a command that left a module loaded or tainted the kernel: otherwise the next
 * command would get the blame for that. The remaining commands need another VM.
 */
static int run_all(const struct config *config)
{
	bool stuck = false;
	int status = 0;
	size_t i;

	for (i = 0; i < config->nr_commands; i++) {
		if (stuck || (i && log_taints() & TAINT_COMPLAINED))
			break;
		stream_command(config->command[i].name);
		status = run_and_log(config, &config->command[i], i + 1 == config->nr_commands, &stuck);
		stream_status(status);
	}
	return status;
}

/*
 * The host kills QEMU after it has read the verdict. If the host does not, the VM powers
 * off after VERDICT_SECONDS; an earlier power-off would lose output.
 */
static void finish(int status)
{
	sync();
	log_line("vm: end");
	stream_verdict(status);
	sleep(VERDICT_SECONDS);
	reboot(RB_POWER_OFF);
}

/* Programs expect 127.0.0.1. A kernel may have no network: then the programs that need none still run. */
static void loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
}

int main(void)
{
	static struct config config;

	root_mount_early();
	must("rig modules", modules_load_rig());
	must("no virtio port (does the kernel have virtio_pci, virtio_console?)", stream_open());
	must("/config", config_read(&config));
	must("host name", sethostname("peerpin-vm", strlen("peerpin-vm")) ? -errno : 0);
	loopback_up();
	root_enter(&config);
	stream_running();
	finish(run_all(&config));
	return 0;
}
