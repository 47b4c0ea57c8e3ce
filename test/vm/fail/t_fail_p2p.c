// SPDX-License-Identifier: MIT
/* The calls of nv-p2p.h, while each allocation fails in turn */
#include "fail.h"
#include "test/vm/emu/p2p.h"

enum { LONG = 16 << 20 };

SETUP(nodes_are_there)
{
	EXPECT_NODES();
	EXPECT(!emu_scatter(fd, 1) && !emu_alloc(fd, VA, LONG), "alloc");
}

CASE(get_pages)
{
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = get(0, VA, LONG));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !put(0), "put");
		EXPECT(!get(1, VA, LONG) && !put(1), "allocation %u: afterwards", f.nth);
	}
}

CASE(get_pages_by_a_token)
{
	struct emugpu_context_new c;
	int ret;

	EXPECT(!emu_context(fd, &c) && !emu_alloc_in(fd, c.out_context, 2 * VA, BLOCK), "alloc");
	FAIL_EACH(f) {
		FAIL(f, ret = get_token(0, c.out_p2p_token, c.out_va_space, 2 * VA, BLOCK));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !put_token(0, c.out_p2p_token, c.out_va_space), "put");
	}
	EXPECT(!emu_free(fd, 2 * VA) && !emu_drop(fd, c.out_context), "free");
}

CASE(get_pages_persistent)
{
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = get_persistent(0, VA, LONG));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !put_persistent(0), "put");
	}
}

CASE(put_pages)
{
	int ret;

	FAIL_EACH(f) {
		EXPECT(!get(0, VA, LONG), "get");
		FAIL(f, ret = put(0));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !put(0), "put");
	}
}

CASE(put_pages_persistent)
{
	int ret;

	FAIL_EACH(f) {
		EXPECT(!get_persistent(0, VA, LONG), "get");
		FAIL(f, ret = put_persistent(0));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !put_persistent(0), "put");
	}
}

/* With an IOMMU, each page needs memory for an IOMMU entry. */
CASE(dma_map_pages)
{
	int ret;

	EXPECT(!get(0, VA, BLOCK), "get");
	FAIL_EACH(f) {
		FAIL(f, ret = map(0, 0));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		EXPECT(ret || !unmap(0, 0), "unmap");
		EXPECT(!map(0, 0) && !unmap(0, 0), "allocation %u: afterwards", f.nth);
	}
	EXPECT(!put(0), "put");
}

CASE(dma_unmap_pages)
{
	int ret;

	EXPECT(!get(0, VA, BLOCK), "get");
	FAIL_EACH(f) {
		EXPECT(!map(0, 0), "map");
		FAIL(f, ret = unmap(0, 0));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !unmap(0, 0), "unmap");
	}
	EXPECT(!put(0), "put");
}

/* The callback unmaps the DMA mapping and frees the table. */
CASE(free_of_pinned_memory)
{
	int ret;

	EXPECT(!emu_free(fd, VA), "free");
	FAIL_EACH(f) {
		EXPECT(!emu_alloc(fd, VA, BLOCK) && !get(0, VA, BLOCK) && !map(0, 0), "map");
		FAIL(f, ret = emu_free(fd, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(fd, VA), "free");
		EXPECT(callback(0).out_count == 1, "%u callbacks", callback(0).out_count);
	}
}

/* Like free_of_pinned_memory, with the guard against writes after the free. Without memory, the guard is skipped. */
CASE(free_of_guarded_memory)
{
	int ret;

	EXPECT(!emu_guard(fd, 1), "guard");
	FAIL_EACH(f) {
		EXPECT(!emu_alloc(fd, VA, BLOCK) && !get(0, VA, BLOCK), "get");
		FAIL(f, ret = emu_free(fd, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(fd, VA), "free");
	}
	EXPECT(!emu_guard(fd, 0), "guard");
}

/* A stash sets the contents of pinned memory aside. A failed stash must set nothing aside. */
CASE(stash_of_pinned_memory)
{
	static unsigned char before[BLOCK], now[BLOCK];
	unsigned int changed;
	int ret;

	memset(before, 0x77, BLOCK);
	EXPECT(!emu_alloc(fd, VA, BLOCK) && !emu_fill(fd, VA, 1, 0x77, BLOCK) && !get(0, VA, BLOCK), "get");
	FAIL_EACH(f) {
		FAIL(f, ret = emu_stash(fd, 1, &changed));
		EXPECT_PLAUSIBLE(f, ret);
		/* After -EFAULT the stash is complete or not begun. */
		ret = ret && ret != -EFAULT ? 0 : emu_stash(fd, 0, &changed);
		EXPECT(!ret || ret == -ENOENT, "allocation %u: %d", f.nth, ret);
		EXPECT(!emu_read(fd, now, VA, BLOCK), "read");
		EXPECT(!memcmp(now, before, BLOCK), "allocation %u: the contents changed", f.nth);
	}
	EXPECT(!put(0) && !emu_free(fd, VA), "free");
}

CASE(close_of_pinned_memorys_owner)
{
	int ret, client;

	FAIL_EACH(f) {
		client = emu_open();
		EXPECT(!emu_alloc(client, VA, BLOCK) && !get(0, VA, BLOCK) && !map(0, 0), "map");
		FAIL(f, ret = close(client));
		EXPECT_DONE(f, ret);
		EXPECT(callback(0).out_count == 1, "%u callbacks", callback(0).out_count);
	}
}

VMTEST_MAIN
