/* SPDX-License-Identifier: GPL-2.0 */
/* Which of NVIDIA's drivers this module plays: that decides which modules may use its symbols. */
#ifndef _EMUGPU_FLAVOUR_H
#define _EMUGPU_FLAVOUR_H

/*
 * Call first in the init function: no other module can use the symbols yet. The parameter nvidia is
 *	open		GPL modules only, as NVIDIA's open driver 535.261.03 and all from 550.40 on
 *	proprietary	all modules. As with a module under NVIDIA's licence, the kernel is tainted, a module that uses the
 *			symbols inherits the taint, and is refused if it also uses symbols for GPL modules only
 * Returns 0, or -EINVAL for any other value.
 */
int emugpu_flavour_init(void);

#endif
