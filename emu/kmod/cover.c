// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../include/emugpu.h"
#include "cover.h"
#include "gpu.h"
#include "memory.h"
#include "p2pmem.h"
#include "slab.h"
#include "window.h"

enum {
	KEY_BITS = 48,
	MARKS = EMUGPU_PAGE_SIZE / EMUGPU_COVER_STEP,
};

#define KEY_MASK (BIT_ULL(KEY_BITS) - 1)

/* The number of a page is above the key. */
static_assert(EMUGPU_COVER_MAX <= 1 << (64 - KEY_BITS));

struct covered {
	struct emugpu_memory *memory;	/* with a reference, so that the page is not reused */
	u32 page;			/* index in @memory */
	bool changed;			/* a mark was written to before emugpu_cover_fill() */
	u64 *marked;			/* contents of the words that have marks */
	void *contents;			/* of the whole page; NULL before emugpu_cover_fill() */
};

/* @key: the lower bits of each word of the patterns; random, so that no other memory has them */
struct emugpu_cover {
	u64 key;
	u32 npages;
	struct covered pages[EMUGPU_COVER_MAX];
};

struct emugpu_cover *emugpu_cover_new(void)
{
	struct emugpu_cover *cover = emugpu_array(1, sizeof(*cover));

	if (cover)
		cover->key = get_random_u64() & KEY_MASK;
	return cover;
}

u32 emugpu_cover_size(const struct emugpu_cover *cover)
{
	return cover->npages;
}

/* Each word of covered page @i. Pages have different words, so that copying one page over the other is detected. */
static u64 pattern(const struct emugpu_cover *cover, u32 i)
{
	return cover->key | (u64)i << KEY_BITS;
}

static u32 gpu_page(const struct covered *covered)
{
	return covered->memory->pages[covered->page];
}

static void *address_of(const struct covered *covered)
{
	return emugpu_window_page(covered->memory->gpu, gpu_page(covered));
}

bool emugpu_cover_is_of(const struct emugpu_cover *cover, u32 i, const struct emugpu_memory *memory, u32 first, u32 n)
{
	const struct covered *covered = &cover->pages[i];

	return covered->memory == memory && covered->page >= first && covered->page - first < n;
}

bool emugpu_cover_is_lent(const struct emugpu_memory *memory, u32 page, u32 npins)
{
	const struct emugpu_gpu *gpu = memory->gpu;
	u32 vram_page = memory->pages[page];

	if (gpu->gone)
		return true;
	return gpu->bar1.refs[vram_page] > npins || (gpu->vram.cpu && !emugpu_p2pmem_is_home(gpu->vram.cpu, vram_page));
}

static bool is_covered(const struct emugpu_cover *cover, const struct emugpu_memory *memory, u32 page)
{
	u32 i;

	for (i = 0; i < cover->npages; i++)
		if (emugpu_cover_is_of(cover, i, memory, page, 1))
			return true;
	return false;
}

static u64 *mark_at(void *p, u32 i)
{
	return p + i * EMUGPU_COVER_STEP;
}

static int put_marks(struct covered *covered, u64 word)
{
	void *p = address_of(covered);
	u32 i;

	if (IS_ERR(p))
		return PTR_ERR(p);
	covered->marked = kmalloc_array(MARKS, sizeof(word), EMUGPU_GFP);
	if (!covered->marked)
		return -ENOMEM;
	for (i = 0; i < MARKS; i++) {
		covered->marked[i] = READ_ONCE(*mark_at(p, i));
		WRITE_ONCE(*mark_at(p, i), word);
	}
	emugpu_memory_get(covered->memory);
	return 0;
}

int emugpu_cover_mark(struct emugpu_cover *cover, struct emugpu_memory *memory, u32 page)
{
	struct covered *covered = &cover->pages[cover->npages];
	int err;

	if (is_covered(cover, memory, page))
		return 0;
	if (cover->npages == EMUGPU_COVER_MAX)
		return -ENOSPC;
	covered->memory = memory;
	covered->page = page;
	err = put_marks(covered, pattern(cover, cover->npages));
	if (!err)
		cover->npages++;
	return err;
}

