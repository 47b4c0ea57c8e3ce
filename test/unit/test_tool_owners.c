// SPDX-License-Identifier: MIT
#include <string.h>
#include "owners.h"
#include "unit.h"

static bool parse(const char *text, struct owner *out)
{
	FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	bool ok;

	assert_non_null(f);
	ok = owner_parse(f, out);
	fclose(f);
	return ok;
}

static void a_file_of_peerpin(void **state)
{
	static const char text[] =
		"pos:\t0\nflags:\t02100002\nmnt_id:\t25\nino:\t441\n"
		"peerpin-owner:\t812\n"
		"peerpin-region:\t0 nv 0x200000000 8388608 live 1234 128 0000:00:05.0,0000:00:06.0\n"
		"peerpin-region:\t3 host 0x7f0012345000 4096 revoked 5 0 -\n"
		"peerpin-regions:\t2\n"
		"peerpin-bytes:\t8388608\n";
	struct owner o;

	(void)state;
	assert_true(parse(text, &o));
	assert_int_equal(o.owner, 812);
	assert_int_equal(o.bytes, 8388608);
	assert_int_equal(o.nr_regions, 2);
	assert_int_equal(o.regions[0].id, 0);
	assert_string_equal(o.regions[0].provider, "nv");
	assert_int_equal(o.regions[0].addr, 0x200000000);
	assert_int_equal(o.regions[0].length, 8388608);
	assert_string_equal(o.regions[0].state, "live");
	assert_int_equal(o.regions[0].age_ms, 1234);
	assert_int_equal(o.regions[0].extents, 128);
	assert_string_equal(o.regions[0].devices, "0000:00:05.0,0000:00:06.0");
	assert_int_equal(o.regions[1].id, 3);
	assert_string_equal(o.regions[1].provider, "host");
	assert_string_equal(o.regions[1].state, "revoked");
	assert_string_equal(o.regions[1].devices, "-");
	owner_free(&o);
}

static void another_file(void **state)
{
	struct owner o;

	(void)state;
	assert_false(parse("pos:\t0\nflags:\t02\neventfd-count: 0\n", &o));
}

static void lines_of_a_newer_kernel(void **state)
{
	static const char text[] =
		"peerpin-owner:\t1\npeerpin-region:\tsomething else\n"
		"peerpin-colour:\tred\nno colon here\n";
	struct owner o;

	(void)state;
	assert_true(parse(text, &o));
	assert_int_equal(o.nr_regions, 0);
	owner_free(&o);
}

static void looks_at_all_processes(void **state)
{
	struct owners all;

	(void)state;
	assert_int_equal(owners_find(&all), 0);
	owners_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_peerpin),
		cmocka_unit_test(another_file),
		cmocka_unit_test(lines_of_a_newer_kernel),
		cmocka_unit_test(looks_at_all_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
