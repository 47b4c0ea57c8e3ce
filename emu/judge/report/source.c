// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source.h"

enum {
	NAME_MAX_LENGTH = SOURCE_NAME_MAX,
	LINE_MAX_LENGTH = 160,
	KNOWN_MAX = 256,
};

/* struct place - an address in a function */
struct place {
	char function[NAME_MAX_LENGTH];
	unsigned long offset;
	unsigned long size;
};

/* ---- the module's file ----------------------------------------------------------- */

struct elf {
	const unsigned char *at;
	size_t size;
};

static bool elf_open(struct elf *elf, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0)
		return false;
	at = fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr) ?
		     MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*elf = (struct elf) { at, (size_t)st.st_size };
	return !memcmp(at, ELFMAG, SELFMAG) && elf->at[EI_CLASS] == ELFCLASS64;
}

/* Returns NULL if the range is not inside the file. */
static const void *elf_range(const struct elf *elf, uint64_t at, uint64_t size)
{
	return at <= elf->size && size <= elf->size - at ? elf->at + at : NULL;
}

static const Elf64_Shdr *section(const struct elf *elf, unsigned int i)
{
	const Elf64_Ehdr *header = (const void *)elf->at;

	if (i >= header->e_shnum)
		return NULL;
	return elf_range(elf, header->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
}

/* Returns a text in the section of texts @table, or "". */
static const char *text_in(const struct elf *elf, unsigned int table, uint64_t at)
{
	const Elf64_Shdr *texts = section(elf, table);
	const char *all = texts ? elf_range(elf, texts->sh_offset, texts->sh_size) : NULL;

	return all && at < texts->sh_size && memchr(all + at, '\0', texts->sh_size - at) ? all + at : "";
}

static const Elf64_Sym *symbol_in(const struct elf *elf, const Elf64_Shdr *table, const struct place *place)
{
	const Elf64_Sym *all = elf_range(elf, table->sh_offset, table->sh_size), *symbol;

	for (symbol = all; symbol && symbol < all + table->sh_size / sizeof(*all); symbol++)
		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && place->offset <= symbol->st_size &&
		    !strcmp(text_in(elf, table->sh_link, symbol->st_name), place->function))
			return symbol;
	return NULL;
}

static const Elf64_Sym *find_symbol(const struct elf *elf, const struct place *place)
{
	const Elf64_Sym *symbol = NULL;
	const Elf64_Shdr *table;
	unsigned int i;

	for (i = 0; !symbol && (table = section(elf, i)); i++)
		if (table->sh_type == SHT_SYMTAB)
			symbol = symbol_in(elf, table, place);
	return symbol;
}

/* ---- addr2line ------------------------------------------------------------------- */

static void become(const char *file, const char *part, const char *address, int out)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execlp("addr2line", "addr2line", "-s", "-e", file, "-j", part, address, NULL);
	_exit(127);
}

/* Writes "FILE:LINE", or "" if it is not known. The name comes from the driver's file, so it may have any character. */
static void ask(const char *file, const char *part, unsigned long at, char *line)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+";
	char address[32];
	FILE *answer;
	int ends[2];
	pid_t pid;

	*line = '\0';
	snprintf(address, sizeof(address), "%#lx", at);
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		become(file, part, address, ends[1]);
	close(ends[1]);
	answer = fdopen(ends[0], "r");
	if (answer && !fgets(line, LINE_MAX_LENGTH, answer))
		*line = '\0';
	if (answer)
		fclose(answer);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	line[strcspn(line, " \n")] = '\0';
	if (line[strspn(line, plain)])
		*line = '\0';
}

static void look_up(const char *file, const struct place *place, char *line)
{
	const Elf64_Sym *symbol;
	const Elf64_Shdr *part;
	struct elf elf = { 0 };

	*line = '\0';
	if (elf_open(&elf, file)) {
		symbol = find_symbol(&elf, place);
		part = symbol ? section(&elf, symbol->st_shndx) : NULL;
		if (part)
			ask(file, text_in(&elf, ((const Elf64_Ehdr *)elf.at)->e_shstrndx, part->sh_name),
			    symbol->st_value + place->offset, line);
	}
	if (elf.at)
		munmap((void *)elf.at, elf.size);
}

/* The places of one report are often the same. */
static const char *line_of(const char *file, const struct place *place)
{
	static struct known {
		struct place place;
		char line[LINE_MAX_LENGTH];
	} known[KNOWN_MAX];
	static unsigned int n;
	struct known *k;

	for (k = known; k < known + n; k++)
		if (!strcmp(k->place.function, place->function) && k->place.offset == place->offset)
			return k->line;
	k = &known[n < KNOWN_MAX ? n++ : KNOWN_MAX - 1];
	k->place = *place;
	look_up(file, place, k->line);
	return k->line;
}

/* ---- places in a text -------------------------------------------------------------- */

static bool is_in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Parses the place with "+0x" at @plus. Returns the text after the place, or NULL. */
static const char *read_place(const char *text, const char *plus, const char *module, struct place *place)
{
	const char *name = plus;
	char in[NAME_MAX_LENGTH];
	int length = 0;

	while (name > text && is_in_name(name[-1]))
		name--;
	if (name == plus || sscanf(plus, "+0x%lx/0x%lx [%127[a-zA-Z0-9_]]%n", &place->offset, &place->size, in, &length) != 3 ||
	    !length || strcmp(in, module))
		return NULL;
	snprintf(place->function, sizeof(place->function), "%.*s", (int)(plus - name), name);
	return plus + length;
}

/* A return address is behind the call; only the line of a RIP has the address of the instruction itself. */
static void step_back(const char *text, struct place *place)
{
	if (place->offset && !strstr(text, "RIP:"))
		place->offset--;
}

/* Splits "DIR/FILE.ko K=V" into the file and the module's name in the kernel. */
static void split(const char *driver, char *file, size_t size, char *module)
{
	const char *end = strstr(driver, ".ko "), *slash;

	snprintf(file, size, "%.*s", end ? (int)(end - driver) + 3 : (int)strlen(driver), driver);
	slash = strrchr(file, '/');
	snprintf(module, NAME_MAX_LENGTH, "%.127s", slash ? slash + 1 : file);
	module[strcspn(module, ".")] = '\0';
	for (; *module; module++)
		if (*module == '-')
			*module = '_';
}

void source_module(const char *driver, char *module)
{
	char file[4096];

	split(driver, file, sizeof(file), module);
}

const char *source_text(const char *driver, const char *text, char *out)
{
	char file[4096], module[NAME_MAX_LENGTH];
	const char *at = text, *plus, *end, *line;
	struct place place;
	size_t length = 0;

	split(driver, file, sizeof(file), module);
	*out = '\0';
	while (length < SOURCE_MAX && (plus = strstr(at, "+0x"))) {
		end = read_place(text, plus, module, &place);
		if (end)
			step_back(text, &place);
		line = end ? line_of(file, &place) : "";
		end = end ? end : plus + 1;
		length += (size_t)snprintf(out + length, SOURCE_MAX - length, "%.*s%s%s%s", (int)(end - at), at,
					   *line ? " (" : "", line, *line ? ")" : "");
		at = end;
	}
	if (length < SOURCE_MAX)
		snprintf(out + length, SOURCE_MAX - length, "%s", at);
	return out;
}
