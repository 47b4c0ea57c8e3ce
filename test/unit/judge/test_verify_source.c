// SPDX-License-Identifier: MIT
/* Source lines in a report. The object file of this program's library stands for a driver. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/unit/unit.h"
#include "emu/judge/report/source.h"

#define OBJECT BUILD "/obj/judge/report/source.o"

static char directory[] = "/tmp/peerpin-test.XXXXXX";
static char module[PATH_MAX], driver[PATH_MAX + 16];
static char out[SOURCE_MAX];

static int setup(void **state)
{
	char from[PATH_MAX];

	(void)state;
	if (!mkdtemp(directory) || !realpath(OBJECT, from))
		return -1;
	snprintf(module, sizeof(module), "%s/source.ko", directory);
	snprintf(driver, sizeof(driver), "%s poll=1", module);
	return symlink(from, module);
}

static int teardown(void **state)
{
	(void)state;
	unlink(module);
	return rmdir(directory);
}

static void is_line(const char *text, const char *before, const char *behind)
{
	char *end;

	source_text(driver, text, out);
	if (strncmp(out, before, strlen(before)))
		fail_msg("'%s' does not begin with '%s'", out, before);
	assert_true(strtoul(out + strlen(before), &end, 10) > 100);
	assert_string_equal(end, behind);
}

static void place_gets_its_line(void **state)
{
	(void)state;
	is_line("RIP: 0010:source_text+0x8/0x400 [source] x", "RIP: 0010:source_text+0x8/0x400 [source] (source.c:", ") x");
	is_line("source, source_text+0x0/0x1 [source]: a", "source, source_text+0x0/0x1 [source] (source.c:", "): a");
}

static void other_places_stay(void **state)
{
	static const char *const texts[] = {
		"", "kfree+0x1/0x2", "source_text+0x1/0x400 [other]", "no_such+0x1/0x400 [source]", "+0x1/0x2 [source]",
		"source_text+0xfffffff/0x400 [source]", "source_text+0x", "source_text [source]",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_string_equal(source_text(module, texts[i], out), texts[i]);
	assert_string_equal(source_text("/no/source.ko", "source_text+0x8/0x400 [source]", out),
			    "source_text+0x8/0x400 [source]");
	assert_string_equal(source_text("Makefile", "main+0x8/0x400 [Makefile]", out), "main+0x8/0x400 [Makefile]");
}

static void long_text_is_cut(void **state)
{
	char text[2 * SOURCE_MAX];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "kfree+0x1", 9);
	assert_int_equal(strlen(source_text(module, text, out)), SOURCE_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_gets_its_line),
		cmocka_unit_test(other_places_stay),
		cmocka_unit_test(long_text_is_cut),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
