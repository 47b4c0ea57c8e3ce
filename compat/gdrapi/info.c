// SPDX-License-Identifier: MIT
#include <errno.h>
#include "map.h"
#include "public.h"
#include "refuse.h"
#include "lib/sys/sys.h"

/* The struct of programs that were built for gdrcopy 1 */
struct gdr_info_v1 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned int mapped : 1;
	unsigned int wc_mapping : 1;
};

static void info_fill(gdr_info_v2_t *info, const struct gdr_handle *h)
{
	gdr_mapping_type_t type = atomic_load(&h->type);
	uint64_t va = gdr_view_addr(h);

	*info = (gdr_info_v2_t) {
		.va = va,
		.mapped_size = h->region.addr + h->region.length - va,
		.page_size = h->region.page_size,
		.tm_cycles = h->pin_ns,
		.cycles_per_ms = 1000000,
		.mapped = type != GDR_MAPPING_TYPE_NONE,
		.wc_mapping = type == GDR_MAPPING_TYPE_WC,
		.mapping_type = type,
	};
}

GDR_PUBLIC int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t *info)
{
	PP_KEEP_ERRNO;
	struct gdr_handle *h;
	int ret = info ? gdr_handle_lock(g, handle, &h) : gdr_null("info");

	if (ret)
		return -ret;
	info_fill(info, h);
	gdr_handle_unlock(h);
	return 0;
}

#undef gdr_get_info
int gdr_get_info(gdr_t g, gdr_mh_t handle, struct gdr_info_v1 *info);

GDR_PUBLIC int gdr_get_info(gdr_t g, gdr_mh_t handle, struct gdr_info_v1 *info)
{
	gdr_info_v2_t now;
	int ret = info ? gdr_get_info_v2(g, handle, &now) : -gdr_null("info");

	if (ret)
		return ret;
	*info = (struct gdr_info_v1) {
		.va = now.va,
		.mapped_size = now.mapped_size,
		.page_size = now.page_size,
		.tm_cycles = now.tm_cycles,
		.cycles_per_ms = now.cycles_per_ms,
		.mapped = now.mapped,
		.wc_mapping = now.wc_mapping,
	};
	return 0;
}

GDR_PUBLIC int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, const char **pstr)
{
	static const char *const names[GDR_MAPPING_TYPE_MAX] = {
		[GDR_MAPPING_TYPE_NONE] = "None",
		[GDR_MAPPING_TYPE_WC] = "Write Combining",
		[GDR_MAPPING_TYPE_CACHING] = "Caching",
		[GDR_MAPPING_TYPE_DEVICE] = "Device",
	};

	if (!pstr)
		return -gdr_null("pstr");
	if ((unsigned int)mapping_type >= GDR_MAPPING_TYPE_MAX)
		return gdr_refuse(EINVAL, "no mapping type has the number %d", (int)mapping_type);
	*pstr = names[mapping_type];
	return 0;
}
