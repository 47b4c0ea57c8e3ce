/* SPDX-License-Identifier: MIT */
/* The kinds of open files: nodes of drivers, nodes of the GPU, and other files. */
#ifndef SHIM_NODE_H
#define SHIM_NODE_H

#include <stdbool.h>

#include "emu/judge/share.h"

enum { NODE_PATH_MAX = 64 };

enum node_kind { NODE_OTHER, NODE_DRIVER, NODE_GPU };

/** node_kind - kind of an open file; @path: NULL, or NODE_PATH_MAX bytes that receive a device's path */
enum node_kind node_kind(int fd, char *path);

/** node_each - call @call for each open file of @kind */
void node_each(enum node_kind kind, void (*call)(int fd));

/** node_of_driver - whether @fd is a device of the driver under test */
bool node_of_driver(int fd, const struct share *share);

#endif
