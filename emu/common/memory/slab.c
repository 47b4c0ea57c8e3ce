// SPDX-License-Identifier: GPL-2.0
#include <linux/kconfig.h>
#include <linux/mm.h>
#include <linux/poison.h>
#include <linux/string.h>

#include "slab.h"

enum { RED_ZONE = sizeof(void *) };	/* least size of the red zone before an object */

/*
 * A freed object is POISON_FREE, its last byte POISON_END, and both of its red zones are SLUB_RED_INACTIVE. A new object
 * that is not written yet has the same contents, but its red zones are SLUB_RED_ACTIVE.
 */
static bool is_freed_between(const u8 *begin, const u8 *end, const u8 *p)
{
	const u8 *first = p, *last = p;

	while (first > begin && first[-1] == POISON_FREE)
		first--;
	while (last < end && *last == POISON_FREE)
		last++;
	if (first - begin < RED_ZONE || end - last < 2)
		return false;
	return *last == POISON_END && last[1] == SLUB_RED_INACTIVE &&
	       !memchr_inv(first - RED_ZONE, SLUB_RED_INACTIVE, RED_ZONE);
}

bool emugpu_slab_is_freed(const void *p)
{
	struct page *page;

	if (IS_ENABLED(CONFIG_KASAN) || !virt_addr_valid(p))
		return false;
	page = virt_to_head_page(p);
	return PageSlab(page) && is_freed_between(page_address(page), page_address(page) + page_size(page), p);
}
