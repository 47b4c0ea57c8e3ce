// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mutation.h"

enum {
	MAX_CROWD = 500,	/* a larger crowd would take too long */
	MAX_TEXT = 1 << 16,
	PATH_ROOM = 1000,
};

/** struct bytes - bytes of the fuzzer's input that are not used yet */
struct bytes {
	const uint8_t *at;
	size_t size;
};

static unsigned int take_u8(struct bytes *b)
{
	if (!b->size)
		return 0;
	b->size--;
	return *b->at++;
}

static unsigned int take_u16(struct bytes *b)
{
	unsigned int low = take_u8(b);

	return low | take_u8(b) << 8;
}

static struct bytes take_part(struct bytes *b)
{
	size_t size = take_u8(b);
	struct bytes part = { .at = b->at, .size = size < b->size ? size : b->size };

	b->at += part.size;
	b->size -= part.size;
	return part;
}

/* Copy @bytes and add a NUL. */
static char *copy_of(const void *bytes, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

static void set_data(struct entry *e, enum entry_type type, char *data, size_t size)
{
	free(e->data);
	e->type = type;
	e->data = data;
	e->size = size;
}

/* ---- mutations ------------------------------------------------------------------ */

static void replace(struct entries *all, struct entry *e, struct bytes part)
{
	(void)all;
	set_data(e, ENTRY_FILE, copy_of(part.at, part.size), part.size);
}

static void patch(struct entries *all, struct entry *e, struct bytes part)
{
	size_t at = take_u16(&part);

	(void)all;
	if (e->type == ENTRY_FILE && at < e->size)
		memcpy(e->data + at, part.at, part.size < e->size - at ? part.size : e->size - at);
}

static void cut(struct entries *all, struct entry *e, struct bytes part)
{
	size_t size = take_u16(&part);

	(void)all;
	if (e->type == ENTRY_FILE && size < e->size)
		e->size = size;
}

/* Keep the entry in the array, with an unused path: the numbers of other entries must not change. */
static void drop(struct entries *all, struct entry *e, struct bytes part)
{
	char path[32];

	(void)part;
	snprintf(path, sizeof(path), "removed/%zu", (size_t)(e - all->at));
	free(e->path);
	e->path = copy_of(path, strlen(path));
	set_data(e, ENTRY_DIR, NULL, 0);
}

static void make_link(struct entries *all, struct entry *e, struct bytes part)
{
	char *target = copy_of(part.at, part.size);

	(void)all;
	set_data(e, ENTRY_LINK, target, strlen(target));
}

static void make_dir(struct entries *all, struct entry *e, struct bytes part)
{
	(void)all;
	(void)part;
	set_data(e, ENTRY_DIR, NULL, 0);
}

static void hide(struct entries *all, struct entry *e, struct bytes part)
{
	(void)all;
	(void)part;
	set_data(e, ENTRY_UNSEEN, NULL, 0);
}

static void add_copy(struct entries *all, const struct entry *e, const char *path)
{
	struct entry copy = { .type = e->type, .size = e->size };

	if (e->data)
		copy.data = copy_of(e->data, e->size);
	entries_add_file(all, path, copy.data, copy.size);
	all->at[all->count - 1].type = copy.type;
}

static void copy(struct entries *all, struct entry *e, struct bytes part)
{
	char path[PATH_ROOM], *end = copy_of(part.at, part.size);
	size_t length = strlen(e->path), less = strlen(end);

	snprintf(path, sizeof(path), "%.*s%s", (int)(length > less ? length - less : 0), e->path, end);
	free(end);
	add_copy(all, e, path);
}

static void crowd(struct entries *all, struct entry *e, struct bytes part)
{
	unsigned int i, more = take_u16(&part) % MAX_CROWD;
	const char *slash = strrchr(e->path, '/'), *target = e->type == ENTRY_LINK ? e->data : "x";
	char path[PATH_ROOM], *before = copy_of(e->path, slash ? (size_t)(slash + 1 - e->path) : 0);

	for (i = 0; i < more; i++) {
		snprintf(path, sizeof(path), "%s0001:%02x:%02x.%x", before, i >> 8, i >> 3 & 0x1f, i & 7);
		entries_add_file(all, path, copy_of(target, strlen(target)), strlen(target));
		all->at[all->count - 1].type = ENTRY_LINK;
	}
	free(before);
}

static void repeat(struct entries *all, struct entry *e, struct bytes part)
{
	size_t times = take_u8(&part), i, size = e->size * times;
	char *text;

	(void)all;
	if (e->type != ENTRY_FILE || size > MAX_TEXT)
		return;
	text = copy_of("", 0);
	text = realloc(text, size + 1);
	if (!text)
		abort();
	for (i = 0; i < times; i++)
		memcpy(text + i * e->size, e->data, e->size);
	text[size] = '\0';
	set_data(e, ENTRY_FILE, text, size);
}

static void (*const kinds[])(struct entries *all, struct entry *e, struct bytes part) = {
	[MUTATION_REPLACE] = replace,
	[MUTATION_PATCH] = patch,
	[MUTATION_CUT] = cut,
	[MUTATION_REMOVE] = drop,
	[MUTATION_LINK] = make_link,
	[MUTATION_DIR] = make_dir,
	[MUTATION_HIDE] = hide,
	[MUTATION_COPY] = copy,
	[MUTATION_CROWD] = crowd,
	[MUTATION_REPEAT] = repeat,
};

static void copy_all(const struct entries *from, struct entries *to)
{
	size_t i;

	*to = (struct entries){ 0 };
	for (i = 0; i < from->count; i++)
		add_copy(to, &from->at[i], from->at[i].path);
}

void mutate(const struct entries *machines, size_t count, const uint8_t *bytes, size_t size, struct entries *out)
{
	struct bytes rest = { .at = bytes, .size = size };

	copy_all(&machines[(take_u8(&rest) & ((1 << FORM_SHIFT) - 1)) % count], out);
	while (rest.size) {
		unsigned int kind = take_u8(&rest) % NR_MUTATIONS, number = take_u16(&rest);

		kinds[kind](out, &out->at[number % out->count], take_part(&rest));
	}
	entries_sort(out);
}
