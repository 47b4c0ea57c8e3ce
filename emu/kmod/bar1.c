// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "../include/emugpu.h"
#include "api.h"
#include "bar1.h"

static unsigned int bar1_reserve_mib = 36;
module_param(bar1_reserve_mib, uint, 0444);
MODULE_PARM_DESC(bar1_reserve_mib, "MiB of each BAR1 not available to pins (default 36)");

static bool bar_sharing = true;
module_param(bar_sharing, bool, 0444);
MODULE_PARM_DESC(bar_sharing, "pins of the same memory share BAR1 (default 1); 0: no sharing, as before CUDA 7.0");

int emugpu_bar1_init(struct emugpu_bar1 *bar1, u32 npages)
{
	bar1->refs = kvcalloc(npages, sizeof(*bar1->refs), GFP_KERNEL);
	bar1->npages = npages;
	return bar1->refs ? 0 : -ENOMEM;
}

void emugpu_bar1_destroy(struct emugpu_bar1 *bar1)
{
	WARN_ON(bar1->used);
	kvfree(bar1->refs);
}

static u64 to_bytes(u32 npages)
{
	return (u64)npages * EMUGPU_PAGE_SIZE;
}

u64 emugpu_bar1_used(const struct emugpu_bar1 *bar1)
{
	return to_bytes(READ_ONCE(bar1->used));
}

u64 emugpu_bar1_reserved(const struct emugpu_bar1 *bar1)
{
	return min((u64)bar1_reserve_mib << 20, to_bytes(bar1->npages));
}

static u32 npages_free(const struct emugpu_bar1 *bar1)
{
	u32 taken = bar1->used + emugpu_bar1_reserved(bar1) / EMUGPU_PAGE_SIZE;

	return taken < bar1->npages ? bar1->npages - taken : 0;
}

int emugpu_bar1_limit(struct emugpu_bar1 *bar1, u64 bytes)
{
	u32 npages = npages_free(bar1);

	emugpu_api_assert_held();
	if (bytes != U64_MAX && bytes % EMUGPU_PAGE_SIZE)
		return -EINVAL;
	bar1->withheld = npages - min_t(u64, npages, bytes / EMUGPU_PAGE_SIZE);
	return 0;
}

/* Demands room for shared pages, too: NVIDIA's driver checks the length before it looks for shared pages. */
static bool has_room(const struct emugpu_bar1 *bar1, u32 n)
{
	return npages_free(bar1) >= (u64)n + bar1->withheld;
}

int emugpu_bar1_get(struct emugpu_bar1 *bar1, const u32 *pages, u32 n)
{
	u32 i, used = bar1->used;

	emugpu_api_assert_held();
	if (!has_room(bar1, n))
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (!bar1->refs[pages[i]]++ || !bar_sharing)
			used++;
	WRITE_ONCE(bar1->used, used);
	return 0;
}

void emugpu_bar1_put(struct emugpu_bar1 *bar1, const u32 *pages, u32 n)
{
	u32 i, used = bar1->used;

	emugpu_api_assert_held();
	for (i = 0; i < n; i++)
		if (!--bar1->refs[pages[i]] || !bar_sharing)
			used--;
	WRITE_ONCE(bar1->used, used);
}
