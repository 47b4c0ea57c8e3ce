// SPDX-License-Identifier: GPL-2.0
/* The same by another name, which is loaded to where the first one was until that was freed. */
#include "p2p_check_init.c"
