// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <time.h>
#include "tool/machine/bar1.h"
#include "tool/util/json.h"
#include "json.h"

/* Adds a rate; unknown becomes null. */
static void add_rate(struct json_object *o, const char *key, double rate)
{
	json_object_object_add(o, key, rate < 0 ? NULL : json_object_new_double(rate));
}

static void add_published(struct json_object *o, const char *key, const struct top_process *p, enum top_count count)
{
	json_object_object_add(o, key, p->publishes ? json_object_new_uint64(p->counted[count]) : NULL);
}

static struct json_object *json_process(const struct top_process *p)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "pid", (uint64_t)p->pid);
	json_add_text(o, "command", p->command);
	json_add_u64(o, "bytes", p->bytes);
	json_add_u64(o, "regions", p->regions);
	json_add_u64(o, "pins", p->counted[TOP_PINS]);
	json_add_u64(o, "revoked", p->counted[TOP_REVOKED]);
	add_published(o, "hits", p, TOP_HITS);
	add_published(o, "misses", p, TOP_MISSES);
	add_rate(o, "pins_per_s", p->rate[TOP_PINS]);
	add_rate(o, "revoked_per_s", p->rate[TOP_REVOKED]);
	add_rate(o, "hits_per_s", p->publishes ? p->rate[TOP_HITS] : -1);
	add_rate(o, "misses_per_s", p->publishes ? p->rate[TOP_MISSES] : -1);
	return o;
}

static struct json_object *json_peer(const struct top_peer *p)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "name", p->name);
	json_add_u64(o, "transfers", p->counted[TOP_TRANSFERS]);
	json_add_u64(o, "bytes", p->counted[TOP_BYTES]);
	add_rate(o, "transfers_per_s", p->rate[TOP_TRANSFERS]);
	add_rate(o, "bytes_per_s", p->rate[TOP_BYTES]);
	return o;
}

void top_json(const struct top_sample *s)
{
	struct json_object *o = json_output("peerpin-top-1");
	struct json_object *gpus = json_object_new_array();
	struct json_object *peers = json_object_new_array();
	struct json_object *processes = json_object_new_array();
	struct json_object *notes = json_object_new_array();
	size_t i;

	for (i = 0; i < s->nr_gpus; i++)
		json_object_array_add(gpus, bar1_json(s->gpu_index[i], &s->gpus[i], s->reserve));
	for (i = 0; i < s->nr_peers; i++)
		json_object_array_add(peers, json_peer(&s->peers[i]));
	for (i = 0; i < s->nr_processes; i++)
		json_object_array_add(processes, json_process(&s->processes[i]));
	for (i = 0; i < s->nr_notes; i++)
		json_object_array_add(notes, json_text(s->notes[i]));
	json_add_u64(o, "time", (uint64_t)time(NULL));
	json_object_object_add(o, "gpus", gpus);
	json_object_object_add(o, "peers", peers);
	json_object_object_add(o, "processes", processes);
	json_object_object_add(o, "notes", notes);
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}
