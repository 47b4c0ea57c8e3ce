// SPDX-License-Identifier: GPL-2.0
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/poison.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "api.h"
#include "block.h"
#include "control.h"
#include "dma.h"
#include "gpu.h"
#include "pin.h"

enum {
	HASH_BITS = 10,
	GRAVES_MAX = 2048,
};

DEFINE_MUTEX(emugpu_map_lock);

static DEFINE_HASHTABLE(pins, HASH_BITS);

/* Oldest first, each manner of death by itself, so that failures in a loop do not push out the revoked. API lock. */
static struct graveyard {
	struct list_head pins;
	unsigned int n;
} graveyards[] = {
	[EMUGPU_PIN_PUT] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_PUT].pins) },
	[EMUGPU_PIN_REVOKED] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_REVOKED].pins) },
	[EMUGPU_PIN_FAILED] = { LIST_HEAD_INIT(graveyards[EMUGPU_PIN_FAILED].pins) },
};

static u32 fail_nth;
static int fail_error;

void emugpu_pin_fail_nth(u32 nth, int error)
{
	emugpu_api_assert_held();
	fail_nth = nth;
	fail_error = error;
}

static int injected_error(void)
{
	if (!fail_nth || --fail_nth)
		return 0;
	return fail_error;
}

/* By address alone: a wrong pointer must not be followed. */
struct emugpu_pin *emugpu_pin_find(const struct nvidia_p2p_page_table *table)
{
	struct emugpu_pin *pin;

	hash_for_each_possible(pins, pin, hash, (unsigned long)table)
		if (&pin->table == table)
			return pin;
	return NULL;
}

bool emugpu_pin_is_mine(const struct emugpu_pin *pin)
{
	emugpu_api_assert_held();
	return pin->block->client->owner == task_tgid(current);
}

struct emugpu_pin *emugpu_pin_new(u64 va, u64 length, void (*callback)(void *data), void *data)
{
	struct emugpu_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL);

	if (!pin)
		return NULL;
	INIT_LIST_HEAD(&pin->node);
	INIT_LIST_HEAD(&pin->maps);
	pin->va = va;
	pin->length = length;
	pin->callback = callback;
	pin->data = data;
	return pin;
}

static const u32 *pin_pages(const struct emugpu_pin *pin)
{
	return &pin->block->pages[pin->first];
}

/* pages[] points into one array, which pages[0] begins. */
static int table_fill(struct emugpu_pin *pin)
{
	u32 i, n = pin->length / EMUGPU_PAGE_SIZE;
	struct nvidia_p2p_page *array = kvcalloc(n, sizeof(*array), GFP_KERNEL);

	pin->table.pages = kvmalloc_array(n, sizeof(*pin->table.pages), GFP_KERNEL);
	if (!array || !pin->table.pages) {
		kvfree(array);
		kvfree(pin->table.pages);
		pin->table.pages = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		array[i].physical_address = emugpu_gpu_page_phys(pin->block->gpu, pin_pages(pin)[i]);
		pin->table.pages[i] = &array[i];
	}
	memcpy(pin->uuid, pin->block->gpu->uuid, sizeof(pin->uuid));
	pin->table.version = NVIDIA_P2P_PAGE_TABLE_VERSION;
	pin->table.page_size = NVIDIA_P2P_PAGE_SIZE_64KB;
	pin->table.entries = n;
	pin->table.gpu_uuid = pin->uuid;
	return 0;
}

/* The barrier keeps the compiler from dropping stores to memory about to be freed. */
static void poison(void *p, size_t size)
{
	memset(p, POISON_FREE, size);
	barrier_data(p);
}

static void table_poison(struct emugpu_pin *pin)
{
	struct nvidia_p2p_page_table *table = &pin->table;

	if (table->pages) {
		poison(table->pages[0], table->entries * sizeof(*table->pages[0]));
		kvfree(table->pages[0]);
		poison(table->pages, table->entries * sizeof(*table->pages));
		kvfree(table->pages);
	}
	poison(table, sizeof(*table));
	poison(pin->uuid, sizeof(pin->uuid));
}

static void grave_clear(struct graveyard *yard)
{
	struct emugpu_pin *pin = list_first_entry(&yard->pins, struct emugpu_pin, node);

	hash_del(&pin->hash);
	list_del(&pin->node);
	kfree(pin);
	yard->n--;
}

static void bury(struct emugpu_pin *pin, enum emugpu_pin_state state)
{
	struct graveyard *yard = &graveyards[state];

	mutex_lock(&emugpu_map_lock);
	table_poison(pin);
	pin->state = state;
	list_move_tail(&pin->node, &yard->pins);
	if (++yard->n > GRAVES_MAX)
		grave_clear(yard);
	mutex_unlock(&emugpu_map_lock);
}

void emugpu_pin_exit(void)
{
	enum emugpu_pin_state state;

	for (state = EMUGPU_PIN_PUT; state <= EMUGPU_PIN_FAILED; state++)
		while (graveyards[state].n)
			grave_clear(&graveyards[state]);
}

static struct emugpu_block *block_for(const struct emugpu_pin *pin)
{
	struct emugpu_block *block = emugpu_block_find(task_tgid(current), pin->va);

	if (!block || block->gpu->gone || !emugpu_block_holds(block, pin->va, pin->length))
		return NULL;
	return block;
}

static int pin_fill(struct emugpu_pin *pin)
{
	int err = injected_error();

	if (err)
		return err;
	pin->block = block_for(pin);
	if (!pin->block)
		return -EINVAL;
	pin->first = (pin->va - pin->block->va) / EMUGPU_PAGE_SIZE;
	err = table_fill(pin);
	if (err)
		return err;
	return emugpu_bar1_get(&pin->block->gpu->bar1, pin_pages(pin), pin->table.entries);
}

int emugpu_pin_open(struct emugpu_pin *pin)
{
	int err = pin_fill(pin);

	mutex_lock(&emugpu_map_lock);
	hash_add(pins, &pin->hash, (unsigned long)&pin->table);
	mutex_unlock(&emugpu_map_lock);
	if (err)
		bury(pin, EMUGPU_PIN_FAILED);
	else
		list_add_tail(&pin->node, &pin->block->pins);
	return err;
}

static void pin_end(struct emugpu_pin *pin, enum emugpu_pin_state state)
{
	emugpu_dma_unmap_all(pin);
	emugpu_bar1_put(&pin->block->gpu->bar1, pin_pages(pin), pin->table.entries);
	bury(pin, state);
}

void emugpu_pin_put(struct emugpu_pin *pin)
{
	emugpu_api_assert_held();
	pin_end(pin, EMUGPU_PIN_PUT);
}

/* The order is the contract's: callback, mappings and table, BAR1, unlink. */
void emugpu_pin_revoke(struct emugpu_pin *pin)
{
	emugpu_api_assert_held();
	emugpu_api_callback(pin->callback, pin->data);
	pin_end(pin, EMUGPU_PIN_REVOKED);
}
