/* SPDX-License-Identifier: MIT */
/*
 * fit: a first-fit allocator of runs of equal units. First fit soon reuses a freed range, so that
 * tests find stale registrations. The allocator knows no addresses and takes no locks.
 */
#ifndef FIT_H
#define FIT_H

#include <stdbool.h>
#include <stdint.h>

struct fit;

/* fit_new - @nr free units, a multiple of 64. NULL: no memory */
struct fit *fit_new(unsigned int nr);
void fit_delete(struct fit *fit);

/* fit_take - take the first free run of @n units; returns its first unit, or -1 if not found */
long fit_take(struct fit *fit, unsigned int n);

/* fit_take_at - take units [@at, @at + @n); false: not all of them are free */
bool fit_take_at(struct fit *fit, unsigned int at, unsigned int n);

/* fit_give - free units [at, at + n), which must all be taken */
void fit_give(struct fit *fit, unsigned int at, unsigned int n);

#endif
