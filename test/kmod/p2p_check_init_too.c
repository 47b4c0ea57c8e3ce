// SPDX-License-Identifier: GPL-2.0
/* The same module by another name: the kernel loads it at the freed address of the first one. */
#include "p2p_check_init.c"
