// SPDX-License-Identifier: MIT
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include "tool/capture/capture.h"
#include "tool/machine/root.h"
#include "tool/tool.h"
#include "tree_maker.h"

/** struct made - a machine, and a directory for captures */
struct made {
	char *root, *out;
	char first[64], second[64];
};

static const char deep[] = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:08.0/0000:05:00.0";

static void make_machine(const char *root)
{
	make_device(root, &(struct made_device){ .name = "0000:00:01.0", .above = "pci0000:00", .vendor = 0x8086,
						  .class_code = 0x060400, .port = PORT_ROOT, .acs_cap = 0x5f });
	make_device(root, &(struct made_device){ .name = "0000:06:00.0", .above = deep, .vendor = 0x10de,
						  .class_code = 0x030200, .port = PORT_ENDPOINT, .driver = "nvidia",
						  .iommu_type = "DMA", .group = 3, .rdma = "mlx5_0", .numa_node = 1 });
	make_node(root, 0, 0);
	make_node(root, 1, 1);
	make_file(root, "proc/cmdline", "root=/dev/secret iommu=pt\n");
	make_file(root, "proc/modules", "nvidia 1 0 - Live 0xffffffffc0123456\n");
	make_file(root, "proc/self/limits", "Max locked memory         8388608  8388608  bytes\n");
	make_file(root, "proc/meminfo", "secret: not asked for\n");
	make_file(root, "sys/module/nvidia/version", "580.1\n");
	make_file(root, "sys/module/nvidia_peermem/parameters/peerdirect_support", "1\n");
	make_file(root, "sys/class/dmi/id/product_name", "Server\n");
	make_file(root, "sys/class/dmi/id/product_serial", "secret\n");
	make_file(root, "sys/class/net/eth0/address", "secret\n");
	make_file(root, "sys/bus/pci/devices/0000:06:00.0/secret", "secret\n");
	make_file(root, tree_path("sys/devices/%s/0000:06:00.0/infiniband/mlx5_0/ports/1/state", deep).at, "4: ACTIVE\n");
	make_link(root, "sys/class/infiniband/mlx5_0", tree_path("../../devices/%s/0000:06:00.0/infiniband/mlx5_0", deep).at);
	make_file(root, "run/.containerenv", "name=\"secret\"\n");
	make_file(root, "run/systemd/container", "secret\n");
	make_file(root, "peerpin/facts", "root yes\n");
}

static int set_up(void **state)
{
	static struct made m;

	m.root = make_tree();
	m.out = make_tree();
	snprintf(m.first, sizeof(m.first), "%s/first.tar", m.out);
	snprintf(m.second, sizeof(m.second), "%s/second.tar", m.out);
	make_machine(m.root);
	*state = &m;
	return 0;
}

static int tear_down(void **state)
{
	struct made *m = *state;

	remove_tree(m->root);
	remove_tree(m->out);
	return 0;
}

/* Discard the output of capture(). */
static int quiet_capture(const char *from, const char *file)
{
	int out = dup(STDOUT_FILENO), ret;
	struct root root;

	fflush(stdout);
	assert_non_null(freopen("/dev/null", "w", stdout));
	assert_int_equal(root_open(from, &root), 0);
	ret = capture(root.tree, file);
	root_close(&root);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	return ret;
}

