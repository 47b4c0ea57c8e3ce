// SPDX-License-Identifier: MIT
/* plot RESULTS.tsv DIRECTORY: draw an SVG for each figure in the results of bench/run */
#include <errno.h>
#include <string.h>
#include "draw.h"

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "bench/plot: %s: %s\n", what, why);
	return 1;
}

static int draw_file(const struct plot *p, const char *directory)
{
	char path[4096];
	FILE *f;

	if (!p->count)
		return fail(p->name, "a figure without points");
	snprintf(path, sizeof(path), "%s/%s.svg", directory, p->name);
	f = fopen(path, "w");
	if (!f)
		return fail(path, strerror(errno));
	draw(p, f);
	if (ferror(f) | fclose(f))
		return fail(path, "cannot be written");
	printf("%s\n", path);
	return 0;
}

int main(int argc, char **argv)
{
	static struct results results;
	unsigned int line, i;
	char where[32];
	int ret = 0;
	FILE *in;

	if (argc != 3)
		return fail("usage", "plot RESULTS.tsv DIRECTORY"), 2;
	in = fopen(argv[1], "r");
	if (!in)
		return fail(argv[1], strerror(errno));
	line = results_read(&results, in);
	fclose(in);
	snprintf(where, sizeof(where), "line %u makes no sense", line);
	if (line)
		return fail(argv[1], where);
	for (i = 0; i < results.count; i++)
		ret |= draw_file(&results.plots[i], argv[2]);
	return ret;
}
