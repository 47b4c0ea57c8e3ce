// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bug.h>
#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/poison.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "api.h"
#include "export.h"
#include "monitor.h"
#include "pin.h"
#include "rsync.h"

enum {
	ENTRIES_MAX = 256,
	CALLERS_MAX = 64,
};

static bool strict;
module_param(strict, bool, 0644);
MODULE_PARM_DESC(strict, "each violation by a consumer is a WARN (default 0)");

static unsigned int callback_ms = 5;
module_param(callback_ms, uint, 0644);
MODULE_PARM_DESC(callback_ms, "milliseconds that a free callback may take (default 5); 0: no limit");

/* Name and text of each rule. In parentheses: section of the NVIDIA GPUDirect RDMA guide, if the rule is from there */
static const char *const rules[EMUGPU_RULES] = {
	[EMUGPU_RULE_CALL_IN_CALLBACK] =
		"call-in-callback: get_pages, put_pages or dma_map_pages in a free callback (11.3)",
	[EMUGPU_RULE_SLOW_CALLBACK] =
		"slow-callback: a free callback that takes longer than callback_ms (11.3)",
	[EMUGPU_RULE_NO_CALLBACK] =
		"no-callback: get_pages without a free callback (11.3)",
	[EMUGPU_RULE_UNALIGNED] =
		"unaligned: address or length is no multiple of the GPU's page size (12.2)",
	[EMUGPU_RULE_UNKNOWN_FLAGS] =
		"unknown-flags: get_pages_persistent with flags that do not exist (ch. 10)",
	[EMUGPU_RULE_NO_VERSION_CHECK] =
		"no-version-check: use of a page table with another version than built for (13.3)",
	[EMUGPU_RULE_PUT_BY_OTHER_PROCESS] =
		"put-by-other-process: put_pages by another process than get_pages, which leaks the pin (12.3)",
	[EMUGPU_RULE_PUT_WRONG_ADDRESS] =
		"put-wrong-address: put_pages with another address than get_pages (12.3)",
	[EMUGPU_RULE_PUT_WRONG_KIND] =
		"put-wrong-kind: put_pages of a persistent pin, or the other way round (ch. 10)",
	[EMUGPU_RULE_PUT_OF_DEAD_TABLE] =
		"put-of-dead-table: put_pages of a page table that is not pinned (12.3)",
	[EMUGPU_RULE_MAP_OF_DEAD_TABLE] =
		"map-of-dead-table: dma_map_pages of a page table that is not pinned (13.3)",
	[EMUGPU_RULE_UNMAP_OF_DEAD_TABLE] =
		"unmap-of-dead-table: dma_unmap_pages of a page table that is not pinned (13.3)",
	[EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING] =
		"unmap-of-dead-mapping: dma_unmap_pages of a mapping that does not exist (13.3)",
	[EMUGPU_RULE_UNMAP_WRONG_PEER] =
		"unmap-wrong-peer: dma_unmap_pages for another device than dma_map_pages (13.3)",
	[EMUGPU_RULE_FREE_OF_DEAD_TABLE] =
		"free-of-dead-table: free_page_table of a page table that is already freed (12.4)",
	[EMUGPU_RULE_FREE_OF_DEAD_MAPPING] =
		"free-of-dead-mapping: free_dma_mapping of a mapping that is already freed (13.3)",
	[EMUGPU_RULE_FREE_OF_LIVE_TABLE] =
		"free-of-live-table: free_page_table outside the free callback (12.4)",
	[EMUGPU_RULE_WRITE_TO_DEAD_TABLE] =
		"write-to-dead-table: write to a page table after its end (12.4)",
	[EMUGPU_RULE_TABLE_LEAKED] =
		"table-leaked: a free callback that did not call free_page_table (11.3)",
	[EMUGPU_RULE_MAPPING_LEAKED] =
		"mapping-leaked: a DMA mapping that was never undone (13.3)",
	[EMUGPU_RULE_PIN_LEAKED] =
		"pin-leaked: a module was removed while it had a pin (12.3)",
	[EMUGPU_RULE_RSYNC_MISMATCH] =
		"rsync-mismatch: an rsync driver was not unregistered with the arguments of its registration",
	[EMUGPU_RULE_CALLBACK_WAITS] =
		"callback-waits: a free callback waits for a thread in get_pages, put_pages or dma_map_pages (11.3)",
	[EMUGPU_RULE_DMA_AFTER_CALLBACK] =
		"dma-after-callback: use of memory after its free callback had returned (11.3)",
	[EMUGPU_RULE_MAPPED_AFTER_CALLBACK] =
		"mapped-after-callback: a CPU mapping that outlived the free callback of its memory (11.3)",
	[EMUGPU_RULE_USE_OF_DEAD_TABLE] =
		"use-of-dead-table: read or write of a page table after its end (12.4)",
	[EMUGPU_RULE_NO_RESERVATION_LOCK] =
		"no-reservation-lock: a dma-buf mapped, unmapped, pinned or unpinned without its reservation lock",
	[EMUGPU_RULE_UNMAP_OF_DEAD_IMPORT] =
		"unmap-of-dead-import: a dma-buf unmapped or unpinned that was not mapped or pinned",
	[EMUGPU_RULE_DETACH_IN_USE] =
		"detach-in-use: a dma-buf detached while it was mapped or pinned",
	[EMUGPU_RULE_NO_PEER2PEER] =
		"no-peer2peer: a dynamic importer of GPU memory without allow_peer2peer",
	[EMUGPU_RULE_DMA_MAPPED_AFTER_CALLBACK] =
		"dma-mapped-after-callback: a driver's own DMA mapping that outlived the free callback of its memory (11.3)",
	[EMUGPU_RULE_DMA_BEFORE_FENCE] =
		"dma-before-fence: DMA to a dma-buf before the fences of its exporter had signaled",
	[EMUGPU_RULE_NULL_RESULT] =
		"null-result: get_pages was called with NULL for the page table; NVIDIA's driver crashes",
	[EMUGPU_RULE_USE_AFTER_FREE] =
		"use-after-free: freed memory was passed to a free callback, or a pointer read from freed memory to the GPU driver",
	[EMUGPU_RULE_UNINITIALISED_MEMORY] =
		"uninitialised-memory: a pointer that was read from unwritten memory was passed to the GPU driver",
};

