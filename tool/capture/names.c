// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"
#include "tool/util/grow.h"

enum {
	GUID_DIGITS = 16,
	NAME_SIZE = 64,		/* longest name of an RDMA device in the kernel */
};

struct name {
	char at[NAME_SIZE];
};

/** struct names - all names with a GUID so far; the index of a name is the number that replaces its GUID */
struct names {
	struct name *at;
	size_t count;
};

static bool has_guid(const char *name, size_t length)
{
	const char *guid;

	if (length <= GUID_DIGITS || length >= NAME_SIZE)
		return false;
	guid = name + length - GUID_DIGITS;
	return guid[-1] == 'x' && strspn(guid, "0123456789abcdef") >= GUID_DIGITS;
}

static size_t number_of(struct names *names, const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		if (!strncmp(names->at[i].at, name, length) && !names->at[i].at[length])
			return i;
	names->at = grow(names->at, names->count, sizeof(*names->at));
	memcpy(names->at[names->count].at, name, length);
	return names->count++;
}

/* Replaces the GUID in place: a number has fewer digits. */
static void hide_guid(struct names *names, char *path)
{
	static const char dir[] = "infiniband/";
	char *name = strstr(path, dir), number[24];
	size_t length, digits;

	if (!name)
		return;
	name += strlen(dir);
	length = strcspn(name, "/");
	if (!has_guid(name, length))
		return;
	digits = (size_t)sprintf(number, "%zu", number_of(names, name, length));
	memcpy(name + length - GUID_DIGITS, number, digits);
	memmove(name + length - GUID_DIGITS + digits, name + length, strlen(name + length) + 1);
}

void entries_hide_guids(struct entries *e)
{
	struct names names = { 0 };
	size_t i;

	for (i = 0; i < e->count; i++) {
		hide_guid(&names, e->at[i].path);
		if (e->at[i].type != ENTRY_LINK)
			continue;
		hide_guid(&names, e->at[i].data);
		e->at[i].size = strlen(e->at[i].data);
	}
	free(names.at);
}
