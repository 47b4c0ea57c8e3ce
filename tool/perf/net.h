/* SPDX-License-Identifier: MIT */
/*
 * librdmacm, libibverbs and libpeerpin-verbs, which are loaded when RDMA is measured: no other command of peerpin needs
 * them.
 */
#ifndef PERF_NET_H
#define PERF_NET_H

#include <libpeerpin-verbs.h>
#include <rdma/rdma_cma.h>
#include "op.h"

/** struct net - the functions of these libraries, by their names */
struct net {
	typeof(&rdma_getaddrinfo) getaddrinfo;
	typeof(&rdma_freeaddrinfo) freeaddrinfo;
	typeof(&rdma_create_ep) create_ep;
	typeof(&rdma_destroy_ep) destroy_ep;
	typeof(&rdma_connect) connect;
	typeof(&rdma_disconnect) disconnect;
	typeof(&rdma_listen) listen;
	typeof(&rdma_get_request) get_request;
	typeof(&rdma_accept) accept;
	typeof(&ibv_wc_status_str) status_text;
	typeof(&pp_verbs_open) verbs_open;
	typeof(&pp_verbs_close) verbs_close;
	typeof(&pp_verbs_reg) reg;
	typeof(&pp_verbs_unreg) unreg;
	typeof(&pp_verbs_cache) cache;
	typeof(&pp_verbs_explain) explain;
};

extern struct net net;

/* Loads the libraries. Returns 0, or -1 with @why. */
int net_load(struct perf_why *why);

#endif