struct entry {
	enum emugpu_rule rule;
	char module[EMUGPU_MODULE_LEN];
	char where[KSYM_SYMBOL_LEN];
	u64 count;
};

/*
 * A full table counts each new pair of rule and module in its last entry. The lock is also taken in interrupts: trap.c
 * reports there.
 */
static DEFINE_SPINLOCK(monitor_lock);
static struct entry entries[ENTRIES_MAX];
static unsigned int nr_entries;
static char last_modules[EMUGPU_RULES][EMUGPU_MODULE_LEN];

/* A cache: looking up a module's name is slow, and there are few callers */
static struct caller {
	const void *address;
	char module[EMUGPU_MODULE_LEN];
} callers[CALLERS_MAX];
static unsigned int last_caller;

static struct dentry *debugfs;

/* For a module, %ps prints the symbol and the module's name in brackets. */
static void name_of(const void *address, char *name)
{
	char symbol[KSYM_SYMBOL_LEN], *bracket;

	snprintf(symbol, sizeof(symbol), "%ps", address);
	bracket = strchr(symbol, '[');
	strscpy(name, bracket ? bracket + 1 : "kernel", EMUGPU_MODULE_LEN);
	name[strcspn(name, "] ")] = '\0';
}

static const struct caller *caller_find(const void *address)
{
	unsigned int i;

	for (i = 0; i < CALLERS_MAX; i++)
		if (callers[i].address == address)
			return &callers[i];
	return NULL;
}

static const struct caller *caller_add(const void *address)
{
	struct caller *caller = &callers[last_caller++ % CALLERS_MAX];

	caller->address = address;
	name_of(address, caller->module);
	return caller;
}

void emugpu_monitor_module(const void *address, char *module)
{
	const struct caller *caller;
	unsigned long flags;

	spin_lock_irqsave(&monitor_lock, flags);
	caller = caller_find(address) ?: caller_add(address);
	strscpy(module, caller->module, EMUGPU_MODULE_LEN);
	spin_unlock_irqrestore(&monitor_lock, flags);
}

bool emugpu_monitor_is(const char *module, const char *name)
{
	return !strncmp(module, name, EMUGPU_MODULE_LEN - 1);
}

static struct entry *entry_of(enum emugpu_rule rule, const char *module)
{
	struct entry *entry;

	for (entry = entries; entry < &entries[nr_entries]; entry++)
		if (entry->rule == rule && !strcmp(entry->module, module))
			return entry;
	if (nr_entries == ENTRIES_MAX)
		return &entries[ENTRIES_MAX - 1];
	entry = &entries[nr_entries++];
	entry->rule = rule;
	strscpy(entry->module, module, sizeof(entry->module));
	return entry;
}

static void report(enum emugpu_rule rule, const char *module, const char *where)
{
	struct entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&monitor_lock, flags);
	entry = entry_of(rule, module);
	entry->count++;
	strscpy(entry->where, where, sizeof(entry->where));
	strscpy(last_modules[rule], module, EMUGPU_MODULE_LEN);
	spin_unlock_irqrestore(&monitor_lock, flags);
	pr_warn_ratelimited("violation by %s, %s: %s\n", module, where, rules[rule]);
	WARN(strict, "%s\n", rules[rule]);
}

void emugpu_violation_at(enum emugpu_rule rule, const char *module, const void *caller)
{
	char where[KSYM_SYMBOL_LEN];

	snprintf(where, sizeof(where), "%pS", caller);
	report(rule, module, where);
}

