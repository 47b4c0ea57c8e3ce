/* SPDX-License-Identifier: MIT */
/*
 * What emu/vm/run asks of pid 1: the file /config of the initramfs, a list of
 * "key=value" strings, each ended by a NUL so that any byte survives.
 */
#ifndef EMU_VM_CONFIG_H
#define EMU_VM_CONFIG_H

#include <stddef.h>

enum {
	CONFIG_MAX = 1 << 20,
	CONFIG_LIST_MAX = 32,
};

struct config_module {
	const char *file;	/* insmod=FILE */
	const char *params;	/* params=TEXT after it; "" without */
};

struct config {
	const char *cwd;
	const char *path;	/* PATH of the command */
	const char *library_path;
	const char *modules;	/* module tree of this kernel, or NULL */
	const char *gcov;	/* directory for what was counted, or NULL */
	const char *share[CONFIG_LIST_MAX];
	size_t nr_shares;
	struct config_module insmod[CONFIG_LIST_MAX];
	size_t nr_insmods;
	char **argv;		/* arg=..., NULL at the end */
};

/** config_read - parse /config; returns 0 or -errno; its strings live for ever */
int config_read(struct config *config);

#endif
