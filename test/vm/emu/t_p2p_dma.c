// SPDX-License-Identifier: MIT
/* nvidia_p2p_dma_map_pages and dma_unmap_pages: one case for each documented result. */
#include "test/vm/harness/module.h"
#include "p2p.h"

static bool translated(void)
{
	return access("/sys/class/iommu/dmar0", F_OK) == 0;
}

/* Allocate a block and pin @n pages of it in slot 0. */
static void pinned_pages(unsigned int n)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, n * PAGE) == 0, "get");
}

static void put_and_free(void)
{
	EXPECT(put(0) == 0, "put");
	free_one();
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(map_of_null_is_einval)
{
	pinned_pages(1);
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_MAP, 0, P2P_CHECK_NULL_PEER) == -EINVAL, "peer");
	EXPECT(with_flags(P2P_CHECK_MAP, 0, P2P_CHECK_NULL_TABLE) == -EINVAL, "table");
	EXPECT(with_flags(P2P_CHECK_MAP, 0, P2P_CHECK_NULL_RESULT) == -EINVAL, "result");
	EXPECT(maps() == 0, "%u maps", maps());
	put_and_free();
}

CASE(unmap_of_null_is_einval)
{
	pinned_pages(1);
	CHECK_CASE();
	EXPECT(unmap(0, 0) == -EINVAL, "mapping");
	EXPECT(map(0, 0) == 0, "map");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_NULL_PEER) == -EINVAL, "peer");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_NULL_TABLE) == -EINVAL, "table");
	EXPECT(maps() == 1, "%u maps", maps());
	EXPECT(unmap(0, 0) == 0 && maps() == 0, "unmap");
	put_and_free();
}

CASE(success_fills_the_mapping)
{
	struct p2p_check_table page;

	pinned_pages(5);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	page = table_page(0, 4);
	EXPECT(page.out_map_version == 0x20003, "%#x", page.out_map_version);
	EXPECT(page.out_map_page_size == 1, "%u", page.out_map_page_size);
	EXPECT(page.out_map_entries == 5, "%u", page.out_map_entries);
	EXPECT(unmap(0, 0) == 0, "unmap");
	put_and_free();
}

CASE(bus_addresses_come_from_the_iommu)
{
	struct p2p_check_table page;
	unsigned int i;

	pinned_pages(32);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	for (i = 0; i < 32; i++) {
		page = table_page(0, i);
		EXPECT(page.out_bus, "page %u: none", i);
		EXPECT((page.out_bus != page.out_phys) == translated(), "page %u: bus %#llx, physical %#llx", i,
		       page.out_bus, page.out_phys);
	}
	EXPECT(unmap(0, 0) == 0, "unmap");
	put_and_free();
}

CASE(each_page_is_mapped_separately)
{
	uint64_t here, last;
	unsigned int i;

	EXPECT(emu_scatter(fd, 0) == 0, "scatter");
	pinned_pages(32);
	EXPECT(emu_scatter(fd, 1) == 0, "scatter");
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	last = table_page(0, 0).out_bus;
	for (i = 1; i < 32; i++) {
		EXPECT(table_page(0, i).out_phys == table_page(0, i - 1).out_phys + PAGE,
		       "page %u is not contiguous", i);
		here = table_page(0, i).out_bus;
		EXPECT((here == last + PAGE) != translated(), "page %u: bus %#lx after %#lx", i, here, last);
		last = here;
	}
	EXPECT(unmap(0, 0) == 0, "unmap");
	put_and_free();
}

CASE(many_mappings_of_a_table)
{
	unsigned int i;

	pinned_pages(4);
	CHECK_CASE();
	for (i = 0; i < P2P_CHECK_MAPS; i++)
		EXPECT(map(0, i) == 0 && maps() == i + 1, "map %u", i);
	for (i = 1; i < P2P_CHECK_MAPS; i++)
		EXPECT((mapped_page(0, i, 3).out_bus != mapped_page(0, 0, 3).out_bus) == translated(), "map %u", i);
	EXPECT(unmap(0, 2) == 0 && maps() == P2P_CHECK_MAPS - 1, "unmap");
	EXPECT(mapped_page(0, 1, 3).out_map_version == 0x20003, "the unmap ended another mapping");
	for (i = 0; i < P2P_CHECK_MAPS; i++)
		EXPECT(i == 2 || unmap(0, i) == 0, "unmap %u", i);
	EXPECT(maps() == 0, "%u maps", maps());
	put_and_free();
}

