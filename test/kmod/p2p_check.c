// SPDX-License-Identifier: GPL-2.0
/*
 * Makes calls of nv-p2p.h in the thread of a test program. The program may call in any order, even
 * a wrong order. Without flags, the callback does all that a consumer must do.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/poison.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <nv-p2p.h>

#include "p2p_check.h"

enum {
	NOT_CALLED = 1,
	DATA_SIZE = 96,
	DATA_PAGES = 4,		/* kmalloc() takes so many pages from no slab */
};

struct slot {
	struct nvidia_p2p_page_table *table;
	struct nvidia_p2p_dma_mapping *maps[P2P_CHECK_MAPS];	/* protected by maps_lock, except in MAP */
	struct nvidia_p2p_dma_mapping *old_maps[P2P_CHECK_MAPS];
	struct p2p_check_call call;	/* arguments of GET or GET_PERSISTENT */
	bool persistent;
	const struct file *file;	/* file that puts the pin at its release; NULL: no file */
	struct p2p_check_callback seen;
	void *data;		/* argument of the callback */
	void *object;		/* live object that @data points into, or NULL */
};

/* The slots are static because a callback may come at any time. */
static struct slot slots[P2P_CHECK_SLOTS];
static struct pci_dev *peer, *other_peer;

/* Serialises UNMAP and the callback. A call that may wait for a callback locks only with the flag LOCKED. */
static DEFINE_MUTEX(maps_lock);

static struct nvidia_p2p_page_table untouched = { .version = P2P_CHECK_UNTOUCHED };
static struct nvidia_p2p_page_table wild_table;
static struct nvidia_p2p_dma_mapping wild_map;

/* ---- freed objects ----------------------------------------------------------- */

static const unsigned int sizes[] = { 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096 };
static u8 *freed[ARRAY_SIZE(sizes)];	/* watched while @watching */
static bool watching;
static bool overwritten;		/* look_at_objects() found an object overwritten */

static int free_objects(void)
{
	unsigned int i;
	int err = 0;

	watching = overwritten = false;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		freed[i] = kmalloc(sizes[i], GFP_KERNEL);
		if (!freed[i])
			err = -ENOMEM;
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		kfree(freed[i]);
	watching = !err;
	return err;
}

/* Reads freed memory: not for KASAN. */
static void look_at_objects(void)
{
	unsigned int i;

	for (i = 0; watching && i < ARRAY_SIZE(sizes); i++) {
		if (!memchr_inv(freed[i], POISON_FREE, sizes[i] - 1))
			continue;
		pr_info("p2p_check: the freed object of %u bytes was allocated again\n", sizes[i]);
		overwritten = true;
	}
}

static int end_watch(void)
{
	look_at_objects();
	watching = false;
	return overwritten ? -EEXIST : 0;
}

/* ---- the callback ---------------------------------------------------------- */

static void callback(void *data);

/* A failing get_pages must store a pointer to poisoned memory. */
static int in_callback_get(struct slot *slot)
{
	struct nvidia_p2p_page_table *table = &untouched;
	int err = nvidia_p2p_get_pages(0, 0, slot->call.va, slot->call.length, &table, callback, slot);

	return memchr_inv(table, POISON_FREE, sizeof(*table)) ? -EBADSLT : err;
}

/* A failing dma_map_pages must store NULL. */
static int in_callback_map(struct slot *slot)
{
	struct nvidia_p2p_dma_mapping *map = &wild_map;
	int err = nvidia_p2p_dma_map_pages(peer, slot->table, &map);

	return map ? -EBADSLT : err;
}

static void in_callback_misbehave(struct slot *slot)
{
	if (slot->call.flags & P2P_CHECK_IN_CALLBACK_PUT)
		slot->seen.out_put = nvidia_p2p_put_pages(0, 0, slot->call.va, slot->table);
	if (slot->call.flags & P2P_CHECK_IN_CALLBACK_GET)
		slot->seen.out_get = in_callback_get(slot);
	if (slot->call.flags & P2P_CHECK_IN_CALLBACK_MAP)
		slot->seen.out_map = in_callback_map(slot);
}

static void map_forget(struct slot *slot, unsigned int i)
{
	slot->old_maps[i] = slot->maps[i];
	slot->maps[i] = NULL;
}

