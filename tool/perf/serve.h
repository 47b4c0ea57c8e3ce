/* SPDX-License-Identifier: MIT */
/* peerpin perf --serve: registers memory for another machine, which writes and reads it. */
#ifndef PERF_SERVE_H
#define PERF_SERVE_H

#include "args.h"

/*
 * Serves one machine after the other until a signal comes, or with @args->once only one machine. Returns EXIT_OK, or EXIT_FAILED
 * after printing the error.
 */
int perf_serve(const struct perf_args *args);

/* Closes the connection of the RDMA operations, if it is open. */
void perf_end_rdma(void);

#endif
