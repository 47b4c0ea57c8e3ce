// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "object.h"
#include "subject.h"

/* Valid in a probe, which runs with preemption off: the kernel frees the module an RCU grace period after GOING. */
static struct module *subject;
static char subject_name[MODULE_NAME_LEN];
static DEFINE_SPINLOCK(name_lock);

bool judge_subject_began;

bool judge_subject_has(unsigned long address)
{
	const struct module *module = READ_ONCE(subject);

	return module && within_module(address, module);
}

/* Converts the name of a module file to the module's name in the kernel. */
static void unify(char *name)
{
	strreplace(name, '-', '_');
}

int judge_subject_set(const char *name)
{
	char new_name[MODULE_NAME_LEN];

	if (READ_ONCE(subject))
		return -EBUSY;
	strscpy(new_name, name, sizeof(new_name));
	unify(new_name);
	judge_subject_began = false;
	spin_lock(&name_lock);
	strscpy(subject_name, new_name, sizeof(subject_name));
	spin_unlock(&name_lock);
	return 0;
}

void judge_subject_name(char *name)
{
	spin_lock(&name_lock);
	strscpy(name, subject_name, MODULE_NAME_LEN);
	spin_unlock(&name_lock);
}

static bool is_subject(const struct module *module)
{
	bool is;

	spin_lock(&name_lock);
	is = !strcmp(module->name, subject_name);
	spin_unlock(&name_lock);
	return is;
}

/* COMING comes before the init function; GOING comes after the exit function, or after a failed init function. */
static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;

	if (event == MODULE_STATE_COMING && is_subject(module)) {
		WRITE_ONCE(subject, module);
		judge_subject_began = true;
	}
	if (event == MODULE_STATE_GOING && module == subject) {
		judge_objects_name();
		WRITE_ONCE(subject, NULL);
	}
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = module_event };

int judge_subject_init(void)
{
	return register_module_notifier(&notifier);
}

void judge_subject_exit(void)
{
	unregister_module_notifier(&notifier);
}
