// SPDX-License-Identifier: GPL-2.0
/*
 * Makes calls of Tegra's nv-p2p.h in the thread of a test program. The program may call in any
 * order, even a wrong order.
 */
#include <linux/dma-direction.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <linux/nv-p2p.h>

#include "engine.h"
#include "tegra_check.h"

enum { NOT_CALLED = 1 };

/* The slots are static because a callback may come at any time. */
static struct slot {
	struct nvidia_p2p_page_table *table;	/* NULL after kfree() */
	struct nvidia_p2p_dma_mapping *maps[TEGRA_CHECK_MAPS];
	u64 va;
	u64 length;
	u32 flags;
	u32 count;
	u32 tid;
	int get;
	int dma_map;
	int put;
} slots[TEGRA_CHECK_SLOTS];

static struct pci_dev *peer;

static void callback(void *data);

static void call_others(struct slot *slot)
{
	struct nvidia_p2p_page_table *table;
	struct nvidia_p2p_dma_mapping *map;

	slot->get = nvidia_p2p_get_pages(slot->va, slot->length, &table, callback, slot);
	slot->dma_map = nvidia_p2p_dma_map_pages(&peer->dev, slot->table, &map, DMA_BIDIRECTIONAL);
	slot->put = nvidia_p2p_put_pages(slot->table);
}

static void undo_maps(struct slot *slot)
{
	int i;

	for (i = 0; i < TEGRA_CHECK_MAPS; i++)
		if (slot->maps[i])
			nvidia_p2p_free_dma_mapping(slot->maps[i]);
	memset(slot->maps, 0, sizeof(slot->maps));
}

static void free_table(struct slot *slot)
{
	nvidia_p2p_free_page_table(slot->table);
	if (slot->flags & TEGRA_CHECK_KFREE_LATER)
		return;
	kfree(slot->table);
	slot->table = NULL;
}

static void callback(void *data)
{
	struct slot *slot = data;

	slot->count++;
	slot->tid = task_pid_nr(current);
	if (slot->flags & TEGRA_CHECK_CALL_OTHERS)
		call_others(slot);
	if (!(slot->flags & TEGRA_CHECK_KEEP_MAPS))
		undo_maps(slot);
	if (!(slot->flags & TEGRA_CHECK_KEEP_TABLE))
		free_table(slot);
}

/* After the callback, this module must kfree() the page table. */
static void slot_reset(struct slot *slot)
{
	if (slot->count)
		kfree(slot->table);
	memset(slot, 0, sizeof(*slot));
}

static int do_get(struct slot *slot, struct tegra_check *arg)
{
	slot_reset(slot);
	slot->va = arg->va;
	slot->length = arg->length;
	slot->flags = arg->flags;
	slot->get = NOT_CALLED;
	slot->dma_map = NOT_CALLED;
	slot->put = NOT_CALLED;
	return nvidia_p2p_get_pages(arg->va, arg->length, arg->flags & TEGRA_CHECK_NULL ? NULL : &slot->table,
				    arg->flags & TEGRA_CHECK_NO_CALLBACK ? NULL : callback, slot);
}

static int do_put(struct slot *slot, struct tegra_check *arg)
{
	return nvidia_p2p_put_pages(arg->flags & TEGRA_CHECK_NULL ? NULL : slot->table);
}

static int do_free(struct slot *slot, struct tegra_check *arg)
{
	if (slot->count) {
		free_table(slot);
		return 0;
	}
	return nvidia_p2p_free_page_table(slot->table);
}

static int do_dma_map(struct slot *slot, struct tegra_check *arg)
{
	return nvidia_p2p_dma_map_pages(&peer->dev, arg->flags & TEGRA_CHECK_NULL ? NULL : slot->table,
					&slot->maps[arg->map], arg->direction);
}

/* With KEEP_MAPS the slot keeps the pointer, so that a test can wrongly pass it again. */
static struct nvidia_p2p_dma_mapping *map_for_end(struct slot *slot, const struct tegra_check *arg)
{
	struct nvidia_p2p_dma_mapping *map = slot->maps[arg->map];

