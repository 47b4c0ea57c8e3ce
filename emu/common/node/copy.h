/* SPDX-License-Identifier: GPL-2.0 */
/* The copy engine: the CPU copies through the windows (window.h), in the caller's thread. */
#ifndef _EMUGPU_COPY_H
#define _EMUGPU_COPY_H

struct emugpu_copy;

int emugpu_copy(const struct emugpu_copy *copy);

#endif
