// SPDX-License-Identifier: MIT
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "modinfo.h"

/* struct bytes - a file, or a part of it */
struct bytes {
	const char *at;
	size_t count;
};

/* Returns an empty part if the range does not lie in @all. */
static struct bytes part(struct bytes all, size_t offset, size_t count)
{
	if (offset > all.count || count > all.count - offset)
		return (struct bytes){ NULL, 0 };
	return (struct bytes){ all.at + offset, count };
}

static Elf64_Shdr section(struct bytes file, const Elf64_Ehdr *header, size_t i)
{
	struct bytes at = part(file, header->e_shoff + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
	Elf64_Shdr found = { 0 };

	if (at.at)
		memcpy(&found, at.at, sizeof(found));
	return found;
}

static struct bytes contents(struct bytes file, const Elf64_Shdr *section)
{
	return part(file, section->sh_offset, section->sh_size);
}

static bool is_called(struct bytes names, size_t at, const char *name)
{
	struct bytes found = part(names, at, strlen(name) + 1);

	return found.at && !memcmp(found.at, name, found.count);
}

/* @strings holds NUL-terminated strings "tag=value". */
static const char *find_name(struct bytes strings)
{
	const char *at = strings.at, *end;

	if (!strings.count || strings.at[strings.count - 1])
		return NULL;
	end = strings.at + strings.count;
	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, "name=", strlen("name=")))
			return at + strlen("name=");
	return NULL;
}

static const char *find(struct bytes file)
{
	struct bytes first = part(file, 0, sizeof(Elf64_Ehdr)), names;
	Elf64_Shdr at;
	Elf64_Ehdr header;
	size_t i;

	if (!first.at)
		return NULL;
	memcpy(&header, first.at, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	at = section(file, &header, header.e_shstrndx);
	names = contents(file, &at);
	for (i = 0; i < header.e_shnum; i++) {
		at = section(file, &header, i);
		if (is_called(names, at.sh_name, ".modinfo"))
			return find_name(contents(file, &at));
	}
	return NULL;
}

static int copy_name(struct bytes file, char *out, size_t size)
{
	const char *name = find(file);

	return !name || snprintf(out, size, "%s", name) >= (int)size ? -ENOEXEC : 0;
}

int modinfo_name(const char *file, char *out, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), ret;
	struct bytes all = { NULL, 0 };
	struct stat stat;
	void *at;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &stat))
		all.count = (size_t)stat.st_size;
	at = mmap(NULL, all.count, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return -ENOEXEC;
	all.at = at;
	ret = copy_name(all, out, size);
	munmap(at, all.count);
	return ret;
}
