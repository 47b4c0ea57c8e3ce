/* SPDX-License-Identifier: MIT */
/* Where doctor and topo find a machine: disk.c, as people give it to them; memory.c, which is faster. */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include "tool/capture/entries.h"
#include "tool/machine/root.h"

/** struct placed - @root: what to say behind --root */
struct placed {
	char root[sizeof(((struct root *)0)->dir)];
	struct root unpacked;
};

/* False: it was refused. @e is to stay until displace(). */
bool place(const struct entries *e, struct placed *out);
void displace(struct placed *p);

#endif
