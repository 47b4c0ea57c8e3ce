// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "counters.h"
#include "tool/util/grow.h"
#include "tool/util/printable.h"

static const char *const names[COUNTERS] = {
	[COUNTER_BYTES] = "bytes",
	[COUNTER_REGIONS] = "regions",
	[COUNTER_PINS] = "pins",
	[COUNTER_REFUSED] = "refused",
	[COUNTER_REVOKED] = "revoked",
	[COUNTER_TIMEOUTS] = "timeouts",
	[COUNTER_OVERSTAYS] = "overstays",
	[COUNTER_WATCHES] = "watches",
	[COUNTER_WATCHES_CHANGED] = "watches_changed",
	[COUNTER_TRANSFERS] = "transfers",
	[COUNTER_TRANSFER_BYTES] = "transfer_bytes",
};

static void parse_peer(const char *text, struct counters *out)
{
	struct peer_counters p;

	if (sscanf(text, "%63s %" SCNu64 " %" SCNu64 " %" SCNu64, p.name, &p.value[PEER_TRANSFERS],
		   &p.value[PEER_BYTES], &p.value[PEER_TIMEOUTS]) != 1 + PEER_COUNTERS)
		return;
	make_printable(p.name);
	out->peers = grow(out->peers, out->nr_peers, sizeof(p));
	out->peers[out->nr_peers++] = p;
}

static void parse_line(char *line, struct counters *out)
{
	char *text = strchr(line, ' ');
	unsigned int i;

	if (!text)
		return;
	*text++ = '\0';
	if (!strcmp(line, "peer"))
		parse_peer(text, out);
	for (i = 0; i < COUNTERS; i++)
		if (!strcmp(line, names[i]))
			out->known[i] = sscanf(text, "%" SCNu64, &out->value[i]) == 1;
}

void counters_parse(FILE *f, struct counters *out)
{
	char *line = NULL;
	size_t room = 0;

	*out = (struct counters){ 0 };
	while (getline(&line, &room, f) > 0)
		parse_line(line, out);
	free(line);
}

int counters_read(struct counters *out)
{
	FILE *f = fopen("/proc/driver/peerpin", "re");

	*out = (struct counters){ 0 };
	if (!f)
		return -errno;
	counters_parse(f, out);
	fclose(f);
	return 0;
}

void counters_free(struct counters *c)
{
	free(c->peers);
	*c = (struct counters){ 0 };
}
