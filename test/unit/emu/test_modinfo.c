// SPDX-License-Identifier: MIT
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/vm/init/modinfo.h"
#include "test/unit/unit.h"

/* A minimal module: header, contents, and three section headers (an empty section, .modinfo, .shstrtab). */
struct module {
	Elf64_Ehdr header;
	char modinfo[48];
	char names[24];
	Elf64_Shdr sections[3];
};

static const struct module good = {
	.header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
		.e_shoff = offsetof(struct module, sections),
		.e_shnum = 3,
		.e_shstrndx = 2,
	},
	.modinfo = "license=GPL\0filename=none\0name=my_driver",
	.names = "\0.modinfo\0.shstrtab",
	.sections = {
		[1] = { .sh_name = 1, .sh_offset = offsetof(struct module, modinfo), .sh_size = 41 },
		[2] = { .sh_name = 10, .sh_offset = offsetof(struct module, names), .sh_size = 20 },
	},
};

static char name[10];	/* room for exactly this name */

static int name_of(const void *bytes, size_t count)
{
	char path[] = "/tmp/peerpin-test.XXXXXX";
	int fd = mkstemp(path), ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	close(fd);
	ret = modinfo_name(path, name, sizeof(name));
	unlink(path);
	return ret;
}

static void name_is_read_from_modinfo(void **state)
{
	(void)state;
	assert_int_equal(name_of(&good, sizeof(good)), 0);
	assert_string_equal(name, "my_driver");
}

static void half_a_file_is_no_module(void **state)
{
	size_t count;

	(void)state;
	for (count = 0; count < sizeof(good); count++)
		assert_int_equal(name_of(&good, count), -ENOEXEC);
}

static void offsets_outside_file_are_refused(void **state)
{
	struct module bad = good;

	(void)state;
	bad.sections[1].sh_size = UINT64_MAX;
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	bad.sections[1].sh_size = 40;	/* cut the final NUL */
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	bad = good;
	bad.sections[1].sh_name = UINT32_MAX;
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	bad = good;
	bad.header.e_shoff = UINT64_MAX - 8;
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	bad = good;
	bad.header.e_shstrndx = 9;
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
}

static void non_modules_are_refused(void **state)
{
	struct module bad = good;

	(void)state;
	assert_int_equal(name_of("#!/bin/sh\n", 10), -ENOEXEC);
	bad.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	bad = good;
	bad.modinfo[bad.sections[1].sh_size - 1] = 's';	/* make the name one letter longer than @name */
	bad.sections[1].sh_size++;
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	bad = good;
	memset(bad.modinfo, 'n', sizeof(bad.modinfo) - 8);
	assert_int_equal(name_of(&bad, sizeof(bad)), -ENOEXEC);
	assert_int_equal(modinfo_name("/nonexistent.ko", name, sizeof(name)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_is_read_from_modinfo),
		cmocka_unit_test(half_a_file_is_no_module),
		cmocka_unit_test(offsets_outside_file_are_refused),
		cmocka_unit_test(non_modules_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
