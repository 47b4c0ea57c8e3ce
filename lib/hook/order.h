/* SPDX-License-Identifier: MIT */
/* Does this library come early enough in symbol search order to see all calls? */
#ifndef PP_HOOK_ORDER_H
#define PP_HOOK_ORDER_H

#include <stdbool.h>

bool pp_order_is_right(void);

#endif
