// SPDX-License-Identifier: MIT
/*
 * Load modules while each allocation fails in turn. Only allocations below the module's init
 * function fail. This includes its probe functions.
 */
#include "modules.h"

static const struct module with_pages[] = {
	{ "emugpu", "emu/emugpu.ko", "p2pdma=1" },
};

static void each_load(const struct module *modules, int which)
{
	each_load_below("do_one_initcall", modules, which);
}

CASE(loading_the_emulator)
{
	each_load(discrete, FIRST);
}

/* x86 warns if arch_add_memory() gets no memory. */
CASE(loading_the_emulator_with_pages)
{
	fail_spare("arch_add_memory");
	each_load(with_pages, FIRST);
	fail_spare_books();
}

CASE(loading_the_integrated_emulator)
{
	each_load(integrated, FIRST);
}

/* Without memory for the sysfs directory of a slab cache, the kernel leaks the cache's name. */
CASE(loading_the_core)
{
	fail_spare("sysfs_slab_add");
	each_load(discrete, SECOND);
	fail_spare_books();
}

/*
 * The kernel warns when it removes an interrupt's /proc directory that got no memory for one of its files.
 * fail_spare() spares one function. add_dma_entry(), spared otherwise, needs radix tree nodes, so this cache does not
 * fail.
 */
CASE(load_of_the_sample_driver)
{
	fail_spare("register_irq_proc");
	fail_set("/sys/kernel/slab", "radix_tree_node/failslab", "0");
	each_load(discrete, FOURTH);
	fail_set("/sys/kernel/slab", "radix_tree_node/failslab", "1");
	fail_spare_books();
}

CASE(loading_the_verbs_client)
{
	each_load(verbs, THIRD);
}

VMTEST_MAIN
