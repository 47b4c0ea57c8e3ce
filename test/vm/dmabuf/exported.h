/* SPDX-License-Identifier: MIT */
/* A block of GPU memory that is pinned and exported as a dma-buf. Slot 0 may have imported the dma-buf. */
#ifndef TEST_EXPORTED_H
#define TEST_EXPORTED_H

#include "export.h"

static int whole;	/* dma-buf of the whole region, which is the block at VA */
static struct peerpin_pin region;

static inline void start(void)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(pin_at(peerpin, VA, BLOCK, &region) == 0 && region.out_provider == PEERPIN_PROVIDER_NV, "pin");
	whole = export_part(region.out_region, 0, BLOCK);
	EXPECT(whole >= 0, "export: %d", whole);
}

/* Pin and export a block, and import its dma-buf in slot 0. */
static inline void start_import(bool unmap_in_notify)
{
	start();
	CHECK_CASE();
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, unmap_in_notify) == 0, "import");
}

/* The slot must be notified exactly once, and mapping must fail. */
static inline void expect_ended(unsigned int slot)
{
	EXPECT(notified(slot) == 1, "slot %u: %u notifications", slot, notified(slot));
	unmap(slot);
	EXPECT(map(slot) == -ENODEV, "slot %u: mapped after its notification", slot);
	EXPECT(notified(slot) == 1, "slot %u: %u notifications", slot, notified(slot));
}

#define EXPECT_ALL_GONE() \
	EXPECT(nothing_left() && gpu_pins() == 0, "left: %lu bytes of BAR1, %lu of VRAM, %u pins", bar1_used(), \
	       vram_used(), gpu_pins())

static inline void finish(void)
{
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT_ALL_GONE();
}

#endif