static void in_callback_end_map(struct slot *slot, unsigned int i)
{
	if (slot->call.flags & P2P_CHECK_IN_CALLBACK_UNMAP)
		slot->seen.out_unmap = nvidia_p2p_dma_unmap_pages(peer, slot->table, slot->maps[i]);
	else if (!(slot->call.flags & P2P_CHECK_IN_CALLBACK_LEAVE_MAPS))
		slot->seen.out_free_map = nvidia_p2p_free_dma_mapping(slot->maps[i]);
	map_forget(slot, i);
}

static void in_callback_end_maps(struct slot *slot)
{
	unsigned int i;

	mutex_lock(&maps_lock);
	for (i = 0; i < P2P_CHECK_MAPS; i++)
		if (READ_ONCE(slot->maps[i]))	/* a call in progress may set it to NULL */
			in_callback_end_map(slot, i);
	mutex_unlock(&maps_lock);
}

static void callback(void *data)
{
	struct slot *slot = data;

	look_at_objects();
	slot->seen.out_count++;
	slot->seen.out_tid = task_pid_nr(current);
	slot->seen.out_version = slot->table->version;
	in_callback_misbehave(slot);
	in_callback_end_maps(slot);
	if (!(slot->call.flags & P2P_CHECK_IN_CALLBACK_LEAVE_TABLE))
		slot->seen.out_free_table = nvidia_p2p_free_page_table(slot->table);
	if (slot->call.sleep_ms)
		msleep(slot->call.sleep_ms);
}

/* ---- arguments of the callback ------------------------------------------------ */

static void callback_by_data(void *data)
{
	struct slot *slot;

	for (slot = slots; slot < &slots[P2P_CHECK_SLOTS]; slot++)
		if (slot->call.data && slot->data == data && !slot->seen.out_count)
			callback(slot);
}

static void *data_fill(u8 *at, size_t size, size_t red_zones)
{
	memset(at, SLUB_RED_INACTIVE, size);
	memset(at + red_zones, POISON_FREE, size - 2 * red_zones);
	at[size - red_zones - 1] = POISON_END;
	return at + size / 2;
}

static size_t data_size(const struct slot *slot)
{
	return slot->call.data == P2P_CHECK_DATA_PAGES ? DATA_PAGES * PAGE_SIZE : DATA_SIZE;
}

static void *data_of_object(const struct slot *slot)
{
	switch (slot->call.data) {
	case P2P_CHECK_DATA_FREED_INSIDE:
		return slot->object + DATA_SIZE - 1;
	case P2P_CHECK_DATA_POISON:
		return data_fill(slot->object, DATA_SIZE, 0);
	case P2P_CHECK_DATA_PAGES:
		return data_fill(slot->object, data_size(slot), sizeof(void *));
	default:
		return slot->object;
	}
}

static bool data_is_freed(const struct slot *slot)
{
	return slot->call.data == P2P_CHECK_DATA_FREED || slot->call.data == P2P_CHECK_DATA_FREED_INSIDE;
}

/* Not for P2P_CHECK_DATA_SLOT */
static int data_set(struct slot *slot)
{
	static u8 memory[DATA_SIZE];

	slot->data = NULL;
	if (slot->call.data == P2P_CHECK_DATA_NULL)
		return 0;
	slot->data = (void *)1;
	if (slot->call.data == P2P_CHECK_DATA_NUMBER)
		return 0;
	slot->data = data_fill(memory, DATA_SIZE, sizeof(void *));
	if (slot->call.data == P2P_CHECK_DATA_STATIC)
		return 0;
	slot->object = kmalloc(data_size(slot), GFP_KERNEL);
	if (!slot->object)
		return -ENOMEM;
	slot->data = data_of_object(slot);
	if (data_is_freed(slot)) {
		kfree(slot->object);
		slot->object = NULL;
	}
	return 0;
}

/* ---- pinning --------------------------------------------------------------- */

static void slot_reset(struct slot *slot, const struct p2p_check_call *call, const struct file *file)
{
	kfree(slot->object);
	memset(slot, 0, sizeof(*slot));
	slot->table = &untouched;
	slot->call = *call;
	slot->file = call->flags & P2P_CHECK_PUT_AT_CLOSE ? file : NULL;
	slot->seen = (struct p2p_check_callback){
		.out_unmap = NOT_CALLED,
		.out_free_map = NOT_CALLED,
		.out_free_table = NOT_CALLED,
		.out_put = NOT_CALLED,
		.out_get = NOT_CALLED,
		.out_map = NOT_CALLED,
	};
}

static struct nvidia_p2p_page_table **result_of(struct slot *slot)
{
	return slot->call.flags & P2P_CHECK_NULL_RESULT ? NULL : &slot->table;
}

