/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peerpin for drivers: give a PCIe device pinned GPU or host memory.
 *
 * A driver registers its device once, as a *peer*. Its own ioctl receives
 * (fd of /dev/peerpin, region id, offset, length) from userspace and does:
 *
 *	region = peerpin_region_get(fd, id);
 *	attach = peerpin_attach(peer, region);
 *	peerpin_region_put(region);
 *	ret = peerpin_dma_begin(attach, offset, length, dir, &dma);
 *	while ((len = peerpin_dma_next(&dma, max, &bus)))
 *		... program the engine with bus, len ...
 *	... start it and wait ...
 *	peerpin_dma_end(&dma);
 *	peerpin_attach_put(attach);
 *
 * A driver whose users know nothing of /dev/peerpin takes a pointer instead and
 * pins it itself, once for many transfers:
 *
 *	region = peerpin_region_pin(&(struct peerpin_range){ .addr = addr, .length = length }, NULL);
 *	...
 *	peerpin_region_unpin(region);
 *
 * That is all: whose memory it is, pinning, DMA mapping, caching of both and
 * revocation are the core's business. The one promise a driver makes: between
 * begin and end, and only then, its device touches the memory; and end comes
 * soon after stop() or peerpin_dma_stale() asked for it.
 *
 * "seed N" is the section of NVIDIA's guide "Developing a Linux Kernel Module using
 * GPUDirect RDMA" (release 12.9) that a call implements.
 */
#ifndef _PEERPIN_H
#define _PEERPIN_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct device;
struct scatterlist;
struct sg_table;
struct peerpin_attach;
struct peerpin_peer;
struct peerpin_region;

/**
 * struct peerpin_peer_ops - what the core asks of a driver
 * @stop: memory of @attach is being taken away: end its DMA soon and call
 *	peerpin_dma_end() from wherever DMA ends. Optional: a driver whose
 *	transfers are short, or that asks peerpin_dma_stale(), needs none.
 *	Process context, may sleep, but must not wait for the DMA's end itself
 *	nor for anything that waits for the GPU driver or for memory: the thread
 *	that frees GPU memory stands in it with the GPU driver's lock held, and
 *	the exporter of an imported dma-buf with its reservation lock.
 *	Called at most once for an attachment, when DMA was in flight on it a
 *	moment ago, never after peerpin_peer_unregister() returned. So a driver
 *	that queues begins a request and puts it on its list under the lock that
 *	stop() takes: else stop() may come between, and not find it.
 *
 * Implements the driver's half of seed 11.3 and 12.4.
 */
struct peerpin_peer_ops {
	void (*stop)(void *data, struct peerpin_attach *attach);
};

/**
 * peerpin_peer_register() - make a device known, usually in probe()
 * @dev: the DMA master; its masks and max segment size are set already
 * @ops: may be NULL
 * @data: handed to @ops
 *
 * Context: process, may sleep. @dev and @ops must live until
 * peerpin_peer_unregister().
 * Return: the peer or ERR_PTR(-ENOMEM).
 */
struct peerpin_peer *peerpin_peer_register(struct device *dev,
					   const struct peerpin_peer_ops *ops,
					   void *data);

/**
 * peerpin_peer_unregister() - the device goes away, usually first in remove()
 * @peer: from peerpin_peer_register(); gone afterwards
 *
 * Refuses new DMA (-ENODEV), asks for DMA in flight to stop, waits for its
 * end and drops every DMA mapping of the device. Attachments that callers
 * still hold stay valid to peerpin_attach_put(), no more.
 * No peerpin_attach() on it may be under way: the driver's own lock, and a flag
 * that it looks at, see to that.
 * Context: process, sleeps; call with no lock held that stop() or the path to
 * peerpin_dma_end() takes, nor a dma-buf's reservation lock.
 */
void peerpin_peer_unregister(struct peerpin_peer *peer);

/**
 * struct peerpin_range - what to pin; members left 0 are the usual case
 * @addr: start in the calling process, any alignment; of a dma-buf: the offset,
 *	of a page
 * @length: bytes, not 0; of a dma-buf: whole pages within it
 * @provider: enum peerpin_provider: whose memory it is; 0: find out
 * @flags: enum peerpin_pin_flags
 * @fd: the dma-buf, where @provider is PEERPIN_PROVIDER_DMABUF; else 0, not -1
 */
