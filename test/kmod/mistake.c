// SPDX-License-Identifier: GPL-2.0
/* Makes one mistake when loaded. Each mistake proves that one checker of the kernels in emu/vm/kernel works. */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

enum { SIZE = 192 };

static char *make = "";
module_param(make, charp, 0400);
MODULE_PARM_DESC(make, "name of the mistake");

/*
 * kmemleak. kasprintf() allocates, not this module: at unload, kmemleak ignores memory that the
 * module itself allocated.
 */
static int lose_memory(void)
{
	char *lost = kasprintf(GFP_KERNEL, "%*s", SIZE, "");

	OPTIMIZER_HIDE_VAR(lost);
	return lost ? 0 : -ENOMEM;
}

/* MEM_ALLOC_PROFILING */
static int lose_a_page(void)
{
	return alloc_page(GFP_KERNEL) ? 0 : -ENOMEM;
}

/* KASAN */
static int use_freed_memory(void)
{
	char *freed = kmalloc(SIZE, GFP_KERNEL);

	if (!freed)
		return -ENOMEM;
	kfree(freed);
	OPTIMIZER_HIDE_VAR(freed);
	READ_ONCE(*freed);
	return 0;
}

/* UBSAN */
static int shift_too_far(void)
{
	int bits = 40, n;

	OPTIMIZER_HIDE_VAR(bits);
	n = 1 << bits;
	OPTIMIZER_HIDE_VAR(n);
	return 0;
}

/* DEBUG_ATOMIC_SLEEP */
static int sleep_with_a_spinlock(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
	return 0;
}

static void never(struct timer_list *timer)
{
}

/* DEBUG_OBJECTS, which also stops the timer */
static int free_a_running_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return -ENOMEM;
	timer_setup(timer, never, 0);
	mod_timer(timer, jiffies + HZ * 3600);
	kfree(timer);
	return 0;
}

/* DMA_API_DEBUG */
static int trust_a_mapping(void)
{
	struct pci_dev *device = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, NULL);
	void *buffer = kzalloc(SIZE, GFP_KERNEL);
	dma_addr_t at;

	if (device && buffer) {
		at = dma_map_single(&device->dev, buffer, SIZE, DMA_TO_DEVICE);
		dma_unmap_single(&device->dev, at, SIZE, DMA_TO_DEVICE);
	}
	kfree(buffer);
	pci_dev_put(device);
	return device && buffer ? 0 : -ENODEV;
}

/* Write like a device: without KASAN. */
static noinline __no_sanitize_address void write_unseen(u64 *at)
{
	WRITE_ONCE(*at, *at + 1);
}

/* The next allocation of the page finds the write. */
static int write_to_the_freed(struct page *page)
{
	u64 *at = page_address(page);

	__free_page(page);
	write_unseen(at + SIZE);
	page = alloc_page(GFP_NOWAIT);
	if (!page)
		return -ENOMEM;
	__free_page(page);
	return 0;
}

/* PAGE_POISONING */
static int write_to_a_freed_page(void)
{
	struct page *page = alloc_page(GFP_KERNEL);
	int err;

	if (!page)
		return -ENOMEM;
	preempt_disable();	/* on the same CPU, the next allocation gets the page that was freed last */
	err = write_to_the_freed(page);
	preempt_enable();
	return err;
}

static unsigned int raced;

static void race(void)
{
	raced++;
	barrier();
	cond_resched();
}

static int race_until_stopped(void *unused)
{
	while (!kthread_should_stop())
		race();
	return 0;
}

/* KCSAN */
static int race_with_another(void)
{
	struct task_struct *other = kthread_run(race_until_stopped, NULL, "mistake");
	unsigned long end = jiffies + HZ;

	if (IS_ERR(other))
		return PTR_ERR(other);
	while (time_before(jiffies, end))
		race();
	kthread_stop(other);
	return 0;
}

static const struct {
	const char *name;
	int (*make)(void);
} mistakes[] = {
	{ "leak", lose_memory },
	{ "leave", lose_a_page },
	{ "freed", use_freed_memory },
	{ "shift", shift_too_far },
	{ "sleep", sleep_with_a_spinlock },
	{ "timer", free_a_running_timer },
	{ "dma", trust_a_mapping },
	{ "page", write_to_a_freed_page },
	{ "race", race_with_another },
};

static int __init mistake_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++)
		if (!strcmp(make, mistakes[i].name))
			return mistakes[i].make();
	pr_err("mistake: no mistake is named '%s'\n", make);
	return -EINVAL;
}
module_init(mistake_init);

static void __exit mistake_exit(void)
{
}
module_exit(mistake_exit);

MODULE_DESCRIPTION("Mistakes that a kernel with checks finds");
MODULE_LICENSE("GPL");
