/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A registration: memory that a device of the InfiniBand core uses, from acquire to release. A
 * registration consists of one region of peerpin.ko, one attachment, and one transfer, which is in
 * flight while the device may use the memory.
 */
#ifndef _PEERPIN_IBPEER_REG_H
#define _PEERPIN_IBPEER_REG_H

#include <linux/types.h>

struct device;
struct ibpeer_reg;
struct sg_table;

/**
 * struct ibpeer_core - the InfiniBand core, as one client sees it
 * @handle: from ib_register_peer_memory_client()
 * @invalidate: ends a registration; NULL: the client makes persistent pins
 */
struct ibpeer_core {
	void *handle;
	int (*invalidate)(void *handle, u64 core_context);
};

/**
 * ibpeer_reg_new() - pin a range, if it is GPU memory of the calling process
 * @core: must stay until the registration is released; core->invalidate decides the kind of pin
 *
 * Return: the registration, or ERR_PTR: the core must ask the next client.
 */
struct ibpeer_reg *ibpeer_reg_new(const struct ibpeer_core *core,
				  unsigned long addr, size_t size);

/**
 * ibpeer_reg_name() - store @core_context, the argument of invalidate
 *
 * Return: 0, or the error of pinning GPU memory in ibpeer_reg_new().
 */
int ibpeer_reg_name(struct ibpeer_reg *reg, u64 core_context);

/**
 * ibpeer_reg_map() - map for a device, which uses the memory until ibpeer_reg_end()
 * @sgt: filled in with the pages of the range; stays until release
 *
 * Context: process. Does not wait for the GPU driver, whose lock a revoking thread may hold.
 * Return: 0; -ESTALE the memory was freed; -EBUSY mapped already; other errors as of
 * ibpeer_device_get() and peerpin_attach().
 */
int ibpeer_reg_map(struct ibpeer_reg *reg, struct device *dev,
		   struct sg_table *sgt);

/* End the transfer; the device must not use the memory. A second call does nothing. Context: any */
void ibpeer_reg_end(struct ibpeer_reg *reg);

/* End and free a registration. The InfiniBand core may call this from invalidate. */
void ibpeer_reg_release(struct ibpeer_reg *reg);

/*
 * Wait for work items that still call invalidate. Call this before unregistering the clients, when
 * no registration is left.
 */
void ibpeer_regs_flush(void);

int ibpeer_regs_init(void);
void ibpeer_regs_exit(void);

#endif
