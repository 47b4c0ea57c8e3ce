// SPDX-License-Identifier: GPL-2.0
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/poison.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "api.h"
#include "block.h"
#include "client.h"
#include "context.h"
#include "dma.h"
#include "gpu.h"
#include "guard.h"
#include "map.h"
#include "memory.h"
#include "pin.h"
#include "table.h"

enum {
	HASH_BITS = 10,
	GRAVES_MAX = 2048,
	OWED_LOOKS = 4,
};

DEFINE_MUTEX(emugpu_map_lock);

/* Every pin by its table, dead or alive */
static DEFINE_HASHTABLE(pins, HASH_BITS);

/* Live ones; API lock */
static LIST_HEAD(persistent_pins);

/* One after those of enum emugpu_pin_state: pins that have to go, but for what their consumers still have to free */
enum { PIN_OWED = EMUGPU_PIN_FAILED + 1 };

/* Oldest first, each manner of death by itself, so that failures in a loop do not push out the revoked. Map lock. */
static struct graveyard {
	struct list_head pins;
	unsigned int n;
} graveyards[] = {
	[EMUGPU_PIN_PUT] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_PUT].pins) },
	[EMUGPU_PIN_REVOKED] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_REVOKED].pins) },
	[EMUGPU_PIN_FAILED] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_FAILED].pins) },
	[PIN_OWED] = { LIST_HEAD_INIT(graveyards[PIN_OWED].pins) },
};

/* How many were buried so far, and the calls under way, oldest first. Map lock. */
static u64 nr_burials;
static LIST_HEAD(calls);

/* By address alone: a wrong pointer must not be followed. */
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
	struct emugpu_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL);

	if (!pin)
		return NULL;
	pin->table = kzalloc(sizeof(*pin->table), GFP_KERNEL);
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

/* On integrated GPUs the structure is the consumer's from the callback on, to kfree() after free_page_table. */
static bool owns_table(const struct emugpu_pin *pin)
{
	return !(EMUGPU_INTEGRATED && pin->called_back);
}

static void pin_delete(struct emugpu_pin *pin)
{
	put_pid(pin->process);
	if (owns_table(pin))
		kfree(pin->table);
	kfree(pin);
}

/* ---- the dead ------------------------------------------------------------ */

static void inquire_freed(struct emugpu_pin *pin)
{
	if (pin->called_back && !pin->table_freed)
		emugpu_violation_by(EMUGPU_RULE_TABLE_LEAKED, pin->consumer);
	pin->table_freed = true;
}

/* The last look at a dead pin, when its grave is needed or its consumer goes; map lock held */
static void inquire(struct emugpu_pin *pin)
{
	if (owns_table(pin) && memchr_inv(pin->table, POISON_FREE, sizeof(*pin->table)))
		emugpu_violation_by(EMUGPU_RULE_WRITE_TO_DEAD_TABLE, pin->consumer);
	inquire_freed(pin);
	if (emugpu_dma_forget(pin))
		emugpu_violation_by(EMUGPU_RULE_MAPPING_LEAKED, pin->consumer);
}

/* Correct consumers may still come for it: by a worker, or as a file is closed. */
static bool is_owed(struct emugpu_pin *pin)
{
	return pin->due || (pin->called_back && !pin->table_freed) || emugpu_dma_is_owed(pin);
}

static void grave_clear(struct graveyard *yard, struct emugpu_pin *pin)
{
	lockdep_assert_held(&emugpu_map_lock);
	inquire(pin);
	hash_del(&pin->hash);
	list_del(&pin->node);
	pin_delete(pin);
	yard->n--;
}

static void bury(struct emugpu_pin *pin, enum emugpu_pin_state state)
{
	struct graveyard *yard = &graveyards[state];

	mutex_lock(&emugpu_map_lock);
	if (pin->table)
		emugpu_table_poison(pin);
	pin->state = state;
	pin->burial = ++nr_burials;
	list_move_tail(&pin->node, &yard->pins);
	yard->n++;
	mutex_unlock(&emugpu_map_lock);
}

/* Whoever called before it was buried may have found it alive, and come to look for it only now. */
static bool may_be_looked_for(const struct emugpu_pin *pin)
{
	const struct emugpu_pin_call *oldest = list_first_entry_or_null(&calls, struct emugpu_pin_call, node);

	return oldest && pin->burial > oldest->since;
}

static void grave_move(struct graveyard *from, struct emugpu_pin *pin, struct graveyard *to)
{
	list_move_tail(&pin->node, &to->pins);
	from->n--;
	to->n++;
}

static struct emugpu_pin *first_of(struct graveyard *yard)
{
	return list_first_entry(&yard->pins, struct emugpu_pin, node);
}

static void yard_trim(struct graveyard *yard)
{
	while (yard->n > GRAVES_MAX && !may_be_looked_for(first_of(yard)))
		if (is_owed(first_of(yard)))
			grave_move(yard, first_of(yard), &graveyards[PIN_OWED]);
		else
			grave_clear(yard, first_of(yard));
}

/* Some each time do, all in turn: one more at most comes each time. */
static void owed_trim(void)
{
	struct graveyard *yard = &graveyards[PIN_OWED];
	unsigned int n = min_t(unsigned int, yard->n, OWED_LOOKS);

	while (n--)
		if (is_owed(first_of(yard)))
			grave_move(yard, first_of(yard), yard);
		else
			grave_clear(yard, first_of(yard));
}

/*
 * Only as pins are opened: however many one revocation buries, consumers that
 * wait for its end, or come later on their own, find them all.
 */
