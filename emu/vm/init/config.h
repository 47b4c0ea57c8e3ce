/* SPDX-License-Identifier: MIT */
/*
 * Configuration that emu/vm/run passes to pid 1 in the file /config of the initramfs. The
 * file is a list of NUL-terminated "key=value" strings. The keys of the VM come first.
 * Then each "command=NAME" begins a command. The keys modprobe, insmod, params and arg
 * belong to the command before them.
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
	const char *params;	/* params=TEXT that follows insmod=FILE; "": no such key */
};

/* A program to run, and the modules that are loaded meanwhile */
struct config_command {
	const char *name;	/* command=NAME; "" if the VM runs only one command */
	const char *modprobe[CONFIG_LIST_MAX];	/* modprobe=MODULE of the kernel; loaded before insmod, never removed */
	size_t nr_modprobes;
	struct config_module insmod[CONFIG_LIST_MAX];
	size_t nr_insmods;
	char **argv;		/* program and arguments, each from arg=TEXT; ends with NULL */
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

/** config_read - parse /config; returns 0 or -errno; the strings stay valid */
int config_read(struct config *config);

#endif
