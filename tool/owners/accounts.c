// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include "accounts.h"
#include "tool/util/grow.h"
#include "tool/util/printable.h"

enum {
	MAX_LINE = 512,
};

FILE *core_file(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/peerpin/%s", name);
	return fopen(path, "re");
}

/* The line of column names fails in sscanf() and is skipped. Columns that newer modules add are ignored. */
void accounts_parse(FILE *f, struct accounts *out)
{
	char line[MAX_LINE];
	struct account a;

	*out = (struct accounts){ 0 };
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &a.pid, &a.bytes, &a.regions,
			   &a.pins, &a.revoked) != 5)
			continue;
		out->at = grow(out->at, out->count, sizeof(a));
		out->at[out->count++] = a;
	}
}

void peers_parse(FILE *f, struct peer_list *out)
{
	char line[MAX_LINE];
	struct peer_counts p;

	*out = (struct peer_list){ 0 };
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %" SCNu64 " %" SCNu64, p.name, &p.transfers, &p.bytes) != 3)
			continue;
		make_printable(p.name);
		out->at = grow(out->at, out->count, sizeof(p));
		out->at[out->count++] = p;
	}
}

void accounts_free(struct accounts *a)
{
	free(a->at);
	*a = (struct accounts){ 0 };
}

void peers_free(struct peer_list *p)
{
	free(p->at);
	*p = (struct peer_list){ 0 };
}
