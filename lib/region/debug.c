// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include "lib/sys/debug.h"
#include "region.h"

static const char *provider_name(uint32_t provider)
{
	static const char *const names[] = {
		[PEERPIN_PROVIDER_HOST] = "as host memory",
		[PEERPIN_PROVIDER_NV] = "by peerpin_nv",
		[PEERPIN_PROVIDER_TEGRA] = "by peerpin_tegra",
		[PEERPIN_PROVIDER_DMABUF] = "as a dma-buf",
	};

	return provider < sizeof(names) / sizeof(names[0]) && names[provider] ? names[provider] : "by a new provider";
}

void pp_region_debug(uint64_t addr, uint64_t length, int error, const struct pp_region *region,
		     const struct pp_why *why)
{
	char text[512];

	if (!pp_debugs())
		return;
	if (error) {
		pp_explain(text, sizeof(text), error, why);
		pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: not pinned: %s", addr, length, text);
		return;
	}
	pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: pinned %s: region %u, 0x%" PRIx64 ", %" PRIu64 " bytes, pages of %u",
		 addr, length, provider_name(region->provider), region->id, region->addr, region->length,
		 region->page_size);
}
