// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "process.h"
#include "tool/util/printable.h"

enum {
	FIRST_SIZE = 1 << 20,
	MAX_SIZE = 1 << 30,
};

static struct tree_path path_of(const struct process *p, const char *file)
{
	return tree_path("proc/%s/%s", p->pid, file);
}

/*
 * A file of any length, with a 0 after it: libraries are at high addresses, at the end of the maps. The caller frees
 * *@out. Returns the length or -errno.
 */
static ssize_t read_whole(const struct process *p, const struct tree *tree, const char *file, char **out)
{
	size_t size = FIRST_SIZE;
	ssize_t n;

	for (;; size *= 2) {
		*out = malloc(size);
		if (!*out)
			return -ENOMEM;
		n = tree_read(tree, path_of(p, file).at, *out, size);
		if (n >= 0 && ((size_t)n < size - 1 || size == MAX_SIZE))
			return n;
		free(*out);
		if (n < 0)
			return n;
	}
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* ---- maps -------------------------------------------------------------------------- */

/** struct mapped - @name: pattern of the file's name, or of its whole path if it contains a slash */
static const struct mapped {
	const char *name;
	enum process_map map;
} mapped[] = {
	{ "libfabric.so*", MAP_LIBFABRIC },
	{ "libpeerpin-fi.so*", MAP_PEERPIN_FI },
	{ "libmca_common_ofi.so*", MAP_OPENMPI_OFI },
	{ "mca_mtl_ofi.so*", MAP_OPENMPI_OFI },
	{ "mca_btl_ofi.so*", MAP_OPENMPI_OFI },
	{ "libverbs*-fi.so*", MAP_FI_MODULE },
	{ "libefa*-fi.so*", MAP_FI_MODULE },
	{ "libopx*-fi.so*", MAP_FI_MODULE },
	{ "libucm.so*", MAP_UCX },
	{ "libpeerpin-ucm.so*", MAP_PEERPIN_UCM },
	{ "libpeerpin-hook.so*", MAP_PEERPIN_HOOK },
	{ "libcuda.so*", MAP_CUDA },
	{ "libcudart.so*", MAP_CUDART },
	{ "/dev/peerpin*", MAP_NODE },
};

static void add_map(struct process *p, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	size_t i;

	for (i = 0; i < sizeof(mapped) / sizeof(mapped[0]); i++)
		if (!fnmatch(mapped[i].name, *mapped[i].name == '/' ? path : name, 0))
			p->maps[mapped[i].map] = true;
}

static int read_maps(struct process *p, const struct tree *tree)
{
	char *text, *line, *path, *rest;
	ssize_t n = read_whole(p, tree, "maps", &text);

	if (n < 0)
		return (int)n;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		path = strchr(line, '/');
		if (path)
			add_map(p, path);
	}
	free(text);
	return 0;
}

/* ---- the environment ----------------------------------------------------------------- */

static void add_variable(struct process *p, const char *entry)
{
	static const char *const names[NR_PROCESS_VARIABLES] = {
		[VARIABLE_MONITOR] = "FI_MR_CACHE_MONITOR=",
		[VARIABLE_MAX_COUNT] = "FI_MR_CACHE_MAX_COUNT=",
	};
	int i;

	for (i = 0; i < NR_PROCESS_VARIABLES; i++) {
		if (!begins(entry, names[i]))
			continue;
		snprintf(p->variables[i], sizeof(p->variables[i]), "%s", entry + strlen(names[i]));
		make_printable(p->variables[i]);
	}
}

static int read_environment(struct process *p, const struct tree *tree)
{
	char *text, *at;
	ssize_t n = read_whole(p, tree, "environ", &text);

	if (n < 0)
		return (int)n;
	for (at = text; at < text + n; at += strlen(at) + 1)
		add_variable(p, at);
	free(text);
	return 0;
}

/* ---- open files and threads ------------------------------------------------------------ */

/** struct reader - the arguments of the functions that tree_list() calls */
struct reader {
	struct process *p;
	const struct tree *tree;
};

static int add_file(void *arg, const char *name)
{
	static const char *const targets[NR_PROCESS_FILES][2] = {
		[FILE_RDMA] = { "/dev/infiniband/uverbs", "/dev/cxi" },
		[FILE_KDREG2] = { "/dev/kdreg2" },
		[FILE_USERFAULTFD] = { "anon_inode:[userfaultfd]" },
	};
	const struct reader *r = arg;
	char target[256];
	int i, j;

	if (tree_target(r->tree, tree_path("proc/%s/fd/%s", r->p->pid, name).at, target, sizeof(target)))
		return 0;
	for (i = 0; i < NR_PROCESS_FILES; i++)
		for (j = 0; j < 2 && targets[i][j]; j++)
			r->p->files[i] |= begins(target, targets[i][j]);
	return 0;
}

static int add_thread(void *arg, const char *name)
{
	static const char *const names[NR_PROCESS_THREADS] = {
		[THREAD_FI] = "peerpin-fi",
		[THREAD_UCM] = "peerpin-ucm",
	};
	const struct reader *r = arg;
	char comm[32];
	int i;

	if (tree_line(r->tree, tree_path("proc/%s/task/%s/comm", r->p->pid, name).at, comm, sizeof(comm)))
		return 0;
	for (i = 0; i < NR_PROCESS_THREADS; i++)
		r->p->threads[i] |= !strcmp(comm, names[i]);
	return 0;
}

int process_read(const struct tree *tree, const char *pid, struct process *out)
{
	struct reader reader = { out, tree };
	char name[32];

	*out = (struct process){ 0 };
	snprintf(out->pid, sizeof(out->pid), "%s", pid);
	if (tree_line(tree, path_of(out, "comm").at, name, sizeof(name)))
		return -ENOENT;
	snprintf(out->subject, sizeof(out->subject), "%s (%s)", pid, name);
	out->error = read_maps(out, tree);
	if (!out->error)
		out->error = read_environment(out, tree);
	if (!out->error)
		out->error = tree_list(tree, path_of(out, "fd").at, add_file, &reader);
	if (!out->error)
		out->error = tree_list(tree, path_of(out, "task").at, add_thread, &reader);
	return 0;
}
