// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/string.h>

#include "liberator.h"
#include "object.h"

enum {
	OFFSETS_MAX = 4096,	/* largest offset of a struct rcu_head in another structure */
	NAME_LEN = 32,
};

/**
 * struct liberator - a function that frees; by default its first argument is the freed address
 * @page: the first argument is a struct page; the freed address is page_address()
 * @second: the second argument is the freed address
 * @third: the third argument is the freed address
 * @array: the third argument is an array of addresses, the second is their number
 * @or_offset: before 6.3 the second argument is the offset of the first argument in the freed memory
 * @needed: judge.ko does not load on a kernel without this function
 * @ops: tracer of the function, registered while @is_traced
 */
struct liberator {
	const char *symbol;
	bool page;
	bool second;
	bool third;
	bool array;
	bool or_offset;
	bool needed;
	bool is_traced;
	struct ftrace_ops ops;
};

/*
 * A function that frees by calling a listed function is not listed itself. A free is
 * not seen if the removal of a CPU mapping drops the last reference to a page.
 */
static struct liberator liberators[] = {
	{ "kfree", .needed = true },
	{ "vfree" },
	{ "vfree_atomic" },
	{ "kmem_cache_free", .second = true },
	{ "kmem_cache_free_bulk", .array = true },
	{ "free_pages" },
	{ "__free_pages", .page = true },
	{ "__folio_put", .page = true },
	{ "dma_free_attrs", .third = true },
	{ "kvfree_call_rcu", .second = true, .or_offset = true },
	{ "peerpin_peer_unregister" },
};

/* The tracer; runs in any context */
static void called(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	const struct liberator *l = container_of(ops, struct liberator, ops);
	const struct pt_regs *regs = ftrace_get_regs(fregs);
	unsigned long what = l->third ? regs->dx : l->second ? regs->si : regs->di;

	if (l->array) {
		judge_objects_remove((const void *const *)regs->dx, regs->si);
		return;
	}
	if (l->or_offset && regs->di && what < OFFSETS_MAX)
		what = regs->di - what;
	judge_object_remove(l->page ? page_address((struct page *)what) : (void *)what);
}

/*
 * If ftrace_set_filter() has no memory, it returns 0 but leaves the filter empty. An empty filter would
 * trace every function. To detect this, compare with the empty filter of @everything.
 */
static int filter(struct ftrace_ops *ops, const char *symbol)
{
	struct ftrace_ops everything = { };
	char name[NAME_LEN];
	int err;

	strscpy(name, symbol, sizeof(name));
	err = ftrace_set_filter(&everything, NULL, 0, 1) ?: ftrace_set_filter(ops, name, strlen(name), 0);
	if (!err && ops->local_hash.filter_hash == everything.local_hash.filter_hash)
		err = -ENOMEM;
	return err;
}

static int trace(struct liberator *l)
{
	int err;

	l->ops.func = called;
	l->ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_PERMANENT;
	err = filter(&l->ops, l->symbol);
	if (!err)
		err = register_ftrace_function(&l->ops);
	l->is_traced = !err;
	if (err)
		ftrace_free_filter(&l->ops);
	return err;
}

/* -EINVAL: this kernel has no such function, or the function's module is not loaded. */
static int trace_if_there(struct liberator *l)
{
	int err = trace(l);

	if (err == -EINVAL && !l->needed)
		return 0;
	if (err)
		pr_err("cannot trace %s: %d\n", l->symbol, err);
	return err;
}

void judge_liberators_exit(void)
{
	struct liberator *l;

	for (l = liberators; l < liberators + ARRAY_SIZE(liberators); l++)
		if (l->is_traced) {
			unregister_ftrace_function(&l->ops);
			ftrace_free_filter(&l->ops);
		}
}

int judge_liberators_init(void)
{
	struct liberator *l;
	int err = 0;

	for (l = liberators; !err && l < liberators + ARRAY_SIZE(liberators); l++)
		err = trace_if_there(l);
	if (err)
		judge_liberators_exit();
	return err;
}
