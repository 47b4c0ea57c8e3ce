// SPDX-License-Identifier: MIT
/*
 * Load the judge while each allocation fails in turn.
 */
#include "modules.h"

static const struct module judges[] = {
	{ "judge", "emu/judge.ko", "" },
};

/* The judge's kprobes take seconds in each load. The kernel warns if a kprobe gets no memory. */
CASE(loading_the_judge)
{
	each_load_below("match_records", judges, FIRST);
	each_load_below("alloc_workqueue", judges, FIRST);
}

VMTEST_MAIN
