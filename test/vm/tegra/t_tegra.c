// SPDX-License-Identifier: MIT
/*
 * Tegra's nv-p2p.h: one case for each documented result. It differs from the other nv-p2p.h:
 * - other prototypes (tegra_check.ko builds against them);
 * - pages of 4 KiB;
 * - put_pages calls the callback;
 * - bus addresses are coalesced.
 */
#include "tegra.h"

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --tegra ...");
	EXPECT(check >= 0, "no /dev/tegra_check; type: emu/vm/run --tegra --insmod build/KERNEL/test/tegra_check.ko ...");
}

CASE(one_integrated_gpu_is_there)
{
	struct emugpu_info info;

	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(info.out_integrated == 1, "%u", info.out_integrated);
	EXPECT(info.out_vram_total == 64 * MIB && info.out_vram_free == info.out_vram_total, "%llu of %llu",
	       info.out_vram_free, info.out_vram_total);
	EXPECT(!info.out_bar1_total && !info.out_bar1_used && !info.out_bar1_reserved, "the GPU has a BAR1");
	EXPECT(emu_info(fd, 1, &info) == -ENODEV, "there is a second GPU");
	EXPECT(emu_cpu_window(fd, 0) == -EOPNOTSUPP, "the GPU has a CPU window");
	EXPECT(emu_bar1_free(fd, MIB) == -EOPNOTSUPP, "the BAR1 limit was accepted");
}

CASE(page_table_has_4k_pages)
{
	struct emugpu_test test;
	struct tegra_check arg;
	unsigned int i;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA + PAGE, 40 * PAGE) == 0, "get");
	for (i = 0; i < 40; i++) {
		EXPECT(page(0, i, &arg) == 0, "page %u", i);
		EXPECT(arg.table.out_version == 0x10000, "%#x", arg.table.out_version);
		EXPECT(arg.table.out_page_size == 0 && arg.table.out_entries == 40 && arg.table.out_size == 40 * PAGE,
		       "%u %u %llu", arg.table.out_page_size, arg.table.out_entries, arg.table.out_size);
		EXPECT(emu_translate(fd, VA + (i + 1) * PAGE, &test) == 0, "translate");
		EXPECT(arg.table.out_phys == test.translate.out_phys, "page %u: %#llx", i, arg.table.out_phys);
	}
	EXPECT(put(0) == 0, "put");
	free_both();
}

CASE(unaligned_ranges_are_einval)
{
	int64_t before = breaches(EMUGPU_RULE_UNALIGNED);
	struct tegra_check arg;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA + PAGE / 2, PAGE) == -EINVAL, "address");
	EXPECT(get(0, VA, PAGE / 2) == -EINVAL, "length");
	EXPECT(page(0, 0, &arg) == -ENODATA, "the pointer is not NULL");
	EXPECT(breaches(EMUGPU_RULE_UNALIGNED) == before + 2, "%ld", breaches(EMUGPU_RULE_UNALIGNED));
	EXPECT(get(0, VA, 0) == -EINVAL, "length 0");
	EXPECT(get(0, VA + BLOCK - PAGE, PAGE) == 0 && put(0) == 0, "the last 4 KiB");
	free_both();
}

CASE(bad_arguments_are_einval)
{
	int64_t before = breaches(EMUGPU_RULE_NO_CALLBACK);

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_NO_CALLBACK) == -EINVAL, "no callback");
	EXPECT(breaches(EMUGPU_RULE_NO_CALLBACK) == before + 1, "%ld", breaches(EMUGPU_RULE_NO_CALLBACK));
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_NULL) == -EINVAL, "no place for the table");
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(on_slot(TEGRA_CHECK_PUT, 0, TEGRA_CHECK_NULL) == -EINVAL, "put NULL");
	EXPECT(on_slot(TEGRA_CHECK_DMA_MAP, 0, TEGRA_CHECK_NULL) == -EINVAL, "map NULL");
	EXPECT(on_slot(TEGRA_CHECK_DMA_UNMAP, 0, TEGRA_CHECK_NULL) == -EINVAL, "unmap NULL");
	EXPECT(dma_map_to(0, 0, 3) == -EINVAL, "no direction");
	EXPECT(put(0) == 0, "put");
	free_both();
}

