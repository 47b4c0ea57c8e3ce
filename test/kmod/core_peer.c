// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include "core_peer.h"

enum {
	WAIT_IN_STOP = 10 * HZ,
};

/**
 * struct check_peer - a device
 * @dev: the device; NULL: not present
 * @peer: the registered peer, or NULL; changed under @peers_gate
 * @going: the peer during its unregistration, or NULL; changed under @peers_gate
 * @old_seg: segment limit of the device before registration
 * @old_boundary: segment boundary of the device before registration
 */
struct check_peer {
	struct device *dev;
	struct peerpin_peer *peer;
	struct peerpin_peer *going;
	atomic_t stops;
	unsigned int old_seg;
	unsigned long old_boundary;
};

static struct check_peer peers[CORE_CHECK_PEERS];
static struct platform_device *devices[CORE_CHECK_DEVICES];
static struct pci_dev *chip;

/* ATTACH reads under this lock, so no thread attaches to a peer after its unregistration. */
static DECLARE_RWSEM(peers_gate);

static DEFINE_SPINLOCK(flights_lock);
static LIST_HEAD(flights);
static DECLARE_WAIT_QUEUE_HEAD(flight_ended);

/* ---- DMA in flight ------------------------------------------------------------ */

void check_flight_add(struct check_flight *f)
{
	unsigned long flags;

	spin_lock_irqsave(&flights_lock, flags);
	list_add(&f->in_flights, &flights);
	spin_unlock_irqrestore(&flights_lock, flags);
}

/* After list_del(), the file may begin another transfer with @f, or free @f. */
static void flight_end_locked(struct check_flight *f)
{
	peerpin_dma_end(&f->dma);
	list_del_init(&f->in_flights);
	wake_up_all(&flight_ended);
}

static bool flight_is_awaited(const struct peerpin_attach *attach)
{
	struct check_flight *f;
	bool awaited = false;

	spin_lock_irq(&flights_lock);
	list_for_each_entry(f, &flights, in_flights)
		awaited |= f->wait_in_stop && f->dma.attach == attach;
	spin_unlock_irq(&flights_lock);
	return awaited;
}

int check_flight_end(struct check_flight *f)
{
	unsigned long flags;
	bool ours;

	spin_lock_irqsave(&flights_lock, flags);
	ours = !list_empty(&f->in_flights);
	if (ours)
		flight_end_locked(f);
	spin_unlock_irqrestore(&flights_lock, flags);
	return ours ? 0 : -ENOENT;
}

static void check_stop(void *data, struct peerpin_attach *attach)
{
	struct check_flight *f, *next;
	struct check_peer *p = data;

	atomic_inc(&p->stops);
	spin_lock_irq(&flights_lock);
	list_for_each_entry_safe(f, next, &flights, in_flights)
		if (f->end_in_stop && f->dma.attach == attach)
			flight_end_locked(f);
	spin_unlock_irq(&flights_lock);
	wait_event_timeout(flight_ended, !flight_is_awaited(attach), WAIT_IN_STOP);
}

static const struct peerpin_peer_ops check_ops = {
	.stop = check_stop,
};

/* ---- peers -------------------------------------------------------------------- */

static void peer_limit(struct check_peer *p, unsigned int seg, unsigned long boundary)
{
	dma_set_max_seg_size(p->dev, seg);
	dma_set_seg_boundary(p->dev, boundary);
}

/* For the chip, its driver sets the DMA mask. */
static int peer_prepare(struct check_peer *p, const struct core_check *c)
{
	if (!p->dev)
		return -ENXIO;
	p->old_seg = dma_get_max_seg_size(p->dev);
	p->old_boundary = dma_get_seg_boundary(p->dev);
	peer_limit(p, c->max_seg ?: UINT_MAX, c->boundary ?: ULONG_MAX);
	if (p == &peers[CORE_CHECK_CHIP])
		return 0;
	return dma_set_mask(p->dev, DMA_BIT_MASK(c->mask ?: 64));
}

static int peer_register(struct check_peer *p, const struct core_check *c)
{
	struct peerpin_peer *peer;
	int ret;

	if (p->peer || p->going)
		return -EEXIST;
	ret = peer_prepare(p, c);
	if (ret)
		return ret;
	atomic_set(&p->stops, 0);
	peer = peerpin_peer_register(p->dev, &check_ops, p);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	p->peer = peer;
	return 0;
}

int check_peer_register(const struct core_check *c)
{
	int ret;

	down_write(&peers_gate);
	ret = peer_register(&peers[c->peer], c);
	up_write(&peers_gate);
	return ret;
}

static struct peerpin_peer *peer_take(struct check_peer *p)
{
	down_write(&peers_gate);
	p->going = p->peer;
	p->peer = NULL;
	up_write(&peers_gate);
	return p->going;
}

int check_peer_unregister(unsigned int which)
{
	struct check_peer *p = &peers[which];
	struct peerpin_peer *peer = peer_take(p);

	if (!peer)
		return -ENODEV;
	peerpin_peer_unregister(peer);
	down_write(&peers_gate);
	peer_limit(p, p->old_seg, p->old_boundary);
	p->going = NULL;
	up_write(&peers_gate);
	return 0;
}

static struct peerpin_attach *attach_to(struct check_peer *p, struct peerpin_region *r, bool late)
{
	struct peerpin_peer *peer = late ? p->going : p->peer;

	return peer ? peerpin_attach(peer, r) : ERR_PTR(-ENXIO);
}

struct peerpin_attach *check_peer_attach(const struct core_check *c, struct peerpin_region *r)
{
	struct peerpin_attach *a;

	down_read(&peers_gate);
	a = attach_to(&peers[c->peer], r, c->late);
	up_read(&peers_gate);
	return a;
}

unsigned int check_peer_stops(unsigned int which)
{
	return atomic_read(&peers[which].stops);
}

/* ---- devices ------------------------------------------------------------------- */

static void devices_remove(void)
{
	unsigned int i;

	for (i = 0; i < CORE_CHECK_DEVICES; i++)
		platform_device_unregister(devices[i]);
	pci_dev_put(chip);
}

static int own_add(unsigned int i)
{
	struct platform_device_info info = { .name = "core_check", .id = i, .dma_mask = DMA_BIT_MASK(64) };

	devices[i] = platform_device_register_full(&info);
	if (IS_ERR(devices[i]))
		return PTR_ERR(devices[i]);
	peers[i].dev = &devices[i]->dev;
	return 0;
}

int check_peers_init(void)
{
	unsigned int i;
	int ret;

	chip = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A, NULL);
	if (chip)
		peers[CORE_CHECK_CHIP].dev = &chip->dev;
	for (i = 0; i < CORE_CHECK_DEVICES; i++) {
		ret = own_add(i);
		if (ret) {
			devices[i] = NULL;
			devices_remove();
			return ret;
		}
	}
	return 0;
}

void check_peers_exit(void)
{
	unsigned int i;

	for (i = 0; i < CORE_CHECK_PEERS; i++)
		check_peer_unregister(i);
	devices_remove();
}
