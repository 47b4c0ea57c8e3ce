// SPDX-License-Identifier: MIT
#include "bar1.h"
#include "tool/util/json.h"

struct json_object *bar1_json(unsigned int index, const struct pp_bar1 *gpu, uint64_t reserve)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "index", index);
	json_add_text(o, "pci", gpu->pci);
	json_add_text(o, "name", gpu->name);
	json_add_text(o, "uuid", gpu->uuid);
	json_add_u64(o, "bar1_total", gpu->total);
	json_add_u64(o, "bar1_used", gpu->used);
	json_add_u64(o, "bar1_free", gpu->free);
	json_add_u64(o, "bar1_reserve", reserve);
	json_add_u64(o, "bar1_fits", bar1_fits(gpu, reserve));
	return o;
}
