// SPDX-License-Identifier: MIT
/* Pid 1 of the virtual machine: enter the host's files, run one command, report. */
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
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
		stream_note("cannot copy what modules counted: %s; the kernel needs CONFIG_GCOV_KERNEL",
			    strerror(-ret));
	return ret;
}

/* A module that stays is a leak, which a command's success must not hide. */
static int run(const struct config *config)
{
	int status = EXIT_MODULE;

	if (!modules_load(config))
		status = command_run(config);
	if (modules_unload() && !status)
		status = EXIT_MODULE;
	/* the kernel keeps the counts of modules that are gone */
	if (save_counts(config->gcov) && !status)
		status = EXIT_MODULE;
	leaks_tell();
	finders_tell();
	return status;
}

/*
 * The host ends the machine as soon as it has read the verdict. Powering off
 * is for the case that nobody listens; sooner it would cut off unread output.
 */
static void finish(int status)
{
	sync();
	log_line("vm: verdict %d, tainted %lu", status, log_taints());
	stream_verdict(status);
	sleep(VERDICT_SECONDS);
	reboot(RB_POWER_OFF);
}

int main(void)
{
	struct config config = { 0 };

	root_mount_early();
	must("rig modules", modules_load_rig());
	must("no virtio port (does the kernel have virtio_pci, virtio_console?)", stream_open());
	must("/config", config_read(&config));
	sethostname("peerpin-vm", strlen("peerpin-vm"));
	root_enter(&config);
	log_line("vm: running %s", config.argv[0]);
	stream_running();
	finish(run(&config));
	return 0;
}
