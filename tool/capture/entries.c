// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "entries.h"
#include "list.h"
#include "tool/util/grow.h"
#include "tool/tool.h"

enum {
	MAX_FILE = 1 << 20,
	MAX_LINKS = 40,		/* links in one path, as in the kernel */
	PATH_SIZE = 1024,
};

/* ---- the array ------------------------------------------------------------------ */

static void *not_null(void *memory)
{
	if (!memory)
		no_memory();
	return memory;
}

static struct entry *add(struct entries *e, enum entry_type type, const char *path)
{
	e->at = grow(e->at, e->count, sizeof(*e->at));
	e->at[e->count] = (struct entry){ .type = type, .path = not_null(strdup(path)) };
	return &e->at[e->count++];
}

void entries_add_file(struct entries *e, const char *path, char *data, size_t size)
{
	struct entry *entry = add(e, ENTRY_FILE, path);

	entry->data = data;
	entry->size = size;
}

static void free_entry(struct entry *entry)
{
	free(entry->path);
	free(entry->data);
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* Also removes duplicates, because several rules and links may lead to one file. */
void entries_sort(struct entries *e)
{
	size_t i, kept = 0;

	if (e->count)
		qsort(e->at, e->count, sizeof(*e->at), compare);
	e->unseen = 0;
	for (i = 0; i < e->count; i++) {
		if (kept && !strcmp(e->at[kept - 1].path, e->at[i].path)) {
			free_entry(&e->at[i]);
			continue;
		}
		e->at[kept++] = e->at[i];
		e->unseen += e->at[i].type == ENTRY_UNSEEN;
	}
	e->count = kept;
}

void entries_free(struct entries *e)
{
	while (e->count)
		free_entry(&e->at[--e->count]);
	free(e->at);
	e->at = NULL;
}

/* ---- walking -------------------------------------------------------------------- */

/** struct search - @at: the current path, without links; @left: how many more links the walk may follow */
struct search {
	const struct tree *tree;
	struct entries *found;
	const struct capture_rule *rule;
	char at[PATH_SIZE];
	int left;
};

/* Appends a component to @path; "" is the root of the tree. False: @path has no room. */
static bool append(char *path, const char *name)
{
	size_t length = strlen(path);

	return (size_t)snprintf(path + length, PATH_SIZE - length, "%s%s", length ? "/" : "", name) <
	       PATH_SIZE - length;
}

static void cut(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash ? slash : path) = '\0';
}

static bool walk(struct search *s, const char *way);

/* Is @s->at a link to record? Not below /proc, because the target of /proc/self is a different pid in each run. */
static bool is_link(const struct search *s, char *target)
{
	return strncmp(s->at, "proc/", 5) && !tree_target(s->tree, s->at, target, PATH_SIZE);
}

static bool step(struct search *s, const char *name)
{
	char target[PATH_SIZE];
	struct entry *entry;

	if (!*name || !strcmp(name, "."))
		return true;
	if (!strcmp(name, "..")) {
		cut(s->at);
		return true;
	}
	if (!append(s->at, name))
		return false;
	if (!is_link(s, target))
		return true;
	entry = add(s->found, ENTRY_LINK, s->at);
	entry->data = not_null(strdup(target));
	entry->size = strlen(target);
	cut(s->at);
	return s->left-- > 0 && walk(s, target);
}

/* Walks along the path @way from @s->at, and records each link. On success @s->at is the end, a path without links. */
static bool walk(struct search *s, const char *way)
{
	char copy[PATH_SIZE], *rest = copy, *name;
	bool ok = strlen(way) < sizeof(copy);

	if (ok)
		strcpy(copy, way);
	if (*way == '/')
		*s->at = '\0';
	while (ok && (name = strsep(&rest, "/")))
		ok = step(s, name);
	return ok;
}

/* ---- collecting ----------------------------------------------------------------- */

static void add_file(struct search *s, char *text, size_t length)
{
	char *data;

	if (s->rule->scrub)
		length = s->rule->scrub(text, length);
	data = not_null(malloc(length + 1));
	memcpy(data, text, length);
	data[length] = '\0';
	entries_add_file(s->found, s->at, data, length);
}

static void take(struct search *s)
{
	static char text[MAX_FILE];
	ssize_t n = tree_read(s->tree, s->at, text, sizeof(text));

	if (n >= 0)
		add_file(s, text, (size_t)n);
	else if (n == -EACCES || n == -EPERM)
		add(s->found, ENTRY_UNSEEN, s->at);
	else if (n == -EINVAL)
		add(s->found, ENTRY_DIR, s->at);
}

/** struct fit - the work for each name that matches @pattern: go to that name, then call @then(@s, @rest) */
struct fit {
	struct search *s;
	const char *pattern;
	void (*then)(struct search *s, const char *rest);
	const char *rest;
};

static int try_name(void *arg, const char *name)
{
	const struct fit *f = arg;
	struct search *s = f->s;
	char before[PATH_SIZE];

	if (fnmatch(f->pattern, name, 0))
		return 0;
	strcpy(before, s->at);
	s->left = MAX_LINKS;
	if (walk(s, name))
		f->then(s, f->rest);
	strcpy(s->at, before);
	return 0;
}

static void fit_names(struct fit *f)
{
	if (strpbrk(f->pattern, "*?["))
		tree_list(f->s->tree, *f->s->at ? f->s->at : ".", try_name, f);
	else
		try_name(f, f->pattern);
}

static void take_it(struct search *s, const char *rest)
{
	(void)rest;
	take(s);
}

static void take_names(struct search *s)
{
	char names[256], *rest = names, *name;

	snprintf(names, sizeof(names), "%s", s->rule->names);
	while ((name = strsep(&rest, " ")))
		fit_names(&(struct fit){ .s = s, .pattern = name, .then = take_it });
}

static void enter(struct search *s, const char *dirs)
{
	size_t length = strcspn(dirs, "/");
	char pattern[64];

	if (!*dirs) {
		take_names(s);
		return;
	}
	snprintf(pattern, sizeof(pattern), "%.*s", (int)length, dirs);
	fit_names(&(struct fit){ .s = s, .pattern = pattern, .then = enter,
				 .rest = dirs + length + (dirs[length] == '/') });
}

void entries_find(const struct tree *tree, struct entries *out)
{
	size_t i;

	*out = (struct entries){ 0 };
	for (i = 0; i < capture_nr_rules; i++)
		enter(&(struct search){ .tree = tree, .found = out, .rule = &capture_rules[i] },
		      capture_rules[i].dirs);
	entries_sort(out);
}
