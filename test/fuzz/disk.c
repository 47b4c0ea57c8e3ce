// SPDX-License-Identifier: MIT
/* Writes an archive and unpacks it, so that the tool reads real files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "place.h"

bool place(const struct entries *e, struct placed *out)
{
	char file[64];
	bool ok;

	snprintf(file, sizeof(file), "/dev/shm/peerpin-fuzz-%d.tar", (int)getpid());
	setenv("TMPDIR", "/dev/shm", 1);
	ok = !entries_write(e, file) && !root_open(file, &out->unpacked);
	unlink(file);
	if (ok)
		strcpy(out->root, out->unpacked.dir);
	return ok;
}

void displace(struct placed *p)
{
	root_close(&p->unpacked);
}
