/* SPDX-License-Identifier: MIT */
/*
 * The calls of Tegra's nv-p2p.h, made by tegra_check.ko in the calling thread. Each returns 0 or
 * the -errno of the GPU driver. The first argument names a slot. A slot holds one page table and
 * its DMA mappings.
 */
#ifndef TEST_TEGRA_H
#define TEST_TEGRA_H

#include <stdbool.h>
#include <sys/mman.h>

#include "test/kmod/tegra/tegra_check.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE ((uint64_t)4096)
#define CHUNK ((uint64_t)EMUGPU_PAGE_SIZE)
#define BLOCK ((uint64_t)EMUGPU_BLOCK_SIZE)

enum { TO_DEVICE = 1, FROM_DEVICE = 2 };	/* values of the kernel's enum dma_data_direction */

static int fd, check;

/* Opens the nodes before any case, so that each case can run alone. */
__attribute__((constructor)) static void open_nodes(void)
{
	fd = emu_open();
	check = open("/dev/tegra_check", O_RDWR | O_CLOEXEC);
}

static inline int ask(struct tegra_check *arg)
{
	return ioctl(check, TEGRA_CHECK_IOC, arg) ? -errno : 0;
}

static inline int get_flags(unsigned int slot, uint64_t va, uint64_t length, unsigned int flags)
{
	return ask(&(struct tegra_check){
		.op = TEGRA_CHECK_GET, .slot = slot, .va = va, .length = length, .flags = flags });
}

static inline int get(unsigned int slot, uint64_t va, uint64_t length)
{
	return get_flags(slot, va, length, 0);
}

static inline int on_slot(enum tegra_check_op op, unsigned int slot, unsigned int flags)
{
	return ask(&(struct tegra_check){ .op = op, .slot = slot, .flags = flags });
}

static inline int put(unsigned int slot)
{
	return on_slot(TEGRA_CHECK_PUT, slot, 0);
}

static inline int dma_map_to(unsigned int slot, unsigned int map, unsigned int direction)
{
	return ask(&(struct tegra_check){
		.op = TEGRA_CHECK_DMA_MAP, .slot = slot, .map = map, .direction = direction });
}

static inline int dma_map(unsigned int slot, unsigned int map)
{
	return dma_map_to(slot, map, 0);
}

static inline int dma_end(enum tegra_check_op op, unsigned int slot, unsigned int map)
{
	return ask(&(struct tegra_check){ .op = op, .slot = slot, .map = map });
}

static inline int dma_unmap(unsigned int slot, unsigned int map)
{
	return dma_end(TEGRA_CHECK_DMA_UNMAP, slot, map);
}

static inline struct tegra_check seen(unsigned int slot)
{
	struct tegra_check arg = { .op = TEGRA_CHECK_SEEN, .slot = slot };

	if (ask(&arg))
		arg.seen.out_count = -1;
	return arg;
}

static inline unsigned int callbacks(unsigned int slot)
{
	return seen(slot).seen.out_count;
}

static inline int page(unsigned int slot, unsigned int index, struct tegra_check *arg)
{
	*arg = (struct tegra_check){ .op = TEGRA_CHECK_TABLE, .slot = slot, .index = index };
	return ask(arg);
}

static inline int segment(unsigned int slot, unsigned int map, unsigned int index, struct tegra_check *arg)
{
	*arg = (struct tegra_check){ .op = TEGRA_CHECK_SEGMENT, .slot = slot, .map = map, .index = index };
	return ask(arg);
}

static inline struct emugpu_test counts(void)
{
	struct emugpu_test test;

	if (emu_counts(fd, &test))
		memset(&test, 0xff, sizeof(test));
	return test;
}

static inline uint64_t violations(void)
{
	return counts().counts.out_violations;
}

/* Number of breaches of @rule by tegra_check; -1: the last breach is of another module, or an error. */
static inline int64_t breaches(enum emugpu_rule rule)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_VIOLATIONS, .violations.rule = rule };

	if (emu_call(fd, EMUGPU_IOC_TEST, &test))
		return -1;
	if (test.violations.out_count && strcmp(test.violations.out_module, "tegra_check"))
		return -1;
	return test.violations.out_count;
}

static inline uint64_t vram_free(void)
{
	struct emugpu_info info;

	return emu_info(fd, 0, &info) ? 0 : info.out_vram_free;
}

static inline bool nothing_pinned(void)
{
	struct emugpu_test test = counts();

	return !test.counts.out_pins && !test.counts.out_dma_maps;
}

static inline int alloc_flags(uint64_t va, uint64_t size, unsigned int flags)
{
	struct emugpu_alloc alloc = { .va = va, .size = size, .flags = flags };

	return emu_call(fd, EMUGPU_IOC_ALLOC, &alloc);
}

static inline int alloc_host(uint64_t va, uint64_t size)
{
	return alloc_flags(va, size, EMUGPU_ALLOC_HOST);
}

static inline char *map_at(uint64_t va, uint64_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, va);
}

enum {
	CACHING_DIFFERS = 2,
};

/*
 * Cache type of the process's page and of the kernel's mapping. 0: cached; 1: write-combined;
 * CACHING_DIFFERS; or -errno.
 */
static inline int caching(const void *p)
{
	struct tegra_check arg = { .op = TEGRA_CHECK_CACHING, .va = (uintptr_t)p };
	int err;

	(void)*(const volatile char *)p;
	err = ask(&arg);
	if (err)
		return err;
	if (arg.caching.out_kernel != TEGRA_CHECK_UNKNOWN && arg.caching.out_kernel != arg.caching.out_write_combined)
		return CACHING_DIFFERS;
	return (int)arg.caching.out_write_combined;
}

static inline bool translated(void)
{
	return access("/sys/kernel/iommu_groups/0", F_OK) == 0;
}

/* Allocate two adjacent blocks, at VA and VA + BLOCK. */
static inline void two_blocks(void)
{
	EXPECT(alloc_host(VA, BLOCK) == 0 && alloc_host(VA + BLOCK, BLOCK) == 0, "alloc");
}

static inline void free_both(void)
{
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(nothing_pinned(),
	       "left: %u pins, %u DMA mappings", counts().counts.out_pins, counts().counts.out_dma_maps);
}

#endif