/* The mapping must follow the page order of the table. Behind an IOMMU, bus addresses do not show the order. */
CASE(map_follows_only_a_tables_order)
{
	uint64_t first;

	pinned_pages(5);
	CHECK_CASE();
	first = table_page(0, 0).out_phys;
	EXPECT(with_flags(P2P_CHECK_REVERSE, 0, 0) == 0 && with_flags(P2P_CHECK_RUIN_TABLE, 0, 0) == 0, "write");
	EXPECT(map(0, 0) == 0 && mapped_page(0, 0, 0).out_map_entries == 5, "%u", mapped_page(0, 0, 0).out_map_entries);
	EXPECT((mapped_page(0, 0, 4).out_bus == first) != translated(),
	       "the mapping does not follow the order of the table");
	EXPECT(unmap(0, 0) == 0, "unmap");
	put_and_free();
}

CASE(map_of_foreign_pages_is_EINVAL)
{
	pinned_pages(5);
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_RUIN_PAGES, 0, 0) == 0, "write");
	EXPECT(map(0, 0) == -EINVAL && maps() == 0, "%u maps", maps());
	put_and_free();
}

CASE(unmap_ignores_writes_to_the_mapping)
{
	pinned_pages(3);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0 && map(0, 1) == 0, "map");
	EXPECT(with_flags(P2P_CHECK_RUIN_MAP, 0, 0) == 0, "write");
	EXPECT(unmap(0, 0) == 0 && maps() == 1 && unmap(0, 1) == 0, "unmap");
	EXPECT(map(0, 0) == 0 && with_flags(P2P_CHECK_RUIN_MAP, 0, 0) == 0, "map, write");
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_free_map == 0 && maps() == 0, "%u maps", maps());
	EXPECT_NO_BREACH(fd);
}

CASE(two_peers_may_map_a_table)
{
	struct p2p_check_call other = { .map = 1, .flags = P2P_CHECK_OTHER_PEER };
	int err;

	pinned_pages(2);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	err = call(P2P_CHECK_MAP, other);
	EXPECT(err == 0 && maps() == 2, "%d", err);
	EXPECT(call(P2P_CHECK_UNMAP, other) == 0 && unmap(0, 0) == 0 && maps() == 0, "unmap");
	put_and_free();
}

CASE(mapping_error_is_eio)
{
	pinned_pages(2);
	CHECK_CASE();
	EXPECT(emu_fail_call(fd, EMUGPU_CALL_DMA_MAP_PAGES, 1, -EIO) == 0, "fail");
	EXPECT(map(0, 0) == -EIO && maps() == 0, "map");
	EXPECT(map(0, 0) == 0 && unmap(0, 0) == 0, "map again");
	put_and_free();
}

/* Needs a BAR1 above 4 GiB and an IOMMU. Through the IOMMU, the 32-bit LSI chip reaches this BAR1. */
CASE_BY_NAME(iommu_brings_memory_within_reach)
{
	struct p2p_check_table page;

	pinned_pages(2);
	CHECK_CASE();
	EXPECT(table_page(0, 0).out_phys >> 32, "%#llx: type: emu/vm/run --bar1 1024 ...", table_page(0, 0).out_phys);
	EXPECT(map(0, 0) == 0, "type: emu/vm/run --iommu ...");
	page = mapped_page(0, 0, 0);
	EXPECT(!(page.out_bus >> 32), "%#llx", page.out_bus);
	EXPECT(unmap(0, 0) == 0, "unmap");
	put_and_free();
}

/*
 * Needs a BAR1 above 4 GiB and no IOMMU that translates: the LSI chip has 32 address bits. The
 * kernel itself warns.
 */
CASE_BY_NAME(map_out_of_reach_is_eio)
{
	int err;

	pinned_pages(2);
	CHECK_CASE();
	EXPECT(table_page(0, 0).out_phys >> 32, "%#llx: type: emu/vm/run --bar1 1024 ...", table_page(0, 0).out_phys);
	err = map(0, 0);
	EXPECT(err == -EIO, "%d: type: emu/vm/run --append iommu.passthrough=1 ...", err);
	EXPECT(maps() == 0, "%u maps", maps());
	put_and_free();
}

CASE(map_after_put_is_reported)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	EXPECT(map(0, 0) == -EINVAL, "map");
	EXPECT(with_flags(P2P_CHECK_MAP, 0, P2P_CHECK_WILD_TABLE) == -EINVAL, "never a table");
	EXPECT_BROKE(fd, EMUGPU_RULE_MAP_OF_DEAD_TABLE, 2);
	free_one();
}

