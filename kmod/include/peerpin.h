/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peerpin for PCIe drivers: DMA to and from pinned GPU or host memory.
 *
 * What a driver must do, in this order:
 *	probe()   set the DMA mask and the segment limits of dev
 *	          peer = peerpin_peer_register(dev, ops, data)
 *	ioctl()   region = peerpin_region_get(fd, id), if userspace has pinned the memory,
 *	             or    peerpin_region_pin(&range, NULL), to pin a user pointer
 *	          attach = peerpin_attach(peer, region)
 *	          ret = peerpin_dma_begin(attach, offset, length, dir, &dma)
 *	          while ((len = peerpin_dma_next(&dma, max, &bus)))
 *	             give up if peerpin_dma_stale(&dma), else program bus and len, start, wait
 *	          peerpin_dma_end(&dma)
 *	          peerpin_attach_put(attach)
 *	          peerpin_region_put(region) after get, peerpin_region_unpin(region) after pin
 *	remove()  refuse new requests, wait until no thread is in peerpin_attach()
 *	          peerpin_peer_unregister(peer)
 *	          free the interrupt, disable the device
 * The device may access the memory only between begin and end. After stop() was called or
 * peerpin_dma_stale() returned true, the driver must call peerpin_dma_end() soon: the thread
 * that frees the memory waits for this call. If the call comes later than drain_timeout_ms (a
 * parameter of peerpin.ko, default 1000), the core logs the device; peerpin_dma_begin() states
 * what else happens. doc/lifetimes.md argues why this protocol is safe.
 *
 * Contexts below:
 *	any       Does not sleep; hard interrupts included. With CONFIG_PREEMPT_RT: only where a
 *	          spinlock_t may be taken, such as in a threaded interrupt handler.
 *	process   May sleep.
 *	blocking  Process context. The caller holds no lock that stop() or the path to
 *	          peerpin_dma_end() takes, and no dma-buf reservation lock. No DMA is in flight
 *	          that ends only after this call. Otherwise the call can deadlock: the call waits
 *	          for a lock of the GPU driver or exporter, whose holder waits for stop() or DMA.
 *	          So pin and attach all memory of a transfer before the first begin.
 *	          At a pin or unpin the caller holds neither mmap_lock nor a lock that an MMU
 *	          notifier of the pinning process takes: for host memory a pin waits for threads
 *	          that are changing pages of the range, and an unpin waits for page locks. Those
 *	          threads can be inside an MMU notifier of the process.
 *
 * "Guide N" below: NVIDIA GPUDirect RDMA guide, section N ("Developing a Linux Kernel Module
 * using GPUDirect RDMA", release 12.9).
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
 * struct peerpin_peer_ops - callbacks of a driver
 * @stop: stop the DMA on @attach soon, then call peerpin_dma_end(), from @stop or later. The
 *	region was revoked or unpinned, or the peer is being unregistered. Optional: a driver
 *	with short transfers, or a driver that polls peerpin_dma_stale(), needs no @stop.
 *
 * Context: process. The calling thread may hold a lock of the GPU driver, or the reservation
 * lock of an imported dma-buf. So @stop must not wait for the end of the DMA, for the GPU
 * driver or for memory. No timeout bounds @stop: if @stop waits, the freeing thread hangs.
 * The core calls @stop at most once for each attachment, if DMA was in flight just before, or if
 * several processors have begun DMA on the attachment. The core never calls @stop after
 * peerpin_peer_unregister() has returned. A driver that queues requests must call
 * peerpin_dma_begin() and list the request under one lock, which @stop also takes. Otherwise
 * @stop can run between the two steps and miss the request, and is not called again.
 * Guide 11.3, 12.4: the driver's part of the free callback.
 */
struct peerpin_peer_ops {
	void (*stop)(void *data, struct peerpin_attach *attach);
};

/**
 * peerpin_peer_register() - register a device for DMA, usually in probe()
 * @dev: the device that does the DMA, with DMA mask and segment limits set
 * @ops: callbacks, or NULL
 * @data: first argument of the callbacks
 *
 * The core takes no references: @dev, @ops and @data must stay until peerpin_peer_unregister()
 * has returned.
 * Context: process.
 * Return: a peer for peerpin_peer_unregister(), or ERR_PTR(-ENOMEM): no kernel memory.
 */
struct peerpin_peer *peerpin_peer_register(struct device *dev,
					   const struct peerpin_peer_ops *ops,
					   void *data);

/**
 * peerpin_peer_unregister() - end all DMA of a device, in remove() before the hardware is disabled
 * @peer: from peerpin_peer_register(); invalid afterwards
 *
 * No thread may be in peerpin_attach() on @peer, or enter that function: check a flag of the
 * driver under a lock that remove() takes. The call refuses new transfers (-ENODEV), calls stop(),
 * and waits for DMA in flight, without a timeout: interrupts that end DMA must still work. Then
 * the call removes all DMA mappings of the device, and waits until exporters of dma-bufs have
 * unmapped.
 * Context: blocking.
 */
void peerpin_peer_unregister(struct peerpin_peer *peer);

/**
 * struct peerpin_range - memory to pin; @provider, @flags and @fd are usually 0
 * @addr: start in the calling process, any alignment; dma-buf: offset, a multiple of PAGE_SIZE
 * @length: bytes, not 0; dma-buf: a multiple of PAGE_SIZE, within the dma-buf
 * @provider: enum peerpin_provider; 0: the core finds the provider, except for a dma-buf
 * @flags: enum peerpin_pin_flags
 * @fd: the dma-buf if @provider is PEERPIN_PROVIDER_DMABUF; otherwise 0, not -1
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
 * @range: the memory
 * @reason: NULL, or where to store enum peerpin_reason (0: success, or cause not known)
 *
 * The caller owns the region and must call peerpin_region_unpin(), in release() of its own
 * file at the latest: the core does not unpin when the process exits. The bytes count against
 * the limits of the process. When the memory is freed, the core revokes the region. Then
 * peerpin_attach() and peerpin_dma_begin() return -ESTALE, and the caller must still unpin.
 * Context: blocking, in a thread of the process that owns the memory and @fd, such as an
 * ioctl; not in a kernel thread or work item. Userspace (FUSE, userfaultfd) can delay a page
 * fault for ever: hold no lock that remove() or other users need.
 * Return: the region, or ERR_PTR (uapi/peerpin.h has details): -EINVAL bad @range, or no provider
 * can pin it; -EOPNOTSUPP unknown flag, or no loaded provider makes this kind of pin; -EBADF @fd
 * is not a dma-buf; -ENOMEM no BAR1 space, over RLIMIT_MEMLOCK, or no kernel memory; -EDQUOT over
 * a limit of peerpin.ko; -ESTALE revoked while being pinned: call again once; -EINTR a signal
 * arrived; others from the provider. Guide 12.2 step 2.
 */
struct peerpin_region *peerpin_region_pin(const struct peerpin_range *range,
					  u32 *reason);

/**
 * peerpin_region_unpin() - end a region of peerpin_region_pin(), not of peerpin_region_get()
 * @region: the caller must not use @region afterwards
 *
 * Refuses new transfers (-ESTALE), calls stop(), waits for DMA in flight, removes all device
 * mappings and unpins. If DMA exceeds drain_timeout_ms (for all drivers together), the core logs
 * the devices and the call returns. Mappings and pages then stay until that DMA has ended. In
 * two cases a revocable pin of an NVIDIA GPU stays until its memory is freed: after this timeout,
 * and if the caller is not the process that pinned. For a dma-buf the call also waits, without a
 * timeout, until the exporter has unmapped.
 * Context: blocking. Guide 12.3.
 */
void peerpin_region_unpin(struct peerpin_region *region);

/**
 * peerpin_region_get() - find a region that userspace has pinned
 * @fd: file descriptor of /dev/peerpin in the calling process
 * @id: out_region of PEERPIN_IOC_PIN on that file
 *
 * The reference does not prevent revocation or unpinning.
 * Context: process, in a thread of the process that has @fd; not in a kernel thread or work item.
 * Return: a reference for peerpin_region_put(), or ERR_PTR: -EBADF @fd is no file of
 * /dev/peerpin; -EACCES another process opened the file; -ENOENT no such region.
 */
struct peerpin_region *peerpin_region_get(int fd, u32 id);

/** peerpin_region_put() - drop a reference of peerpin_region_get(). Context: any */
void peerpin_region_put(struct peerpin_region *region);

/** peerpin_region_length() - bytes, rounded outward to pages of the provider. Context: any */
u64 peerpin_region_length(const struct peerpin_region *region);

/**
 * peerpin_region_start() - address of the first byte, or its offset in a dma-buf. Context: any
 * The requested memory begins at offset peerpin_range.addr - start in the region.
 */
u64 peerpin_region_start(const struct peerpin_region *region);

/**
 * peerpin_attach() - map a region for a device
 * @peer: the device
 * @region: the caller keeps its reference; the attachment has its own
 *
 * The first call maps the whole region, through the IOMMU if there is one. Later calls return
 * the same attachment until the region ends or the peer is unregistered.
 * Context: blocking. The call waits while other threads map the region. For a dma-buf it waits for
 * the exporter's lock, and for the exporter's fences until a signal arrives: hold no lock that other
 * users need.
 * Return: a reference for peerpin_attach_put(), or ERR_PTR: -ESTALE the region was revoked or
 * unpinned, or, for a dma-buf, a PCI driver was unbound meanwhile (call again once); -ENODEV the
 * peer is being unregistered; -EIO the device cannot reach the memory (DMA mask, IOMMU) and the
 * kernel cannot bounce it, or the provider's pages do not cover the region;
 * -ENOMEM no kernel memory; for a dma-buf also -EINTR a signal arrived, and errors of the
 * exporter. Guide 12.2 step 2, 13.3 (nvidia_p2p_dma_map_pages).
 */
struct peerpin_attach *peerpin_attach(struct peerpin_peer *peer,
				      struct peerpin_region *region);

/**
 * peerpin_attach_sgt() - the whole mapping, for devices that take a list
 * @attach: from peerpin_attach(); the table lives as long as the caller's reference
 *
 * The table lists DMA addresses and lengths in bytes, in order, from the start of the region.
 * Entries are merged as far as the device's max_seg_size and seg_boundary_mask allow. Walk the
 * table with for_each_sgtable_dma_sg(). Do not use the pages: GPU memory has no pages, and pages
 * of host memory have other lengths. The device may use the addresses only between begin and end.
 * Context: any.
 */
const struct sg_table *peerpin_attach_sgt(const struct peerpin_attach *attach);

/**
 * peerpin_attach_bounced() - may CPU and device see different data during a transfer?
 * @attach: from peerpin_attach()
 *
 * True for host memory, or memory of a coherent GPU, in bounce buffers, or if the device is not cache-coherent: begin and end
 * then synchronise the data. Memory in a BAR is never bounced. If the device must see what the
 * CPU writes during a transfer, the driver must refuse bounced memory.
 * Context: any.
 */
bool peerpin_attach_bounced(const struct peerpin_attach *attach);

/** peerpin_attach_put() - drop a reference, also after region or peer has ended. Context: any */
void peerpin_attach_put(struct peerpin_attach *attach);

/** struct peerpin_dma - a transfer; the caller provides the struct, only the core uses it */
struct peerpin_dma {
	struct peerpin_attach *attach;
	u64 offset;
	u64 length;
	enum dma_data_direction dir;
	bool many;
	struct scatterlist *sg;
	unsigned int sg_done;
	u64 left;
	u64 since;
};

/**
 * peerpin_dma_begin() - begin a transfer; any number may be in flight
 * @attach: from peerpin_attach(). The transfer has its own reference: the caller may drop its
 *	reference before the end (but see peerpin_dma_stale())
 * @offset: bytes from the start of the region
 * @length: bytes, not 0
 * @dir: DMA_FROM_DEVICE if the device writes the memory, DMA_TO_DEVICE if it reads, or
 *	DMA_BIDIRECTIONAL
 * @dma: filled in; must stay until peerpin_dma_end() has returned
 *
 * Memory and mapping stay until peerpin_dma_end(), even if the memory is freed or unpinned.
 * Exceptions: freed memory of a revocable GPU pin, and any memory of a GPU after its driver was
 * unbound. Such memory stays for drain_timeout_ms at most; then the core removes the mapping
 * during the transfer. With an IOMMU the device faults; without an IOMMU the device accesses
 * memory of another owner. The exporter of a dma-buf waits without this limit. So each transfer
 * must end in finite time, if need be by a device reset. For bounced memory, begin copies
 * @length bytes.
 * Context: any.
 * Return: 0, or an error, and no transfer has begun: -EINVAL the range is empty or outside the
 * region; -ESTALE the region was revoked or unpinned; -ENODEV the peer is being unregistered.
 */
int peerpin_dma_begin(struct peerpin_attach *attach, u64 offset, u64 length,
		      enum dma_data_direction dir, struct peerpin_dma *dma);

/**
 * peerpin_dma_next() - next piece of a transfer: contiguous, within the device's segment limits
 * @dma: a transfer; one caller at a time
 * @max: maximum bytes of the piece, not 0
 * @bus: where to store the DMA address
 *
 * Context: any. Return: bytes at @bus, or 0 after the last piece.
 */
u32 peerpin_dma_next(struct peerpin_dma *dma, u32 max, dma_addr_t *bus);

/**
 * peerpin_dma_stale() - must the driver end this transfer early?
 * @dma: a transfer; if peerpin_dma_end() may run meanwhile, the caller must hold a reference
 *	to the attachment
 *
 * True if the region was revoked or unpinned, the peer is being unregistered, or @dma has
 * ended. To return -ENODEV for the peer and -ESTALE for the region, first check a flag of the
 * driver.
 * Context: any. Guide 12.4 step 2.
 */
bool peerpin_dma_stale(const struct peerpin_dma *dma);

/**
 * peerpin_dma_end() - end a transfer: the device no longer accesses the memory
 * @dma: a transfer; if called twice, the call warns (once) and does nothing
 *
 * For bounced memory, end copies the data back, unless @dir was DMA_TO_DEVICE or the core has
 * removed the mapping. Drops the transfer's reference to the attachment.
 * Context: any. Guide 12.4 step 2.
 */
void peerpin_dma_end(struct peerpin_dma *dma);

#endif
