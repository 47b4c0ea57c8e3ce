// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/poison.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "api.h"
#include "bar1.h"
#include "driver.h"
#include "gpu.h"
#include "memory.h"
#include "pin.h"
#include "poison.h"
#include "slab.h"
#include "table.h"

enum table_version {
	VERSION_2014 = 0x00010001,	/* table without gpu_uuid */
	VERSION_515 = 0x00010002,	/* table without flags */
	VERSION_580 = NVIDIA_P2P_PAGE_TABLE_VERSION,
	VERSION_LATER = 0x00030000,	/* of no driver yet: a consumer must refuse the table */
};

/* Parameter; 0: the version of the played driver */
static unsigned int table_version;

static unsigned int version_now(void)
{
	return READ_ONCE(table_version) ?: emugpu_driver_table_version();
}

static int version_set(const char *value, const struct kernel_param *param)
{
	unsigned int version;
	int err = kstrtouint(value, 0, &version);

	if (err)
		return err;
	if (version != VERSION_2014 && version != VERSION_515 && version != VERSION_580 &&
	    version != VERSION_LATER)
		return -EINVAL;
	WRITE_ONCE(*(unsigned int *)param->arg, version);
	return 0;
}

static int version_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%#x\n", version_now());
}

static const struct kernel_param_ops version_ops = { .set = version_set, .get = version_get };

module_param_cb(table_version, &version_ops, &table_version, 0644);
MODULE_PARM_DESC(table_version, "version of page tables: 0x10001, 0x10002, 0x20000 or 0x30000 (default: of driver_version)");

static const u32 *pin_pages(const struct emugpu_pin *pin)
{
	return &pin->memory->pages[pin->offset / EMUGPU_PAGE_SIZE];
}

u32 emugpu_table_nr_pages(const struct emugpu_pin *pin)
{
	return pin->request.length / EMUGPU_PAGE_SIZE;
}

static int pages_alloc(struct emugpu_pin *pin, u32 n)
{
	struct nvidia_p2p_page_table *table = pin->table;

	pin->array = emugpu_array(n, sizeof(*pin->array));
	table->pages = emugpu_array(n, sizeof(*table->pages));
	pin->pages = table->pages;
	if (pin->array && pin->pages)
		return 0;
	kvfree(pin->array);
	kvfree(pin->pages);
	pin->array = NULL;
	pin->pages = NULL;
	table->pages = NULL;
	return -ENOMEM;
}

/* As in NVIDIA's driver, frees all entries even if the consumer has sorted pages[]. */
static void pages_free(struct emugpu_pin *pin, u32 n)
{
	emugpu_poison(pin->array, n * sizeof(*pin->array));
	kvfree(pin->array);
	emugpu_poison(pin->pages, n * sizeof(*pin->table->pages));
	kvfree(pin->pages);
	pin->array = NULL;
	pin->pages = NULL;
}

/* Memory of a coherent GPU is reached at its own addresses, and not through BAR1, unless its consumer asks for BAR1. */
static bool uses_bar1(const struct emugpu_pin *pin)
{
	return !emugpu_gpu_is_coherent() || pin->request.force_bar1;
}

/* Poisons the members that a table of this version does not have. */
static int table_fill(struct emugpu_pin *pin)
{
	struct nvidia_p2p_page_table *table = pin->table;
	u32 i, n = emugpu_table_nr_pages(pin);
	int err = pages_alloc(pin, n);

	if (err)
		return err;
	for (i = 0; i < n; i++) {
		pin->array[i].physical_address = emugpu_gpu_page_phys(pin->memory->gpu, pin_pages(pin)[i]);
		table->pages[i] = &pin->array[i];
	}
	table->version = version_now();
	table->page_size = NVIDIA_P2P_PAGE_SIZE_64KB;
	table->entries = n;
	memcpy(pin->uuid, pin->memory->gpu->uuid, sizeof(pin->uuid));
	table->gpu_uuid = table->version == VERSION_2014 ? LIST_POISON1 : pin->uuid;
	if (table->version >= VERSION_580)
		table->flags = uses_bar1(pin) ? 0 : NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE;
	else
		memset(&table->flags, POISON_FREE, sizeof(table->flags));
	return 0;
}

int emugpu_table_open(struct emugpu_pin *pin)
{
	int err;

	if ((pin->request.va | pin->request.length) % EMUGPU_PAGE_SIZE)
		return -EINVAL;
	if (pin->request.force_bar1 && !emugpu_gpu_is_coherent())
		return -ENOTSUPP;
	err = table_fill(pin);
	if (err)
		return err;
	return !uses_bar1(pin) ? 0 : emugpu_bar1_get(&pin->memory->gpu->bar1, pin_pages(pin), emugpu_table_nr_pages(pin));
}

void emugpu_table_close(struct emugpu_pin *pin)
{
	if (uses_bar1(pin))
		emugpu_bar1_put(&pin->memory->gpu->bar1, pin_pages(pin), emugpu_table_nr_pages(pin));
}

/* Pins of discrete GPUs have no MMU notifier. */
bool emugpu_table_keeps_notifier(struct emugpu_pin *pin, bool process_gone)
{
	return false;
}

void emugpu_table_poison(struct emugpu_pin *pin)
{
	if (pin->pages)
		pages_free(pin, emugpu_table_nr_pages(pin));
	emugpu_poison(pin->table, sizeof(*pin->table));
	emugpu_poison(pin->uuid, sizeof(pin->uuid));
}