/* The callback may run between get_pages and dma_map_pages, and a consumer cannot prevent that. */
CASE(map_after_callback_is_einval)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	free_one();
	CHECK_CASE();
	EXPECT(map(0, 0) == -EINVAL, "map");
	EXPECT(unmap(0, 0) == -EINVAL, "dma_map_pages stored a mapping");
	EXPECT_NO_BREACH(fd);
}

/* ---- unmap ----------------------------------------------------------------- */

CASE(unmap_of_unknown_mapping_is_reported)
{
	pinned_pages(2);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_WILD_MAP) == 0 && maps() == 1, "%u maps", maps());
	EXPECT_BROKE(fd, EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING, 1);
	EXPECT(unmap(0, 0) == 0, "unmap");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_OLD_MAP) == 0, "twice");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING, 1);
	put_and_free();
}

CASE(unmap_after_put_is_reported)
{
	pinned_pages(2);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0 && unmap(0, 0) == 0 && put(0) == 0, "map, unmap, put");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_OLD_MAP) == 0, "unmap");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNMAP_OF_DEAD_TABLE, 1);
	free_one();
}

CASE(unmap_after_callback_is_reported)
{
	pinned_pages(2);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	free_one();
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_OLD_MAP) == 0, "unmap");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNMAP_OF_DEAD_TABLE, 1);
}

/* The unmap WARNs, like NVIDIA's driver: the suite line must expect a splat. */
CASE_BY_NAME(unmap_by_another_peer)
{
	pinned_pages(1);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	EXPECT(with_flags(P2P_CHECK_UNMAP, 0, P2P_CHECK_OTHER_PEER) == 0, "unmap");
	EXPECT(maps() == 0, "%u", maps());
	EXPECT_BROKE(fd, EMUGPU_RULE_UNMAP_WRONG_PEER, 1);
	put_and_free();
}

/* ---- mappings that are left ---------------------------------------------------------- */

CASE(put_reports_and_unmaps_leftovers)
{
	pinned_pages(2);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0 && map(0, 1) == 0 && unmap(0, 1) == 0, "map");
	EXPECT(put(0) == 0 && maps() == 0, "%u maps", maps());
	EXPECT_BROKE(fd, EMUGPU_RULE_MAPPING_LEAKED, 1);
	free_one();
}

/* A callback may run before dma_map_pages returns. Then the callback does not know the mapping. */
CASE(callback_may_leave_a_mapping)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, 2 * PAGE, P2P_CHECK_IN_CALLBACK_LEAVE_MAPS) == 0, "get");
	EXPECT(map(0, 0) == 0 && maps() == 1, "map");
	free_one();
	EXPECT(maps() == 0, "%u maps", maps());
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, P2P_CHECK_OLD_MAP) == 0, "later");
	EXPECT_NO_BREACH(fd);
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, P2P_CHECK_OLD_MAP) == 0, "again");
	EXPECT_BROKE(fd, EMUGPU_RULE_FREE_OF_DEAD_MAPPING, 1);
}

CASE(put_persistent_reports_and_unmaps_leftovers)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0 && map(0, 0) == 0, "get, map");
	EXPECT(put_persistent(0) == 0 && maps() == 0, "%u maps", maps());
	EXPECT_BROKE(fd, EMUGPU_RULE_MAPPING_LEAKED, 1);
	free_one();
}

/* ---- free_dma_mapping ------------------------------------------------------ */

CASE(free_of_null_mapping_is_0)
{
	pinned_pages(1);
	CHECK_CASE();
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, 0) == 0, "NULL");
	put_and_free();
}

CASE(free_of_dead_mapping_is_reported)
{
	pinned_pages(1);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0 && unmap(0, 0) == 0, "map, unmap");
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, P2P_CHECK_OLD_MAP) == 0, "after unmap");
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, P2P_CHECK_WILD_MAP) == 0, "never a mapping");
	EXPECT_BROKE(fd, EMUGPU_RULE_FREE_OF_DEAD_MAPPING, 2);
	put_and_free();
}

/* Outside the callback, nvidia_p2p_free_dma_mapping does nothing. So the mapping stays mapped. */
CASE(free_outside_callback_unmaps_nothing)
{
	pinned_pages(1);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, 0) == 0 && maps() == 1, "%u maps", maps());
	EXPECT(put(0) == 0, "put");
	EXPECT_BROKE(fd, EMUGPU_RULE_MAPPING_LEAKED, 1);
	free_one();
}

VMTEST_MAIN
