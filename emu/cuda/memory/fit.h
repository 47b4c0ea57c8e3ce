/* SPDX-License-Identifier: MIT */
/*
 * fit: hands out runs of equal units, the lowest that fits first, so that what
 * was freed last at an address is soon given out there again: the case that
 * stale registrations get wrong. Knows neither addresses nor locks.
 */
#ifndef FIT_H
#define FIT_H

#include <stdbool.h>
#include <stdint.h>

struct fit;

/* fit_new - @nr free units; a multiple of 64. NULL: no memory */
struct fit *fit_new(unsigned int nr);
void fit_delete(struct fit *fit);

/* fit_take - the first unit of a free run of @n, now taken; -1: there is none */
long fit_take(struct fit *fit, unsigned int n);

/* fit_take_at - units [@at, @at + @n) are taken now; false: they are not all free */
bool fit_take_at(struct fit *fit, unsigned int at, unsigned int n);

/* fit_give - units [at, at + n) are free again; they must be taken */
void fit_give(struct fit *fit, unsigned int at, unsigned int n);

#endif
