// SPDX-License-Identifier: MIT
#include <string.h>
#include "layout.h"

enum {
	FIXED = 3,	/* lines of the title, the names of columns, the keys */
};

static int at_most(size_t want, int limit)
{
	if (limit < 0)
		return 0;
	return want < (size_t)limit ? (int)want : limit;
}

struct top_layout top_layout(const struct top_sample *s, int lines)
{
	int left = lines - FIXED;
	struct top_layout l = {
		.gpus = at_most(s->nr_gpus, left / 3),
		.peers = at_most(s->nr_peers ? s->nr_peers + 1 : 0, left / 4),
		.notes = at_most(s->nr_notes, left / 4),
	};

	if (l.peers == 1)
		l.peers = 0;	/* there is room only for the column names */
	l.processes = left - l.gpus - l.peers - l.notes;
	if (l.processes < 0)
		l.processes = 0;
	return l;
}

size_t top_scroll(size_t scroll, size_t count, int room)
{
	size_t last = count > (size_t)room ? count - (size_t)room : 0;

	return scroll < last ? scroll : last;
}

static int part_of(uint64_t part, uint64_t total, int width)
{
	int n = total ? (int)((double)part * width / (double)total + 0.5) : 0;

	return n < width ? n : width;
}

void top_gauge(const struct pp_bar1 *gpu, uint64_t reserve, char *out, int width)
{
	int used = part_of(gpu->used, gpu->total, width);
	int kept = part_of(reserve, gpu->total, width);

	memset(out, '.', width);
	memset(out + width - kept, ':', kept);
	memset(out, '|', used);
	out[width] = '\0';
}