struct peerpin_range {
	u64 addr;
	u64 length;
	u32 provider;
	u32 flags;
	int fd;
};

/**
 * peerpin_region_pin() - pin memory of the calling process
 * @range: what
 * @reason: NULL, or where enum peerpin_reason of a failure goes
 *
 * For drivers whose own ioctl takes a user pointer. The region belongs to the
 * caller, who ends it by peerpin_region_unpin() before the process has gone: from
 * the ioctl's file's release() at the latest. The bytes count against the
 * limits of the process. When its memory is freed the region is revoked: what
 * comes then answers -ESTALE, and it is still to be unpinned.
 *
 * Context: a thread of the process whose memory or file it is (its ioctl), not a
 * kernel thread or work item. Sleeps, may call the GPU's driver; no lock may be held
 * that stop() takes, and no DMA of the caller's be in flight whose end waits for
 * this call: pin and attach all that a transfer needs, then begin. It faults
 * pages in, and may wait for userspace (FUSE, userfaultfd) for ever: hold no
 * lock that others take, or remove().
 * Return: the region or ERR_PTR, with the errors of PEERPIN_IOC_PIN.
 * Implements seed 12.2.
 */
struct peerpin_region *peerpin_region_pin(const struct peerpin_range *range,
					  u32 *reason);

/**
 * peerpin_region_unpin() - end a region of peerpin_region_pin()
 * @region: not to be used by the caller afterwards, but by those who got a
 *	reference of their own
 *
 * Drops all device mappings, and waits for DMA in flight, but no longer than
 * drain_timeout_ms for all drivers together: then the pages stay until it has
 * ended, those of an NVIDIA GPU, unless pinned with PEERPIN_PIN_PERSISTENT,
 * until they are freed. Of a dma-buf it also waits until the exporter has
 * unmapped. Attachments stay valid to peerpin_attach_put().
 *
 * Context: process, sleeps; no lock may be held that stop() takes, or that is
 * taken on the way to peerpin_dma_end(), nor a dma-buf's reservation lock; and no
 * DMA to the same dma-buf be in flight whose end waits for this call. By
 * another process than the one that pinned, GPU memory stays pinned until it
 * is freed.
 * Implements seed 12.3.
 */
void peerpin_region_unpin(struct peerpin_region *region);

/**
 * peerpin_region_get() - the region that userspace means
 * @fd: file descriptor of /dev/peerpin in the calling process
 * @id: from PEERPIN_IOC_PIN on that file
 *
 * Context: a thread of that process (its ioctl), not a kernel thread or work
 * item; may sleep.
 * Return: a reference to give back with peerpin_region_put(), or ERR_PTR:
 * -EBADF @fd is no file of /dev/peerpin; -EACCES it belongs to another
 * process; -ENOENT no such region. Holding it does not keep it from ending.
 */
struct peerpin_region *peerpin_region_get(int fd, u32 id);

/** peerpin_region_put() - give back a reference of _get(); any context */
void peerpin_region_put(struct peerpin_region *region);

/** peerpin_region_length() - bytes; of the range rounded outward; any context */
u64 peerpin_region_length(const struct peerpin_region *region);

/**
 * peerpin_region_start() - address at which it begins; any context
 *
 * What was asked for lies at peerpin_range.addr - start in the region.
 */
u64 peerpin_region_start(const struct peerpin_region *region);

/**
 * peerpin_attach() - map a region for a device
 * @peer: the device
 * @region: a reference of the caller's, which is not used up
 *
 * The first call maps (IOMMU and all); later ones find that mapping until the
 * region or the peer ends.
 *
 * Context: process, may sleep; of a dma-buf it waits for the exporter's lock and,
 * until a signal arrives, for his fences: no lock that other users' calls take should
 * be held. None may be that stop() takes, nor a dma-buf's reservation lock; and no DMA
 * of the caller's be in flight whose end waits for this call, for an exporter that
 * takes memory back waits for that with his lock held.
 * Return: a reference to give back with peerpin_attach_put(), or ERR_PTR:
 * -ESTALE the region was revoked; -ENODEV the peer is going away; -EIO the
 * device cannot reach the memory (address mask, IOMMU), and it is a GPU's or
 * there are no bounce buffers; -ENOMEM; of a dma-buf, -EINTR a signal arrived,
 * and its exporter's errors.
 * Implements seed 12.2 step 2 and 13.3 (dma_map_pages).
 */
