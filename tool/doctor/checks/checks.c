// SPDX-License-Identifier: MIT
#include "checks.h"

static const struct check checks[] = {
	{ "gpu", "11.4", check_gpu },
	{ "driver", "12.6", check_driver },
	{ "driver-flavour", "12.6", check_driver_flavour },
	{ "driver-nv-p2p", "13.3", check_driver_nv_p2p },
	{ "driver-persistent", "10", check_driver_persistent },
	{ "driver-race", "10", check_driver_race },
	{ "dma-buf", "3", check_dma_buf },
	{ "gpu-direct", "11.4", check_gpu_direct },
	{ "bar1", "12.1", check_bar1 },
	{ "bar1-size", "11.5", check_bar1_size },
	{ "peermem", "12.7", check_peermem },
	{ "peermem-both", "12.7", check_peermem_both },
	{ "peermem-symbols", "12.7", check_peermem_symbols },
	{ "peermem-legacy", "12.7", check_peermem_legacy },
	{ "peerpin-module", "12.2", check_peerpin_module },
	{ "peerpin-provider", "12.2", check_peerpin_provider },
	{ "peerpin-node", "12.2", check_peerpin_node },
	{ "platform", "11.4", check_platform },
	{ "platform-virtual", "11.4", check_platform_virtual },
	{ "iommu", "11.4", check_iommu },
	{ "iommu-translates", "11.4", check_iommu_translates },
	{ "ats", "11.4", check_ats },
	{ "acs-redirect", "11.4", check_acs_redirect },
	{ "p2pdma-host-bridge", "11.4", check_host_bridge },
	{ "kernel-p2pdma", "3", check_kernel_p2pdma },
	{ "kernel-dma-buf", "3", check_kernel_dma_buf },
	{ "kernel-signatures", "12.6", check_kernel_signatures },
	{ "memlock", "12.2", check_memlock },
	{ "container", "12.2", check_container },
	{ "nodes-nvidia", "12.2", check_nodes_nvidia },
	{ "nodes-rdma", "12.7", check_nodes_rdma },
	{ "peer", "11.4", check_peer },
	{ "rdma", "12.7", check_rdma },
	{ "rdma-port", "12.7", check_rdma_port },
	{ "link", "11.4", check_link },
};

void checks_run(const struct view *v, struct report *r)
{
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		r->check = &checks[i];
		checks[i].run(v, r);
	}
}
