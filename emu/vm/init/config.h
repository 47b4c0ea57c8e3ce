/* SPDX-License-Identifier: MIT */
/*
 * Configuration that emu/vm/run passes to pid 1: the file /config of the initramfs, a
 * list of NUL-terminated "key=value" strings. Keys of the machine come first. Each
 * "command=NAME" then begins a command, and the keys insmod, params and arg that
 * follow belong to that command.
 */
#ifndef EMU_VM_CONFIG_H
#define EMU_VM_CONFIG_H

#include <stddef.h>

enum {
	CONFIG_MAX = 1 << 20,
	CONFIG_LIST_MAX = 32,
	CONFIG_COMMANDS_MAX = 64,
};

struct config_module {
	const char *file;	/* insmod=FILE */
	const char *params;	/* params=TEXT after it; "" without */
};

/* Modules to load, and the program that runs while they are loaded */
struct config_command {
	const char *name;	/* command=NAME; "": the VM runs this command only */
	struct config_module insmod[CONFIG_LIST_MAX];
	size_t nr_insmods;
	char **argv;		/* arg=..., NULL at the end */
};

struct config {
	const char *cwd;
	const char *path;	/* PATH of the commands */
	const char *library_path;
	const char *modules;	/* module tree of this kernel, or NULL */
	const char *gcov;	/* directory for the coverage counts, or NULL */
	const char *share[CONFIG_LIST_MAX];
	size_t nr_shares;
	struct config_command command[CONFIG_COMMANDS_MAX];
	size_t nr_commands;
};

/** config_read - parse /config; returns 0 or -errno; the strings are never freed */
int config_read(struct config *config);

#endif
