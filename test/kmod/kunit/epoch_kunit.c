// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include "../../../kmod/core/region/epoch.c"
#include "suites.h"

enum {
	TRIES = 10,	/* a pin by AUTO asks two providers once, and the provider of host memory eight times */
	SLOTS = PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES,
};

static int epoch_init(struct kunit *test)
{
	struct pp_epochs *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return -ENOMEM;
	pp_epochs_init(e);
	test->priv = e;
	return 0;
}

static void epoch_exit(struct kunit *test)
{
	pp_epochs_free(test->priv);
	kfree(test->priv);
}

static void a_word_is_odd_while_its_region_lives(struct kunit *test)
{
	u32 word = 0, epoch, last = 0;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		epoch = pp_epoch_begin(&word);
		KUNIT_EXPECT_EQ(test, epoch, word);
		KUNIT_EXPECT_EQ(test, epoch & 1, 1u);
		KUNIT_EXPECT_GT(test, epoch, last);
		pp_epoch_end(&word);
		KUNIT_EXPECT_EQ(test, word, epoch + 1);
		KUNIT_EXPECT_FALSE(test, pp_epoch_exhausted(&word));
		last = epoch;
	}
}

/* After a pin has passed pp_epoch_exhausted(), the word must not wrap, even if each try fails but the last. */
static void a_word_never_wraps(struct kunit *test)
{
	u32 word = U32_MAX - 401, before;
	unsigned int i, pins = 0;

	for (; !pp_epoch_exhausted(&word) && pins < 100; pins++) {
		for (i = 0; i < TRIES; i++) {
			before = word;
			KUNIT_EXPECT_GT(test, pp_epoch_begin(&word), before);
			pp_epoch_end(&word);
			KUNIT_EXPECT_GT(test, word, before);
		}
	}
	KUNIT_EXPECT_GT(test, pins, 5u);	/* the word is not retired too early */
	KUNIT_EXPECT_GT(test, 100u, pins);
}

static void only_a_used_up_word_is_exhausted(struct kunit *test)
{
	u32 word = 0;

	KUNIT_EXPECT_FALSE(test, pp_epoch_exhausted(&word));
	word = S32_MAX;
	KUNIT_EXPECT_FALSE(test, pp_epoch_exhausted(&word));
	word++;
	KUNIT_EXPECT_FALSE(test, pp_epoch_exhausted(&word));
	word = U32_MAX - 2 * TRIES;
	KUNIT_EXPECT_TRUE(test, pp_epoch_exhausted(&word));
	word = U32_MAX - 1;
	KUNIT_EXPECT_TRUE(test, pp_epoch_exhausted(&word));
}

static void slots_have_words_of_their_own(struct kunit *test)
{
	static const u32 slots[] = {
		0, 1, WORDS_PER_PAGE / 2, WORDS_PER_PAGE - 1, WORDS_PER_PAGE, PEERPIN_MAX_REGIONS - 1, PEERPIN_MAX_REGIONS,
		SLOTS - 1,
	};
	u32 *words[ARRAY_SIZE(slots)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		words[i] = pp_epoch_word(test->priv, slots[i]);
		KUNIT_ASSERT_NOT_NULL(test, words[i]);
		KUNIT_EXPECT_EQ_MSG(test, *words[i], 0u, "slot %u", slots[i]);
		*words[i] = slots[i] + 1;
	}
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		KUNIT_EXPECT_PTR_EQ_MSG(test, pp_epoch_word(test->priv, slots[i]), words[i], "slot %u", slots[i]);
		KUNIT_EXPECT_EQ_MSG(test, *words[i], slots[i] + 1, "slot %u", slots[i]);
	}
	KUNIT_EXPECT_PTR_EQ(test, words[1], words[0] + 1);
}

/* The page of a fault, without the reference of the process's page table; NULL: SIGBUS */
static struct page *page_at(struct kunit *test, unsigned long pgoff)
{
	struct vm_area_struct vma = { .vm_private_data = test->priv };
	struct vm_fault fault = { .vma = &vma, .pgoff = pgoff };
	vm_fault_t ret = epoch_fault(&fault);

	if (ret) {
		KUNIT_EXPECT_TRUE(test, ret == VM_FAULT_SIGBUS);
		return NULL;
	}
	put_page(fault.page);
	return fault.page;
}

/* The process reads the word of a slot at offset 4 * slot of the mapping. */
static void pages_are_mapped_in_order(struct kunit *test)
{
	u32 *word = pp_epoch_word(test->priv, WORDS_PER_PAGE + 3);
	struct page *page = page_at(test, 1);

	KUNIT_ASSERT_NOT_NULL(test, word);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_PTR_EQ(test, (u32 *)page_address(page) + 3, word);
	KUNIT_EXPECT_NOT_NULL(test, page_at(test, PAGES - 1));
	KUNIT_EXPECT_NULL(test, page_at(test, PAGES));
	KUNIT_EXPECT_NULL(test, page_at(test, ULONG_MAX));
}

static int mmap_of(struct kunit *test, unsigned long first, unsigned long pages, unsigned long flags)
{
	struct vm_area_struct vma = {
		.vm_start = PAGE_SIZE,
		.vm_end = PAGE_SIZE + pages * PAGE_SIZE,
		.vm_pgoff = first,
		.vm_flags = flags,
	};

	return pp_epochs_mmap(test->priv, &vma);
}

static void mmap_beyond_the_words_is_einval(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mmap_of(test, PAGES, 1, VM_MAYSHARE), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmap_of(test, PAGES - 1, 2, VM_MAYSHARE), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmap_of(test, 0, PAGES + 1, VM_MAYSHARE), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmap_of(test, 0, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmap_of(test, 0, 1, VM_MAYSHARE | VM_WRITE), -EPERM);
}

static struct kunit_case epoch_cases[] = {
	KUNIT_CASE(a_word_is_odd_while_its_region_lives),
	KUNIT_CASE(a_word_never_wraps),
	KUNIT_CASE(only_a_used_up_word_is_exhausted),
	KUNIT_CASE(slots_have_words_of_their_own),
	KUNIT_CASE(pages_are_mapped_in_order),
	KUNIT_CASE(mmap_beyond_the_words_is_einval),
	{}
};

struct kunit_suite epoch_suite = {
	.name = "peerpin_epoch",
	.init = epoch_init,
	.exit = epoch_exit,
	.test_cases = epoch_cases,
};
