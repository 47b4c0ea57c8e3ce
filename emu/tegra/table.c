// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/mm.h>

#include "gpu.h"
#include "memory.h"
#include "pin.h"
#include "poison.h"
#include "table.h"

/* Not what the table says, which its consumer can write to */
static u32 nr_pages(const struct emugpu_pin *pin)
{
	return pin->request.length / PAGE_SIZE;
}

int emugpu_table_open(struct emugpu_pin *pin)
{
	struct nvidia_p2p_page_table *table = pin->table;
	u32 i, n = nr_pages(pin);

	table->pages = kvmalloc_array(n, sizeof(*table->pages), GFP_KERNEL);
	if (!table->pages)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		table->pages[i] = emugpu_gpu_cpu_page(pin->memory->gpu, pin->memory->pages,
						      pin->offset + (u64)i * PAGE_SIZE);
	table->version = NVIDIA_P2P_PAGE_TABLE_VERSION;
	table->page_size = NVIDIA_P2P_PAGE_SIZE_4KB;
	table->size = pin->request.length;
	table->entries = n;
	return 0;
}

/* No aperture to give back: the pages are where they always are. */
void emugpu_table_close(struct emugpu_pin *pin)
{
}

void emugpu_table_poison(struct emugpu_pin *pin)
{
	struct nvidia_p2p_page_table *table = pin->table;

	if (table->pages) {
		emugpu_poison(table->pages, nr_pages(pin) * sizeof(*table->pages));
		kvfree(table->pages);
	}
	emugpu_poison(table, sizeof(*table));
}
