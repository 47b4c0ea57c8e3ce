// SPDX-License-Identifier: MIT
/* Devices that can transfer from and to GPU memory, and their links. */
#include <stdio.h>
#include <string.h>
#include "checks.h"
#include "tool/doctor/ways.h"
#include "tool/doctor/pair.h"

void check_peer(const struct view *v, struct report *r)
{
	size_t n = 0;
	int i;

	for (i = next_peer(v, -1); i >= 0; i = next_peer(v, i))
		n++;
	if (v->pci_error)
		return;
	if (n) {
		report_add(r, HEALTH_OK, "machine", "%zu device%s that could be a peer", n, n == 1 ? "" : "s");
	} else {
		report_add(r, HEALTH_WARN, "machine",
			   "there is no peer to talk to: no RDMA device, NVMe disk, accelerator or device of a driver "
			   "that uses peerpin");
		report_type(r, "lspci -k; ls /sys/class/infiniband    # has each device its driver?");
	}
}

/* ---- RDMA devices ------------------------------------------------------------------ */

static const char *yes_or_no(enum seen seen)
{
	return seen == SEEN_YES ? "yes" : seen == SEEN_NO ? "no" : "not known";
}

/* FAIL: the device can register no GPU's memory. WARN: not that of some GPUs, which the check "dma-buf" lists. */
static enum health register_health(const struct view *v, const struct device *rdma)
{
	if (can_register_any(v, rdma) == SEEN_NO)
		return HEALTH_FAIL;
	switch (can_register_all(v, rdma)) {
	case SEEN_YES:
		return HEALTH_OK;
	case SEEN_NO:
		return HEALTH_WARN;
	default:
		return HEALTH_UNSEEN;
	}
}

static const char *how_many_export(const struct view *v)
{
	enum seen any = a_gpu_exports_dma_bufs(v), all = gpus_export_dma_bufs(v);

	return any == SEEN_YES && all == SEEN_NO ? "some" : yes_or_no(all);
}

static void check_device(const struct view *v, struct report *r, const struct device *d)
{
	enum health health = register_health(v, d);

	report_add(r, health, d->rdma,
		   "%s registers GPU memory as dma-buf: %s (GPUs export them: %s), as peer memory: %s", d->driver,
		   yes_or_no(takes_dma_bufs(v, d)), how_many_export(v), yes_or_no(takes_peer_memory(v, d)));
	if (health == HEALTH_FAIL || health == HEALTH_WARN)
		report_type(r, "modprobe nvidia-peermem    # with MLNX_OFED; or apt install nvidia-open");
	else if (health == HEALTH_UNSEEN)
		report_type(r, "ib_write_bw -d %s --use_cuda=0 --use_cuda_dmabuf    # tries a dma-buf",
			    d->rdma);
}

void check_rdma(const struct view *v, struct report *r)
{
	int i;

	for (i = next_peer(v, -1); i >= 0; i = next_peer(v, i))
		if (v->machine.at[i].kind == DEVICE_RDMA)
			check_device(v, r, &v->machine.at[i]);
}

/** struct ports - context for the ports of one RDMA device */
struct ports {
	const struct view *view;
	struct report *report;
	const char *rdma;
};

static struct tree_path port_state(const char *rdma, const char *port)
{
	return tree_path("sys/class/infiniband/%s/ports/%s/state", rdma, port);
}

static int check_port(void *arg, const char *port)
{
	const struct ports *p = arg;
	char state[32];

	if (port[strspn(port, "0123456789")])
		return 0;
	if (tree_line(p->view->tree, port_state(p->rdma, port).at, state, sizeof(state)))
		return 0;
	if (strstr(state, "ACTIVE")) {
		report_add(p->report, HEALTH_OK, p->rdma, "port %s is active", port);
	} else {
		report_add(p->report, HEALTH_WARN, p->rdma, "port %s is not active: %s", port, state);
		report_type(p->report, "rdma link show %s/%s; ip link set ... up    # InfiniBand: opensm, too",
			    p->rdma, port);
	}
	return 0;
}

void check_rdma_port(const struct view *v, struct report *r)
{
	struct ports p = { .view = v, .report = r };
	int i;

	for (i = next_peer(v, -1); i >= 0; i = next_peer(v, i)) {
		p.rdma = v->machine.at[i].rdma;
		if (*p.rdma)
			tree_list(v->tree, tree_path("sys/class/infiniband/%s/ports", p.rdma).at, check_port, &p);
	}
}

/* ---- links ------------------------------------------------------------------------- */

/* Ignore the link speed of GPUs: an idle GPU lowers the speed of its link, but not the width. */
static bool is_slow(const struct device *d)
{
	return d->kind != DEVICE_GPU && d->link.speed_mts && d->link.speed_mts < d->link.max_speed_mts;
}

static bool is_narrow(const struct device *d)
{
	return d->link.width && d->link.width < d->link.max_width;
}

static void check_device_link(struct report *r, const struct device *d)
{
	const struct link *l = &d->link;

	if (!is_slow(d) && !is_narrow(d))
		return;
	report_add(r, HEALTH_WARN, d->name, "its link runs at x%u, %.1f GT/s; the device supports x%u, %.1f GT/s",
		   l->width, l->speed_mts / 1000.0, l->max_width, l->max_speed_mts / 1000.0);
	report_type(r, "lspci -vvs %s | grep Lnk    # reseat it, or use a slot with all lanes", d->name);
}

void check_link(const struct view *v, struct report *r)
{
	size_t before = r->count;
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i))
		check_device_link(r, &v->machine.at[i]);
	for (i = next_peer(v, -1); i >= 0; i = next_peer(v, i))
		check_device_link(r, &v->machine.at[i]);
	if (r->count == before && next_gpu(v, -1) >= 0)
		report_add(r, HEALTH_OK, "machine", "no GPU's or peer's link is slower than it could be");
}
