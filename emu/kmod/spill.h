/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads of covered pages. No emulated device reports that it reads. But a device that copies from a covered page writes
 * the page's pattern to its destination, and so does a driver that copies with the CPU. So search the possible
 * destinations for the pattern.
 */
#ifndef _EMUGPU_SPILL_H
#define _EMUGPU_SPILL_H

#include <linux/types.h>

struct emugpu_cover;

/*
 * Searches the pinned or mapped memory of all GPUs, and the writable memory of all processes, for copies of covered
 * pages. Sets the numbers of the copied pages in the bitmap @found, of EMUGPU_COVER_MAX bits. Does not find copies
 * shorter than 1 KiB, copies in the memory of a device, and copies in memory of the kernel. API lock and window lock held.
 */
void emugpu_spill_search(const struct emugpu_cover *cover, unsigned long *found);

/* Whether a covered page was written to, or copied as above. The same locks held. */
bool emugpu_spill_is_used(const struct emugpu_cover *cover);

#endif