CASE(only_cudahostalloc_memory_is_pinned)
{
	uint64_t own = (uintptr_t)aligned_alloc(PAGE, PAGE);

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_alloc(fd, VA + 2 * BLOCK, BLOCK) == 0, "alloc");
	EXPECT(get(0, VA + 2 * BLOCK, PAGE) == -EINVAL, "device memory");
	EXPECT(emu_free(fd, VA + 2 * BLOCK) == 0, "free");
	EXPECT(alloc_flags(VA + 2 * BLOCK, BLOCK, EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_NO_P2P) == 0, "alloc");
	EXPECT(get(0, VA + 2 * BLOCK, PAGE) == -EINVAL, "not for peers");
	EXPECT(emu_free(fd, VA + 2 * BLOCK) == 0, "free");
	EXPECT(get(0, VA - PAGE, PAGE) == -EINVAL, "unknown address");
	EXPECT(get(0, own, PAGE) == -EINVAL, "memory of the program");
	EXPECT(get(0, VA + BLOCK - PAGE, 2 * PAGE) == -EINVAL, "get across the end of the block");
	EXPECT(get(0, VA, -PAGE) == -EINVAL, "length that overflows");
	free_both();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == -EINVAL, "freed");
	free((void *)(uintptr_t)own);
}

CASE(a_failed_get_leaves_null)
{
	struct tegra_check arg;

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_fail(fd, 1, -ENOMEM) == 0, "fail");
	EXPECT(get(0, VA, PAGE) == -ENOMEM, "get");
	EXPECT(page(0, 0, &arg) == -ENODATA, "not NULL");
	EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "get, put");
	free_both();
}

CASE(put_pages_always_calls_the_callback)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA, 3 * PAGE) == 0 && dma_map(0, 0) == 0, "get");
	EXPECT(callbacks(0) == 0, "the callback ran before the put");
	EXPECT(put(0) == 0, "put");
	EXPECT(callbacks(0) == 1, "%u", callbacks(0));
	EXPECT(seen(0).seen.out_tid == (unsigned int)gettid(), "in thread %u", seen(0).seen.out_tid);
	EXPECT(callbacks(1) == 0, "the callback of the other pin ran");
	EXPECT(counts().counts.out_pins == 1 && counts().counts.out_dma_maps == 0, "%u", counts().counts.out_pins);
	EXPECT(put(1) == 0, "put");
	free_both();
	CHECK_CASE();
	EXPECT(callbacks(0) == 1 && callbacks(1) == 1, "the free ran the callbacks again");
	EXPECT(violations() == before, "%lu", violations() - before);
}

/* Leave a table, which the driver must report at the end of the process. */
static int leave_a_table(void)
{
	fd = emu_open();
	return alloc_host(VA, BLOCK) || get_flags(1, VA, PAGE, TEGRA_CHECK_KEEP_TABLE) || put(1);
}

CASE(the_callback_frees_the_table)
{
	int64_t leaked = breaches(EMUGPU_RULE_TABLE_LEAKED), live = breaches(EMUGPU_RULE_FREE_OF_LIVE_TABLE);
	struct tegra_check arg;

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_KEEP_TABLE) == 0, "get");
	EXPECT(on_slot(TEGRA_CHECK_FREE, 0, 0) == 0, "free outside the callback");
	EXPECT(breaches(EMUGPU_RULE_FREE_OF_LIVE_TABLE) == live + 1, "no violation reported");
	EXPECT(put(0) == 0, "put");
	EXPECT(page(0, 0, &arg) == 0 && arg.table.out_version == 0x6b6b6b6b, "%#x", arg.table.out_version);
	EXPECT(on_slot(TEGRA_CHECK_FREE, 0, 0) == 0, "free after the put");
	free_both();
	CHECK_CASE();
	EXPECT(emu_in_child(leave_a_table) == 0, "child");
	EXPECT(breaches(EMUGPU_RULE_TABLE_LEAKED) == leaked + 1, "no violation reported");
	EXPECT(on_slot(TEGRA_CHECK_FREE, 1, 0) == 0, "free");
}

CASE(the_callback_undoes_dma_mappings)
{
	int64_t before = breaches(EMUGPU_RULE_MAPPING_LEAKED);

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_KEEP_MAPS | TEGRA_CHECK_KEEP_TABLE) == 0, "get");
	EXPECT(dma_map_to(0, 0, TO_DEVICE) == 0 && dma_map_to(0, 1, TO_DEVICE) == 0, "map");
	EXPECT(put(0) == 0, "put");
	EXPECT(breaches(EMUGPU_RULE_MAPPING_LEAKED) == before + 1, "no violation reported");
	EXPECT(nothing_pinned(), "%u maps", counts().counts.out_dma_maps);
	EXPECT(on_slot(TEGRA_CHECK_FREE, 0, 0) == 0, "free");
	free_both();
}

