/* SPDX-License-Identifier: MIT */
/* What a running process has loaded and opened, from its files in /proc */
#ifndef DOCTOR_PROCESS_H
#define DOCTOR_PROCESS_H

#include <stdbool.h>
#include "tool/machine/tree.h"

enum process_map {
	MAP_LIBFABRIC,
	MAP_PEERPIN_FI,
	MAP_OPENMPI_OFI,	/* Open MPI's component that imports a monitor into libfabric */
	MAP_FI_MODULE,		/* a provider module of libfabric with a cache of its own: lib/fi/module.c */
	MAP_UCX,
	MAP_PEERPIN_UCM,
	MAP_PEERPIN_HOOK,
	MAP_CUDA,
	MAP_CUDART,		/* the CUDA runtime, as a shared library */
	MAP_NODE,		/* /dev/peerpin: the revocation page */
	NR_PROCESS_MAPS,
};

enum process_file {
	FILE_RDMA,		/* an RDMA device of libibverbs, or an adapter of HPE (cxi) */
	FILE_KDREG2,
	FILE_USERFAULTFD,
	NR_PROCESS_FILES,
};

enum process_thread {
	THREAD_FI,		/* of libpeerpin-fi: runs from libfabric's first cache on */
	THREAD_UCM,		/* of libpeerpin-ucm: runs from UCX's first registration on */
	NR_PROCESS_THREADS,
};

enum process_variable {
	VARIABLE_MONITOR,	/* FI_MR_CACHE_MONITOR */
	VARIABLE_MAX_COUNT,	/* FI_MR_CACHE_MAX_COUNT */
	NR_PROCESS_VARIABLES,
};

/**
 * struct process
 * @subject: "1234 (fi_pingpong)"
 * @error: 0, or -errno: the files that only its user and root can read were not read
 * @maps: it has mapped such a file
 * @files: it has opened such a file
 * @threads: it has such a thread
 * @variables: of the environment that it was started with; "": not set
 */
struct process {
	char pid[16];
	char subject[64];
	int error;
	bool maps[NR_PROCESS_MAPS];
	bool files[NR_PROCESS_FILES];
	bool threads[NR_PROCESS_THREADS];
	char variables[NR_PROCESS_VARIABLES][32];
};

/* @pid: decimal. Returns 0; -ENOENT: there is no such process. */
int process_read(const struct tree *tree, const char *pid, struct process *out);

#endif
