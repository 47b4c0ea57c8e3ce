/* SPDX-License-Identifier: GPL-2.0 */
/* Poisons structures that consumers must not use any more */
#ifndef _EMUGPU_POISON_H
#define _EMUGPU_POISON_H

#include <linux/compiler.h>
#include <linux/poison.h>
#include <linux/string.h>

/* The barrier keeps the compiler from dropping stores to memory about to be freed. */
static inline void emugpu_poison(void *p, size_t size)
{
	memset(p, POISON_FREE, size);
	barrier_data(p);
}

#endif
