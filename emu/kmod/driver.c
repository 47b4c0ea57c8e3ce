// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <nv-p2p.h>

#include "../include/emugpu.h"
#include "driver.h"

static const char *const versions[] = EMUGPU_DRIVER_VERSIONS;

/* The version of a branch, or NULL */
static const char *version_of(unsigned int branch)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(versions); i++)
		if (simple_strtoul(versions[i], NULL, 10) == branch)
			return versions[i];
	return NULL;
}

static int branch_set(const char *value, const struct kernel_param *param)
{
	unsigned int branch;
	int err = kstrtouint(value, 10, &branch);

	if (err)
		return err;
	if (!version_of(branch))
		return -EINVAL;
	*(unsigned int *)param->arg = branch;
	return 0;
}

static const struct kernel_param_ops branch_ops = { .set = branch_set, .get = param_get_uint };

static unsigned int driver_version = 580;
module_param_cb(driver_version, &branch_ops, &driver_version, 0444);
MODULE_PARM_DESC(driver_version, "branch of NVIDIA's driver to play: 535, 550, 570, 580 (default), 595 or 610");

bool emugpu_driver_since(unsigned int branch)
{
	return driver_version >= branch;
}

u32 emugpu_driver_table_version(void)
{
	return emugpu_driver_since(580) ? NVIDIA_P2P_PAGE_TABLE_VERSION : 0x00010002;
}

/* Text of MODULE_VERSION; the module loader frees it */
static const char *built_version;

void emugpu_driver_show(void)
{
	built_version = THIS_MODULE->version;
	THIS_MODULE->version = version_of(driver_version);
}

void emugpu_driver_hide(void)
{
	THIS_MODULE->version = built_version;
}
