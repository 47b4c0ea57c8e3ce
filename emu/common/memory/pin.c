// SPDX-License-Identifier: GPL-2.0
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "api.h"
#include "block.h"
#include "client.h"
#include "context.h"
#include "dma.h"
#include "gpu.h"
#include "tombstone.h"
#include "guard.h"
#include "map.h"
#include "memory.h"
#include "pin.h"
#include "slab.h"
#include "table.h"
#include "trap.h"

enum { HASH_BITS = 10 };

DEFINE_MUTEX(emugpu_map_lock);

/* All live pins and tombstones, by page table */
static DEFINE_HASHTABLE(pins, HASH_BITS);

/* Live persistent pins; API lock */
static LIST_HEAD(persistent_pins);

/* Compares addresses only: @table may be a wrong pointer. */
struct emugpu_pin *emugpu_pin_find(const struct nvidia_p2p_page_table *table)
{
	struct emugpu_pin *pin;

	hash_for_each_possible(pins, pin, hash, (unsigned long)table)
		if (pin->table == table)
			return pin;
	return NULL;
}

struct emugpu_pin *emugpu_pin_new(const struct emugpu_pin_request *request)
{
	struct emugpu_pin *pin = kzalloc(sizeof(*pin), EMUGPU_GFP);

	if (!pin)
		return NULL;
	pin->table = kzalloc(emugpu_trap_room(sizeof(*pin->table)), EMUGPU_GFP);
	if (!pin->table) {
		kfree(pin);
		return NULL;
	}
	INIT_LIST_HEAD(&pin->node);
	INIT_LIST_HEAD(&pin->maps);
	pin->request = *request;
	pin->process = get_pid(task_tgid(current));
	emugpu_monitor_module(request->callback ?: request->caller, pin->consumer);
	return pin;
}

bool emugpu_pin_owns_table(const struct emugpu_pin *pin)
{
	return !(EMUGPU_INTEGRATED && pin->called_back);
}

void emugpu_pin_delete(struct emugpu_pin *pin)
{
	lockdep_assert_held(&emugpu_map_lock);
	hash_del(&pin->hash);
	put_pid(pin->process);
	if (emugpu_pin_owns_table(pin)) {
		emugpu_trap_drop(pin->table);
		kfree(pin->table);
	}
	kfree(pin);
}

/* ---- pins of ended processes ----------------------------------------------- */

static bool is_gone(struct pid *process)
{
	struct task_struct *task;
	bool gone;

	rcu_read_lock();
	task = pid_task(process, PIDTYPE_TGID);
	gone = !task || !atomic_read(&task->signal->live);
	rcu_read_unlock();
	return gone;
}

static void note_process(struct emugpu_pin *pin)
{
	mutex_lock(&emugpu_map_lock);
	pin->keeps_notifier = emugpu_table_keeps_notifier(pin, is_gone(pin->process));
	mutex_unlock(&emugpu_map_lock);
}

bool emugpu_pin_end_due(const struct nvidia_p2p_page_table *table)
{
	struct emugpu_pin *pin;
	bool was_due = false;

	mutex_lock(&emugpu_map_lock);
	hash_for_each_possible(pins, pin, hash, (unsigned long)table)
		if (pin->due == table) {
			pin->due = NULL;
			was_due = true;
		}
	mutex_unlock(&emugpu_map_lock);
	return was_due;
}

/* kmalloc() has returned this address again, so all older tables at this address are freed: forget them. */
static void forget_table_locked(const struct nvidia_p2p_page_table *table)
{
	struct emugpu_pin *pin;

	lockdep_assert_held(&emugpu_map_lock);
	hash_for_each_possible(pins, pin, hash, (unsigned long)table) {
		if (pin->due == table)
			pin->due = NULL;
		if (pin->table == table)
			pin->table = NULL;
	}
}

/* ---- live pins ------------------------------------------------------------- */

static u32 va_space_of(const struct emugpu_block *block)
{
	return block->context ? block->context->va_space : EMUGPU_VA_SPACE_OF_NONE;
}

/*
 * With the token of a context, any process may pin the context's memory. Without a token, a process
 * may pin only its own memory. In both cases a nonzero va_space must match.
 */
static struct emugpu_block *block_for(const struct emugpu_pin_request *request)
{
	struct emugpu_block *block;

