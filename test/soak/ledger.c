// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <stdlib.h>
#include "test/fuzz/calls/leftover.h"
#include "test/vm/harness/emu.h"
#include "ledger.h"
#include "soak.h"

enum {
	GPUS = 2,
	WAIT_TRIES = 100,
	WAIT_US = 100000,
	GROWTH_MAX = 8 << 20,	/* the GPU monitor keeps 4 MiB (the last 6144 dead pins) for its checks */
};

static const char *const modules[] = { "peerpin", "peerpin_nv", "peerpin_lsi", "emugpu" };

enum { MODULES = sizeof(modules) / sizeof(*modules) };

static struct {
	long refs[MODULES];
	long long pinned;	/* pinned pages of host memory */
	long long slab;
	int times;
} before;

/* ---- reading ------------------------------------------------------------------------- */

static long long number_in(const char *path)
{
	long long n = -1;
	FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%lld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static long refs_of(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	return number_in(path);
}

/* Pages that FOLL_PIN took and that are not released */
static long long pinned_pages(void)
{
	long long taken = 0, given = 0, n;
	char name[64];
	FILE *f = fopen("/proc/vmstat", "re");

	while (f && fscanf(f, "%63s %lld", name, &n) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			taken = n;
		if (!strcmp(name, "nr_foll_pin_released"))
			given = n;
	}
	if (f)
		fclose(f);
	return taken - given;
}

/* ---- memory of the kernel ---------------------------------------------------------------- */

static bool is_ours(const char *cache)
{
	return !strncmp(cache, "kmalloc-", 8) || !strncmp(cache, "peerpin_", 8) || !strcmp(cache, "iommu_iova");
}

/* Objects that a CPU caches for later allocations do not count. */
static void shrink(const char *cache)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "1", 1);
	close(fd);
}

static long long bytes_of(const char *cache)
{
	char path[300];
	long long objects, size;

	shrink(cache);
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/objects", cache);
	objects = number_in(path);
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/slab_size", cache);
	size = number_in(path);
	return objects < 0 || size < 0 ? 0 : objects * size;
}

static long long slab_bytes(void)
{
	DIR *dir = opendir("/sys/kernel/slab");
	struct dirent *entry;
	long long sum = 0;

	while (dir && (entry = readdir(dir)))
		if (is_ours(entry->d_name))
			sum += bytes_of(entry->d_name);
	if (dir)
		closedir(dir);
	return sum;
}

static bool memory_has_not_grown(char *why)
{
	long long now = slab_bytes(), growth;

	if (++before.times <= 2)
		before.slab = now;
	growth = now - before.slab;
	printf("# the kernel's small allocations: %lld KiB, %+lld since the second pause\n", now >> 10, growth >> 10);
	if (growth <= GROWTH_MAX)
		return true;
	snprintf(why, LEDGER_MAX, "the kernel's small allocations have grown by %lld KiB", growth >> 10);
	return false;
}

/* ---- GPUs, modules and pages ------------------------------------------------------------------------------ */

static bool gpu_is_whole(int fd, unsigned int number, char *why)
{
	struct emugpu_info info;
	struct emugpu_test t;
	int err = emu_info(fd, number, &info) ?: emu_counts_of(fd, number, &t);

	if (err) {
		snprintf(why, LEDGER_MAX, "GPU %u does not answer: %s", number, strerror(-err));
		return false;
	}
	snprintf(why, LEDGER_MAX, "GPU %u: %llu bytes not free, %llu of BAR1 used; %u pins, %u maps, %u blocks", number,
		 (unsigned long long)(info.out_vram_total - info.out_vram_free), (unsigned long long)info.out_bar1_used,
		 t.counts.out_pins, t.counts.out_dma_maps, t.counts.out_blocks);
	return info.out_vram_free == info.out_vram_total && !info.out_bar1_used && !t.counts.out_pins &&
	       !t.counts.out_dma_maps && !t.counts.out_blocks;
}

static bool gpus_are_whole(char *why)
{
	int fd = emu_open();
	unsigned int i;
	bool whole = true;

	for (i = 0; i < GPUS && whole; i++)
		whole = gpu_is_whole(fd, i, why);
	close(fd);
	return whole;
}

static bool nobody_uses_modules(char *why)
{
	int i;

	for (i = 0; i < MODULES; i++) {
		snprintf(why, LEDGER_MAX, "%s is used %ld times, %ld at first", modules[i], refs_of(modules[i]), before.refs[i]);
		if (refs_of(modules[i]) != before.refs[i])
			return false;
	}
	return true;
}

static bool no_page_is_pinned(char *why)
{
	snprintf(why, LEDGER_MAX, "%lld pages of host memory are pinned, %lld at first", pinned_pages(), before.pinned);
	return pinned_pages() == before.pinned;
}

/* The kernel releases files a moment after the end of their process. */
static bool soon(bool (*is)(char *why), char *why)
{
	int tries;

	for (tries = 0; tries < WAIT_TRIES; tries++) {
		if (is(why))
			return true;
		usleep(WAIT_US);
	}
	return false;
}

void ledger_open(void)
{
	int i;

	for (i = 0; i < MODULES; i++)
		before.refs[i] = refs_of(modules[i]);
	before.pinned = pinned_pages();
}

bool ledger_is_even(char why[LEDGER_MAX])
{
	_Static_assert((int)LEDGER_MAX >= (int)LEFTOVER_MAX, "room for what is left over");

	return soon(gpus_are_whole, why) && leftover_none(why) && soon(no_page_is_pinned, why) &&
	       soon(nobody_uses_modules, why) && memory_has_not_grown(why);
}