CASE(use_after_end_is_a_violation)
{
	int64_t puts = breaches(EMUGPU_RULE_PUT_OF_DEAD_TABLE), unmaps = breaches(EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING);
	int64_t maps = breaches(EMUGPU_RULE_MAP_OF_DEAD_TABLE), frees = breaches(EMUGPU_RULE_FREE_OF_DEAD_MAPPING);

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_KEEP_MAPS | TEGRA_CHECK_KEEP_TABLE) == 0 && dma_map(0, 0) == 0, "get");
	EXPECT(dma_unmap(0, 0) == 0 && dma_unmap(0, 0) == -EINVAL, "unmap twice");
	EXPECT(dma_end(TEGRA_CHECK_DMA_FREE, 0, 0) == -EINVAL, "free of an unmapped mapping");
	EXPECT(put(0) == 0 && put(0) == -EINVAL, "put twice");
	EXPECT(dma_map(0, 0) == -EINVAL, "map after put");
	EXPECT(breaches(EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING) == unmaps + 1, "unmap");
	EXPECT(breaches(EMUGPU_RULE_FREE_OF_DEAD_MAPPING) == frees + 1, "free");
	EXPECT(breaches(EMUGPU_RULE_PUT_OF_DEAD_TABLE) == puts + 1, "put");
	EXPECT(breaches(EMUGPU_RULE_MAP_OF_DEAD_TABLE) == maps + 1, "map");
	EXPECT(on_slot(TEGRA_CHECK_FREE, 0, 0) == 0, "free");
	free_both();
}

/* A consumer cannot prevent a free just before its map. So the map is no violation. */
CASE(map_after_revoke_is_no_violation)
{
	uint64_t before = violations();

	two_blocks();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, TEGRA_CHECK_KEEP_TABLE) == 0, "get");
	EXPECT(emu_revoke(fd, VA) == 0 && callbacks(0) == 1, "revoke");
	EXPECT(dma_map(0, 0) == -EINVAL, "map");
	EXPECT(violations() == before, "%lu", violations() - before);
	EXPECT(on_slot(TEGRA_CHECK_FREE, 0, 0) == 0, "free");
	free_both();
}

/* ---- bus addresses ------------------------------------------------------------ */

/* Physical address of the byte at @offset in the pin. */
static uint64_t phys_at(uint64_t offset)
{
	struct emugpu_test test;

	return emu_translate(fd, VA + PAGE + offset, &test) ? 0 : test.translate.out_phys;
}

/* The pin begins 4 KiB into a run of 64 KiB. It has 15 + 2 * 16 + 1 pages. No two runs are adjacent. */
CASE(bus_addresses_are_coalesced)
{
	struct tegra_check now = {}, last;
	uint64_t done = 0;
	unsigned int i;

	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA + PAGE, 3 * CHUNK) == 0 && dma_map(0, 0) == 0, "get, map");
	for (i = 0; !i || i < now.segment.out_entries; i++) {
		last = now;
		EXPECT(segment(0, 0, i, &now) == 0, "segment %u", i);
		EXPECT(now.segment.out_version == 0x10000, "%#x", now.segment.out_version);
		EXPECT(now.segment.out_len && (now.segment.out_len <= CHUNK || translated()), "segment %u: %u bytes",
		       i, now.segment.out_len);
		EXPECT((now.segment.out_bus != phys_at(done)) == translated(), "segment %u: bus %#llx, physical %#lx",
		       i, now.segment.out_bus, phys_at(done));
		EXPECT(!i || translated() || last.segment.out_bus + last.segment.out_len != now.segment.out_bus,
		       "segment %u is adjacent to the one before", i);
		done += now.segment.out_len;
	}
	EXPECT(done == 3 * CHUNK, "%lu bytes", done);
	EXPECT(translated() ? i <= 4 : i == 4, "%u segments", i);
	EXPECT(put(0) == 0, "put");
	free_both();
}

static uint64_t mapped_bytes(unsigned int slot, unsigned int number)
{
	struct tegra_check arg;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; segment(slot, number, i, &arg) == 0; i++)
		bytes += arg.segment.out_len;
	return bytes;
}

