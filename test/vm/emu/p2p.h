/* SPDX-License-Identifier: MIT */
/*
 * The calls of nv-p2p.h, made by p2p_check.ko in the calling thread. Each returns 0 or the -errno
 * of the GPU driver. The first argument names a slot. A slot holds one page table and its DMA
 * mappings.
 */
#ifndef TEST_P2P_H
#define TEST_P2P_H

#include <stdbool.h>

#include "test/kmod/p2p_check.h"
#include "test/vm/harness/emu.h"
#include "rule.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE ((uint64_t)EMUGPU_PAGE_SIZE)
#define BLOCK ((uint64_t)EMUGPU_BLOCK_SIZE)
#define POISON 0x6b6b6b6bu

static int fd, check;

/* The first case of each program calls this: both device nodes must be open. */
#define EXPECT_NODES() \
	do { \
		EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ..."); \
		EXPECT(check >= 0, "no /dev/p2p_check; type: emu/vm/run --insmod build/KERNEL/test/p2p_check.ko ..."); \
	} while (0)

/* Opens the nodes before any case, so that each case can run alone. */
__attribute__((constructor)) static void open_nodes(void)
{
	fd = emu_open();
	check = open("/dev/p2p_check", O_RDWR | O_CLOEXEC);
}

static inline int call(unsigned long cmd, struct p2p_check_call arg)
{
	return ioctl(check, cmd, &arg) ? -errno : 0;
}

static inline int get(unsigned int slot, uint64_t va, uint64_t length)
{
	return call(P2P_CHECK_GET, (struct p2p_check_call){ .slot = slot, .va = va, .length = length });
}

static inline int get_flags(unsigned int slot, uint64_t va, uint64_t length, unsigned int flags)
{
	return call(P2P_CHECK_GET, (struct p2p_check_call){ .slot = slot, .va = va, .length = length, .flags = flags });
}

static inline int put(unsigned int slot)
{
	return call(P2P_CHECK_PUT, (struct p2p_check_call){ .slot = slot });
}

static inline int map(unsigned int slot, unsigned int number)
{
	return call(P2P_CHECK_MAP, (struct p2p_check_call){ .slot = slot, .map = number });
}

static inline int unmap(unsigned int slot, unsigned int number)
{
	return call(P2P_CHECK_UNMAP, (struct p2p_check_call){ .slot = slot, .map = number });
}

static inline int with_flags(unsigned long cmd, unsigned int slot, unsigned int flags)
{
	return call(cmd, (struct p2p_check_call){ .slot = slot, .flags = flags });
}

static inline int get_token(unsigned int slot, uint64_t token, uint32_t va_space, uint64_t va, uint64_t length)
{
	return call(P2P_CHECK_GET, (struct p2p_check_call){ .slot = slot, .token = token, .va_space = va_space,
							   .va = va, .length = length });
}

static inline int put_token(unsigned int slot, uint64_t token, uint32_t va_space)
{
	return call(P2P_CHECK_PUT, (struct p2p_check_call){ .slot = slot, .token = token, .va_space = va_space });
}

static inline int get_persistent(unsigned int slot, uint64_t va, uint64_t length)
{
	return call(P2P_CHECK_GET_PERSISTENT, (struct p2p_check_call){ .slot = slot, .va = va, .length = length });
}

static inline int put_persistent(unsigned int slot)
{
	return call(P2P_CHECK_PUT_PERSISTENT, (struct p2p_check_call){ .slot = slot });
}

/* Page @page of mapping @number. out_version is 0 if there is no such page. */
static inline struct p2p_check_table mapped_page(unsigned int slot, unsigned int number, unsigned int page)
{
	struct p2p_check_table table = { .slot = slot, .map = number, .page = page };

	if (ioctl(check, P2P_CHECK_TABLE, &table))
		table.out_version = 0;
	return table;
}

static inline struct p2p_check_table table_page(unsigned int slot, unsigned int page)
{
	return mapped_page(slot, 0, page);
}

static inline unsigned int version(unsigned int slot)
{
	return table_page(slot, 0).out_version;
}

static inline struct p2p_check_callback callback(unsigned int slot)
{
	struct p2p_check_callback seen = { .slot = slot };

	if (ioctl(check, P2P_CHECK_CALLBACK, &seen))
		seen.out_count = -1;
	return seen;
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

static inline uint64_t bar1_used(void)
{
	struct emugpu_info info;

	return emu_info(fd, 0, &info) ? UINT64_MAX : info.out_bar1_used;
}

static inline unsigned int pins(void)
{
	return counts().counts.out_pins;
}

static inline unsigned int maps(void)
{
	return counts().counts.out_dma_maps;
}

static inline uint64_t vram_free(void)
{
	struct emugpu_info info;

	return emu_info(fd, 0, &info) ? 0 : info.out_vram_free;
}

static inline bool nothing_pinned(void)
{
	struct emugpu_test test = counts();

	return !test.counts.out_pins && !test.counts.out_dma_maps && !bar1_used();
}

/* Allocate two adjacent blocks, at VA and VA + BLOCK. */
static inline void two_blocks(void)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "alloc");
}

static inline void one_block(void)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
}

static inline void free_one(void)
{
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(nothing_pinned(), "left: %u pins, %u DMA mappings, %lu bytes of BAR1", pins(), maps(), bar1_used());
}

static inline void free_both(void)
{
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(nothing_pinned(), "left: %u pins, %u DMA mappings, %lu bytes of BAR1", pins(), maps(), bar1_used());
}

#endif
