// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "tool/owners/owners.h"
#include "test/unit/unit.h"

/* Error of opendir() below /proc; 0: opendir() works. */
static int refusal;

DIR *opendir(const char *name)
{
	int fd = -1;

	if (refusal && strcmp(name, "/proc"))
		errno = refusal;
	else
		fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopendir(fd);
}

static bool parse(const char *text, struct owner *out)
{
	FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	bool ok;

	assert_non_null(f);
	ok = owner_parse(f, OWNERS_REGIONS, out);
	fclose(f);
	return ok;
}

static void fdinfo_of_peerpin_is_parsed(void **state)
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

static void other_fdinfo_is_rejected(void **state)
{
	struct owner o;

	(void)state;
	assert_false(parse("pos:\t0\nflags:\t02\neventfd-count: 0\n", &o));
}

static void unknown_fdinfo_lines_are_skipped(void **state)
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

/* ---- the core's lists ------------------------------------------------------------ */

static const char accounts[] =
	"pid bytes regions pins revoked\n"
	"900 0 0 7 2\n"
	"812 8392704 3 12 1\n"
	"all 8392704 - - -\n";

static const char regions[] =
	"pid provider flags state addr length since_ms extents devices id\n"
	"812 nv - live 0x200000000 8388608 1234 128 0000:00:05.0,0000:00:06.0 4\n"
	"812 host - revoked 0x7f0012345000 4096 5 0 - -\n"
	"812 host - live 0x7f0012346000 4096 5 0 x\033y 0 column of a newer kernel\n"
	"812 too few columns\n"
	"77 host - live 0x1000 4096 5 0 - 1\n";

static void by_lists(const char *list, struct owners *out)
{
	FILE *a = fmemopen((char *)(uintptr_t)accounts, strlen(accounts), "r");
	FILE *r = fmemopen((char *)(uintptr_t)list, strlen(list), "r");

	owners_parse_accounts(a, out);
	owners_parse_regions(r, out);
	fclose(a);
	fclose(r);
}

static void by_core(struct owners *out)
{
	by_lists(regions, out);
}

static void older_module_columns_are_rejected(void **state)
{
	struct owners all;

	(void)state;
	by_lists("pid comm provider flags\n812 a nv - live 0x200000000 8388608 1234 128 512 1024 - 0 0 4\n", &all);
	assert_int_equal(all.at[0].nr_regions, 0);
	owners_free(&all);
}

static void core_lists_give_all_owners(void **state)
{
	struct owners all;

	(void)state;
	by_core(&all);
	assert_true(all.told_by_core);
	assert_int_equal(all.count, 2);
	assert_int_equal(all.at[0].owner, 812);
	assert_int_equal(all.at[0].bytes, 8392704);
	assert_int_equal(all.at[0].count, 3);
	assert_int_equal(all.at[0].pins, 12);
	assert_int_equal(all.at[0].revoked, 1);
	assert_int_equal(all.at[0].nr_regions, 3);
	assert_int_equal(all.at[1].owner, 900);
	assert_int_equal(all.at[1].nr_regions, 0);
	owners_free(&all);
}

static void core_region_line_is_parsed(void **state)
{
	const struct owned_region *r;
	struct owners all;

	(void)state;
	by_core(&all);
	r = all.at[0].regions;
	assert_int_equal(r[0].id, 4);
	assert_string_equal(r[0].provider, "nv");
	assert_int_equal(r[0].addr, 0x200000000);
	assert_int_equal(r[0].length, 8388608);
	assert_string_equal(r[0].state, "live");
	assert_int_equal(r[0].age_ms, 1234);
	assert_int_equal(r[0].extents, 128);
	assert_string_equal(r[0].devices, "0000:00:05.0,0000:00:06.0");
	assert_int_equal(r[1].id, -1);
	assert_string_equal(r[1].state, "revoked");
	assert_string_equal(r[1].devices, "-");
	assert_int_equal(r[2].id, 0);
	assert_string_equal(r[2].devices, "x?y");
	owners_free(&all);
}

static void sums_are_read_without_regions(void **state)
{
	static const char text[] =
		"peerpin-owner:\t812\npeerpin-region:\t0 nv 0x200000000 8388608 live 1234 128 - -\n"
		"peerpin-regions:\t1\npeerpin-bytes:\t8388608\npeerpin-pins:\t5\npeerpin-revoked:\t4\n";
	FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	struct owner o;

	(void)state;
	assert_true(owner_parse(f, OWNERS_SUMS, &o));
	fclose(f);
	assert_int_equal(o.nr_regions, 0);
	assert_int_equal(o.count, 1);
	assert_int_equal(o.bytes, 8388608);
	assert_int_equal(o.pins, 5);
	assert_int_equal(o.revoked, 4);
}

static void search_covers_all_processes(void **state)
{
	struct owners all;

	(void)state;
	assert_int_equal(owners_find(OWNERS_REGIONS, &all), 0);
	owners_free(&all);
}

static unsigned int refused_with(int error)
{
	unsigned int unreadable;
	struct fds fds;

	refusal = error;
	assert_int_equal(fds_find(&fds), 0);
	refusal = 0;
	unreadable = fds.unreadable;
	fds_free(&fds);
	return unreadable;
}

/* With EPERM, /proc is mounted with hidepid=1. With ENOENT the process has ended, so no process is hidden. */
static void hidden_processes_are_counted(void **state)
{
	(void)state;
	assert_true(refused_with(EACCES));
	assert_true(refused_with(EPERM));
	assert_int_equal(refused_with(ENOENT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fdinfo_of_peerpin_is_parsed),
		cmocka_unit_test(other_fdinfo_is_rejected),
		cmocka_unit_test(unknown_fdinfo_lines_are_skipped),
		cmocka_unit_test(older_module_columns_are_rejected),
		cmocka_unit_test(core_lists_give_all_owners),
		cmocka_unit_test(core_region_line_is_parsed),
		cmocka_unit_test(sums_are_read_without_regions),
		cmocka_unit_test(search_covers_all_processes),
		cmocka_unit_test(hidden_processes_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
