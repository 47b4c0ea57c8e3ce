// SPDX-License-Identifier: MIT
/*
 * Remove modules while each allocation fails in turn.
 */
#include "modules.h"

static void each_removal(const struct module *modules, int which)
{
	int err;

	prepare(modules, which);
	CHECK_CASE();
	FAIL_EACH(f) {
		EXPECT(!load(&modules[which]), "load");
		FAIL(f, err = module_remove(modules[which].name));
		EXPECT_PLAUSIBLE(f, err);
		EXPECT(!err || !module_remove(modules[which].name), "remove");
	}
	remove_others(modules, which);
}

CASE(removing_the_emulator)
{
	each_removal(discrete, FIRST);
}

CASE(removing_the_integrated_emulator)
{
	each_removal(integrated, FIRST);
}

CASE(removing_the_core)
{
	each_removal(discrete, SECOND);
}

CASE(removing_the_provider)
{
	each_removal(discrete, THIRD);
}

CASE(removal_of_the_tegra_provider)
{
	each_removal(integrated, THIRD);
}

CASE(removing_the_verbs_client)
{
	each_removal(verbs, THIRD);
}

VMTEST_MAIN