	if (!(slot->flags & TEGRA_CHECK_KEEP_MAPS))
		slot->maps[arg->map] = NULL;
	return arg->flags & TEGRA_CHECK_NULL ? NULL : map;
}

static int do_dma_unmap(struct slot *slot, struct tegra_check *arg)
{
	return nvidia_p2p_dma_unmap_pages(map_for_end(slot, arg));
}

static int do_dma_free(struct slot *slot, struct tegra_check *arg)
{
	return nvidia_p2p_free_dma_mapping(map_for_end(slot, arg));
}

static int do_table(struct slot *slot, struct tegra_check *arg)
{
	const struct nvidia_p2p_page_table *table = slot->table;

	if (!table)
		return -ENODATA;
	arg->table.out_version = table->version;
	if (!NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(table))
		return 0;
	if (arg->index >= table->entries)
		return -EBADSLT;
	arg->table.out_page_size = table->page_size;
	arg->table.out_size = table->size;
	arg->table.out_entries = table->entries;
	arg->table.out_phys = page_to_phys(table->pages[arg->index]);
	return 0;
}

static int do_segment(struct slot *slot, struct tegra_check *arg)
{
	const struct nvidia_p2p_dma_mapping *map = slot->maps[arg->map];

	if (!map)
		return -ENODATA;
	arg->segment.out_version = map->version;
	if (!NVIDIA_P2P_DMA_MAPPING_VERSION_COMPATIBLE(map))
		return 0;
	if (arg->index >= map->entries)
		return -EBADSLT;
	arg->segment.out_entries = map->entries;
	arg->segment.out_bus = map->hw_address[arg->index];
	arg->segment.out_len = map->hw_len[arg->index];
	return 0;
}

static int do_seen(struct slot *slot, struct tegra_check *arg)
{
	arg->seen.out_count = slot->count;
	arg->seen.out_tid = slot->tid;
	arg->seen.out_get = slot->get;
	arg->seen.out_dma_map = slot->dma_map;
	arg->seen.out_put = slot->put;
	return 0;
}

static int copy_segments(const struct nvidia_p2p_dma_mapping *to, const struct nvidia_p2p_dma_mapping *from)
{
	u32 i;
	int err;

	if (to->entries != from->entries)
		return -EBADSLT;
	for (i = 0; i < from->entries; i++) {
		if (to->hw_len[i] != from->hw_len[i])
			return -EBADSLT;
		err = engine_move(peer, to->hw_address[i], from->hw_address[i], from->hw_len[i]);
		if (err)
			return err;
	}
	return 0;
}

static int do_copy(struct slot *slot, struct tegra_check *arg)
{
	struct nvidia_p2p_dma_mapping *from = slot->maps[arg->map];
	struct nvidia_p2p_dma_mapping *to = slots[arg->to_slot].maps[arg->to_map];

	return from && to ? copy_segments(to, from) : -ENODATA;
}

static bool is_write_combined(pgprot_t prot)
{
	return pgprot_val(prot) == pgprot_val(pgprot_writecombine(prot));
}

/* Caching of @page in the kernel's linear mapping of all memory */
#ifdef CONFIG_X86
static unsigned int kernel_caching(struct page *page)
{
	unsigned int level;
	const pte_t *pte = lookup_address((unsigned long)page_address(page), &level);

	return is_write_combined(pte_pgprot(*pte));
}
#else
static unsigned int kernel_caching(struct page *page)
{
	return TEGRA_CHECK_UNKNOWN;
}
#endif

static int note_caching(pte_t *pte, unsigned long addr, void *data)
{
	struct tegra_check *arg = data;

	if (!pte_present(*pte))
		return -EFAULT;
	arg->caching.out_write_combined = is_write_combined(pte_pgprot(*pte));
	arg->caching.out_kernel = kernel_caching(pte_page(*pte));
	return 0;
}