CASE(driver_ignores_the_consumers_writes)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0 && on_slot(TEGRA_CHECK_RUIN_TABLE, 0, 0) == 0, "get, write");
	EXPECT(dma_map(0, 0) == 0 && mapped_bytes(0, 0) == BLOCK, "%lu bytes", mapped_bytes(0, 0));
	EXPECT(on_slot(TEGRA_CHECK_RUIN_MAP, 0, 0) == 0 && dma_unmap(0, 0) == 0 && put(0) == 0, "write, unmap, put");
	EXPECT(nothing_pinned(), "%u maps", counts().counts.out_dma_maps);
	free_both();
}

/* Map for DMA_TO_DEVICE: CONFIG_DMA_API_DEBUG rejects two writable mappings of a page. */
CASE(a_table_has_many_mappings)
{
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0, "get");
	EXPECT(dma_map_to(0, 0, TO_DEVICE) == 0 && dma_map_to(0, 1, TO_DEVICE) == 0, "map");
	EXPECT(dma_map_to(0, 2, TO_DEVICE) == 0, "map");
	EXPECT(counts().counts.out_dma_maps == 3, "%u", counts().counts.out_dma_maps);
	EXPECT(dma_unmap(0, 1) == 0 && dma_end(TEGRA_CHECK_DMA_FREE, 0, 0) == 0, "unmap, free");
	EXPECT(counts().counts.out_dma_maps == 1, "%u", counts().counts.out_dma_maps);
	EXPECT(put(0) == 0, "put");
	free_both();
}

/* Unbind the chip from peerpin_lsi, if bound; @back: bind the chip again. */
static bool chip_driver(bool back)
{
	static char device[64];
	int sysfs;
	ssize_t n;

	if (!back) {
		n = readlink("/sys/class/misc/lsi0/device", device, sizeof(device) - 1);
		memmove(device, n < 0 ? "" : strrchr(device, '/') + 1, n < 0 ? 1 : strlen(strrchr(device, '/')));
	}
	if (!*device)
		return true;
	sysfs = open(back ? "/sys/bus/pci/drivers/peerpin_lsi/bind" : "/sys/bus/pci/drivers/peerpin_lsi/unbind",
		     O_WRONLY);
	n = write(sysfs, device, strlen(device));
	close(sysfs);
	return n == (ssize_t)strlen(device);
}

static void fill(uint32_t *words, size_t n, uint32_t seed)
{
	while (n--)
		words[n] = seed = seed * 1664525 + 1013904223;
}

/* Both blocks have the same alignment. So they have the same segments. */
static void copy_by_the_peer(void)
{
	struct tegra_check copy = { .op = TEGRA_CHECK_COPY, .slot = 0, .to_slot = 1 };
	uint32_t *from = (void *)map_at(VA, BLOCK), *to = (void *)map_at(VA + BLOCK, BLOCK);

	EXPECT(from != MAP_FAILED && to != MAP_FAILED, "mmap: %s", strerror(errno));
	fill(from, BLOCK / 4, 1);
	EXPECT(memcmp(from, to, BLOCK), "source and destination are equal before the copy");
	EXPECT(get(0, VA, BLOCK) == 0 && get(1, VA + BLOCK, BLOCK) == 0, "get");
	EXPECT(dma_map_to(0, 0, TO_DEVICE) == 0 && dma_map_to(1, 0, FROM_DEVICE) == 0, "map");
	EXPECT(ask(&copy) == 0, "copy");
	EXPECT(dma_unmap(0, 0) == 0 && dma_unmap(1, 0) == 0, "unmap");
	EXPECT(!memcmp(from, to, BLOCK), "wrong bytes");
	EXPECT(put(0) == 0 && put(1) == 0, "put");
	munmap(from, BLOCK);
	munmap(to, BLOCK);
}

/* True on arm64 with an IOMMU: a device gets IOMMU addresses only while a driver is bound. */
static bool unbound_devices_are_lost(void)
{
#ifdef __aarch64__
	return translated();
#else
	return false;
#endif
}

CASE(peer_copies_the_bytes)
{
	if (unbound_devices_are_lost())
		SKIP("arm64 has no addresses behind an IOMMU for a device without a driver");
	two_blocks();
	CHECK_CASE();
	EXPECT(chip_driver(false), "cannot take the chip from peerpin_lsi: %s", strerror(errno));
	copy_by_the_peer();
	EXPECT(chip_driver(true), "cannot give the chip back");
	CHECK_CASE();
	free_both();
}

VMTEST_MAIN
