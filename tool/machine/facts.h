/* SPDX-License-Identifier: MIT */
/*
 * Facts about a machine that are not in plain files: GPU attributes from NVML and CUDA, device nodes, kernel symbols
 * and kernel configuration. All facts are text, one a line, "KIND SUBJECT VALUE...". A captured tree has the text as
 * peerpin/facts, a live machine writes the same text, and one parser reads both.
 */
#ifndef FACTS_H
#define FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "tree.h"

enum {
	FACTS_GPUS = 64,
	FACTS_NODES = 256,
	FACTS_SYMBOLS = 16,
	FACTS_OPTIONS = 32,
	FACTS_SIZE = 64 * 1024,		/* of the text */
	FACTS_WAIT_MS = 10000,		/* cuInit() takes 0.2 s a GPU, and seconds to wake sleeping GPUs */
	FACTS_WAIT_LONG_MS = 15000,	/* a capture has more time */
};

enum seen {
	SEEN_UNKNOWN,
	SEEN_NO,
	SEEN_YES,
};

/**
 * struct gpu_facts - attributes of a GPU, from NVML and CUDA
 * @pci: "0000:3b:00.0", as in struct device
 * @bar1_total: bytes; 0: NVML did not answer
 * @bar1_used: bytes
 * @dma_buf: CUDA exports its memory as a dma-buf: 1, 0, or -1 if CUDA did not answer
 * @gdr: CUDA reports support of GPUDirect RDMA: 1, 0, or -1
 */
struct gpu_facts {
	char pci[20];
	char name[64];
	uint64_t bar1_total, bar1_used;
	int dma_buf, gdr;
};

/**
 * struct node_fact - a device node
 * @path: "/dev/peerpin"
 * @mode: permission bits; -1: there is no such node
 * @open_error: errno of open(O_RDWR), 0: success. For a GPU's nodes the result of access() instead, because open()
 *	would wake the GPU; access() checks only permissions and the container's device rules.
 */
struct node_fact {
	char path[64];
	int mode;
	unsigned int uid, gid;
	int open_error;
};

struct symbol_fact {
	char name[48];
	enum seen seen;
};

struct option_fact {
	char name[48], value[64];
};

/**
 * struct facts - all facts of a machine
 * @known: false: another machine's tree without facts (not made by --capture)
 * @nvml_error: message if NVML does not answer, such as "no libnvidia-ml.so.1"; "": no error
 * @cuda_error: the same for CUDA
 * @nodes: /dev/peerpin, /dev/nvidiactl, /dev/nvidia-uvm and /dev/gdrdrv always, present or not; /dev/nvidia0...,
 *	/dev/infiniband/uverbs* and /dev/infiniband/rdma_cm only if present
 * @config_error: message if the kernel's configuration is unknown; "": known
 * @root: collected by root; root of a container still cannot read everything
 * @container: evidence of a container, beside the files in a capture; "": none
 * @ipc_lock: did the collecting process have CAP_IPC_LOCK (no limit on locked memory)?
 */
struct facts {
	bool known;
	struct gpu_facts gpus[FACTS_GPUS];
	size_t nr_gpus;
	char nvml_error[128], cuda_error[128];
	struct node_fact nodes[FACTS_NODES];
	size_t nr_nodes;
	struct symbol_fact symbols[FACTS_SYMBOLS];
	size_t nr_symbols;
	struct option_fact options[FACTS_OPTIONS];
	size_t nr_options;
	char config_error[128];
	bool root;
	enum seen ipc_lock;
	char container[64];
};

/*
 * Reads the facts of the machine in @tree. On a live machine this waits up to FACTS_WAIT_MS for NVML and CUDA; if one
 * source fails, the others still count. Returns 0 or -errno (-ENOMEM, -EMFILE...).
 */
int facts_read(const struct tree *tree, struct facts *out);

/* Parses @text and modifies it; ignores unknown lines. */
void facts_parse(char *text, struct facts *out);

/* Writes the text for this machine; waits at most @wait_ms for NVML and CUDA. Returns 0 or -errno. */
int facts_write(FILE *out, unsigned int wait_ms);

/* NULL: neither NVML nor CUDA lists this GPU */
const struct gpu_facts *facts_gpu(const struct facts *f, const char *pci);

/* NULL: no fact about this node */
const struct node_fact *facts_node(const struct facts *f, const char *path);

/*
 * The value of a kernel option, named without CONFIG_: "y", "m", "n" (not set), or another value. False: unknown.
 * facts_live.c lists the options that are collected.
 */
bool facts_config(const struct facts *f, const char *key, char *value, size_t size);

/* Does the kernel or a loaded module have this symbol? facts_live.c lists the symbols that are collected. */
enum seen facts_symbol(const struct facts *f, const char *name);

#endif
