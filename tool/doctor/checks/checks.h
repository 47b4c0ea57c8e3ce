/* SPDX-License-Identifier: MIT */
/* doctor's checks: checks.c has the table, and each other file the checks of one subject. */
#ifndef CHECKS_H
#define CHECKS_H

#include "tool/doctor/process.h"
#include "tool/doctor/report.h"
#include "tool/doctor/view.h"

/**
 * struct check - a row of the table
 * @section: section of NVIDIA's GPUDirect RDMA guide
 * @run: NULL: a check of one process (engines.c)
 */
struct check {
	const char *id;
	const char *section;
	void (*run)(const struct view *v, struct report *r);
};

/* Runs all checks in the order of the table: a cause is reported before its consequences. */
void checks_run(const struct view *v, struct report *r);

/* Runs the checks of one process. */
void checks_run_on(const struct process *p, struct report *r);

void check_gpu(const struct view *v, struct report *r);
void check_driver(const struct view *v, struct report *r);
void check_driver_flavour(const struct view *v, struct report *r);
void check_driver_nv_p2p(const struct view *v, struct report *r);
void check_driver_persistent(const struct view *v, struct report *r);
void check_driver_race(const struct view *v, struct report *r);
void check_dma_buf(const struct view *v, struct report *r);
void check_gpu_direct(const struct view *v, struct report *r);

void check_bar1(const struct view *v, struct report *r);
void check_bar1_size(const struct view *v, struct report *r);

void check_peermem(const struct view *v, struct report *r);
void check_peermem_both(const struct view *v, struct report *r);
void check_peermem_symbols(const struct view *v, struct report *r);
void check_peermem_legacy(const struct view *v, struct report *r);

void check_peerpin_module(const struct view *v, struct report *r);
void check_peerpin_provider(const struct view *v, struct report *r);
void check_peerpin_node(const struct view *v, struct report *r);

void check_platform(const struct view *v, struct report *r);
void check_platform_virtual(const struct view *v, struct report *r);

void check_iommu(const struct view *v, struct report *r);
void check_iommu_translates(const struct view *v, struct report *r);
void check_ats(const struct view *v, struct report *r);
void check_acs_redirect(const struct view *v, struct report *r);
void check_host_bridge(const struct view *v, struct report *r);

void check_kernel_p2pdma(const struct view *v, struct report *r);
void check_kernel_dma_buf(const struct view *v, struct report *r);
void check_kernel_signatures(const struct view *v, struct report *r);
void check_memlock(const struct view *v, struct report *r);

/* Adds the advice to restart the container with @option, such as "--device=/dev/peerpin" */
void report_docker(struct report *r, const char *option);

/* Did open() of @node fail with EPERM, because of the device rules of this container? */
bool refused_by_container(const struct view *v, const struct node_fact *node);

void check_container(const struct view *v, struct report *r);
void check_nodes_nvidia(const struct view *v, struct report *r);
void check_nodes_rdma(const struct view *v, struct report *r);

void check_peer(const struct view *v, struct report *r);
void check_rdma(const struct view *v, struct report *r);
void check_rdma_port(const struct view *v, struct report *r);
void check_link(const struct view *v, struct report *r);

#endif
