/* SPDX-License-Identifier: MIT */
/*
 * Gives a machine to doctor and topo. disk.c writes a real archive; memory.c keeps the machine in
 * memory, which is faster.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include "tool/capture/entries.h"
#include "tool/machine/root.h"

/** struct placed - a placed machine; @root: argument for --root */
struct placed {
	char root[sizeof(((struct root *)0)->dir)];
	struct root unpacked;
};

/* False if the archive was refused. @e must stay valid until displace(). */
bool place(const struct entries *e, struct placed *out);
void displace(struct placed *p);

#endif
