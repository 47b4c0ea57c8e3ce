// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include "tool/machine/tree.h"
#include "tree_maker.h"

/** struct made - a directory and the tree opened on the directory */
struct made {
	char *root;
	struct tree *tree;
};

static int setup(void **state)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->root = make_tree();
	assert_int_equal(tree_open(m->root, &m->tree), 0);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct made *m = *state;

	tree_close(m->tree);
	remove_tree(m->root);
	free(m);
	return 0;
}

static void reads_a_file(void **state)
{
	const struct made *m = *state;
	char buf[8];

	make_file(m->root, "proc/version", "abcdefghij");
	assert_int_equal(tree_read(m->tree, "proc/version", buf, sizeof(buf)), 7);
	assert_string_equal(buf, "abcdefg");
	make_file(m->root, "empty", "%s", "");
	assert_int_equal(tree_read(m->tree, "empty", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
}

static void missing_file_is_enoent(void **state)
{
	const struct made *m = *state;
	uint64_t n;
	char buf[8];

	assert_int_equal(tree_read(m->tree, "proc/version", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_line(m->tree, "x", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_u64(m->tree, "x", &n), -ENOENT);
	assert_int_equal(tree_link(m->tree, "x", buf, sizeof(buf)), -ENOENT);
	assert_false(tree_exists(m->tree, "x"));
}

/* The capture keeps an unreadable file as a file without permission bits. */
static void unreadable_file_is_eacces(void **state)
{
	const struct made *m = *state;
	char *way = make_way(m->root, "secret");
	char buf[8];

	make_file(m->root, "secret", "x");
	assert_int_equal(chmod(way, 0), 0);
	assert_int_equal(tree_read(m->tree, "secret", buf, sizeof(buf)), -EACCES);
	assert_true(tree_exists(m->tree, "secret"));
	assert_int_equal(chmod(way, 0600), 0);
	free(way);
	assert_int_equal(tree_read(m->tree, "secret", buf, sizeof(buf)), 1);
}

static void first_line_is_read(void **state)
{
	const struct made *m = *state;
	char buf[16];

	make_file(m->root, "two", "first\nsecond\n");
	assert_int_equal(tree_line(m->tree, "two", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "first");
	make_file(m->root, "long", "0123456789abcdefghij\n");
	assert_int_equal(tree_line(m->tree, "long", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "0123456789abcde");
	make_file(m->root, "empty", "%s", "");
	assert_int_equal(tree_line(m->tree, "empty", buf, sizeof(buf)), -ENODATA);
	make_file(m->root, "blank", "\n");
	assert_int_equal(tree_line(m->tree, "blank", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
}

static void control_characters_are_replaced(void **state)
{
	const struct made *m = *state;
	char buf[16];

	make_file(m->root, "evil", "a\033[2Jb\xffz\n");
	assert_int_equal(tree_line(m->tree, "evil", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "a?[2Jb?z");
	make_link(m->root, "link", "to/\033x");
	assert_int_equal(tree_link(m->tree, "link", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "?x");
}

static int number(const struct made *m, const char *text, uint64_t *n)
{
	make_file(m->root, "number", "%s", text);
	return tree_u64(m->tree, "number", n);
}

static void unsigned_numbers_are_parsed(void **state)
{
	static const char *const bad[] = { "\n", "-1\n", "+1\n", " 1\n", "12x\n", "x\n", "99999999999999999999\n" };
	const struct made *m = *state;
	uint64_t n = 0;
	size_t i;

	assert_int_equal(number(m, "17\n", &n), 0);
	assert_int_equal(n, 17);
	assert_int_equal(number(m, "0x10de\n", &n), 0);
	assert_int_equal(n, 0x10de);
	assert_int_equal(number(m, "010", &n), 0);
	assert_int_equal(n, 10);
	assert_int_equal(number(m, "0xffffffffffffffff\n", &n), 0);
	assert_true(n == UINT64_MAX);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(number(m, bad[i], &n), -EINVAL);
}

static void signed_numbers_are_parsed(void **state)
{
	const struct made *m = *state;
	int n = 0;

	make_file(m->root, "n", "-1\n");
	assert_int_equal(tree_int(m->tree, "n", &n), 0);
	assert_int_equal(n, -1);
	make_file(m->root, "n", "99999999999\n");
	assert_int_equal(tree_int(m->tree, "n", &n), -EINVAL);
	make_file(m->root, "n", "1 2\n");
	assert_int_equal(tree_int(m->tree, "n", &n), -EINVAL);
}

static void link_targets_are_read(void **state)
{
	const struct made *m = *state;
	char buf[16];

	make_link(m->root, "sys/driver", "../bus/drivers/nvidia");
	assert_int_equal(tree_link(m->tree, "sys/driver", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "nvidia");
	assert_int_equal(tree_target(m->tree, "sys/driver", buf, sizeof(buf)), -ENAMETOOLONG);
	assert_int_equal(tree_link(m->tree, "sys/driver", buf, 4), -ENAMETOOLONG);
	make_link(m->root, "plain", "nvidia");
	assert_int_equal(tree_link(m->tree, "plain", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "nvidia");
	make_file(m->root, "file", "x");
	assert_int_equal(tree_link(m->tree, "file", buf, sizeof(buf)), -EINVAL);
}

/* Without confinement, each link would read a file of this machine. */
static void links_stay_inside_the_tree(void **state)
{
	const struct made *m = *state;
	char buf[64];

	make_file(m->root, "secret", "inside\n");
	make_link(m->root, "absolute", "/etc/passwd");
	make_link(m->root, "up", "../../../../../../etc/passwd");
	make_link(m->root, "magic", "/proc/self/root/etc/passwd");
	make_link(m->root, "dir", "/etc");
	make_link(m->root, "loop", "loop");
	make_link(m->root, "inside", "/secret");
	assert_int_equal(tree_read(m->tree, "absolute", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "up", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "magic", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "dir/passwd", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "../../../etc/passwd", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "/etc/passwd", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(tree_read(m->tree, "loop", buf, sizeof(buf)), -ELOOP);
	assert_int_equal(tree_line(m->tree, "inside", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "inside");
}

/* A FIFO without a writer would block the reader for ever. */
static void only_regular_files_are_read(void **state)
{
	const struct made *m = *state;
	char *fifo = make_way(m->root, "fifo"), *dir = make_way(m->root, "dir/x");
	char buf[8];

	assert_int_equal(mkfifo(fifo, 0666), 0);
	assert_int_equal(tree_read(m->tree, "fifo", buf, sizeof(buf)), -EINVAL);
	assert_int_equal(tree_read(m->tree, "dir", buf, sizeof(buf)), -EINVAL);
	assert_true(tree_exists(m->tree, "dir"));
	free(fifo);
	free(dir);
}

/* ---- directories ---------------------------------------------------------------- */

/**
 * struct heard - names passed to the callback, separated by blanks; the callback returns 7 at
 * @stop_at
 */
struct heard {
	char text[256];
	const char *stop_at;
};

static int hear(void *arg, const char *name)
{
	struct heard *h = arg;

	strcat(h->text, name);
	strcat(h->text, " ");
	return h->stop_at && !strcmp(name, h->stop_at) ? 7 : 0;
}

static void directory_entries_are_sorted(void **state)
{
	const struct made *m = *state;
	struct heard all = { 0 }, some = { .stop_at = "b" };

	make_file(m->root, "d/c", "x");
	make_file(m->root, "d/a", "x");
	make_file(m->root, "d/b/x", "x");
	make_file(m->root, "d/.hidden", "x");
	make_file(m->root, "d/un\033printable", "x");
	assert_int_equal(tree_list(m->tree, "d", hear, &all), 0);
	assert_string_equal(all.text, "a b c ");
	assert_int_equal(tree_list(m->tree, "d", hear, &some), 7);
	assert_string_equal(some.text, "a b ");
	assert_int_equal(tree_list(m->tree, "none", hear, &some), -ENOENT);
	assert_int_equal(tree_list(m->tree, "d/c", hear, &some), -ENOTDIR);
}

/* ---- opening the tree ----------------------------------------------------------- */

static void bad_root_is_refused(void **state)
{
	struct tree *t;

	(void)state;
	assert_int_equal(tree_open("/nowhere/at/all", &t), -ENOENT);
	assert_int_equal(tree_open("/proc/version", &t), -ENOTDIR);
	tree_close(NULL);
}

static void null_root_means_live_machine(void **state)
{
	const struct made *m = *state;
	struct tree *t;
	char buf[64];

	assert_int_equal(tree_open(NULL, &t), 0);
	assert_true(tree_is_live(t));
	assert_false(tree_is_live(m->tree));
	assert_int_equal(tree_line(t, "proc/sys/kernel/ostype", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "Linux");
	tree_close(t);
}

static void overlong_path_becomes_empty(void **state)
{
	char name[300];

	(void)state;
	assert_string_equal(tree_path("sys/%s/%d", "a", 7).at, "sys/a/7");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_string_equal(tree_path("sys/%s", name).at, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(missing_file_is_enoent, setup, teardown),
		cmocka_unit_test_setup_teardown(unreadable_file_is_eacces, setup, teardown),
		cmocka_unit_test_setup_teardown(first_line_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(control_characters_are_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(unsigned_numbers_are_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(signed_numbers_are_parsed, setup, teardown),
		cmocka_unit_test_setup_teardown(link_targets_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(links_stay_inside_the_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(only_regular_files_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(directory_entries_are_sorted, setup, teardown),
		cmocka_unit_test(bad_root_is_refused),
		cmocka_unit_test_setup_teardown(null_root_means_live_machine, setup, teardown),
		cmocka_unit_test(overlong_path_becomes_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
