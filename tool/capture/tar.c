// SPDX-License-Identifier: MIT
/*
 * Writes a POSIX tar. All entries belong to root and have the date 0 (1970), so that the same files give the same
 * bytes. A name that is too long for its field goes into an extra header before the entry.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "entries.h"

enum {
	BLOCK = 512,
};

/** struct header - the header block of the standard. Numbers are octal. A string that fills its field has no final 0 */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char sum[8];
	char type;
	char link[100];
	char magic[8];
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char pad[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static bool put(gzFile out, const void *data, size_t size)
{
	return !size || gzwrite(out, data, (unsigned int)size) == (int)size;
}

static bool put_data(gzFile out, const void *data, size_t size)
{
	static const char zeros[BLOCK];

	return put(out, data, size) && put(out, zeros, -size % BLOCK);
}

static void sum_up(struct header *h)
{
	const unsigned char *at = (const unsigned char *)h;
	unsigned int sum = 0;
	size_t i;

	memset(h->sum, ' ', sizeof(h->sum));
	for (i = 0; i < sizeof(*h); i++)
		sum += at[i];
	snprintf(h->sum, sizeof(h->sum), "%06o", sum);
}

static bool put_header(gzFile out, char type, const char *name, const char *link, unsigned int mode, size_t size)
{
	struct header h = { .type = type, .magic = "ustar\0" "00" };

	memcpy(h.name, name, strnlen(name, sizeof(h.name)));
	memcpy(h.link, link, strnlen(link, sizeof(h.link)));
	snprintf(h.mode, sizeof(h.mode), "%07o", mode);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011zo", size);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0);
	sum_up(&h);
	return put(out, &h, sizeof(h));
}

/* Writes "LENGTH KEY=VALUE\n". LENGTH counts the whole record, including the digits of LENGTH. */
static size_t print_record(char *to, size_t room, const char *key, const char *value)
{
	size_t bare = strlen(key) + strlen(value) + 3, length = bare + 1;

	while (length < bare + (size_t)snprintf(NULL, 0, "%zu", length))
		length++;
	return (size_t)snprintf(to, room, "%zu %s=%s\n", length, key, value);
}

static bool put_long_names(gzFile out, const char *name, const char *link)
{
	char records[4096];
	size_t size = 0;

	if (strlen(name) > sizeof(((struct header *)0)->name))
		size += print_record(records, sizeof(records), "path", name);
	if (strlen(link) > sizeof(((struct header *)0)->link))
		size += print_record(records + size, sizeof(records) - size, "linkpath", link);
	return !size || (put_header(out, 'x', "names", "", 0644, size) && put_data(out, records, size));
}

static bool put_entry(gzFile out, const struct entry *e)
{
	static const struct {
		char type;
		unsigned int mode;
	} kinds[] = {
		[ENTRY_DIR] = { '5', 0755 },
		[ENTRY_FILE] = { '0', 0644 },
		[ENTRY_LINK] = { '2', 0777 },
		[ENTRY_UNSEEN] = { '0', 0 },
	};
	const char *link = e->type == ENTRY_LINK ? e->data : "";
	size_t size = e->type == ENTRY_FILE ? e->size : 0;

	return put_long_names(out, e->path, link) &&
	       put_header(out, kinds[e->type].type, e->path, link, kinds[e->type].mode, size) &&
	       put_data(out, e->data, size);
}

static bool put_end(gzFile out)
{
	static const char zeros[2 * BLOCK];

	return put(out, zeros, sizeof(zeros));
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length >= end && !strcmp(name + length - end, suffix);
}

int entries_write(const struct entries *e, const char *file)
{
	gzFile out;
	size_t i;
	bool ok;

	errno = 0;
	out = gzopen(file, has_suffix(file, "gz") ? "wbe" : "wbeT");
	if (!out)
		return errno ? -errno : -ENOMEM;
	ok = true;
	for (i = 0; ok && i < e->count; i++)
		ok = put_entry(out, &e->at[i]);
	ok = ok && put_end(out);
	ok = gzclose(out) == Z_OK && ok;
	return ok ? 0 : errno ? -errno : -EIO;
}
