// SPDX-License-Identifier: MIT
/*
 * Page tables of other driver versions. A consumer that is built for table version 2.0 must check
 * the version before it uses a table.
 */
#include "p2p.h"

#define PARAMETER "/sys/module/emugpu/parameters/table_version"

static int set_version(const char *value)
{
	int node = open(PARAMETER, O_WRONLY | O_CLOEXEC);
	int err = write(node, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -errno;

	close(node);
	return err;
}

static unsigned int version_now(void)
{
	char line[32] = "";
	FILE *f = fopen(PARAMETER, "re");

	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	return strtoul(line, NULL, 0);
}

/* Pin with a table of version @number. A map without a version check is a breach, except for version 2.0. */
static void check_version(const char *value, unsigned int number)
{
	rules_watch(fd);
	EXPECT(set_version(value) == 0 && version_now() == number, "%s: %#x", value, version_now());
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && version(0) == number, "%s: %#x", value, version(0));
	EXPECT(put(0) == 0, "put");
	EXPECT_NO_BREACH(fd);
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "map; the consumer must check the version");
	EXPECT_BROKE(fd, EMUGPU_RULE_NO_VERSION_CHECK, number != 0x20000);
	EXPECT(unmap(0, 0) == 0 && put(0) == 0, "unmap, put");
	free_one();
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(table_2_0_is_the_default)
{
	EXPECT(version_now() == 0x20000, "%#x", version_now());
	check_version("0x20000", 0x20000);
}

CASE(table_1_1_needs_a_check)
{
	check_version("0x10001", 0x10001);
}

CASE(table_1_2_needs_a_check)
{
	check_version("0x10002", 0x10002);
}

CASE(table_of_a_later_driver_needs_a_check)
{
	check_version("0x30000", 0x30000);
}

CASE(persistent_pins_have_the_version_too)
{
	EXPECT(set_version("0x10002") == 0, "set");
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0 && version(0) == 0x10002, "%#x", version(0));
	EXPECT(put_persistent(0) == 0, "put");
	free_one();
}

CASE(change_applies_to_new_tables)
{
	rules_watch(fd);
	EXPECT(set_version("0x20000") == 0, "set");
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	EXPECT(set_version("0x10001") == 0, "set");
	EXPECT(version(0) == 0x20000, "%#x", version(0));
	EXPECT(map(0, 0) == 0 && unmap(0, 0) == 0 && put(0) == 0, "map, unmap, put");
	EXPECT_NO_BREACH(fd);
	free_one();
}

CASE(unknown_versions_are_refused)
{
	EXPECT(set_version("0x20000") == 0, "set");
	EXPECT(set_version("0x10003") == -EINVAL && set_version("0") == -EINVAL && set_version("x") == -EINVAL,
	       "a bad version was accepted");
	EXPECT(version_now() == 0x20000, "%#x", version_now());
}

VMTEST_MAIN
