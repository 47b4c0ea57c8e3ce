/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A registration: memory that the InfiniBand core has a device use, from acquire to
 * release. One region of the core's, pinned once; one attachment of it; and one
 * transfer, in flight for as long as the device may use the memory.
 */
#ifndef _PEERPIN_IBPEER_REG_H
#define _PEERPIN_IBPEER_REG_H

#include <linux/types.h>

struct device;
struct ibpeer_reg;
struct sg_table;

/**
 * struct ibpeer_core - how to tell the InfiniBand core that memory goes
 * @handle: from registering the client
 * @invalidate: NULL: the client's memory does not go before it is released
 */
struct ibpeer_core {
	void *handle;
	int (*invalidate)(void *handle, u64 core_context);
};

/**
 * ibpeer_reg_new() - pin a range, if it is GPU memory of the calling process
 * @core: stays until the registration is released; decides the kind of pin
 *
 * Return: the registration, or ERR_PTR: not ours.
 */
struct ibpeer_reg *ibpeer_reg_new(const struct ibpeer_core *core,
				  unsigned long addr, size_t size);

/**
 * ibpeer_reg_name() - from here on invalidate may be called, with @core_context
 *
 * Return: 0, or why GPU memory could not be pinned.
 */
int ibpeer_reg_name(struct ibpeer_reg *reg, u64 core_context);

/**
 * ibpeer_reg_map() - map it for a device, which uses it until ibpeer_reg_end()
 * @sgt: filled in with the pages of the range; stays until release
 *
 * Context: process; waits for nobody that a revocation waits for.
 * Return: 0; -ESTALE the memory was freed meanwhile; -EBUSY it is mapped; else as
 * ibpeer_device_get() and peerpin_attach().
 */
int ibpeer_reg_map(struct ibpeer_reg *reg, struct device *dev,
		   struct sg_table *sgt);

/* the device does not use it any more; again does nothing. Any context */
void ibpeer_reg_end(struct ibpeer_reg *reg);

/* not to be used by the caller afterwards; may come within invalidate */
void ibpeer_reg_release(struct ibpeer_reg *reg);

/*
 * Before the clients are unregistered, when no registration is left: waits for those
 * who would still tell the InfiniBand core of one.
 */
void ibpeer_regs_flush(void);

int ibpeer_regs_init(void);
void ibpeer_regs_exit(void);

#endif
