/* SPDX-License-Identifier: GPL-2.0 */
/* Making a region. */
#ifndef _PEERPIN_PIN_H
#define _PEERPIN_PIN_H

#include "provider.h"

struct peerpin_region;
struct pp_account;

/**
 * pp_region_check() - check the arguments of a pin
 *
 * Arguments as in struct peerpin_pin. Context: any.
 * Return: 0; -EINVAL an empty or overflowing range, no such provider, or an @fd for a
 * provider other than DMABUF; -EOPNOTSUPP an unknown flag.
 */
int pp_region_check(u64 addr, u64 length, u32 provider, u32 flags, int fd);

/**
 * pp_region_pin() - make a region
 * @provider: enum peerpin_provider; AUTO: ask the providers one after the other
 * @flags: enum peerpin_pin_flags
 * @want: the range as the user gave it, checked for overflow; not yet rounded
 * @account: account of the calling process; the region takes a reference of its own
 * @epoch: an even epoch word, which the call makes odd; NULL: the region's own word
 * @why: filled in on failure
 *
 * Context: process. Return: the region, to be ended with pp_region_close(), or
 * ERR_PTR with the epoch word even again: -EOPNOTSUPP no loaded provider makes such
 * pins; other errors as in struct peerpin_pin.
 */
struct peerpin_region *pp_region_pin(u32 provider, u32 flags,
				     const struct pp_request *want,
				     struct pp_account *account, u32 *epoch,
				     struct pp_why *why);

#endif
