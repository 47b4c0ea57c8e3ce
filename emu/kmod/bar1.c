// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "../include/emugpu.h"
#include "api.h"
#include "bar1.h"

static unsigned int bar1_reserve_mib = 36;
module_param(bar1_reserve_mib, uint, 0444);
MODULE_PARM_DESC(bar1_reserve_mib, "MiB of each BAR1 that pins cannot have (default 36)");

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

/* The whole length counts, shared pages too: the real driver asks before it looks. */
static bool has_room(const struct emugpu_bar1 *bar1, u32 n)
{
	return to_bytes(bar1->npages - bar1->used) >= to_bytes(n) + emugpu_bar1_reserved(bar1);
}

int emugpu_bar1_get(struct emugpu_bar1 *bar1, const u32 *pages, u32 n)
{
	u32 i;

	emugpu_api_assert_held();
	if (!has_room(bar1, n))
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (!bar1->refs[pages[i]]++)
			WRITE_ONCE(bar1->used, bar1->used + 1);
	return 0;
}

void emugpu_bar1_put(struct emugpu_bar1 *bar1, const u32 *pages, u32 n)
{
	u32 i;

	emugpu_api_assert_held();
	for (i = 0; i < n; i++)
		if (!--bar1->refs[pages[i]])
			WRITE_ONCE(bar1->used, bar1->used - 1);
}