static int call_get(struct slot *slot, const struct p2p_check_call *call)
{
	int err = call->data ? data_set(slot) : 0;

	if (err)
		return err;
	if (call->data)
		return nvidia_p2p_get_pages(call->token, call->va_space, call->va, call->length, &slot->table,
					    callback_by_data, slot->data);
	return nvidia_p2p_get_pages(call->token, call->va_space, call->va, call->length, result_of(slot),
				    call->flags & P2P_CHECK_NO_CALLBACK ? NULL : callback, slot);
}

static int call_get_persistent(struct slot *slot, const struct p2p_check_call *call)
{
	slot->persistent = true;
	return nvidia_p2p_get_pages_persistent(call->va, call->length, result_of(slot), call->nv_flags);
}

/* The pointer that a driver reads from freed memory, or from memory that was never written */
static void *poison_of(const struct p2p_check_call *call)
{
	void *pointer = NULL;

	if (call->flags & P2P_CHECK_FREED_POINTER)
		memset(&pointer, POISON_FREE, sizeof(pointer));
	if (call->flags & P2P_CHECK_UNSET_POINTER)
		memset(&pointer, POISON_INUSE, sizeof(pointer));
	return pointer;
}

static struct nvidia_p2p_page_table *table_of(struct slot *slot, const struct p2p_check_call *call)
{
	if (call->flags & P2P_CHECK_NULL_TABLE)
		return NULL;
	if (poison_of(call))
		return poison_of(call);
	return call->flags & P2P_CHECK_WILD_TABLE ? &wild_table : slot->table;
}

static int call_put(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_put_pages(call->token, call->va_space, call->va ?: slot->call.va, table_of(slot, call));
}

static int call_put_persistent(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_put_pages_persistent(call->va ?: slot->call.va, table_of(slot, call), call->nv_flags);
}

static int call_free_table(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_free_page_table(table_of(slot, call));
}

/* Write only to a freed page table. The GPU driver has filled it with 0x6b and detects the write. */
static int write_table(struct slot *slot)
{
	slot->table->entries = 0;
	return 0;
}

static int ruin_table(struct slot *slot)
{
	u32 i;

	for (i = 0; i < slot->table->entries; i++)
		slot->table->pages[i]->physical_address = 0;
	slot->table->entries++;
	return 0;
}

static int ruin_pages(struct slot *slot)
{
	static struct nvidia_p2p_page wild_page;

	slot->table->pages[slot->table->entries - 1] = &wild_page;
	return 0;
}

static int reverse_pages(struct slot *slot)
{
	struct nvidia_p2p_page **pages = slot->table->pages;
	u32 i, n = slot->table->entries;

	for (i = 0; i < n / 2; i++)
		swap(pages[i], pages[n - 1 - i]);
	return 0;
}

/* ---- mappings -------------------------------------------------------------- */

static struct pci_dev *peer_of(const struct p2p_check_call *call)
{
	if (call->flags & P2P_CHECK_NULL_PEER)
		return NULL;
	return call->flags & P2P_CHECK_OTHER_PEER ? other_peer : peer;
}

static int call_map(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_dma_map_pages(peer_of(call), table_of(slot, call),
					call->flags & P2P_CHECK_NULL_RESULT ? NULL : &slot->maps[call->map]);
}

static struct nvidia_p2p_dma_mapping *map_of(const struct slot *slot, const struct p2p_check_call *call)
{
	if (poison_of(call))
		return poison_of(call);
	if (call->flags & P2P_CHECK_WILD_MAP)
		return &wild_map;
	return call->flags & P2P_CHECK_OLD_MAP ? slot->old_maps[call->map] : slot->maps[call->map];
}

static int call_unmap(struct slot *slot, const struct p2p_check_call *call)
{
	struct nvidia_p2p_dma_mapping *map;
	int err;

	mutex_lock(&maps_lock);
	map = map_of(slot, call);
	err = nvidia_p2p_dma_unmap_pages(peer_of(call), table_of(slot, call), map);
	if (!err && map == slot->maps[call->map])
		map_forget(slot, call->map);
	mutex_unlock(&maps_lock);
	return err;
}

static int call_free_map(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_free_dma_mapping(map_of(slot, call));
}

static int ruin_map(struct slot *slot, const struct p2p_check_call *call)
{
	memset(slot->maps[call->map], 0x5a, sizeof(**slot->maps));
	return 0;
}