static char *contents(const char *file, size_t *size)
{
	FILE *f = fopen(file, "r");
	char *bytes = malloc(1 << 20);

	assert_non_null(f);
	assert_non_null(bytes);
	*size = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

static void assert_same(const char *a, const char *b)
{
	size_t a_size, b_size;
	char *a_bytes = contents(a, &a_size), *b_bytes = contents(b, &b_size);

	assert_int_equal(a_size, b_size);
	assert_memory_equal(a_bytes, b_bytes, a_size);
	free(a_bytes);
	free(b_bytes);
}

static void repeated_capture_is_identical(void **state)
{
	struct made *m = *state;

	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	assert_int_equal(quiet_capture(m->root, m->second), EXIT_OK);
	assert_same(m->first, m->second);
	assert_int_equal(quiet_capture(m->first, m->second), EXIT_OK);
	assert_same(m->first, m->second);
}

static void compressed_capture_is_identical(void **state)
{
	struct made *m = *state;
	char packed[80];

	snprintf(packed, sizeof(packed), "%s/packed.tar.gz", m->out);
	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	assert_int_equal(quiet_capture(m->root, packed), EXIT_OK);
	assert_int_equal(quiet_capture(packed, m->second), EXIT_OK);
	assert_same(m->first, m->second);
}

static void machines_are_alike(const struct machine *a, const struct machine *b)
{
	size_t i;

	assert_int_equal(a->count, b->count);
	for (i = 0; i < a->count; i++)
		assert_memory_equal(&a->at[i], &b->at[i], sizeof(a->at[i]));
	assert_int_equal(a->nr_nodes, b->nr_nodes);
	for (i = 0; i < a->nr_nodes; i++)
		assert_int_equal(a->nodes[i].package, b->nodes[i].package);
}

static void capture_reads_like_live_machine(void **state)
{
	struct made *m = *state;
	struct root live, captured;
	struct machine a, b;

	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	assert_int_equal(root_open(m->root, &live), 0);
	assert_int_equal(root_open(m->first, &captured), 0);
	assert_int_equal(machine_read(live.tree, &a), 0);
	assert_int_equal(machine_read(captured.tree, &b), 0);
	assert_int_equal(a.count, 2);
	assert_string_equal(a.at[1].iommu_type, "DMA");
	assert_string_equal(a.at[1].rdma, "mlx5_0");
	machines_are_alike(&a, &b);
	machine_free(&a);
	machine_free(&b);
	root_close(&live);
	root_close(&captured);
}

static void text_of(const char *tar, const char *path, char *text, size_t size)
{
	struct root root;

	assert_int_equal(root_open(tar, &root), 0);
	assert_true(tree_read(root.tree, path, text, size) >= 0);
	root_close(&root);
}

static void capture_contains_no_secret(void **state)
{
	struct made *m = *state;
	char text[64];
	size_t size;
	char *bytes;

	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	bytes = contents(m->first, &size);
	assert_null(memmem(bytes, size, "secret", 6));
	assert_null(memmem(bytes, size, "c0123456", 8));
	free(bytes);
	text_of(m->first, "proc/cmdline", text, sizeof(text));
	assert_string_equal(text, "iommu=pt\n");
	text_of(m->first, "run/.containerenv", text, sizeof(text));
	assert_string_equal(text, "");
	text_of(m->first, "run/systemd/container", text, sizeof(text));
	assert_string_equal(text, "");
	text_of(m->first, "sys/class/infiniband/mlx5_0/ports/1/state", text, sizeof(text));
	assert_string_equal(text, "4: ACTIVE\n");
}

static void make_card(const char *root, const char *name, const char *rdma)
{
	make_device(root, &(struct made_device){ .name = name, .above = "pci0000:00", .vendor = 0x15b3,
						  .class_code = 0x020700, .rdma = rdma });
	make_file(root, tree_path("sys/devices/pci0000:00/%s/infiniband/%s/ports/1/state", name, rdma).at,
		  "4: ACTIVE\n");
	make_link(root, tree_path("sys/class/infiniband/%s", rdma).at,
		  tree_path("../../devices/pci0000:00/%s/infiniband/%s", name, rdma).at);
}

/* udev can name an RDMA device by a GUID: that of the card, or a GUID made of the network address. */
static void rdma_names_reveal_no_guid(void **state)
{
	struct made *m = *state;
	struct root root;
	struct machine machine;
	char text[64];
	size_t size;
	char *bytes;

	make_card(m->root, "0000:00:08.0", "rocex506b4b0300c1f3ac");
	make_card(m->root, "0000:00:09.0", "ibx506b4b0300c1f3ab");
	make_card(m->root, "0000:00:0a.0", "rocep10s0");
	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	assert_int_equal(quiet_capture(m->first, m->second), EXIT_OK);
	assert_same(m->first, m->second);
	bytes = contents(m->first, &size);
	assert_null(memmem(bytes, size, "506b4b", 6));
	free(bytes);
	assert_int_equal(root_open(m->first, &root), 0);
	assert_int_equal(machine_read(root.tree, &machine), 0);
	assert_string_equal(machine_find(&machine, "0000:00:08.0")->rdma, "rocex1");
	assert_string_equal(machine_find(&machine, "0000:00:09.0")->rdma, "ibx0");
	assert_string_equal(machine_find(&machine, "0000:00:0a.0")->rdma, "rocep10s0");
	assert_int_equal(tree_line(root.tree, "sys/class/infiniband/rocex1/ports/1/state", text, sizeof(text)), 0);
	assert_string_equal(text, "4: ACTIVE");
	machine_free(&machine);
	root_close(&root);
}

static void unreadable_file_stays_unreadable(void **state)
{
	struct made *m = *state;
	struct root root;
	char path[256], text[64];

	snprintf(path, sizeof(path), "%s/sys/module/nvidia/version", m->root);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	assert_int_equal(quiet_capture(m->first, m->second), EXIT_OK);
	assert_same(m->first, m->second);
	assert_int_equal(root_open(m->second, &root), 0);
	assert_int_equal(tree_line(root.tree, "sys/module/nvidia/version", text, sizeof(text)), -EACCES);
	assert_int_equal(tree_line(root.tree, "sys/module/gdrdrv/version", text, sizeof(text)), -ENOENT);
	root_close(&root);
}

static void check_entry(struct archive_entry *e, char *last, size_t size)
{
	assert_true(strcmp(last, archive_entry_pathname(e)) < 0);
	snprintf(last, size, "%s", archive_entry_pathname(e));
	assert_int_equal(archive_entry_uid(e), 0);
	assert_int_equal(archive_entry_gid(e), 0);
	assert_int_equal(archive_entry_mtime(e), 0);
	assert_true(!archive_entry_uname(e) || !*archive_entry_uname(e));
}

/* libarchive reads the tar. Names are sorted, owner and time are absent, long names and links are there. */
static void capture_is_a_sorted_tar(void **state)
{
	struct made *m = *state;
	struct archive *tar = archive_read_new();
	struct archive_entry *e;
	char last[512] = "";
	size_t longest = 0;

	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	archive_read_support_format_tar(tar);
	assert_int_equal(archive_read_open_filename(tar, m->first, 4096), ARCHIVE_OK);
	while (archive_read_next_header(tar, &e) == ARCHIVE_OK) {
		const char *link = archive_entry_symlink(e);

		check_entry(e, last, sizeof(last));
		longest = link && strlen(link) > longest ? strlen(link) : longest;
	}
	assert_null(archive_error_string(tar));
	assert_in_range(longest, 101, 255);
	archive_read_free(tar);
}

static void unwritable_output_fails(void **state)
{
	struct made *m = *state;

	assert_int_equal(quiet_capture(m->root, "/nonexistent/x.tar"), EXIT_FAILED);
	assert_int_equal(quiet_capture(m->root, "/dev/full"), EXIT_FAILED);
}

/* Neither circular nor dangling links may stop a capture. */
static void broken_links_end_the_walk(void **state)
{
	struct made *m = *state;

	make_link(m->root, "sys/bus/pci/devices/0000:07:00.0", "0000:07:00.0");
	make_link(m->root, "sys/bus/pci/devices/0000:08:00.0", "../../../../../../../../etc/passwd");
	make_link(m->root, "sys/bus/pci/devices/0000:09:00.0", "0000:09:00.0/0000:09:00.0/0000:09:00.0");
	assert_int_equal(quiet_capture(m->root, m->first), EXIT_OK);
	assert_int_equal(quiet_capture(m->first, m->second), EXIT_OK);
	assert_same(m->first, m->second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(repeated_capture_is_identical, set_up, tear_down),
		cmocka_unit_test_setup_teardown(compressed_capture_is_identical, set_up, tear_down),
		cmocka_unit_test_setup_teardown(capture_reads_like_live_machine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(capture_contains_no_secret, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rdma_names_reveal_no_guid, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unreadable_file_stays_unreadable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(capture_is_a_sorted_tar, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unwritable_output_fails, set_up, tear_down),
		cmocka_unit_test_setup_teardown(broken_links_end_the_walk, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
