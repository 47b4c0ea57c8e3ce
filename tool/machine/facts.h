/* SPDX-License-Identifier: MIT */
/*
 * What is to be known of a machine and is no plain file: what NVML and CUDA say of its GPUs, device nodes, symbols and
 * configuration of its kernel. All of it is text, one fact a line, "KIND SUBJECT VALUE...": a captured tree has the
 * text as peerpin/facts, a live machine is asked for the same text, and one parser reads both.
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
	FACTS_WAIT_MS = 10000,		/* cuInit() takes 0.2 s a GPU, and seconds where GPUs sleep */
	FACTS_WAIT_LONG_MS = 15000,	/* a capture has more time */
};

enum seen {
	SEEN_UNKNOWN,
	SEEN_NO,
	SEEN_YES,
};

/**
 * struct gpu_facts - what the vendor's libraries say of a GPU
 * @pci: "0000:3b:00.0", as struct device has it
 * @bar1_total: bytes; 0: NVML did not say
 * @bar1_used: bytes
 * @dma_buf: CUDA exports its memory as a dma-buf: 1, 0, or -1 where CUDA was not there to be asked
 * @gdr: CUDA says that GPUDirect RDMA is supported: 1, 0, -1
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
 * @open_error: errno of opening it for reading and writing, 0: fine. A GPU's own nodes are not opened, which would
 *	wake the GPU: it is what access() says, which knows permissions and the container's device rules only.
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
 * struct facts - all of them
 * @known: false: another machine's tree that has no facts (it was copied by other means than --capture)
 * @nvml_error: why NVML tells nothing, "" if it does; ready to be shown: "no libnvidia-ml.so.1"
 * @cuda_error: the same of CUDA's attributes
 * @nodes: /dev/peerpin, /dev/nvidiactl, /dev/nvidia-uvm and /dev/gdrdrv always, there or not; /dev/nvidia0...,
 *	/dev/infiniband/uverbs* and /dev/infiniband/rdma_cm if they are there
 * @config_error: why the kernel's configuration is unknown, "" if it is known
 * @root: asked by root, who sees all where it is no container's
 * @container: what beside the files that a capture has says that this is a container; "" if nothing does
 * @ipc_lock: may who asked lock memory without a limit (CAP_IPC_LOCK)?
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
 * Of the machine that @tree is. A live one is asked, and given FACTS_WAIT_MS to answer; no error of a part is an error
 * of the whole. 0 or -errno (-ENOMEM, -EMFILE...).
 */
int facts_read(const struct tree *tree, struct facts *out);

/* Of a text; lines that it does not understand are left out. It is written into. */
void facts_parse(char *text, struct facts *out);

/* The text of this machine; who waits for NVML and CUDA does so for at most @wait_ms. 0 or -errno. */
int facts_write(FILE *out, unsigned int wait_ms);

/* NULL: the vendor's libraries do not know it */
const struct gpu_facts *facts_gpu(const struct facts *f, const char *pci);

/* NULL: neither looked for nor there */
const struct node_fact *facts_node(const struct facts *f, const char *path);

/*
 * An option of the kernel's configuration, without CONFIG_: "y", "m", "n" (not set), or its value. False: unknown.
 * Known are those of facts_live.c.
 */
bool facts_config(const struct facts *f, const char *key, char *value, size_t size);

/* Whether a loaded module, or the kernel, has that symbol. Known are those of facts_live.c. */
enum seen facts_symbol(const struct facts *f, const char *name);

#endif
