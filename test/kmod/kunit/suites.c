// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the parts of the core that need no device. Each *_kunit.c includes one file of kmod/core/region, so
 * that a suite reaches its static functions, and peerpin.ko exports nothing for tests. The parts call one another as in
 * peerpin.ko. region_kunit.c has stubs of the other functions.
 */
#include <linux/module.h>
#include "suites.h"

kunit_test_suites(&region_suite, &ref_suite, &table_suite, &cookie_suite, &epoch_suite, &extents_suite);

MODULE_DESCRIPTION("peerpin KUnit tests of regions, tables, cookies, epochs, extents and reference counts");
MODULE_LICENSE("GPL");
