/* SPDX-License-Identifier: GPL-2.0 */
/* The TEST ioctl: inspects and disturbs the GPU below a driver under test. */
#ifndef _EMUGPU_TEST_H
#define _EMUGPU_TEST_H

struct emugpu_client;
struct emugpu_test;

int emugpu_test(struct emugpu_client *client, struct emugpu_test *test);

#endif
