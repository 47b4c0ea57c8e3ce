// SPDX-License-Identifier: GPL-2.0
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poison.h>
#include <linux/string.h>

#include "api.h"
#include "dma.h"
#include "tombstone.h"
#include "monitor.h"
#include "pin.h"
#include "table.h"

enum {
	GRAVES_MAX = 2048,
	OWED_LOOKS = 4,
};

/* Index of the last graveyard: tombstones beyond GRAVES_MAX with a table or mapping that the consumer must free */
enum { PIN_OWED = EMUGPU_PIN_FAILED + 1 };

/* One list of tombstones per final state, oldest first: many failed pins must not displace revoked pins. Map lock. */
static struct graveyard {
	struct list_head pins;
	unsigned int n;
} graveyards[] = {
	[EMUGPU_PIN_PUT] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_PUT].pins) },
	[EMUGPU_PIN_REVOKED] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_REVOKED].pins) },
	[EMUGPU_PIN_FAILED] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_FAILED].pins) },
	[PIN_OWED] = { LIST_HEAD_INIT(graveyards[PIN_OWED].pins) },
};

/* nr_burials: number of pins that have ended. calls: running put and map calls, oldest first. Map lock. */
static u64 nr_burials;
static LIST_HEAD(calls);

static void inquire_freed(struct emugpu_pin *pin)
{
	if (pin->called_back && !pin->table_freed)
		emugpu_violation_by(EMUGPU_RULE_TABLE_LEAKED, pin->consumer);
	pin->table_freed = true;
}

/* Final checks before a tombstone is freed; map lock held */
static void inquire(struct emugpu_pin *pin)
{
	if (emugpu_pin_owns_table(pin) && memchr_inv(pin->table, POISON_FREE, sizeof(*pin->table)))
		emugpu_violation_by(EMUGPU_RULE_WRITE_TO_DEAD_TABLE, pin->consumer);
	inquire_freed(pin);
	if (emugpu_dma_forget(pin))
		emugpu_violation_by(EMUGPU_RULE_MAPPING_LEAKED, pin->consumer);
}

/*
 * Whether the consumer must still free a table or mapping of @pin, or put its table. A correct
 * consumer may do so later: in a worker, or when a file is closed.
 */
static bool is_owed(struct emugpu_pin *pin)
{
	return pin->due || (pin->called_back && !pin->table_freed) || emugpu_dma_is_owed(pin);
}

static void grave_clear(struct graveyard *yard, struct emugpu_pin *pin)
{
	lockdep_assert_held(&emugpu_map_lock);
	inquire(pin);
	list_del(&pin->node);
	emugpu_pin_delete(pin);
	yard->n--;
}

void emugpu_tombstones_add(struct emugpu_pin *pin, enum emugpu_pin_state state)
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

/* A call that began before the pin's end may have seen the pin alive, and may look the pin up only now. */
static bool may_be_looked_for(const struct emugpu_pin *pin)
{
	const struct emugpu_tombstones_call *oldest = list_first_entry_or_null(&calls, struct emugpu_tombstones_call, node);

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

/* Checks at most OWED_LOOKS tombstones per call, in turn, so that opening a pin stays fast. */
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

void emugpu_tombstones_trim(void)
{
	struct graveyard *yard;

	emugpu_api_assert_held();
	lockdep_assert_held(&emugpu_map_lock);
	for (yard = &graveyards[EMUGPU_PIN_PUT]; yard <= &graveyards[EMUGPU_PIN_FAILED]; yard++)
		yard_trim(yard);
	owed_trim();
}

void emugpu_tombstones_clear(const char *consumer)
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

/*
 * Not reported here:
 *	- mappings, because the release of another file or a kernel worker may still free them
 *	- tables that the callback may have been unable to free (@known)
 */
void emugpu_tombstones_process_gone(const struct pid *process)
{
	struct graveyard *yard;
	struct emugpu_pin *pin;

	mutex_lock(&emugpu_map_lock);
	for (yard = &graveyards[EMUGPU_PIN_PUT]; yard <= &graveyards[PIN_OWED]; yard++)
		list_for_each_entry(pin, &yard->pins, node)
			if (pin->process == process && pin->known)
				inquire_freed(pin);
	mutex_unlock(&emugpu_map_lock);
}

void emugpu_tombstones_call_begins(struct emugpu_tombstones_call *call)
{
	mutex_lock(&emugpu_map_lock);
	call->since = nr_burials;
	list_add_tail(&call->node, &calls);
	mutex_unlock(&emugpu_map_lock);
}

void emugpu_tombstones_call_ends(struct emugpu_tombstones_call *call)
{
	mutex_lock(&emugpu_map_lock);
	list_del(&call->node);
	mutex_unlock(&emugpu_map_lock);
}
