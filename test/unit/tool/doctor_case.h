/* SPDX-License-Identifier: MIT */
/*
 * A healthy machine with a GPU and an RDMA device under one switch. The tests of doctor plant
 * faults in this machine.
 */
#ifndef DOCTOR_CASE_H
#define DOCTOR_CASE_H

#include "tool/doctor/checks/checks.h"
#include "tool/doctor/pair.h"
#include "tree_maker.h"

enum made {
	MADE_PORT,
	MADE_UPSTREAM,
	MADE_DOWN_GPU,
	MADE_DOWN_RDMA,
	MADE_GPU,
	MADE_RDMA,
	NR_MADE,
};

#define GPU "0000:3d:00.0"
#define RDMA "0000:3e:00.0"
#define DOWN_GPU "0000:3c:00.0"
#define DOWN_RDMA "0000:3c:01.0"
#define ABOVE_SWITCH "pci0000:3a/0000:3a:00.0/0000:3b:00.0"

static const struct made_device healthy_devices[NR_MADE] = {
	[MADE_PORT] = {
		.name = "0000:3a:00.0", .above = "pci0000:3a", .vendor = 0x8086, .device = 0x352a,
		.class_code = 0x060400, .driver = "pcieport", .port = PORT_ROOT, .speed = "32.0 GT/s PCIe", .width = 16,
		.acs_cap = 0x5f, .acs_ctrl = 0x1d, .iommu_type = "identity", .group = 1,
	},
	[MADE_UPSTREAM] = {
		.name = "0000:3b:00.0", .above = "pci0000:3a/0000:3a:00.0", .vendor = 0x1000, .device = 0xc030,
		.class_code = 0x060400, .driver = "pcieport", .port = PORT_UPSTREAM, .speed = "32.0 GT/s PCIe",
		.width = 16, .iommu_type = "identity", .group = 2,
	},
	[MADE_DOWN_GPU] = {
		.name = DOWN_GPU, .above = ABOVE_SWITCH, .vendor = 0x1000, .device = 0xc030,
		.class_code = 0x060400, .driver = "pcieport", .port = PORT_DOWNSTREAM, .speed = "32.0 GT/s PCIe",
		.width = 16, .acs_cap = 0x5f, .iommu_type = "identity", .group = 3,
	},
	[MADE_DOWN_RDMA] = {
		.name = DOWN_RDMA, .above = ABOVE_SWITCH, .vendor = 0x1000, .device = 0xc030,
		.class_code = 0x060400, .driver = "pcieport", .port = PORT_DOWNSTREAM, .speed = "32.0 GT/s PCIe",
		.width = 16, .acs_cap = 0x5f, .iommu_type = "identity", .group = 4,
	},
	[MADE_GPU] = {
		.name = GPU, .above = ABOVE_SWITCH "/" DOWN_GPU, .vendor = 0x10de, .device = 0x2335,
		.class_code = 0x030200, .driver = "nvidia", .port = PORT_ENDPOINT, .speed = "32.0 GT/s PCIe",
		.width = 16, .master = true,
		.bars = { 64ull << 20, 0, 256ull << 30, 0, 32ull << 20, 0 }, .iommu_type = "identity", .group = 5,
	},
	[MADE_RDMA] = {
		.name = RDMA, .above = ABOVE_SWITCH "/" DOWN_RDMA, .vendor = 0x15b3, .device = 0x1021,
		.class_code = 0x020700, .driver = "mlx5_core", .rdma = "mlx5_0", .port = PORT_ENDPOINT,
		.speed = "32.0 GT/s PCIe", .width = 16, .master = true, .ats = true,
		.bars = { 32ull << 20 }, .iommu_type = "identity", .group = 6,
	},
};

static const char healthy_facts[] =
	"root yes\n"
	"ipc-lock yes\n"
	"gpu " GPU " name NVIDIA H200\n"
	"gpu " GPU " bar1 274877906944 1048576\n"
	"gpu " GPU " dma-buf 1\n"
	"gpu " GPU " gdr 1\n"
	"node /dev/peerpin 666 0 0 0\n"
	"node /dev/nvidiactl 666 0 0 0\n"
	"node /dev/nvidia-uvm 666 0 0 0\n"
	"node /dev/nvidia0 666 0 0 0\n"
	"node /dev/gdrdrv absent\n"
	"node /dev/infiniband/uverbs0 666 0 0 0\n"
	"symbol ib_register_peer_memory_client yes\n"
	"symbol nvidia_p2p_get_pages yes\n"
	"symbol nvidia_p2p_get_pages_persistent yes\n"
	"symbol mlx5_ib_reg_user_mr_dmabuf yes\n"
	"option PCI_P2PDMA y\n"
	"option DMA_SHARED_BUFFER y\n"
	"option MODULE_SIG_FORCE n\n";