	if (request->p2p_token)
		block = emugpu_block_find_by_token(request->p2p_token, request->va);
	else
		block = emugpu_block_find(request->va);
	if (!block || block->gpu->gone || !emugpu_gpu_lends(block->flags))
		return NULL;
	if (request->va_space && request->va_space != va_space_of(block))
		return NULL;
	return emugpu_block_holds(block, request->va, request->length) ? block : NULL;
}

static int pin_fill(struct emugpu_pin *pin)
{
	const struct emugpu_pin_request *request = &pin->request;
	struct emugpu_block *block = request->length ? block_for(request) : NULL;
	int err;

	if (!block)
		return -EINVAL;
	err = emugpu_api_injected_error(EMUGPU_CALL_GET_PAGES);
	if (err)
		return err;
	pin->memory = block->memory;
	pin->offset = emugpu_gpu_page_offset(block->pages - block->memory->pages) + request->va - block->va;
	err = emugpu_table_open(pin);
	if (err)
		return err;
	emugpu_memory_get(pin->memory);
	__module_get(THIS_MODULE);
	if (emugpu_pin_is_persistent(pin))
		emugpu_memory_disown(pin->memory, pin->offset, request->length);
	else
		pin->block = block;
	return 0;
}

int emugpu_pin_open(struct emugpu_pin *pin)
{
	int err = pin_fill(pin);

	mutex_lock(&emugpu_map_lock);
	emugpu_tombstones_trim();
	forget_table_locked(pin->table);
	hash_add(pins, &pin->hash, (unsigned long)pin->table);
	mutex_unlock(&emugpu_map_lock);
	if (err)
		emugpu_tombstones_add(pin, EMUGPU_PIN_FAILED);
	else
		list_add_tail(&pin->node, pin->block ? &pin->block->pins : &persistent_pins);
	return err;
}

bool emugpu_pin_is_mine(const struct emugpu_pin *pin, u64 p2p_token)
{
	emugpu_api_assert_held();
	if (pin->request.p2p_token)
		return pin->request.p2p_token == p2p_token;
	return !p2p_token && pin->block->client->owner == task_tgid(current);
}

static void pin_end(struct emugpu_pin *pin, enum emugpu_pin_state state)
{
	emugpu_api_assert_held();
	if (emugpu_dma_unmap_all(pin))
		emugpu_violation_by(EMUGPU_RULE_MAPPING_LEAKED, pin->consumer);
	emugpu_table_close(pin);
	emugpu_tombstones_add(pin, state);
	if (state != EMUGPU_PIN_REVOKED || !emugpu_guard_has(pin->table))
		emugpu_trap_set(pin->table);
	emugpu_memory_put(pin->memory);
	module_put(THIS_MODULE);
}

/* ---- end of a pin --------------------------------------------------------------- */

/*
 * @called_back: the callback has started, so the consumer must free the table.
 * @known: the consumer certainly has the table's address. On an integrated GPU, get_pages stores the
 * address before a callback can run. On a discrete GPU, a thread may still be in get_pages, unless
 * the process has ended.
 */
static void call_back(struct emugpu_pin *pin)
{
	mutex_lock(&emugpu_map_lock);
	pin->called_back = true;
	pin->known = EMUGPU_INTEGRATED || is_gone(pin->process);
	mutex_unlock(&emugpu_map_lock);
	emugpu_api_callback(pin->request.callback, pin->request.data, pin->table);
}

void emugpu_pin_put(struct emugpu_pin *pin)
{
	if (EMUGPU_INTEGRATED)
		call_back(pin);
	pin_end(pin, EMUGPU_PIN_PUT);
}

/* First runs the callback. Then undoes the mappings, frees the BAR1 space and poisons the table. */
void emugpu_pin_revoke(struct emugpu_pin *pin)
{
	note_process(pin);
	emugpu_guard_begin();
	call_back(pin);
	emugpu_guard_add(pin);
	pin_end(pin, EMUGPU_PIN_REVOKED);
}

void emugpu_pin_watch_table(const struct nvidia_p2p_page_table *table)
{
	const struct emugpu_pin *pin;

	mutex_lock(&emugpu_map_lock);
	pin = emugpu_pin_find(table);
	if (pin && pin->state == EMUGPU_PIN_REVOKED)
		emugpu_trap_set(table);
	mutex_unlock(&emugpu_map_lock);
}

/* The consumer owns the table now and may kfree() it, so a look-up by address must not find @pin any more. */
static void give_table_away(struct emugpu_pin *pin)
{
	if (pin->state == EMUGPU_PIN_LIVE)
		emugpu_table_poison(pin);
	pin->due = pin->keeps_notifier ? pin->table : NULL;
	pin->table = NULL;
}

