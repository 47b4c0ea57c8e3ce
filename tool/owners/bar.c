// SPDX-License-Identifier: MIT
/* peerpin bar: shows how full each GPU's BAR1 aperture is, and which process holds which region. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include "tool/util/args.h"
#include "tool/machine/bar1.h"
#include "tool/util/explain.h"
#include "tool/util/json.h"
#include "owners.h"
#include "tool/tool.h"
#include "tool/util/units.h"

enum {
	MAX_GPUS = 64,
	MAX_NOTES = 2,
};

/**
 * struct state - the data to print
 * @index: NVML index of each GPU
 * @notes: information that could not be read, and the command to type
 */
struct state {
	unsigned int nr_gpus;
	struct pp_bar1 gpus[MAX_GPUS];
	unsigned int index[MAX_GPUS];
	unsigned int nr_notes;
	const char *notes[MAX_NOTES];
	uint64_t reserve;
	struct owners owners;
};

static void note(struct state *s, const char *text)
{
	s->notes[s->nr_notes++] = text;
}

/* If BAR1 cannot be read, adds only a note: the owners of pinned memory can still be listed. */
static void read_gpus(struct state *s)
{
	int error;

	s->reserve = pp_bar1_reserve();
	s->nr_gpus = bar1_find(s->gpus, s->index, MAX_GPUS, &error);
	if (error)
		note(s, why_no_bar1(s->nr_gpus, error));
}

/* Were all processes read? With hidepid /proc lists no processes of other users, so @owners->unreadable cannot tell. */
static bool sees_all(const struct owners *owners)
{
	return owners->told_by_core || !geteuid();
}

static int read_state(struct state *s)
{
	int ret;

	read_gpus(s);
	ret = owners_find(OWNERS_REGIONS, &s->owners);
	if (ret)
		return fail("/proc cannot be read: %s; type: mount -t proc proc /proc", strerror(-ret));
	if (!sees_all(&s->owners))
		note(s, "only your own processes are seen; type: sudo peerpin bar");
	return 0;
}

/* ---- text output ------------------------------------------------------------- */

static void print_gpu(unsigned int index, const struct pp_bar1 *gpu, uint64_t reserve)
{
	printf("GPU %u  %s  %s\n", index, gpu->pci, gpu->name);
	printf("    BAR1 Memory Usage\n");
	printf("        Total                             : %s\n",
	       text_mib(gpu->total).at);
	printf("        Used                              : %s\n",
	       text_mib(gpu->used).at);
	printf("        Free                              : %s\n",
	       text_mib(gpu->free).at);
	printf("        Fits                              : %s (the driver reserves %s)\n",
	       text_mib(bar1_fits(gpu, reserve)).at, text_mib(reserve).at);
}

static void print_region(const struct owned_region *r)
{
	char id[24] = "-";

	if (r->id >= 0)
		snprintf(id, sizeof(id), "%" PRId64, r->id);
	printf("    region %-6s %-4s %#14" PRIx64 "  %10s  %-7s  age %s",
	       id, r->provider, r->addr, text_bytes(r->length).at,
	       r->state, text_time(r->age_ms * 1000000).at);
	if (strcmp(r->devices, "-"))
		printf("  mapped for %s", r->devices);
	putchar('\n');
}

static void print_owner(const struct owner *o)
{
	size_t i;

	printf("%s (%d)  %s in %zu region%s", o->command, (int)o->owner,
	       text_bytes(o->bytes).at, o->nr_regions,
	       o->nr_regions == 1 ? "" : "s");
	if (o->revoked)
		printf("; %" PRIu64 " revoked", o->revoked);
	putchar('\n');
	for (i = 0; i < o->nr_regions; i++)
		print_region(&o->regions[i]);
}

static void print_owners(const struct owners *owners)
{
	size_t i;

	for (i = 0; i < owners->count; i++)
		print_owner(&owners->at[i]);
	if (!owners->count)
		puts(sees_all(owners) ? "No process has /dev/peerpin open." :
					"None of your processes has /dev/peerpin open.");
	if (owners->unreadable)
		printf("%u processes of other users could not be examined.\n", owners->unreadable);
}

static void print_text(const struct state *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_gpus; i++)
		print_gpu(s->index[i], &s->gpus[i], s->reserve);
	print_owners(&s->owners);
	for (i = 0; i < s->nr_notes; i++)
		printf("note: %s\n", s->notes[i]);
}

/* ---- JSON output --------------------------------------------------------------- */

static struct json_object *json_devices(const struct owned_region *r)
{
	struct json_object *list = json_object_new_array();
	char names[sizeof(r->devices)];
	char *rest = names, *name;

	memcpy(names, r->devices, sizeof(names));
	while ((name = strsep(&rest, ",")))
		if (strcmp(name, "-"))
			json_object_array_add(list, json_text(name));
	return list;
}

static struct json_object *json_region(const struct owned_region *r)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "id", r->id < 0 ? NULL : json_object_new_int64(r->id));
	json_add_text(o, "provider", r->provider);
	json_add_u64(o, "addr", r->addr);
	json_add_u64(o, "length", r->length);
	json_add_text(o, "state", r->state);
	json_add_u64(o, "age_ms", r->age_ms);
	json_add_u64(o, "extents", r->extents);
	json_object_object_add(o, "devices", json_devices(r));
	return o;
}

static struct json_object *json_owner(const struct owner *owner)
{
	struct json_object *o = json_object_new_object();
	struct json_object *regions = json_object_new_array();
	size_t i;

	json_add_u64(o, "pid", (uint64_t)owner->owner);
	json_add_text(o, "command", owner->command);
	json_add_u64(o, "bytes", owner->bytes);
	json_add_u64(o, "pins", owner->pins);
	json_add_u64(o, "revoked", owner->revoked);
	for (i = 0; i < owner->nr_regions; i++)
		json_object_array_add(regions,
				      json_region(&owner->regions[i]));
	json_object_object_add(o, "regions", regions);
	return o;
}

static void print_json(const struct state *s)
{
	struct json_object *o = json_output("peerpin-bar-1");
	struct json_object *gpus = json_object_new_array();
	struct json_object *owners = json_object_new_array();
	struct json_object *notes = json_object_new_array();
	size_t i;

	for (i = 0; i < s->nr_gpus; i++)
		json_object_array_add(gpus, bar1_json(s->index[i], &s->gpus[i], s->reserve));
	for (i = 0; i < s->owners.count; i++)
		json_object_array_add(owners, json_owner(&s->owners.at[i]));
	for (i = 0; i < s->nr_notes; i++)
		json_object_array_add(notes, json_text(s->notes[i]));
	json_object_object_add(o, "gpus", gpus);
	json_object_object_add(o, "owners", owners);
	json_add_u64(o, "processes_not_looked_at", s->owners.unreadable);
	json_object_object_add(o, "notes", notes);
	json_print(o);
}

static int run(int argc, char **argv)
{
	struct state s = { 0 };
	bool json;
	int ret = parse_bar_args(argc, argv, &json);

	if (!ret)
		ret = read_state(&s);
	if (ret)
		return ret;
	if (json)
		print_json(&s);
	else
		print_text(&s);
	owners_free(&s.owners);
	return EXIT_OK;
}

const struct command bar_command = {
	.name = "bar",
	.summary = "show how full each GPU's BAR1 is, and which process holds it",
	.usage = "bar [--json]",
	.options =
		"  --json                 print one JSON object\n",
	.examples =
		"  sudo peerpin bar\n",
	.run = run,
};
