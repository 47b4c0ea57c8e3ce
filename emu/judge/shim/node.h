/* SPDX-License-Identifier: MIT */
/* Which files are a driver's, which the GPU's, and which nobody asks about. */
#ifndef SHIM_NODE_H
#define SHIM_NODE_H

#include <stdbool.h>

#include "emu/judge/share.h"

enum { NODE_PATH_MAX = 64 };

enum node_kind { NODE_OTHER, NODE_DRIVER, NODE_GPU };

/** node_kind - of an open file; path: NODE_PATH_MAX bytes, set when it is a device, or NULL */
enum node_kind node_kind(int fd, char *path);

/** node_each - call for each open file of that kind, by its number */
void node_each(enum node_kind kind, void (*call)(int fd));

/** node_of_driver - whether the device came with the driver under test */
bool node_of_driver(int fd, const struct share *share);

#endif