/* Read the caching from the CPU's page tables: the VMA may differ. */
static int do_caching(struct slot *slot, struct tegra_check *arg)
{
	const struct vm_area_struct *vma;
	int err = -EFAULT;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, arg->va);
	if (vma)
		err = apply_to_page_range(current->mm, arg->va & PAGE_MASK, PAGE_SIZE, note_caching, arg);
	mmap_read_unlock(current->mm);
	return err;
}

static int do_ruin_table(struct slot *slot, struct tegra_check *arg)
{
	slot->table->entries = 1;
	slot->table->size = PAGE_SIZE;
	return 0;
}

static int do_ruin_map(struct slot *slot, struct tegra_check *arg)
{
	memset(slot->maps[arg->map], 0x5a, sizeof(**slot->maps));
	return 0;
}

static int (*const ops[])(struct slot *slot, struct tegra_check *arg) = {
	[TEGRA_CHECK_GET] = do_get,
	[TEGRA_CHECK_PUT] = do_put,
	[TEGRA_CHECK_FREE] = do_free,
	[TEGRA_CHECK_DMA_MAP] = do_dma_map,
	[TEGRA_CHECK_DMA_UNMAP] = do_dma_unmap,
	[TEGRA_CHECK_DMA_FREE] = do_dma_free,
	[TEGRA_CHECK_TABLE] = do_table,
	[TEGRA_CHECK_SEGMENT] = do_segment,
	[TEGRA_CHECK_SEEN] = do_seen,
	[TEGRA_CHECK_COPY] = do_copy,
	[TEGRA_CHECK_CACHING] = do_caching,
	[TEGRA_CHECK_RUIN_TABLE] = do_ruin_table,
	[TEGRA_CHECK_RUIN_MAP] = do_ruin_map,
};

static long check_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct tegra_check arg;
	int err;

	if (cmd != TEGRA_CHECK_IOC)
		return -ENOTTY;
	if (copy_from_user(&arg, (void __user *)user, sizeof(arg)))
		return -EFAULT;
	if (arg.op >= ARRAY_SIZE(ops) || max(arg.slot, arg.to_slot) >= TEGRA_CHECK_SLOTS ||
	    max(arg.map, arg.to_map) >= TEGRA_CHECK_MAPS)
		return -EBADSLT;
	err = ops[arg.op](&slots[arg.slot], &arg);
	if (!err && copy_to_user((void __user *)user, &arg, sizeof(arg)))
		return -EFAULT;
	return err;
}

static int map_pages(struct vm_area_struct *vma, const struct nvidia_p2p_page_table *table)
{
	unsigned long i, n = vma_pages(vma);
	int err = n <= table->entries ? 0 : -EINVAL;

	for (i = 0; i < n && !err; i++)
		err = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, table->pages[i]);
	return err;
}

static int check_mmap(struct file *file, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 slot = (offset & ~TEGRA_CHECK_WRITE_COMBINED) >> 32;

	if (slot >= TEGRA_CHECK_SLOTS || !slots[slot].table)
		return -EBADSLT;
	if (offset & TEGRA_CHECK_WRITE_COMBINED)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return map_pages(vma, slots[slot].table);
}

static const struct file_operations check_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = check_ioctl,
	.mmap = check_mmap,
	.llseek = noop_llseek,
};

static struct miscdevice check_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tegra_check",
	.fops = &check_fops,
};

static int __init tegra_check_init(void)
{
	int err;

	peer = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A, NULL);
	if (!peer)
		return -ENODEV;
	err = misc_register(&check_device);
	if (err)
		pci_dev_put(peer);
	return err;
}
module_init(tegra_check_init);

static void __exit tegra_check_exit(void)
{
	int i;

	misc_deregister(&check_device);
	for (i = 0; i < TEGRA_CHECK_SLOTS; i++)
		slot_reset(&slots[i]);
	pci_dev_put(peer);
}
module_exit(tegra_check_exit);

MODULE_DESCRIPTION("Calls of Tegra's nv-p2p.h, one by one, for tests");
MODULE_LICENSE("GPL");
