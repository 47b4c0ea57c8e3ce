// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/string.h>

#include <nv-p2p.h>

#include "../include/emugpu.h"
#include "monitor.h"
#include "trap.h"

enum {
	TABLES = 2,
	WORDS = 2,
	HITS = 16,
};

/**
 * struct kind - a reason to watch a table
 * @rule: the rule that an access breaks
 * @offsets: offsets of the @nr_offsets watched words in the table
 * @hits: addresses of instructions that hit a trap and are not reported yet. NULL: unused
 */
struct kind {
	enum emugpu_rule rule;
	unsigned int nr_offsets;
	size_t offsets[WORDS];
	const void *hits[HITS];
};

/* A consumer that follows the poisoned pointers of a table crashes anyway. These words have the other members. */
static struct kind dead = {
	.rule = EMUGPU_RULE_USE_OF_DEAD_TABLE,
	.nr_offsets = 2,
	.offsets = {
		offsetof(struct nvidia_p2p_page_table, version),
		offsetof(struct nvidia_p2p_page_table, entries),
	},
};

/* A consumer that uses the table needs this word. */
static struct kind incompatible = {
	.rule = EMUGPU_RULE_NO_VERSION_CHECK,
	.nr_offsets = 1,
	.offsets = { offsetof(struct nvidia_p2p_page_table, pages) },
};

static struct trap {
	const void *table;	/* NULL: unused */
	struct perf_event * __percpu *words[WORDS];
} traps[TABLES];

static DEFINE_MUTEX(trap_lock);
static unsigned int next;
static bool enabled;

/* The emulator looks at watched tables, too. */
static void kind_report(struct kind *kind)
{
	char module[EMUGPU_MODULE_LEN];
	const void *ip;
	int i;

	for (i = 0; i < HITS; i++) {
		ip = xchg(&kind->hits[i], NULL);
		if (!ip)
			continue;
		emugpu_monitor_module(ip, module);
		if (strcmp(module, "kernel") && strcmp(module, KBUILD_MODNAME))
			emugpu_violation_at(kind->rule, module, ip);
	}
}

static void hits_report(struct irq_work *work)
{
	kind_report(&dead);
	kind_report(&incompatible);
}

static DEFINE_IRQ_WORK(hits_work, hits_report);

/*
 * Runs in a debug exception, where no lock may be taken. The interrupt of hits_work follows at once, or when the
 * accessing code enables interrupts: still in the accessing module. Without a free element the hit is lost.
 */
static void trapped(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	const void *ip = (const void *)instruction_pointer(regs);
	struct kind *kind = event->overflow_handler_context;
	int i;

	for (i = 0; i < HITS && cmpxchg(&kind->hits[i], NULL, ip); i++)
		;
	irq_work_queue(&hits_work);
}

static void word_set(struct perf_event * __percpu **word, const void *at, struct kind *kind)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)at;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_RW;
	*word = register_wide_hw_breakpoint(&attr, trapped, kind);
	if (!IS_ERR((void __force *)*word))
		return;
	pr_info_ratelimited("no watchpoint for a page table: %ld\n", PTR_ERR((void __force *)*word));
	*word = NULL;
}

static void trap_clear(struct trap *trap)
{
	int i;

	for (i = 0; i < WORDS; i++) {
		if (trap->words[i])
			unregister_wide_hw_breakpoint(trap->words[i]);
		trap->words[i] = NULL;
	}
	irq_work_sync(&hits_work);
	trap->table = NULL;
}

void emugpu_trap_enable(bool on)
{
	int i;

	mutex_lock(&trap_lock);
	WRITE_ONCE(enabled, on);
	for (i = 0; i < TABLES && !on; i++)
		trap_clear(&traps[i]);
	mutex_unlock(&trap_lock);
}

size_t emugpu_trap_room(size_t size)
{
	return READ_ONCE(enabled) ? max_t(size_t, size, PAGE_SIZE) : size;
}

static void drop(const struct nvidia_p2p_page_table *table)
{
	int i;

	for (i = 0; i < TABLES; i++)
		if (traps[i].table == table)
			trap_clear(&traps[i]);
}

static void set(const struct nvidia_p2p_page_table *table, struct kind *kind)
{
	struct trap *trap;
	unsigned int i;

	mutex_lock(&trap_lock);
	if (enabled) {
		drop(table);
		trap = &traps[next++ % TABLES];
		trap_clear(trap);
		trap->table = table;
		for (i = 0; i < kind->nr_offsets; i++)
			word_set(&trap->words[i], (const void *)table + kind->offsets[i], kind);
	}
	mutex_unlock(&trap_lock);
}

void emugpu_trap_set(const struct nvidia_p2p_page_table *table)
{
	set(table, &dead);
}

void emugpu_trap_set_incompatible(const struct nvidia_p2p_page_table *table)
{
	set(table, &incompatible);
}

void emugpu_trap_drop(const struct nvidia_p2p_page_table *table)
{
	if (!table)
		return;
	mutex_lock(&trap_lock);
	drop(table);
	mutex_unlock(&trap_lock);
}
