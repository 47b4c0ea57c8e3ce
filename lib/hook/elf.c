// SPDX-License-Identifier: MIT
#include "elf.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct table - the symbols of an object, by hash
 * @count: number of elements of @buckets; each is the number of a chain's first symbol, or 0
 * @first: number of the first symbol that is in a chain
 * @chains: hash of each symbol from @first on; if bit 0 is set, the symbol is its chain's last
 */
struct table {
	const ElfW(Sym) *symbols;
	const char *names;
	uint32_t count;
	uint32_t first;
	const uint32_t *buckets;
	const uint32_t *chains;
};

struct link_map *pp_elf_object(const void *addr)
{
	struct link_map *object = NULL;
	Dl_info info;

	return dladdr1(addr, &info, (void **)&object, RTLD_DL_LINKMAP) ? object : NULL;
}

static struct link_map *self(void)
{
	return pp_elf_object((const void *)pp_elf_object);
}

static bool is_file(const struct link_map *object, const char *name)
{
	const char *last = object->l_name, *at;

	for (at = last; *at; at++)
		if (*at == '/')
			last = at + 1;
	return pp_elf_same(last, name);
}

/*
 * For objects that the program was started with: they come first in the list and are
 * never unloaded. Objects that were loaded later may be unloaded at any time.
 */
struct link_map *pp_elf_file(const char *name)
{
	struct link_map *object = pp_elf_object((const void *)dladdr1);

	while (object && object->l_prev)
		object = object->l_prev;
	while (object && !is_file(object, name))
		object = object->l_next;
	return object;
}

bool pp_elf_precedes(const struct link_map *object)
{
	const struct link_map *before = self();

	while (before && before != object)
		before = before->l_prev;
	return before && before != self();
}

static const void *entry(const struct link_map *object, ElfW(Sxword) tag)
{
	const ElfW(Dyn) *dyn;

	for (dyn = object->l_ld; dyn->d_tag != DT_NULL; dyn++)
		if (dyn->d_tag == tag)
			return (const void *)dyn->d_un.d_ptr;
	return NULL;
}

static bool table_of(const struct link_map *object, struct table *t)
{
	const uint32_t *header = entry(object, DT_GNU_HASH);

	if (!header || !header[0])
		return false;
	t->symbols = entry(object, DT_SYMTAB);
	t->names = entry(object, DT_STRTAB);
	t->count = header[0];
	t->first = header[1];
	/* skip the Bloom filter of header[2] words */
	t->buckets = (const uint32_t *)((const ElfW(Addr) *)(header + 4) + header[2]);
	t->chains = t->buckets + t->count;
	return true;
}

static uint32_t hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool matches(const struct table *t, uint32_t i, uint32_t h, const char *name)
{
	return (t->chains[i - t->first] | 1) == (h | 1) && t->symbols[i].st_shndx != SHN_UNDEF &&
	       pp_elf_same(t->names + t->symbols[i].st_name, name);
}

static const ElfW(Sym) *find(const struct table *t, const char *name)
{
	const uint32_t h = hash(name);
	uint32_t i = t->buckets[h % t->count];

	if (!i)
		return NULL;
	do {
		if (matches(t, i, h, name))
			return &t->symbols[i];
	} while (!(t->chains[i++ - t->first] & 1));
	return NULL;
}

void *pp_elf_definition(const struct link_map *object, const char *symbol)
{
	const ElfW(Sym) *found;
	struct table t;

	if (!table_of(object, &t))
		return NULL;
	found = find(&t, symbol);
	return found ? (void *)(object->l_addr + found->st_value) : NULL;
}
