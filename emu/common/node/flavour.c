// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "flavour.h"

static char *nvidia = "open";
module_param(nvidia, charp, 0444);
MODULE_PARM_DESC(nvidia, "NVIDIA's driver to play: open (default: exports to GPL modules only) or proprietary (taints)");

/* With EMUGPU_GPL_ONLY, the linker has done this already. */
#if defined(EMUGPU_GPL_ONLY)
static void export_to_gpl_only(struct module *module)
{
}
#elif defined(EMUGPU_FLAGSTAB)
#include <linux/module_symbol.h>

static void export_to_gpl_only(struct module *module)
{
	static u8 flags[64];

	BUILD_BUG_ON(KSYM_FLAG_GPL_ONLY != 1);
	if (WARN_ON(module->num_syms > sizeof(flags)))
		return;
	memset(flags, KSYM_FLAG_GPL_ONLY, sizeof(flags));
	module->flagstab = flags;
}
#else
static void export_to_gpl_only(struct module *module)
{
	module->gpl_syms = module->syms;
	module->gpl_crcs = module->crcs;
	module->num_gpl_syms = module->num_syms;
	module->num_syms = 0;
}
#endif

int emugpu_flavour_init(void)
{
	if (!strcmp(nvidia, "open")) {
		export_to_gpl_only(THIS_MODULE);
		return 0;
	}
	if (strcmp(nvidia, "proprietary"))
		return -EINVAL;
	set_bit(TAINT_PROPRIETARY_MODULE, &THIS_MODULE->taints);
	add_taint(TAINT_PROPRIETARY_MODULE, LOCKDEP_NOW_UNRELIABLE);
	return 0;
}