/* If a callback ends with a tail call, the return address is in this module. */
void emugpu_violation(enum emugpu_rule rule, const void *caller)
{
	char module[EMUGPU_MODULE_LEN];

	emugpu_monitor_module(caller, module);
	if (!strcmp(module, KBUILD_MODNAME) && emugpu_api_in_callback()) {
		caller = emugpu_api_callback_function();
		emugpu_monitor_module(caller, module);
	}
	emugpu_violation_at(rule, module, caller);
}

/* The bytes of @value are @byte; the last one may be @last. */
static bool is_filled(unsigned long value, u8 byte, u8 last)
{
	unsigned long filled = ~0ul / 0xff * byte;

	return value == filled || value == ((filled & ~0ul >> 8) | (unsigned long)last << (BITS_PER_LONG - 8));
}

bool emugpu_violation_of_pointer(const void *pointer, const void *caller)
{
	unsigned long value = (unsigned long)pointer;

	if (is_filled(value, POISON_FREE, POISON_END))
		emugpu_violation(EMUGPU_RULE_USE_AFTER_FREE, caller);
	else if (is_filled(value, POISON_INUSE, POISON_INUSE))
		emugpu_violation(EMUGPU_RULE_UNINITIALISED_MEMORY, caller);
	else
		return false;
	return true;
}

void emugpu_violation_by(enum emugpu_rule rule, const char *module)
{
	report(rule, module, "at its end");
}

/* A stop of the VM counts as at most this period: a quarter of callback_ms, but at least 0.5 and at most 10 ms. */
unsigned int emugpu_monitor_callback_period(void)
{
	return clamp(READ_ONCE(callback_ms) * (unsigned int)USEC_PER_MSEC / 4, 500U, 10000U);
}

void emugpu_monitor_callback_time(const void *function, s64 ns)
{
	unsigned int ms = READ_ONCE(callback_ms);

	if (ms && ns > ms * (s64)NSEC_PER_MSEC)
		emugpu_violation(EMUGPU_RULE_SLOW_CALLBACK, function);
}

u64 emugpu_monitor_count(enum emugpu_rule rule, char *module)
{
	const struct entry *entry;
	u64 count = 0;
	unsigned long flags;

	spin_lock_irqsave(&monitor_lock, flags);
	for (entry = entries; entry < &entries[nr_entries]; entry++)
		if (entry->rule == rule)
			count += entry->count;
	strscpy(module, last_modules[rule], EMUGPU_MODULE_LEN);
	spin_unlock_irqrestore(&monitor_lock, flags);
	return count;
}

u64 emugpu_monitor_total(void)
{
	const struct entry *entry;
	u64 count = 0;
	unsigned long flags;

	spin_lock_irqsave(&monitor_lock, flags);
	for (entry = entries; entry < &entries[nr_entries]; entry++)
		if (entry->rule != EMUGPU_RULE_SLOW_CALLBACK)
			count += entry->count;
	spin_unlock_irqrestore(&monitor_lock, flags);
	return count;
}

static int violations_show(struct seq_file *seq, void *unused)
{
	const struct entry *entry;
	unsigned long flags;

	seq_puts(seq, "count module where rule\n");
	spin_lock_irqsave(&monitor_lock, flags);
	for (entry = entries; entry < &entries[nr_entries]; entry++)
		seq_printf(seq, "%llu %s %s %s\n", entry->count, entry->module, entry->where, rules[entry->rule]);
	spin_unlock_irqrestore(&monitor_lock, flags);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(violations);

static int pins_show(struct seq_file *seq, void *unused)
{
	seq_puts(seq, "module process address length kind mappings\n");
	emugpu_pin_show(seq);
	emugpu_imports_show(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pins);

/* Forgets the addresses in @module, because another module may be loaded at the same addresses. */
static void forget_callers(const char *module)
{
	unsigned int i;
	unsigned long flags;

	spin_lock_irqsave(&monitor_lock, flags);
	for (i = 0; i < CALLERS_MAX; i++)
		if (emugpu_monitor_is(callers[i].module, module))
			callers[i].address = NULL;
	spin_unlock_irqrestore(&monitor_lock, flags);
}

/*
 * LIVE comes after the init function, before the kernel frees the memory of that function.
 * GOING comes after the exit function, or after a failed init function.
 */
static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct module *module = data;

	if (event == MODULE_STATE_GOING) {
		emugpu_pin_module_going(module->name);
		emugpu_rsync_module_going(module->name);
	}
	if (event == MODULE_STATE_GOING || event == MODULE_STATE_LIVE)
		forget_callers(module->name);
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = { .notifier_call = module_event };

int emugpu_monitor_init(void)
{
	int err = register_module_notifier(&module_notifier);

	if (err)
		return err;
	debugfs = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("violations", 0400, debugfs, NULL, &violations_fops);
	debugfs_create_file("pins", 0400, debugfs, NULL, &pins_fops);
	return 0;
}

void emugpu_monitor_exit(void)
{
	debugfs_remove(debugfs);
	unregister_module_notifier(&module_notifier);
}
