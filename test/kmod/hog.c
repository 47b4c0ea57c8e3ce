// SPDX-License-Identifier: GPL-2.0
/*
 * Occupies the worker of a processor, so that other work items of this processor wait. Since Linux 6.5 they
 * wait only for a moment.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the processor");

static unsigned int ms;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds; the removal of this module waits for their end");

static void hog(struct work_struct *work)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (time_before(jiffies, end)) {
		cpu_relax();
		cond_resched_tasks_rcu_qs();
	}
}

static DECLARE_WORK(hog_work, hog);

static int __init hog_init(void)
{
	schedule_work_on(cpu, &hog_work);
	return 0;
}

static void __exit hog_exit(void)
{
	flush_work(&hog_work);
}

module_init(hog_init);
module_exit(hog_exit);
MODULE_DESCRIPTION("peerpin test: occupies the worker of a processor");
MODULE_LICENSE("GPL");
