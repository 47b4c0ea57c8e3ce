// SPDX-License-Identifier: MIT
/* BAR1, the aperture through which peers reach GPU memory: its size and its free space. */
#include "tool/machine/bar1.h"
#include "checks.h"
#include "tool/util/units.h"

/* Least size of a large BAR1: firmware that places BARs below 4 GiB gives less. */
static const uint64_t large = 512ull << 20;

/* pp_bar1_reserve() of a captured machine */
static uint64_t reserve(const struct view *v)
{
	uint64_t mib;

	if (tree_u64(v->tree, "sys/module/emugpu/parameters/bar1_reserve_mib", &mib) || mib > UINT32_MAX)
		return PP_BAR1_RESERVE;
	return mib << 20;
}

static void check_gpu_bar1(const struct view *v, struct report *r, const struct gpu_facts *gpu)
{
	struct pp_bar1 bar1 = { .total = gpu->bar1_total, .used = gpu->bar1_used };
	uint64_t unused = bar1.used < bar1.total ? bar1.total - bar1.used : 0;
	uint64_t fits = bar1_fits(&bar1, reserve(v));
	enum health health = !fits ? HEALTH_FAIL : fits < bar1.total / 10 ? HEALTH_WARN : HEALTH_OK;

	report_add(r, health, gpu->pci,
		   "BAR1 %s: %s used, %s free, of which the driver keeps %s: %s more can be pinned",
		   text_bytes(bar1.total).at, text_bytes(bar1.used).at, text_bytes(unused).at, text_mib(reserve(v)).at,
		   text_bytes(fits).at);
	if (health != HEALTH_OK)
		report_type(r, "peerpin bar    # lists the processes that hold it");
}

void check_bar1(const struct view *v, struct report *r)
{
	const struct gpu_facts *gpu;
	int i;

	if (count_gpus(v) && !v->facts.nr_gpus) {
		report_add(r, HEALTH_UNSEEN, "machine", "only NVML knows how full BAR1 is: %s",
			   *v->facts.nvml_error ? v->facts.nvml_error : "it was not asked");
		report_type(r, "nvidia-smi -q -d MEMORY");
		return;
	}
	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i)) {
		gpu = facts_gpu(&v->facts, address(v, i));
		if (gpu && gpu->bar1_total) {
			check_gpu_bar1(v, r, gpu);
		} else if (!is_for_guests(&v->machine.at[i])) {
			report_add(r, HEALTH_UNSEEN, address(v, i), "NVML does not say how full BAR1 is");
			report_type(r, "nvidia-smi -i %s -q -d MEMORY", address(v, i));
		}
	}
}

/* ---- the size of BAR1 -------------------------------------------------------------- */

/* Index of BAR1, the memory aperture: the largest BAR, because the index depends on the GPU generation. */
static int aperture(const struct device *gpu)
{
	int i, best = 0;

	for (i = 1; i < PCI_NR_BARS; i++)
		if (gpu->bars[i] > gpu->bars[best])
			best = i;
	return best;
}

/* The largest size to which BAR1 can be resized; 0: not resizable. */
static uint64_t largest(const struct device *gpu)
{
	uint64_t sizes = gpu->has_rebar ? gpu->rebar[aperture(gpu)] : 0;
	int top = sizes ? 63 - __builtin_clzll(sizes) : 0;

	return sizes && top < 44 ? 1ull << (20 + top) : 0;
}

/* The most that can be pinned in a BAR1 of @size bytes. */
static uint64_t at_most(const struct view *v, uint64_t size)
{
	return bar1_fits(&(struct pp_bar1){ .total = size }, reserve(v));
}

static void add_size(const struct view *v, struct report *r, const struct device *gpu, uint64_t size)
{
	if (largest(gpu) > size) {
		report_add(r, HEALTH_WARN, gpu->name, "BAR1 is %s, and could be resized to %s", text_bytes(size).at,
			   text_bytes(largest(gpu)).at);
		report_type(r, "systemctl reboot --firmware-setup    # there: Above 4G Decoding and Resizable BAR on");
	} else if (size >= large) {
		report_add(r, HEALTH_OK, gpu->name, "BAR1 is large: %s", text_bytes(size).at);
	} else if (gpu->config_seen) {
		report_add(r, HEALTH_WARN, gpu->name,
			   "BAR1 is small and cannot be resized: at most %s can be pinned at once",
			   text_bytes(at_most(v, size)).at);
		report_type(r, "peerpin bar    # give caches a budget below that: pp_cache(3)");
	} else {
		report_add(r, HEALTH_UNSEEN, gpu->name, "BAR1 is %s; %s is needed to see whether it can be resized",
			   text_bytes(size).at, who_sees(v, gpu));
		report_type(r, "%s", how_to_see(v, gpu));
	}
}

/* Did the firmware assign BAR1? Without BAR1 the largest BAR is the register BAR of 16 to 64 MiB. */
static bool has_room(const struct device *gpu)
{
	return gpu->bars[aperture(gpu)] > 64ull << 20;
}

void check_bar1_size(const struct view *v, struct report *r)
{
	const struct device *gpu;
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i)) {
		gpu = &v->machine.at[i];
		if (has_room(gpu)) {
			add_size(v, r, gpu, gpu->bars[aperture(gpu)]);
		} else if (gpu->bars[aperture(gpu)]) {
			report_add(r, HEALTH_FAIL, gpu->name, "the firmware gave BAR1 no room in the address space");
			report_type(r, "systemctl reboot --firmware-setup    # there: Above 4G Decoding on; else boot "
				       "with pci=realloc");
		} else {
			report_add(r, HEALTH_UNSEEN, gpu->name, "the GPU's BARs cannot be seen");
			report_type(r, "cat /sys/bus/pci/devices/%s/resource", gpu->name);
		}
	}
}
