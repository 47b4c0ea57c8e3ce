// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cuda_api.h"
#include "query.h"
#include "why.h"

enum { MAX_LOST = 4 };

/** struct address - PCI address of a device */
struct address {
	unsigned int domain, bus, device, function;
};

/* CUDA and NVML write a PCI address with different numbers of digits. */
static bool parse(const char *text, struct address *out)
{
	*out = (struct address){ 0 };
	return sscanf(text, "%x:%x:%x.%x", &out->domain, &out->bus, &out->device,
		      &out->function) >= 3;
}

static bool locate(int device, struct address *out)
{
	const struct pp_cuda *cuda = pp_cuda();
	char text[32];

	return cuda && cuda->pci_bus_id &&
	       !cuda->pci_bus_id(text, sizeof(text), device) && parse(text, out);
}

static bool lies_at(const struct pp_bar1 *gpu, const struct address *at)
{
	struct address a;

	return parse(gpu->pci, &a) && !memcmp(&a, at, sizeof(a));
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* NVML and CUDA number GPUs differently, so compare addresses. Queries that fail are slow: stop after MAX_LOST. */
static void measure(struct pp_why *why, const struct address *at)
{
	unsigned int i, lost = 0;
	struct pp_bar1 gpu;
	int ret;

	for (i = 0; lost < MAX_LOST; i++) {
		ret = pp_bar1(i, &gpu);
		if (ret == -ENODEV || ret == -ENOENT)
			return;
		if (!ret && lies_at(&gpu, at)) {
			why->available = gpu.free - min(gpu.free, pp_bar1_reserve());
			return;
		}
		lost += !!ret;
	}
}

void pp_why_room(struct pp_why *why, const void *addr)
{
	struct address at;
	struct pp_mem mem;

	if (why->reason != PEERPIN_REASON_NO_BAR1 || why->available)
		return;
	pp_query_provider(addr, &mem);
	if (mem.kind == PP_MEM_GPU && locate(mem.device, &at))
		measure(why, &at);
}
