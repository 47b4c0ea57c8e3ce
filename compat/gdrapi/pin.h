/* SPDX-License-Identifier: MIT */
#ifndef GDR_PIN_H
#define GDR_PIN_H

#include <stdbool.h>
#include "handle.h"

/* Does the GPU driver support persistent pins, and such pins by PCIe? Only with peerpin.ko */
bool gdr_pin_can_persist(const struct gdr *g);
bool gdr_pin_can_force_pcie(const struct gdr *g);

/*
 * Replace the handle's pin by a pin with @flags. If the new pin fails, the handle keeps the old pin. If the unpin of the
 * old pin fails, that is no error: the handle has the new pin, and the old pin ends at gdr_close(). Under the handle's
 * lock
 */
int gdr_pin_again(struct gdr_handle *h, uint32_t flags);

/* Unmap and unpin the handle's memory; under the handle's lock */
int gdr_pin_end(struct gdr_handle *h);

#endif