static const struct healthy_file {
	const char *path;
	const char *text;
} healthy_files[] = {
	{ "proc/driver/nvidia/version",
	  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n" },
	{ "sys/module/nvidia/version", "580.159.04\n" },
	{ "proc/modules",
	  "peerpin_nv 16384 0 - Live 0x0 (OE)\n"
	  "peerpin 106496 1 peerpin_nv, Live 0x0 (OE)\n"
	  "nvidia_uvm 1 0 - Live 0x0 (OE)\n"
	  "nvidia 2 1 peerpin_nv, Live 0x0 (OE)\n"
	  "mlx5_ib 3 0 - Live 0x0\n" },
	{ "proc/cmdline", "intel_iommu=on iommu=pt\n" },
	{ "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nflags\t\t: fpu vme de\n" },
	{ "proc/sys/kernel/osrelease", "6.8.0-60-generic\n" },
	{ "proc/self/limits",
	  "Limit                     Soft Limit           Hard Limit           Units     \n"
	  "Max locked memory         unlimited            unlimited            bytes     \n"
	  "Max address space         unlimited            unlimited            bytes     \n" },
	{ "proc/1/cgroup", "0::/init.scope\n" },
	{ "sys/module/module/parameters/sig_enforce", "N\n" },
	{ "sys/kernel/security/lockdown", "[none] integrity confidentiality\n" },
	{ "sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n" },
};

/* In healthy_facts, replace the line that begins with @at by @now; @now NULL: drop the line; @at NULL: no change. */
static inline void make_facts(const char *root, const char *at, const char *now)
{
	const char *line = at ? strstr(healthy_facts, at) : NULL;
	size_t before = line ? (size_t)(line - healthy_facts) : strlen(healthy_facts);

	if (at)
		assert_non_null(line);
	make_file(root, "peerpin/facts", "%.*s%s%s%s", (int)before, healthy_facts, now ? now : "", now ? "\n" : "",
		  line ? strchr(line, '\n') + 1 : "");
}

/* Insert @line before the other facts: for a symbol or a node, doctor uses the first line. */
static inline void add_fact(const char *root, const char *line)
{
	char *whole = make_way(root, "peerpin/facts"), text[4096];
	FILE *f = fopen(whole, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	free(whole);
	make_file(root, "peerpin/facts", "%s\n%s", line, text);
}

static inline void make_healthy_files(const char *root)
{
	size_t i;

	for (i = 0; i < sizeof(healthy_files) / sizeof(healthy_files[0]); i++)
		make_file(root, healthy_files[i].path, "%s", healthy_files[i].text);
	make_facts(root, NULL, NULL);
}

static inline void make_devices(const char *root, const struct made_device *devices)
{
	int i;

	for (i = 0; i < NR_MADE; i++)
		make_device(root, &devices[i]);
}

/* ---- doctor's output -------------------------------------------------------------- */

/**
 * struct diagnosis - doctor's output
 * @findings: lines like "FAIL peermem-both nv_peer_mem\n"
 * @advice: lines like "peermem: modprobe...\n"
 * @pairs: one line for each pair, like "works well\n"
 * @gpus: text of the line about GPUs
 */
struct diagnosis {
	char findings[16384];
	char advice[16384];
	char pairs[1024];
	char gpus[400];
	size_t nr_failures;
};

static inline void write_findings(const struct report *r, struct diagnosis *out)
{
	size_t i, n = 0;

	for (i = 0; i < r->count; i++) {
		n += (size_t)snprintf(out->findings + n, sizeof(out->findings) - n, "%s %s %s\n",
				      health_name(r->at[i].health), r->at[i].check->id, r->at[i].subject);
		assert_true(n < sizeof(out->findings));
		if (r->at[i].health == HEALTH_OK)
			assert_string_equal(r->at[i].type, "");
		else
			assert_string_not_equal(r->at[i].type, "");
		assert_string_not_equal(r->at[i].why, "");
	}
}

static inline void write_advice(const struct report *r, struct diagnosis *out)
{
	size_t i, n = 0;

	for (i = 0; i < r->count; i++) {
		if (!*r->at[i].type)
			continue;
		n += (size_t)snprintf(out->advice + n, sizeof(out->advice) - n, "%s: %s\n", r->at[i].check->id,
				      r->at[i].type);
		assert_true(n < sizeof(out->advice));
	}
}

static inline void write_pairs(const struct pairs *pairs, struct diagnosis *out)
{
	size_t i, n = 0;

	for (i = 0; i < pairs->count; i++)
		n += (size_t)snprintf(out->pairs + n, sizeof(out->pairs) - n, "%s\n",
				      pair_verdict_name(pairs->at[i].verdict));
	assert_true(n < sizeof(out->pairs));
}

static inline void diagnose(const char *root, struct diagnosis *out)
{
	static struct view view;
	struct report report = { 0 };
	struct pairs pairs;
	struct tree *tree;

	memset(out, 0, sizeof(*out));
	assert_int_equal(tree_open(root, &tree), 0);
	assert_int_equal(view_open(tree, &view), 0);
	checks_run(&view, &report);
	pairs_judge(&view, &pairs);
	write_findings(&report, out);
	write_advice(&report, out);
	snprintf(out->gpus, sizeof(out->gpus), "%s", report.at[0].why);
	write_pairs(&pairs, out);
	out->nr_failures = report_count(&report, HEALTH_FAIL);
	pairs_free(&pairs);
	report_free(&report);
	view_close(&view);
	tree_close(tree);
}

static inline bool has_line(const char *lines, const char *line, size_t length)
{
	for (; *lines; lines = strchr(lines, '\n') + 1)
		if (!strncmp(lines, line, length))
			return true;
	return false;
}

/* Copy to @out each line of @lines that is not in @others. */
static inline void only_in(const char *lines, const char *others, char *out)
{
	size_t length;

	*out = '\0';
	for (; *lines; lines += length) {
		length = strcspn(lines, "\n") + 1;
		if (!has_line(others, lines, length))
			strncat(out, lines, length);
	}
}

#endif
