// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture.h"
#include "entries.h"
#include "names.h"
#include "tool/machine/facts.h"
#include "tool/tool.h"

static const char facts_path[] = "peerpin/facts";

static int add_live_facts(struct entries *e)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int ret;

	if (!f)
		return -errno;
	ret = facts_write(f, FACTS_WAIT_LONG_MS);
	if (fclose(f) && !ret)
		ret = -ENOMEM;
	if (ret)
		free(text);
	else
		entries_add_file(e, facts_path, text, size);
	return ret;
}

/* Copies the file of facts from a captured tree, if the tree has it. */
static int add_old_facts(struct entries *e, const struct tree *tree)
{
	char *text = malloc(FACTS_SIZE);
	ssize_t n;

	if (!text)
		return -ENOMEM;
	n = tree_read(tree, facts_path, text, FACTS_SIZE);
	if (n < 0)
		free(text);
	else
		entries_add_file(e, facts_path, text, (size_t)n);
	return 0;
}

static void tell(const struct entries *e, const char *file, bool live)
{
	printf("%s: %zu files, without serial numbers, host names and network addresses\n", file, e->count);
	if (e->unseen)
		printf("%zu of them could not be read%s\n", e->unseen,
		       live && geteuid() ? "; type: sudo peerpin doctor --capture FILE.tar" : "");
	printf("list its files: tar tvf %s; read its report: peerpin doctor --root %s\n", file, file);
}

int capture(const struct tree *tree, const char *file)
{
	struct entries entries;
	int ret;

	entries_find(tree, &entries);
	entries_hide_guids(&entries);
	ret = tree_is_live(tree) ? add_live_facts(&entries) : add_old_facts(&entries, tree);
	entries_sort(&entries);
	if (!ret)
		ret = entries_write(&entries, file);
	if (ret)
		fail("%s: %s", file, strerror(-ret));
	else
		tell(&entries, file, tree_is_live(tree));
	entries_free(&entries);
	return ret ? EXIT_FAILED : EXIT_OK;
}