struct peerpin_attach *peerpin_attach(struct peerpin_peer *peer,
				      struct peerpin_region *region);

/**
 * peerpin_attach_sgt() - the whole mapping, for engines that take a list
 * @attach: from peerpin_attach()
 *
 * DMA addresses and lengths of the region from its start, in order, as few
 * entries as the memory and the device's max_seg_size and seg_boundary_mask
 * allow; walk it with for_each_sgtable_dma_sg(). Not its pages: where it has
 * some they go with other lengths than the addresses.
 *
 * Context: any. The table stays as long as the caller's reference; the
 * addresses in it may be used by the device between begin and end only.
 */
const struct sg_table *peerpin_attach_sgt(const struct peerpin_attach *attach);

/**
 * peerpin_attach_bounced() - does the device see a copy?
 * @attach: from peerpin_attach()
 *
 * Host memory that the device does not reach is mapped as bounce buffers. They
 * are the memory between begin and end of a transfer only; a device that is to
 * keep the memory for long, and sees what others do to it meanwhile, needs
 * other memory. Context: any.
 */
bool peerpin_attach_bounced(const struct peerpin_attach *attach);

/** peerpin_attach_put() - give back a reference; any context */
void peerpin_attach_put(struct peerpin_attach *attach);

/**
 * struct peerpin_dma - one transfer in flight; the caller's memory
 *
 * Private to the core; use peerpin_dma_next() to read it.
 */
struct peerpin_dma {
	struct peerpin_attach *attach;
	u64 offset;
	u64 length;
	enum dma_data_direction dir;
	struct scatterlist *sg;
	unsigned int sg_done;
	u64 left;
	u64 since;
};

/**
 * peerpin_dma_begin() - claim a part of a region for DMA
 * @attach: from peerpin_attach()
 * @offset: bytes from the region's start
 * @length: bytes, not 0
 * @dir: DMA_FROM_DEVICE when the device writes the memory, DMA_TO_DEVICE when
 *	it reads it, DMA_BIDIRECTIONAL when it may do both
 * @dma: filled in; must stay until peerpin_dma_end()
 *
 * From success on the memory stays until peerpin_dma_end(), whoever frees it;
 * but GPU memory that is freed stays for drain_timeout_ms (a parameter of
 * peerpin.ko) at most, for its driver cannot wait longer. The exporter of a
 * dma-buf waits, perhaps with all who need memory of his: so each transfer ends in
 * finite time, by a reset of the device if nothing else helps. It holds no lock:
 * begin as many as are needed. Where stop() looks for requests on a list, begin
 * and put the request there under the lock that stop() takes.
 *
 * A transfer holds a reference of its own to @attach: the caller may put the one it
 * has before the end, but then must not ask peerpin_dma_stale() after it.
 *
 * Context: any, does not sleep.
 * Return: 0; -EINVAL the range is empty or outside the region; -ESTALE the
 * region was revoked or unpinned; -ENODEV the peer is going away.
 */
int peerpin_dma_begin(struct peerpin_attach *attach, u64 offset, u64 length,
		      enum dma_data_direction dir, struct peerpin_dma *dma);

/**
 * peerpin_dma_next() - next piece of bus-contiguous memory of a transfer
 * @dma: begun
 * @max: most bytes wanted, not 0
 * @bus: address for the device
 *
 * Context: any; one caller at a time for each @dma.
 * Return: bytes at @bus; 0 at the end.
 */
u32 peerpin_dma_next(struct peerpin_dma *dma, u32 max, dma_addr_t *bus);

/**
 * peerpin_dma_stale() - is the memory of a transfer being taken away?
 * @dma: begun
 *
 * For engines that work piece by piece: look between two pieces, give up, and
 * no stop() is needed. Also true when the region was unpinned or the peer is being
 * unregistered: where that is to be -ENODEV, look at a flag of your own first. Of a
 * transfer that has ended: true, as long as the caller holds its attachment.
 * Context: any.
 */
bool peerpin_dma_stale(const struct peerpin_dma *dma);

/**
 * peerpin_dma_end() - the device will not touch the memory of @dma any more
 * @dma: begun; a second call on it is a bug, which warns and does nothing
 *
 * Context: any, hard interrupt included; with CONFIG_PREEMPT_RT any that may sleep for
 * a lock, as a threaded interrupt handler does.
 */
void peerpin_dma_end(struct peerpin_dma *dma);

#endif
