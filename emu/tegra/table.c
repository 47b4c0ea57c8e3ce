// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "gpu.h"
#include "memory.h"
#include "pin.h"
#include "poison.h"
#include "slab.h"
#include "table.h"

static bool reap;
module_param(reap, bool, 0644);
MODULE_PARM_DESC(reap, "emulate the OOM reaper: unmap memory of an ending process before its MMU notifiers run");

u32 emugpu_table_nr_pages(const struct emugpu_pin *pin)
{
	return pin->request.length / PAGE_SIZE;
}

int emugpu_table_open(struct emugpu_pin *pin)
{
	struct nvidia_p2p_page_table *table = pin->table;
	u32 i, n = emugpu_table_nr_pages(pin);

	table->pages = emugpu_array(n, sizeof(*table->pages));
	pin->pages = table->pages;
	if (!pin->pages)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		table->pages[i] = emugpu_gpu_cpu_page(pin->memory->gpu, pin->memory->pages,
						      pin->offset + (u64)i * PAGE_SIZE);
	table->version = NVIDIA_P2P_PAGE_TABLE_VERSION;
	table->page_size = NVIDIA_P2P_PAGE_SIZE_4KB;
	table->size = pin->request.length;
	table->entries = n;
	hlist_add_fake(&table->mn.hlist);
	return 0;
}

/* No BAR1 space to free. */
void emugpu_table_close(struct emugpu_pin *pin)
{
}

/* NVIDIA's driver releases the notifier if memory is unmapped, but not if the address space ends. */
bool emugpu_table_keeps_notifier(struct emugpu_pin *pin, bool process_gone)
{
	bool keeps = process_gone && !READ_ONCE(reap);

	if (!keeps)
		INIT_HLIST_NODE(&pin->table->mn.hlist);
	return keeps;
}

void emugpu_table_poison(struct emugpu_pin *pin)
{
	struct nvidia_p2p_page_table *table = pin->table;

	if (pin->pages) {
		emugpu_poison(pin->pages, emugpu_table_nr_pages(pin) * sizeof(*table->pages));
		kvfree(pin->pages);
		pin->pages = NULL;
	}
	emugpu_poison(table, sizeof(*table));
}