/* Map with the cache attribute of the GPU driver: the kernel allows one attribute for a page. */
static int poke(u64 physical)
{
	u8 __iomem *p = ioremap_wc(physical, 1);

	if (!p)
		return -ENOMEM;
	writeb(readb(p) + 1, p);
	iounmap(p);
	return 0;
}

static int copy_out(const void *page, u64 user)
{
	return copy_to_user(u64_to_user_ptr(user), page, PAGE_SIZE) ? -EFAULT : 0;
}

static int peek(const struct p2p_check_call *call)
{
	void __iomem *p = ioremap_wc(call->va, PAGE_SIZE);
	void *page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	int ret = -ENOMEM;

	if (p && page) {
		memcpy_fromio(page, p, PAGE_SIZE);
		ret = copy_out(page, call->length);
	}
	kfree(page);
	if (p)
		iounmap(p);
	return ret;
}

/* ---- reading results ------------------------------------------------------- */

static void look_at_map(const struct nvidia_p2p_dma_mapping *map, struct p2p_check_table *look)
{
	look->out_map_version = map->version;
	look->out_map_page_size = map->page_size_type;
	look->out_map_entries = map->entries;
	look->out_bus = map->dma_addresses[look->page];
}

static int look_at_table(struct slot *slot, struct p2p_check_table *look)
{
	const struct nvidia_p2p_page_table *table = slot->table;

	look->out_version = table->version;
	if (!NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(table))
		return 0;
	if (look->page >= table->entries)
		return -EBADSLT;
	look->out_page_size = table->page_size;
	look->out_entries = table->entries;
#ifdef NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE	/* NVIDIA's header since 580 */
	look->out_flags = table->flags;
#endif
	memcpy(look->out_uuid, table->gpu_uuid, sizeof(look->out_uuid));
	look->out_phys = table->pages[look->page]->physical_address;
	if (slot->maps[look->map])
		look_at_map(slot->maps[look->map], look);
	return 0;
}

static int look_at_callback(struct slot *slot, struct p2p_check_callback *look)
{
	u32 number = look->slot;

	*look = slot->seen;
	look->slot = number;
	return 0;
}

static int get_rsync_registers(const struct p2p_check_call *arg)
{
	nvidia_p2p_rsync_reg_info_t *info;
	int err = nvidia_p2p_get_rsync_registers(arg->flags & P2P_CHECK_NULL_RESULT ? NULL : &info);

	if (!err)
		nvidia_p2p_put_rsync_registers(info);
	return err;
}

/* Unaligned stores of two bytes to new objects that kmalloc() takes from the same slabs as page tables */
static int write_neighbours(void)
{
	enum { OBJECTS = 128 };
	void *objects[OBJECTS];
	int i;

	for (i = 0; i < OBJECTS; i++) {
		objects[i] = kmalloc(sizeof(struct nvidia_p2p_page_table), GFP_KERNEL | __GFP_RECLAIMABLE);
		if (objects[i])
			WRITE_ONCE(*(u16 *)(objects[i] + 17), 1);
	}
	for (i = 0; i < OBJECTS; i++)
		kfree(objects[i]);
	return 0;
}

/* ---- the node -------------------------------------------------------------- */

static int run(unsigned int cmd, struct slot *slot, void *arg)
{
	switch (cmd) {
	case P2P_CHECK_GET:
		return call_get(slot, arg);
	case P2P_CHECK_PUT:
		return call_put(slot, arg);
	case P2P_CHECK_MAP:
		return call_map(slot, arg);
	case P2P_CHECK_UNMAP:
		return call_unmap(slot, arg);
	case P2P_CHECK_TABLE:
		return look_at_table(slot, arg);
	case P2P_CHECK_CALLBACK:
		return look_at_callback(slot, arg);
	case P2P_CHECK_GET_PERSISTENT:
		return call_get_persistent(slot, arg);
	case P2P_CHECK_PUT_PERSISTENT:
		return call_put_persistent(slot, arg);
	case P2P_CHECK_FREE_TABLE:
		return call_free_table(slot, arg);
	case P2P_CHECK_FREE_MAP:
		return call_free_map(slot, arg);
	case P2P_CHECK_WRITE_TABLE:
		return write_table(slot);
	case P2P_CHECK_INIT_MAPPING:
		return nvidia_p2p_init_mapping(1, NULL, NULL, NULL);
	case P2P_CHECK_DESTROY_MAPPING:
		return nvidia_p2p_destroy_mapping(1);
	case P2P_CHECK_GET_RSYNC_REGISTERS:
		return get_rsync_registers(arg);
	case P2P_CHECK_REVERSE:
		return reverse_pages(slot);
	case P2P_CHECK_RUIN_TABLE:
		return ruin_table(slot);
	case P2P_CHECK_RUIN_PAGES:
		return ruin_pages(slot);
	case P2P_CHECK_RUIN_MAP:
		return ruin_map(slot, arg);
	case P2P_CHECK_POKE:
		return poke(((const struct p2p_check_call *)arg)->va);
	case P2P_CHECK_PEEK:
		return peek(arg);
	case P2P_CHECK_WRITE_NEIGHBOURS:
		return write_neighbours();
	case P2P_CHECK_FREE_OBJECTS:
		return free_objects();
	case P2P_CHECK_END_WATCH:
		return end_watch();
	default:
		return -ENOTTY;
	}
}

