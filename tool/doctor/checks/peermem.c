// SPDX-License-Identifier: MIT
/* Peer memory (nvidia-peermem, formerly nv_peer_mem), by which RDMA drivers of MLNX_OFED register GPU memory. */
#include <stdint.h>
#include "checks.h"
#include "tool/doctor/ways.h"

/* Of nvidia-peermem and nv_peer_mem only one can work. */
void check_peermem_both(const struct view *v, struct report *r)
{
	if (module_loaded(v, "nvidia_peermem") == SEEN_YES && module_loaded(v, "nv_peer_mem") == SEEN_YES) {
		report_add(r, HEALTH_FAIL, "nv_peer_mem",
			   "nvidia_peermem and nv_peer_mem are both loaded: only one can work, and nv_peer_mem is "
			   "obsolete");
		report_type(r, "service nv_peer_mem stop; rmmod nv_peer_mem; dpkg -P nvidia-peer-memory "
			       "nvidia-peer-memory-dkms");
	}
}

static void add_old(const struct view *v, struct report *r)
{
	if (module_loaded(v, "nvidia_peermem") == SEEN_YES)
		return;
	report_add(r, HEALTH_WARN, "nv_peer_mem",
		   "nv_peer_mem is loaded, which has no persistent pins; since driver 470 nvidia-peermem replaces it");
	report_type(r, "service nv_peer_mem stop; rmmod nv_peer_mem; modprobe nvidia-peermem");
}

static void type_ask_cuda(struct report *r)
{
	report_type(r, "nvidia-smi; ldconfig -p | grep libcuda.so.1    # make CUDA work; then peerpin doctor again");
}

static void add_none(const struct view *v, struct report *r)
{
	switch (dma_bufs_suffice(v)) {
	case SEEN_YES:
		report_add(r, HEALTH_OK, "nvidia_peermem", "not loaded, and not needed: dma-bufs replace it");
		break;
	case SEEN_NO:
		report_add(r, HEALTH_WARN, "nvidia_peermem",
			   "not loaded: RDMA devices can get GPU memory only by dma-buf");
		report_type(r, "modprobe nvidia-peermem");
		break;
	default:
		report_add(r, HEALTH_UNSEEN, "nvidia_peermem",
			   "not loaded; whether dma-bufs can replace it cannot be seen: see dma-buf and rdma");
		type_ask_cuda(r);
	}
}

void check_peermem(const struct view *v, struct report *r)
{
	if (module_loaded(v, "nv_peer_mem") == SEEN_YES) {
		add_old(v, r);
	} else if (module_loaded(v, "nvidia_peermem") == SEEN_YES) {
		report_add(r, HEALTH_OK, "nvidia_peermem", "loaded");
	} else if (wants_peer_memory(v) && peer_memory_loaded(v) == SEEN_NO) {
		add_none(v, r);
	} else if (wants_peer_memory(v)) {
		report_add(r, HEALTH_UNSEEN, "nvidia_peermem", "whether it is loaded cannot be seen");
		report_type(r, "lsmod | grep peer");
	}
}

static void add_no_symbols(const struct view *v, struct report *r)
{
	const char *why = "the RDMA core has no ib_register_peer_memory_client, without which modprobe nvidia-peermem "
			  "says \"Invalid argument\"";

	switch (dma_bufs_suffice(v)) {
	case SEEN_YES:
		report_add(r, HEALTH_OK, "ib_core", "%s; dma-bufs do not need it", why);
		break;
	case SEEN_NO:
		if (dma_bufs_help(v) == SEEN_NO)
			report_add(r, HEALTH_FAIL, "ib_core", "%s", why);
		else
			report_add(r, HEALTH_WARN, "ib_core",
				   "%s; dma-bufs do not need it, but not all GPUs export them: see dma-buf", why);
		report_type(r, "install MLNX_OFED (DOCA-OFED), then reinstall the GPU's driver, which builds "
			       "nvidia-peermem against it");
		break;
	default:
		report_add(r, HEALTH_UNSEEN, "ib_core", "%s; whether dma-bufs are enough cannot be seen", why);
		type_ask_cuda(r);
	}
}

/* If nvidia-peermem was built without the symbols of peer memory, its init function only returns -EINVAL. */
void check_peermem_symbols(const struct view *v, struct report *r)
{
	if (!wants_peer_memory(v) || peer_memory_loaded(v) == SEEN_YES)
		return;
	switch (facts_symbol(&v->facts, "ib_register_peer_memory_client")) {
	case SEEN_NO:
		add_no_symbols(v, r);
		break;
	case SEEN_YES:
		report_add(r, HEALTH_OK, "ib_core",
			   "the RDMA core has peer memory; if modprobe nvidia-peermem says \"Invalid argument\", "
			   "reinstall the GPU's driver");
		break;
	default:
		report_add(r, HEALTH_UNSEEN, "ib_core", "whether the RDMA core has peer memory cannot be seen");
		report_type(r, "sudo grep ib_register_peer_memory_client /proc/kallsyms");
	}
}

void check_peermem_legacy(const struct view *v, struct report *r)
{
	uint64_t legacy;

	if (!tree_u64(v->tree, "sys/module/nvidia_peermem/parameters/peerdirect_support", &legacy) && legacy == 1) {
		report_add(r, HEALTH_WARN, "nvidia_peermem", "peerdirect_support=1 is for MLNX_OFED 4.9 and older");
		report_type(r, "rmmod nvidia_peermem; modprobe nvidia-peermem peerdirect_support=0; grep -rl "
			       "peerdirect_support /etc/modprobe.d");
	}
}
