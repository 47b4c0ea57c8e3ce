// SPDX-License-Identifier: GPL-2.0
/* The same module by another name. The kernel loads this module where the init text of p2p_check_init was freed. */
#include "p2p_check_init.c"
