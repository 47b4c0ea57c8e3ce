/* SPDX-License-Identifier: MIT */
/*
 * Facts about a machine that are not in plain files: GPU attributes from NVML and CUDA, device nodes, kernel symbols
 * and kernel configuration. Facts are text with one fact in each line: "KIND SUBJECT VALUE...". A captured tree has
 * this text in the file peerpin/facts. On a live machine facts_write() makes the text. One parser reads both.
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
	FACTS_NVLINKS = 256,		/* pairs of GPUs */
	FACTS_SIZE = 64 * 1024,		/* largest size of the text, in bytes */
	FACTS_WAIT_MS = 10000,		/* cuInit() takes 0.2 s for each GPU, and seconds if it must wake GPUs */
	FACTS_WAIT_LONG_MS = 15000,	/* wait of a capture */
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
 * @dma_buf: does CUDA export the GPU's memory as dma-bufs? 1, 0, or -1 if CUDA did not answer
 * @gdr: does CUDA report support of GPUDirect RDMA? 1, 0, or -1 if CUDA did not answer
 */
struct gpu_facts {
	char pci[20];
	char name[64];
	uint64_t bar1_total, bar1_used;
	int dma_buf, gdr;
};

/** struct nvlink_fact - two GPUs, and the number of NVLinks between them */
struct nvlink_fact {
	char a[20], b[20];
	unsigned int links;
};

/**
 * struct node_fact - a device node
 * @path: "/dev/peerpin"
 * @mode: permission bits; -1: the node does not exist
 * @open_error: errno of open(O_RDWR); 0: success; ENODEV: another file is in the place of the device. For
 *	/dev/nvidia0... the errno of access() instead, because open() would wake the GPU; access() checks only
 *	permissions and the container's device rules
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
 * @known: true if facts were read; false for a tree without facts, which --capture did not make
 * @nvml_error: why NVML does not answer, such as "no libnvidia-ml.so.1"; "": no error
 * @cuda_error: why CUDA does not answer; "": no error
 * @nvlinks_known: NVML has reported the NVLinks
 * @nodes: device nodes. Always listed: /dev/peerpin, /dev/nvidiactl, /dev/nvidia-uvm and /dev/gdrdrv. If they exist:
 *	/dev/nvidia0..., /dev/infiniband/uverbs* and /dev/infiniband/rdma_cm
 * @config_error: why the kernel's configuration is unknown; "": it is known
 * @root: did root collect the facts? Root of a container still cannot read everything
 * @ipc_lock: did the collecting process have CAP_IPC_LOCK, which lifts the limit on locked memory?
 * @container: an environment variable or a file that proves a container; "": none
 */
struct facts {
	bool known;
	struct gpu_facts gpus[FACTS_GPUS];
	size_t nr_gpus;
	char nvml_error[128], cuda_error[128];
	bool nvlinks_known;
	struct nvlink_fact nvlinks[FACTS_NVLINKS];
	size_t nr_nvlinks;
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
 * Reads the facts of the machine in @tree. On a live machine this waits up to FACTS_WAIT_MS for NVML and CUDA. If NVML
 * or CUDA fails, the other facts are still read. Returns 0 or -errno (-ENOMEM, -EMFILE...).
 */
int facts_read(const struct tree *tree, struct facts *out);

/* Reads only the facts that come from NVML. Waits for them as facts_read(). Returns 0 or -errno. */
int facts_read_nvml(const struct tree *tree, struct facts *out);

/* Parses @text and modifies it; ignores unknown lines. */
void facts_parse(char *text, struct facts *out);

/* Writes the facts of this machine as text; waits at most @wait_ms for NVML and CUDA. Returns 0 or -errno. */
int facts_write(FILE *out, unsigned int wait_ms);

/* Returns the facts of a GPU, or NULL if neither NVML nor CUDA lists it. */
const struct gpu_facts *facts_gpu(const struct facts *f, const char *pci);

/* Number of NVLinks between two GPUs; 0: none, or unknown */
unsigned int facts_nvlinks(const struct facts *f, const char *pci_a, const char *pci_b);

/* Writes the facts of this machine that come from NVML. Returns 0 or -errno. */
int facts_write_nvml(FILE *out, unsigned int wait_ms);

/* Returns the fact about a device node, or NULL. */
const struct node_fact *facts_node(const struct facts *f, const char *path);

/*
 * Copies the value of the kernel option CONFIG_@key: "y", "m", "n" (not set), or another value. False: unknown.
 * facts_live.c lists the collected options.
 */
bool facts_config(const struct facts *f, const char *key, char *value, size_t size);

/* Does the kernel or a loaded module have this symbol? facts_live.c lists the collected symbols. */
enum seen facts_symbol(const struct facts *f, const char *name);

#endif
