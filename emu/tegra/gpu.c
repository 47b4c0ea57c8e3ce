// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "caching.h"
#include "gpu.h"

enum {
	CPU_PAGES = EMUGPU_PAGE_SIZE / PAGE_SIZE,
	BLOCK_MIB = EMUGPU_BLOCK_SIZE >> 20,
};

static unsigned int vram_mib = 64;
module_param(vram_mib, uint, 0444);
MODULE_PARM_DESC(vram_mib, "MiB of host memory for the GPU (default 64, an even number)");

/* Valid as long as the control node exists */
static struct emugpu_gpu *the_gpu;

struct emugpu_gpu *emugpu_gpu_get(u32 index)
{
	if (index)
		return NULL;
	kref_get(&the_gpu->refs);
	return the_gpu;
}

static void page_free(struct page *page)
{
	int i;

	for (i = 0; i < CPU_PAGES; i++)
		__free_page(page + i);
}

/*
 * The allocation is split into single pages, because a mapping in a process holds a reference to
 * one page only. The pages lie below 4 GiB, where every device reaches them. (On a Tegra, the SMMU
 * lets devices reach all memory.)
 */
static struct page *page_alloc(void)
{
	const unsigned int order = get_order(EMUGPU_PAGE_SIZE);
	struct page *page = alloc_pages(GFP_KERNEL | GFP_DMA32 | __GFP_ZERO | __GFP_NOWARN, order);

	if (page)
		split_page(page, order);
	return page;
}

static void make_cached(struct emugpu_gpu *gpu, u32 number)
{
	if (__test_and_clear_bit(number, gpu->combined))
		emugpu_caching_restore(gpu->memory[number], CPU_PAGES);
}

static int make_combined(struct emugpu_gpu *gpu, u32 number)
{
	int err = 0;

	if (!test_bit(number, gpu->combined))
		err = emugpu_caching_combine(gpu->memory[number], CPU_PAGES);
	if (!err)
		__set_bit(number, gpu->combined);
	return err;
}

static void memory_free(struct emugpu_gpu *gpu, u32 npages)
{
	while (npages--) {
		make_cached(gpu, npages);
		page_free(gpu->memory[npages]);
	}
	kvfree(gpu->memory);
	bitmap_free(gpu->combined);
}

static int memory_alloc(struct emugpu_gpu *gpu, u32 npages)
{
	u32 i;

	gpu->memory = kvmalloc_array(npages, sizeof(*gpu->memory), GFP_KERNEL);
	gpu->combined = bitmap_zalloc(npages, GFP_KERNEL);
	if (!gpu->memory || !gpu->combined) {
		memory_free(gpu, 0);
		return -ENOMEM;
	}
	for (i = 0; i < npages; i++) {
		gpu->memory[i] = page_alloc();
		if (!gpu->memory[i]) {
			memory_free(gpu, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static bool is_in_use(struct page *page)
{
	int i;

	for (i = 0; i < CPU_PAGES; i++)
		if (page_ref_count(page + i) > 1)
			return true;
	return false;
}

static int replace(struct emugpu_gpu *gpu, u32 number)
{
	struct page *page = page_alloc();

	if (!page)
		return -ENOMEM;
	make_cached(gpu, number);
	page_free(gpu->memory[number]);
	gpu->memory[number] = page;
	return 0;
}

static int claim(struct emugpu_gpu *gpu, u32 number, bool combined)
{
	int err = is_in_use(gpu->memory[number]) ? replace(gpu, number) : 0;

	if (err)
		return err;
	if (combined)
		return make_combined(gpu, number);
	make_cached(gpu, number);
	return 0;
}

int emugpu_gpu_claim(struct emugpu_gpu *gpu, const u32 *pages, u32 n, bool combined)
{
	int err = 0;
	u32 i;

	/* the lock is needed, because bits of two owners may lie in one word */
	mutex_lock(&gpu->claims);
	for (i = 0; i < n && !err; i++)
		err = claim(gpu, pages[i], combined);
	mutex_unlock(&gpu->claims);
	return err;
}

static u32 nr_pages(const struct emugpu_gpu *gpu)
{
	return gpu->size / EMUGPU_PAGE_SIZE;
}

static void gpu_release(struct kref *refs)
{
	struct emugpu_gpu *gpu = container_of(refs, struct emugpu_gpu, refs);

	memory_free(gpu, nr_pages(gpu));
	emugpu_vram_destroy(&gpu->vram);
	kfree(gpu);
}

void emugpu_gpu_put(struct emugpu_gpu *gpu)
{
	kref_put(&gpu->refs, gpu_release);
}

static struct emugpu_gpu *gpu_new(u64 size)
{
	struct emugpu_gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);

	if (!gpu)
		return NULL;
	kref_init(&gpu->refs);
	mutex_init(&gpu->claims);
	gpu->size = size;
	memcpy(gpu->uuid, "emulated tegra", sizeof("emulated tegra"));
	if (emugpu_vram_init(&gpu->vram, nr_pages(gpu)))
		goto err_gpu;
	if (memory_alloc(gpu, nr_pages(gpu)))
		goto err_vram;
	return gpu;

err_vram:
	emugpu_vram_destroy(&gpu->vram);
err_gpu:
	kfree(gpu);
	return NULL;
}

/* Allocating nearly all memory would make the system unusable before an allocation fails. */
static bool leaves_half(u64 size)
{
	return size <= (u64)totalram_pages() << PAGE_SHIFT >> 1;
}

int emugpu_gpu_register(void)
{
	if (!vram_mib || vram_mib % BLOCK_MIB) {
		pr_err("vram_mib=%u is not an even number above 0\n", vram_mib);
		return -EINVAL;
	}
	the_gpu = leaves_half((u64)vram_mib << 20) ? gpu_new((u64)vram_mib << 20) : NULL;
	if (!the_gpu) {
		pr_err("cannot allocate %u MiB below 4 GiB, or it is more than half of the memory; lower vram_mib\n",
		       vram_mib);
		return -ENOMEM;
	}
	pr_info("GPU 0: %u MiB of host memory\n", vram_mib);
	return 0;
}

/* Drops the last reference. Files, pins and CPU mappings hold references to the module, so all of them have ended. */
void emugpu_gpu_unregister(void)
{
	emugpu_gpu_put(the_gpu);
}

void emugpu_gpu_info(struct emugpu_gpu *gpu, struct emugpu_info *info)
{
	memset(info, 0, sizeof(*info));
	info->out_integrated = EMUGPU_INTEGRATED;
	memcpy(info->out_uuid, gpu->uuid, sizeof(info->out_uuid));
	snprintf(info->out_name, sizeof(info->out_name), "Emulated integrated GPU (%llu MiB)", gpu->size >> 20);
	info->out_vram_total = gpu->size;
	info->out_vram_free = emugpu_gpu_page_offset(emugpu_vram_nr_free(&gpu->vram));
}

MODULE_DESCRIPTION("Emulated integrated GPU, with the GPUDirect RDMA kernel interface of Tegra");
