// SPDX-License-Identifier: GPL-2.0
/*
 * Makes each call of nv-p2p.h when a test program asks for it, in that
 * program's thread. It keeps no rules of its own: wrong orders are its purpose.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <nv-p2p.h>

#include "p2p_check.h"

enum { NOT_CALLED = 1 };

struct slot {
	struct nvidia_p2p_page_table *table;
	struct nvidia_p2p_dma_mapping *maps[P2P_CHECK_MAPS];
	u64 va;
	u64 length;
	u32 flags;
	struct p2p_check_callback seen;
};

/* Static: a callback may come at any time, and its data must be there. */
static struct slot slots[P2P_CHECK_SLOTS];
static struct pci_dev *peer, *other_peer;

static struct nvidia_p2p_page_table untouched = { .version = P2P_CHECK_UNTOUCHED };
static struct nvidia_p2p_page_table wild_table;
static struct nvidia_p2p_dma_mapping wild_map;

static void callback(void *data);

static int in_callback_free(struct slot *slot)
{
	int err = nvidia_p2p_free_page_table(slot->table);

	return err ?: nvidia_p2p_free_dma_mapping(slot->maps[0]);
}

static int in_callback_get(struct slot *slot)
{
	struct nvidia_p2p_page_table *table;

	return nvidia_p2p_get_pages(0, 0, slot->va, slot->length, &table, callback, slot);
}

static int in_callback_map(struct slot *slot)
{
	struct nvidia_p2p_dma_mapping *map;

	return nvidia_p2p_dma_map_pages(peer, slot->table, &map);
}

static void callback(void *data)
{
	struct slot *slot = data;
	struct p2p_check_callback *seen = &slot->seen;

	seen->out_count++;
	seen->out_tid = task_pid_nr(current);
	if (slot->flags & P2P_CHECK_IN_CALLBACK_UNMAP)
		seen->out_unmap = nvidia_p2p_dma_unmap_pages(peer, slot->table, slot->maps[0]);
	if (slot->flags & P2P_CHECK_IN_CALLBACK_PUT)
		seen->out_put = nvidia_p2p_put_pages(0, 0, slot->va, slot->table);
	if (slot->flags & P2P_CHECK_IN_CALLBACK_GET)
		seen->out_get = in_callback_get(slot);
	if (slot->flags & P2P_CHECK_IN_CALLBACK_MAP)
		seen->out_map = in_callback_map(slot);
	if (slot->flags & P2P_CHECK_IN_CALLBACK_FREE)
		seen->out_free = in_callback_free(slot);
}

static void slot_reset(struct slot *slot, const struct p2p_check_call *call)
{
	memset(slot, 0, sizeof(*slot));
	slot->table = &untouched;
	slot->va = call->va;
	slot->length = call->length;
	slot->flags = call->flags;
	slot->seen.out_unmap = NOT_CALLED;
	slot->seen.out_free = NOT_CALLED;
	slot->seen.out_put = NOT_CALLED;
	slot->seen.out_get = NOT_CALLED;
	slot->seen.out_map = NOT_CALLED;
}

static int call_get(struct slot *slot, const struct p2p_check_call *call)
{
	slot_reset(slot, call);
	return nvidia_p2p_get_pages(call->token, call->va_space, call->va, call->length, &slot->table,
				    call->flags & P2P_CHECK_NO_CALLBACK ? NULL : callback, slot);
}

static struct nvidia_p2p_page_table *table_of(struct slot *slot, const struct p2p_check_call *call)
{
	if (call->flags & P2P_CHECK_NULL_TABLE)
		return NULL;
	return call->flags & P2P_CHECK_WILD_TABLE ? &wild_table : slot->table;
}

static int call_put(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_put_pages(call->token, call->va_space, call->va ?: slot->va, table_of(slot, call));
}

static int call_map(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_dma_map_pages(peer, table_of(slot, call), &slot->maps[call->map]);
}

static int call_unmap(struct slot *slot, const struct p2p_check_call *call)
{
	return nvidia_p2p_dma_unmap_pages(call->flags & P2P_CHECK_OTHER_PEER ? other_peer : peer, table_of(slot, call),
					  call->flags & P2P_CHECK_WILD_MAP ? &wild_map : slot->maps[call->map]);
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
	look->out_flags = table->flags;
	memcpy(look->out_uuid, table->gpu_uuid, sizeof(look->out_uuid));
	look->out_phys = table->pages[look->page]->physical_address;
	look->out_bus = slot->maps[look->map] ? slot->maps[look->map]->dma_addresses[look->page] : 0;
	return 0;
}

static int look_at_callback(struct slot *slot, struct p2p_check_callback *look)
{
	u32 number = look->slot;

	*look = slot->seen;
	look->slot = number;
	return 0;
}

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
	default:
		return -ENOTTY;
	}
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
	err = run(cmd, &slots[buf.call.slot], &buf);
	if ((_IOC_DIR(cmd) & _IOC_READ) && copy_to_user(user, &buf, _IOC_SIZE(cmd)))
		return -EFAULT;
	return err;
}

static const struct file_operations check_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = check_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice check_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "p2p_check",
	.fops = &check_fops,
};

/* The peer is any 53C895A, with a driver or without; the other one is the host bridge. */
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
	misc_deregister(&check_device);
	pci_dev_put(other_peer);
	pci_dev_put(peer);
}
module_exit(p2p_check_exit);

MODULE_DESCRIPTION("Calls of nv-p2p.h, one by one, for tests");
MODULE_LICENSE("GPL");
