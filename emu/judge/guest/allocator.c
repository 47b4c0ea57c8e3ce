// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocator.h"
#include "file.h"
#include "emu/judge/log/report.h"

#define JUDGE "/sys/kernel/debug/judge/"

enum {
	TRIES = 50,
	PAUSE_US = 20000,
};

int allocator_watch(const char *module, uint32_t nth)
{
	char text[16];
	int ret = file_write(JUDGE "module", module);

	snprintf(text, sizeof(text), "%u", nth);
	if (!ret)
		ret = file_write(JUDGE "reset", "1");
	return ret ? ret : file_write(JUDGE "fail", text);
}

int allocator_began(bool *out)
{
	char text[8];
	int ret = file_read(JUDGE "began", text, sizeof(text));

	*out = !ret && *text == 'Y';
	return ret;
}

int allocator_failed(bool *out)
{
	unsigned long all, failed = 0;
	char text[64];
	int ret = file_read(JUDGE "fail", text, sizeof(text));

	if (!ret && sscanf(text, "%lu allocations, %lu failed", &all, &failed) != 2)
		ret = -EPROTO;
	*out = failed;
	return ret;
}

static void take_leak(struct allocator_leaks *out, const char *line)
{
	unsigned long long bytes;
	int at;

	if (sscanf(line, "%llu %n", &bytes, &at) != 1)
		return;
	out->bytes += bytes;
	if (!out->nr++)
		snprintf(out->first, sizeof(out->first), "%s", line + at);
}

/* @unseen: the last line in which judge.ko reports missed allocations; "": no allocation was missed */
static int read_leaks(struct allocator_leaks *out, char *unseen, size_t size)
{
	FILE *file = fopen(JUDGE "leaks", "re");
	char line[256];

	*out = (struct allocator_leaks){ 0 };
	*unseen = '\0';
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			snprintf(unseen, size, "%s", line + strspn(line, "# "));
		else
			take_leak(out, line);
	}
	fclose(file);
	return 0;
}

/*
 * If no leak was found, missed allocations may hide a leak. -ENODATA asks the caller to try again. Another
 * try helps only if probes missed allocations, not if e.g. judge.ko had no room for more objects.
 */
static int check_seen(const struct allocator_leaks *leaks, const char *unseen)
{
	if (leaks->nr || !*unseen)
		return 0;
	report_line("untold", "leaks of the driver may be missing: %s", unseen);
	return strstr(unseen, "allocations were not seen") ? -ENODATA : 0;
}

static int read_line(const char *path, char *text, size_t size)
{
	int ret = file_read(path, text, size);

	text[ret ? 0 : strcspn(text, "\n")] = '\0';
	return ret;
}

int allocator_misuse(char *text, size_t size)
{
	return read_line(JUDGE "misuse", text, size);
}

int allocator_stops(char *text, size_t size)
{
	return read_line(JUDGE "stops", text, size);
}

/*
 * kvfree_rcu() frees memory in batches. A batch may wait for seconds; the shrinker, which
 * drop_caches runs, frees all batches at once.
 */
int allocator_leaks(struct allocator_leaks *out)
{
	char unseen[160];
	int tries, ret;

	for (tries = 0; tries < TRIES; tries++) {
		ret = read_leaks(out, unseen, sizeof(unseen));
		if (ret)
			return ret;
		if (!out->nr)
			break;
		if (tries % 10 == 1)
			file_write("/proc/sys/vm/drop_caches", "2");
		usleep(PAUSE_US);
	}
	return check_seen(out, unseen);
}
