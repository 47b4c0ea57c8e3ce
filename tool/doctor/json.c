// SPDX-License-Identifier: MIT
#include "json.h"
#include "tool/util/json.h"

static struct json_object *json_finding(const struct finding *f)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "check", f->check->id);
	json_add_text(o, "subject", f->subject);
	json_add_text(o, "verdict", health_name(f->health));
	json_add_text(o, "why", f->why);
	json_add_text(o, "type", f->type);
	json_add_text(o, "section", f->check->section);
	return o;
}

static struct json_object *json_pair(const struct view *v, const struct pair *p)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "gpu_number", p->gpu_number);
	json_add_text(o, "gpu", address(v, p->gpu));
	json_add_text(o, "peer", address(v, p->peer));
	json_add_text(o, "peer_name", peer_name(&v->machine.at[p->peer]));
	json_add_text(o, "class", path_class_name(p->path.class));
	json_add_text(o, "verdict", pair_verdict_name(p->verdict));
	json_add_text(o, "reason", p->reason);
	return o;
}

struct json_object *doctor_json(const struct view *v, const struct report *r, const struct pairs *pairs, int status)
{
	struct json_object *o = json_output("peerpin-doctor-1");
	struct json_object *checks = json_object_new_array();
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < r->count; i++)
		json_object_array_add(checks, json_finding(&r->at[i]));
	for (i = 0; i < pairs->count; i++)
		json_object_array_add(list, json_pair(v, &pairs->at[i]));
	json_object_object_add(o, "checks", checks);
	json_object_object_add(o, "pairs", list);
	json_add_u64(o, "status", (uint64_t)status);
	return o;
}
