/* SPDX-License-Identifier: MIT */
/* Included by every unit test. cmocka needs these headers before its own. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/*
 * An argument selects cases by name, with wildcards * and ?. A number is for the test itself. A constructor gets main()'s
 * arguments from glibc.
 */
__attribute__((constructor)) static void unit_choose_case(int argc, char **argv)
{
	if (argc > 1 && (*argv[1] < '0' || *argv[1] > '9'))
		cmocka_set_test_filter(argv[1]);
}

#endif