static void graves_trim(void)
{
	struct graveyard *yard;

	emugpu_api_assert_held();
	lockdep_assert_held(&emugpu_map_lock);
	for (yard = &graveyards[EMUGPU_PIN_PUT]; yard <= &graveyards[EMUGPU_PIN_FAILED]; yard++)
		yard_trim(yard);
	owed_trim();
}

/* Clears the graves of one consumer, or of all for NULL. */
static void graves_clear(const char *consumer)
{
	struct emugpu_pin *pin, *next;
	struct graveyard *yard;

	mutex_lock(&emugpu_map_lock);
	for (yard = &graveyards[EMUGPU_PIN_PUT]; yard <= &graveyards[PIN_OWED]; yard++)
		list_for_each_entry_safe(pin, next, &yard->pins, node)
			if (!consumer || emugpu_monitor_is(pin->consumer, consumer))
				grave_clear(yard, pin);
	mutex_unlock(&emugpu_map_lock);
}

/* Mappings may be freed later still: by another file's release, or by no thread of the process. */
void emugpu_pin_process_gone(const struct pid *process)
{
	struct graveyard *yard;
	struct emugpu_pin *pin;

	mutex_lock(&emugpu_map_lock);
	for (yard = &graveyards[EMUGPU_PIN_PUT]; yard <= &graveyards[PIN_OWED]; yard++)
		list_for_each_entry(pin, &yard->pins, node)
			if (pin->process == process)
				inquire_freed(pin);
	mutex_unlock(&emugpu_map_lock);
}

void emugpu_pin_exit(void)
{
	graves_clear(NULL);
}

/* ---- those whose process has ended ----------------------------------------- */

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

/* The address is in use again: consumers have kfree()d the tables of the dead that had it, put or not, freed or not. */
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

/* ---- the living ---------------------------------------------------------- */

static u32 va_space_of(const struct emugpu_block *block)
{
	return block->context ? block->context->va_space : EMUGPU_VA_SPACE_OF_NONE;
}

/*
 * Whoever knows the token of a context may pin what is in it; without a token
 * memory is its process's. A va_space must fit either way.
 */
static struct emugpu_block *block_for(const struct emugpu_pin_request *request)
{
	struct emugpu_block *block;

	if (request->p2p_token)
		block = emugpu_block_find_by_token(request->p2p_token, request->va);
	else
		block = emugpu_block_find(task_tgid(current), request->va);
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
	/* it is for GPUs that share memory with the CPU */
	if (request->force_bar1)
		return -ENOTSUPP;
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
	pin->block = emugpu_pin_is_persistent(pin) ? NULL : block;
	return 0;
}

int emugpu_pin_open(struct emugpu_pin *pin)
{
	int err = pin_fill(pin);

	mutex_lock(&emugpu_map_lock);
	graves_trim();
	forget_table_locked(pin->table);
	hash_add(pins, &pin->hash, (unsigned long)pin->table);
	mutex_unlock(&emugpu_map_lock);
	if (err)
		bury(pin, EMUGPU_PIN_FAILED);
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
	bury(pin, state);
	emugpu_memory_put(pin->memory);
	module_put(THIS_MODULE);
}

/* ---- the end ------------------------------------------------------------------ */

/* From its start on the consumer is to free the table. */
static void call_back(struct emugpu_pin *pin)
{
	mutex_lock(&emugpu_map_lock);
	pin->called_back = true;
	mutex_unlock(&emugpu_map_lock);
	emugpu_api_callback(pin->request.callback, pin->request.data, pin->table);
}

void emugpu_pin_call_begins(struct emugpu_pin_call *call)
{
	mutex_lock(&emugpu_map_lock);
	call->since = nr_burials;
	list_add_tail(&call->node, &calls);
	mutex_unlock(&emugpu_map_lock);
}

void emugpu_pin_call_ends(struct emugpu_pin_call *call)
{
	mutex_lock(&emugpu_map_lock);
	list_del(&call->node);
	mutex_unlock(&emugpu_map_lock);
}

void emugpu_pin_put(struct emugpu_pin *pin)
{
	if (EMUGPU_INTEGRATED)
		call_back(pin);
	pin_end(pin, EMUGPU_PIN_PUT);
}

/* The order is the contract's: the callback, and only then what the driver has: mappings, BAR1, table. */
void emugpu_pin_revoke(struct emugpu_pin *pin)
{
	note_process(pin);
	call_back(pin);
	emugpu_guard_add(pin);
	pin_end(pin, EMUGPU_PIN_REVOKED);
}

/* The address may mean another table soon. */
static void give_table_away(struct emugpu_pin *pin)
{
	if (pin->state == EMUGPU_PIN_LIVE)
		emugpu_table_poison(pin);
	pin->due = pin->keeps_notifier ? pin->table : NULL;
	pin->table = NULL;
}

/* A late one is no breach: a callback that overtook get_pages could not know the table. */
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

/* ---- all of the living ----------------------------------------------------- */

/* A dead pin in the hash is one whose state says so; those being opened are not in it yet. */
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

/* Its callbacks may not run any more, so its pins are taken from it here. */
void emugpu_pin_module_going(const char *module)
{
	struct emugpu_pin *pin;

	emugpu_api_lock();
	while ((pin = live_pin_of(module))) {
		emugpu_violation_by(EMUGPU_RULE_PIN_LEAKED, module);
		pin_end(pin, EMUGPU_PIN_PUT);
	}
	graves_clear(module);
	emugpu_api_unlock();
}