/* Saves the page as it was before its marks. */
static void save(struct covered *covered, void *p, u64 word)
{
	u32 i;

	memcpy(covered->contents, p, EMUGPU_PAGE_SIZE);
	for (i = 0; i < MARKS; i++) {
		covered->changed |= *mark_at(covered->contents, i) != word;
		*mark_at(covered->contents, i) = covered->marked[i];
	}
}

static int fill(struct covered *covered, u64 word)
{
	void *p = address_of(covered);

	if (covered->contents || IS_ERR(p))
		return 0;
	covered->contents = kvmalloc(EMUGPU_PAGE_SIZE, GFP_KERNEL);
	if (!covered->contents)
		return -ENOMEM;
	save(covered, p, word);
	memset64(p, word, EMUGPU_PAGE_SIZE / sizeof(word));
	return 0;
}

int emugpu_cover_fill(struct emugpu_cover *cover)
{
	int err = 0;
	u32 i;

	for (i = 0; i < cover->npages && !err; i++)
		err = fill(&cover->pages[i], pattern(cover, i));
	return err;
}

int emugpu_cover_page(struct emugpu_cover *cover, struct emugpu_memory *memory, u32 page)
{
	u32 before = cover->npages;
	int err = emugpu_cover_mark(cover, memory, page);

	if (err || cover->npages == before)
		return err;
	return fill(&cover->pages[before], pattern(cover, before));
}

static bool has_only(const u64 *words, u64 word)
{
	u32 i;

	for (i = 0; i < EMUGPU_PAGE_SIZE / sizeof(word); i++)
		if (READ_ONCE(words[i]) != word)
			return false;
	return true;
}

static bool has_marks(void *p, u64 word)
{
	u32 i;

	for (i = 0; i < MARKS; i++)
		if (READ_ONCE(*mark_at(p, i)) != word)
			return false;
	return true;
}

bool emugpu_cover_is_changed(const struct emugpu_cover *cover, u32 i)
{
	const struct covered *covered = &cover->pages[i];
	void *p = address_of(covered);

	if (covered->changed || IS_ERR(p))
		return covered->changed;
	return covered->contents ? !has_only(p, pattern(cover, i)) : !has_marks(p, pattern(cover, i));
}

/* A copy may begin at any byte of its destination. */
int emugpu_cover_source(const struct emugpu_cover *cover, u64 word)
{
	unsigned int bits;
	u64 turned;

	for (bits = 0; bits < 64; bits += 8) {
		turned = ror64(word, bits);
		if ((turned & KEY_MASK) == cover->key && turned >> KEY_BITS < cover->npages)
			return turned >> KEY_BITS;
	}
	return -1;
}

bool emugpu_cover_has(const struct emugpu_cover *cover, const struct emugpu_gpu *gpu, u32 page)
{
	const struct covered *covered;

	for (covered = cover->pages; covered < cover->pages + cover->npages; covered++)
		if (covered->memory->gpu == gpu && gpu_page(covered) == page)
			return true;
	return false;
}

int emugpu_cover_check(const struct emugpu_cover *cover)
{
	u32 i;

	for (i = 0; i < cover->npages; i++)
		if (address_of(&cover->pages[i]) == ERR_PTR(-EBUSY))
			return -EBUSY;
	return 0;
}

static void take_off(struct covered *covered)
{
	void *p = address_of(covered);
	u32 i;

	if (IS_ERR(p))
		goto out;
	if (covered->contents)
		memcpy(p, covered->contents, EMUGPU_PAGE_SIZE);
	else
		for (i = 0; i < MARKS; i++)
			*mark_at(p, i) = covered->marked[i];
out:
	kfree(covered->marked);
	kvfree(covered->contents);
	emugpu_memory_put(covered->memory);
}

void emugpu_cover_delete(struct emugpu_cover *cover)
{
	while (cover->npages)
		take_off(&cover->pages[--cover->npages]);
	kvfree(cover);
}
