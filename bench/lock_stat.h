/* SPDX-License-Identifier: MIT */
/*
 * How long the locks of peerpin's modules were held: lock_stat of the kernel. /proc/lock_stat has only the names of
 * locks, and other parts of the kernel use the same names. /proc/lockdep has the address of each lock's key, which
 * /proc/kallsyms finds in a module. So the kernel needs the parameter no_hash_pointers.
 */
#ifndef BENCH_LOCK_STAT_H
#define BENCH_LOCK_STAT_H

#include "kernel_file.h"

enum {
	LOCKS_MAX = 64,
	SYMBOLS_MAX = 16384,
};

/**
 * struct lock - a lock of peerpin's modules
 * @hold: longest time for which a thread held it, in ns
 * @mean: mean time for which a thread held it, in ns
 * @count: how often it was taken
 * @interrupted: interrupts are on while it is held, so @hold may include interrupts
 */
struct lock {
	char name[64];
	uint64_t hold;
	uint64_t mean;
	unsigned long count;
	bool interrupted;
};

struct locks {
	struct lock lock[LOCKS_MAX];
	unsigned int count;
};

/* ---- symbols of modules --------------------------------------------------------------- */

static struct module_symbol {
	unsigned long at;
	bool ours;
} module_symbols[SYMBOLS_MAX];
static unsigned int module_symbol_count;

static inline int symbol_compare(const void *a, const void *b)
{
	const struct module_symbol *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Call after the modules were loaded. */
static inline void lock_stat_open(void)
{
	FILE *f = kernel_open("/proc/kallsyms");
	char line[512], module[64], type;
	unsigned long at;

	/* type a: the offset of a variable of each processor, not an address */
	while (fgets(line, sizeof(line), f) && module_symbol_count < SYMBOLS_MAX)
		if (sscanf(line, "%lx %c %*s [%63[^]]", &at, &type, module) == 3 && type != 'a')
			module_symbols[module_symbol_count++] = (struct module_symbol){ at, !strncmp(module, "peerpin", 7) };
	fclose(f);
	qsort(module_symbols, module_symbol_count, sizeof(*module_symbols), symbol_compare);
}

/* Is the symbol at @at, or the last symbol before it, in a module of peerpin? */
static inline bool is_ours(unsigned long at)
{
	unsigned int low = 0, high = module_symbol_count;

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (module_symbols[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return module_symbol_count && module_symbols[low].at <= at && module_symbols[low].ours;
}

/* ---- locks --------------------------------------------------------------------------------- */

/* Threads may sleep while they hold these locks. Names in parentheses are work items, which lockdep treats as locks. */
static inline bool lock_sleeps(const char *name)
{
	static const char *const sleeping[] = { "peers_lock", "providers_lock", "devices_lock", "&nv_puts[i]", "&t->growing",
						"&r->making" };

	for (unsigned int i = 0; i < N(sleeping); i++)
		if (!strcmp(name, sleeping[i]))
			return true;
	return *name == '(';
}

static inline struct lock *lock_find(struct locks *l, const char *name)
{
	for (unsigned int i = 0; i < l->count; i++)
		if (!strcmp(l->lock[i].name, name))
			return &l->lock[i];
	return NULL;
}

static inline void lock_name(struct locks *l, const char *line)
{
	char name[64], usage[16];
	unsigned long key;

	if (sscanf(line, "%lx FD:%*d BD:%*d %15s %63[^\n]", &key, usage, name) != 3 || !is_ours(key) || lock_sleeps(name))
		return;
	memcpy(l->lock[l->count].name, name, sizeof(name));
	l->lock[l->count++].interrupted = *usage == '+' || *usage == '?';
}

/* A line: "KEY FD: NUMBER BD: NUMBER USAGE: NAME" */
static inline void locks_name(struct locks *l)
{
	FILE *f = kernel_open("/proc/lockdep");
	char line[256];

	*l = (struct locks){};
	while (fgets(line, sizeof(line), f) && l->count < LOCKS_MAX)
		lock_name(l, line);
	fclose(f);
}

/* Columns after the name: con-bounces, contentions, 4 waittimes, acq-bounces, acquisitions, holdtime-min, -max, -total, -avg */
static inline void locks_read(struct locks *l)
{
	FILE *f = kernel_open("/proc/lock_stat");
	char line[512], name[64];
	unsigned long count;
	struct lock *lock;
	double hold, mean;

	while (fgets(line, sizeof(line), f)) {
		char *numbers = strrchr(line, ':');

		if (!numbers || sscanf(line, " %63[^:]", name) != 1 ||
		    sscanf(numbers + 1, "%*s %*s %*s %*s %*s %*s %*s %lu %*s %lf %*s %lf", &count, &hold, &mean) != 3)
			continue;
		lock = lock_find(l, name);
		if (lock) {
			lock->hold = hold * 1000;
			lock->mean = mean * 1000;
			lock->count = count;
		}
	}
	fclose(f);
}

static inline void lock_stat_begin(void)
{
	kernel_write("/proc/lock_stat", "0");
	kernel_write("/proc/sys/kernel/lock_stat", "1");
}

static inline void lock_stat_end(struct locks *l)
{
	kernel_write("/proc/sys/kernel/lock_stat", "0");
	locks_name(l);
	locks_read(l);
	bench_need(l->count, "/proc/lockdep: no lock of peerpin (kernel parameter no_hash_pointers)", ENOENT);
}

#endif
