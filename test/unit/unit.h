/* SPDX-License-Identifier: MIT */
/* What every unit test includes; cmocka wants these headers before its own. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
