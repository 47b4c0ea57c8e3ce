// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator.h"
#include "child.h"
#include "emulator.h"
#include "file.h"
#include "leftover.h"
#include "emu/judge/log/report.h"

#define REGIONS "/sys/kernel/debug/peerpin/regions"
#define SLABS "/sys/kernel/slab"

enum {
	LATE_MS = 2000,
	PAUSE_US = 2000,
};

/* Returns the number of regions: all lines but the first, which names the columns. Returns 0 without peerpin.ko. */
static size_t regions(char *first, size_t size)
{
	FILE *file = fopen(REGIONS, "re");
	char line[256];
	size_t nr = 0;

	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (!nr++)
			snprintf(first, size, "%.*s", (int)strcspn(line, "\n"), line);
	fclose(file);
	return nr;
}

int leftover_pins(void)
{
	long end = now_ms() + LATE_MS;
	struct emulator_pins pins;
	char region[192];
	size_t nr_regions;
	int ret;

	while (!(ret = emulator_pins(&pins, NULL))) {
		nr_regions = regions(region, sizeof(region));
		if ((!pins.nr && !nr_regions) || now_ms() > end)
			break;
		usleep(PAUSE_US);
	}
	if (ret)
		return ret;
	if (pins.nr)
		report_finding("pins-left", "%zu pins after the test has ended, the first: %s", pins.nr, pins.first);
	if (nr_regions)
		report_finding("regions-left", "%zu regions after the test has ended, the first: %s", nr_regions,
			       region);
	if (pins.nr || nr_regions)
		report_taint();
	return 0;
}

int leftover_at_close(const struct driver *driver, const struct share *share)
{
	long end = now_ms() + LATE_MS;
	struct emulator_pins pins;
	int ret;

	while (!(ret = emulator_pins(&pins, driver->name)) && pins.nr && now_ms() < end)
		usleep(PAUSE_US);
	if (!ret && pins.nr && !driver_is_open(share))
		report_finding("pins-left", "%zu pins after the last close of the device, while the process lives; the first: %s",
			       pins.nr, pins.first);
	return ret;
}

/* Modules and their use counts. A use count shows even a leaked reference that debugfs no longer lists. */
static struct used {
	const char *module;
	const char *rule;
	long before;
} used[] = {
	{ "peerpin", "regions-left", 0 },
	{ "peerpin_nv", "regions-left", 0 },
	{ "emugpu", "pins-left", 0 },
};

enum { USED = sizeof(used) / sizeof(*used) };

/* Reference count of the module; 0 if the module is not loaded */
static long uses(const struct used *u)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", u->module);
	return file_read(path, text, sizeof(text)) ? 0 : atol(text);
}

void leftover_note_uses(void)
{
	size_t i;

	for (i = 0; i < USED; i++)
		used[i].before = uses(&used[i]);
}

void leftover_uses(void)
{
	long end = now_ms() + LATE_MS, more;
	size_t i;

	for (i = 0; i < USED; i++) {
		while ((more = uses(&used[i]) - used[i].before) > 0 && now_ms() < end)
			usleep(PAUSE_US);
		if (more <= 0)
			continue;
		report_finding(used[i].rule, "%ld references to module %s are left after the driver was removed", more,
			       used[i].module);
		report_taint();
	}
}

int leftover_misuse(void)
{
	char text[192];
	int ret = allocator_misuse(text, sizeof(text));

	if (!ret && *text)
		report_finding("gone-peer", "count, function, caller: %s", text);
	return ret;
}

bool leftover_stop_waits(const char *driver)
{
	unsigned int times;
	char text[192], name[64];
	long long ms;

	if (allocator_stops(text, sizeof(text)) || sscanf(text, "%u %63s %lld", &times, name, &ms) != 3)
		return false;
	report_finding("stop-waits", "%s() of %s, the stop() of its peer, took %lld ms", name, driver, ms);
	return true;
}

int leftover_memory(void)
{
	struct allocator_leaks leaks;
	int ret = allocator_leaks(&leaks);

	if (!ret && leaks.nr)
		report_finding("memory-leaked", "%zu allocations, %llu bytes, the first by %s", leaks.nr,
			       (unsigned long long)leaks.bytes, leaks.first);
	return ret;
}

/* Checks only the kmalloc caches: all caches would take a second. */
void leftover_damage(void)
{
	DIR *dir = opendir(SLABS);
	struct dirent *entry;
	char path[512];

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "kmalloc-", strlen("kmalloc-")))
			continue;
		snprintf(path, sizeof(path), SLABS "/%s/validate", entry->d_name);
		file_write(path, "1");
	}
	if (dir)
		closedir(dir);
}