/* A consumer may free the table late: a callback that overtook get_pages did not know the table's address. */
static enum emugpu_rule free_table_locked(struct emugpu_pin *pin)
{
	if (!pin || pin->table_freed || (pin->state != EMUGPU_PIN_LIVE && !pin->called_back))
		return EMUGPU_RULE_FREE_OF_DEAD_TABLE;
	if (!pin->called_back)
		return EMUGPU_RULE_FREE_OF_LIVE_TABLE;
	pin->table_freed = true;
	if (EMUGPU_INTEGRATED)
		give_table_away(pin);
	return EMUGPU_RULES;
}

void emugpu_pin_violation(enum emugpu_rule rule, const struct emugpu_pin *pin, const void *caller)
{
	if (pin)
		emugpu_violation_at(rule, pin->consumer, caller);
	else
		emugpu_violation(rule, caller);
}

void emugpu_pin_free_table(const struct nvidia_p2p_page_table *table, const void *caller)
{
	struct emugpu_pin *pin;
	enum emugpu_rule rule;

	if (emugpu_violation_of_pointer(table, caller))
		return;
	mutex_lock(&emugpu_map_lock);
	pin = emugpu_pin_find(table);
	rule = free_table_locked(pin);
	if (rule != EMUGPU_RULES)
		emugpu_pin_violation(rule, pin, caller);
	mutex_unlock(&emugpu_map_lock);
}

struct emugpu_pin *emugpu_pin_of_range(struct emugpu_block *block, u64 va, u64 length)
{
	struct emugpu_pin *pin;

	emugpu_api_assert_held();
	list_for_each_entry(pin, &block->pins, node)
		if (pin->request.va == va && pin->request.length == length)
			return pin;
	return NULL;
}

/* ---- iteration over live pins ------------------------------------------------ */

/* The hash has live pins and tombstones. A pin that is being opened is not in the hash yet. */
static bool is_live(const struct emugpu_pin *pin)
{
	return pin->state == EMUGPU_PIN_LIVE;
}

void emugpu_pin_count(const struct emugpu_gpu *gpu, u32 *npins, u32 *nmaps)
{
	struct emugpu_pin *pin;
	int bucket;

	emugpu_api_assert_held();
	*npins = 0;
	*nmaps = 0;
	hash_for_each(pins, bucket, pin, hash) {
		if (!is_live(pin) || pin->memory->gpu != gpu)
			continue;
		++*npins;
		*nmaps += emugpu_map_count(pin);
	}
}

int emugpu_pin_each(int (*fn)(const struct emugpu_pin *pin, void *data), void *data)
{
	struct emugpu_pin *pin;
	int bucket, err;

	emugpu_api_assert_held();
	hash_for_each(pins, bucket, pin, hash) {
		err = is_live(pin) ? fn(pin, data) : 0;
		if (err)
			return err;
	}
	return 0;
}

static const char *kind_of(const struct emugpu_pin *pin)
{
	if (emugpu_pin_is_persistent(pin))
		return "persistent";
	return pin->request.p2p_token ? "token" : "process";
}

void emugpu_pin_show(struct seq_file *seq)
{
	struct emugpu_pin *pin;
	int bucket;

	emugpu_api_lock();
	hash_for_each(pins, bucket, pin, hash)
		if (is_live(pin))
			seq_printf(seq, "%s %d %#llx %#llx %s %u\n", pin->consumer, pid_vnr(pin->process),
				   pin->request.va, pin->request.length, kind_of(pin), emugpu_map_count(pin));
	emugpu_api_unlock();
}

static struct emugpu_pin *live_pin_of(const char *consumer)
{
	struct emugpu_pin *pin;
	int bucket;

	hash_for_each(pins, bucket, pin, hash)
		if (is_live(pin) && emugpu_monitor_is(pin->consumer, consumer))
			return pin;
	return NULL;
}

/* The callbacks of an unloaded module must not run, so the module's pins end without a callback. */
void emugpu_pin_module_going(const char *module)
{
	struct emugpu_pin *pin;

	emugpu_api_lock();
	while ((pin = live_pin_of(module))) {
		emugpu_violation_by(EMUGPU_RULE_PIN_LEAKED, module);
		pin_end(pin, EMUGPU_PIN_PUT);
	}
	emugpu_tombstones_clear(module);
	emugpu_api_unlock();
}
