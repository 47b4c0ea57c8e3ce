// SPDX-License-Identifier: MIT
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include "mutation.h"

static enum entry_type type_of(struct archive_entry *e)
{
	switch (archive_entry_filetype(e)) {
	case AE_IFDIR:
		return ENTRY_DIR;
	case AE_IFLNK:
		return ENTRY_LINK;
	default:
		return archive_entry_perm(e) ? ENTRY_FILE : ENTRY_UNSEEN;
	}
}

static bool add(struct archive *tar, struct archive_entry *e, struct entries *out)
{
	enum entry_type type = type_of(e);
	const char *link = archive_entry_symlink(e);
	size_t size = type == ENTRY_LINK ? strlen(link) : type == ENTRY_FILE ? (size_t)archive_entry_size(e) : 0;
	char *data = malloc(size + 1);

	if (!data)
		return false;
	if (type == ENTRY_LINK)
		memcpy(data, link, size);
	else if (archive_read_data(tar, data, size) != (la_ssize_t)size)
		return false;
	data[size] = '\0';
	entries_add_file(out, archive_entry_pathname(e), data, size);
	out->at[out->count - 1].type = type;
	return true;
}

bool entries_read(const char *file, struct entries *out)
{
	struct archive *tar = archive_read_new();
	struct archive_entry *e;
	bool ok;

	archive_read_support_filter_gzip(tar);
	archive_read_support_format_tar(tar);
	ok = archive_read_open_filename(tar, file, 65536) == ARCHIVE_OK;
	*out = (struct entries){ 0 };
	while (ok && archive_read_next_header(tar, &e) == ARCHIVE_OK)
		ok = add(tar, e, out);
	archive_read_free(tar);
	return ok && out->count;
}