static bool is_locked(unsigned int cmd, const struct p2p_check_call *call)
{
	if (cmd != P2P_CHECK_GET && cmd != P2P_CHECK_PUT && cmd != P2P_CHECK_MAP)
		return false;
	return call->flags & P2P_CHECK_LOCKED;
}

static int run_locked(unsigned int cmd, struct slot *slot, void *arg)
{
	int err;

	mutex_lock(&maps_lock);
	err = run(cmd, slot, arg);
	mutex_unlock(&maps_lock);
	return err;
}

static long check_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union {
		struct p2p_check_call call;
		struct p2p_check_table table;
		struct p2p_check_callback callback;
	} buf = {};
	int err;

	if (_IOC_SIZE(cmd) > sizeof(buf))
		return -ENOTTY;
	if (copy_from_user(&buf, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (buf.call.slot >= P2P_CHECK_SLOTS)
		return -EBADSLT;
	if (cmd != P2P_CHECK_CALLBACK && buf.call.map >= P2P_CHECK_MAPS)
		return -EBADSLT;
	if (cmd == P2P_CHECK_GET || cmd == P2P_CHECK_GET_PERSISTENT)
		slot_reset(&slots[buf.call.slot], &buf.call, file);
	if (is_locked(cmd, &buf.call))
		err = run_locked(cmd, &slots[buf.call.slot], &buf);
	else
		err = run(cmd, &slots[buf.call.slot], &buf);
	if ((_IOC_DIR(cmd) & _IOC_READ) && copy_to_user(user, &buf, _IOC_SIZE(cmd)))
		return -EFAULT;
	return err;
}

static void slot_close(struct slot *slot)
{
	const struct p2p_check_call put = { .token = slot->call.token, .va_space = slot->call.va_space };

	slot->file = NULL;
	if (slot->persistent)
		call_put_persistent(slot, &put);
	else
		call_put(slot, &put);
}

static int check_release(struct inode *inode, struct file *file)
{
	struct slot *slot;

	for (slot = slots; slot < &slots[P2P_CHECK_SLOTS]; slot++)
		if (slot->file == file)
			slot_close(slot);
	return 0;
}

/*
 * Maps physical memory, as a driver that does not unmap it in its callback. io_remap_pfn_range() needs a symbol for GPL
 * modules, which a module that uses NVIDIA's proprietary driver does not get.
 */
static int check_mmap(struct file *file, struct vm_area_struct *vma)
{
	return remap_pfn_range(vma, vma->vm_start, vma->vm_pgoff, vma->vm_end - vma->vm_start, vma->vm_page_prot);
}

static const struct file_operations check_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = check_ioctl,
	.mmap = check_mmap,
	.release = check_release,
	.llseek = noop_llseek,
};

static struct miscdevice check_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "p2p_check",
	.fops = &check_fops,
};

/* The peer is any 53C895A, with or without a driver. The other peer is the host bridge. */
static int __init p2p_check_init(void)
{
	int i, err;

	for (i = 0; i < P2P_CHECK_SLOTS; i++)
		slots[i].table = &untouched;
	peer = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A, NULL);
	other_peer = pci_get_domain_bus_and_slot(0, 0, 0);
	err = misc_register(&check_device);
	if (err) {
		pci_dev_put(other_peer);
		pci_dev_put(peer);
	}
	return err;
}
module_init(p2p_check_init);

static void __exit p2p_check_exit(void)
{
	int i;

	misc_deregister(&check_device);
	for (i = 0; i < P2P_CHECK_SLOTS; i++)
		kfree(slots[i].object);
	pci_dev_put(other_peer);
	pci_dev_put(peer);
}
module_exit(p2p_check_exit);

MODULE_DESCRIPTION("Calls of nv-p2p.h, one by one, for tests");
MODULE_LICENSE("GPL");
