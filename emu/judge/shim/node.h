/* SPDX-License-Identifier: MIT */
/* Sorts open files: nodes of drivers, nodes of the GPU, and others. */
#ifndef SHIM_NODE_H
#define SHIM_NODE_H

#include <stdbool.h>

#include "emu/judge/share.h"

enum { NODE_PATH_MAX = 64 };

enum node_kind { NODE_OTHER, NODE_DRIVER, NODE_GPU };

/** node_kind - kind of an open file; @path: NULL, or NODE_PATH_MAX bytes, set if the file is a device */
enum node_kind node_kind(int fd, char *path);

/** node_each - call @call for each open file of @kind */
void node_each(enum node_kind kind, void (*call)(int fd));

/** node_of_driver - whether the driver under test created the device */
bool node_of_driver(int fd, const struct share *share);

#endif
