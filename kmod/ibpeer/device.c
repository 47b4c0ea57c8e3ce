// SPDX-License-Identifier: GPL-2.0
#include <linux/device.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "device.h"

/**
 * struct ibpeer_device - a device
 * @in_devices: entry in devices; listed while @users is not 0
 * @dev: the device, with a reference
 * @users: number of ibpeer_device_get() without put; under devices_lock
 */
struct ibpeer_device {
	struct list_head in_devices;
	struct device *dev;
	struct peerpin_peer *peer;
	unsigned int users;
};

static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);

/* An RDMA device in software has no DMA mask, or no struct device. */
static int device_check(struct device *dev)
{
	if (dev && dev->dma_mask && *dev->dma_mask)
		return 0;
	pr_info_ratelimited("peerpin_ibpeer: %s does no DMA, so GPU memory cannot be registered with it; register a copy in host memory\n",
			    dev ? dev_name(dev) : "an RDMA device in software");
	return -EOPNOTSUPP;
}

static struct ibpeer_device *device_find_locked(const struct device *dev)
{
	struct ibpeer_device *d;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(d, &devices, in_devices)
		if (d->dev == dev)
			return d;
	return NULL;
}

static struct ibpeer_device *device_new_locked(struct device *dev,
					       const struct peerpin_peer_ops *ops)
{
	struct ibpeer_device *d = kzalloc(sizeof(*d), GFP_KERNEL);

	lockdep_assert_held(&devices_lock);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->peer = peerpin_peer_register(dev, ops, NULL);
	if (IS_ERR(d->peer)) {
		struct peerpin_peer *error = d->peer;

		kfree(d);
		return ERR_CAST(error);
	}
	d->dev = get_device(dev);
	list_add(&d->in_devices, &devices);
	return d;
}

struct ibpeer_device *ibpeer_device_get(struct device *dev,
					const struct peerpin_peer_ops *ops)
{
	struct ibpeer_device *d;
	int ret = device_check(dev);

	if (ret)
		return ERR_PTR(ret);
	mutex_lock(&devices_lock);
	d = device_find_locked(dev) ?: device_new_locked(dev, ops);
	if (!IS_ERR(d))
		d->users++;
	mutex_unlock(&devices_lock);
	return d;
}

/*
 * Unregisters without devices_lock, because peerpin_peer_unregister() waits for a running stop().
 * Meanwhile the next registration may make a second entry for the device.
 */
void ibpeer_device_put(struct ibpeer_device *d)
{
	bool last;

	mutex_lock(&devices_lock);
	last = !--d->users;
	if (last)
		list_del(&d->in_devices);
	mutex_unlock(&devices_lock);
	if (!last)
		return;
	peerpin_peer_unregister(d->peer);
	put_device(d->dev);
	kfree(d);
}

struct peerpin_peer *ibpeer_device_peer(const struct ibpeer_device *d)
{
	return d->peer;
}
