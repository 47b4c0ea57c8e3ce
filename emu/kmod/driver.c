// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

#include "driver.h"

/* emu/version has the same list. */
static const unsigned int branches[] = { 535, 550, 570, 580, 595, 610 };

static int branch_set(const char *value, const struct kernel_param *param)
{
	unsigned int i, branch;
	int err = kstrtouint(value, 10, &branch);

	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(branches); i++)
		if (branches[i] == branch) {
			*(unsigned int *)param->arg = branch;
			return 0;
		}
	return -EINVAL;
}

static const struct kernel_param_ops branch_ops = { .set = branch_set, .get = param_get_uint };

static unsigned int driver_version = 580;
module_param_cb(driver_version, &branch_ops, &driver_version, 0444);
MODULE_PARM_DESC(driver_version, "branch of NVIDIA's driver to play: 535, 550, 570, 580 (default), 595 or 610");

bool emugpu_driver_since(unsigned int branch)
{
	return driver_version >= branch;
}
