// SPDX-License-Identifier: MIT
#include <errno.h>
#include "tool/machine/path.h"
#include "tree_maker.h"

/** struct made - a tree and the machine read from the tree */
struct made {
	char *root;
	struct tree *tree;
	struct machine machine;
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

	machine_free(&m->machine);
	tree_close(m->tree);
	remove_tree(m->root);
	free(m);
	return 0;
}

static void read_it(struct made *m)
{
	machine_free(&m->machine);
	assert_int_equal(machine_read(m->tree, &m->machine), 0);
}

static const struct device *find(struct made *m, const char *name)
{
	const struct device *d;

	read_it(m);
	d = machine_find(&m->machine, name);
	assert_non_null(d);
	return d;
}

#define ROOT_PORT "pci0000:00/0000:00:01.0"
#define SWITCH ROOT_PORT "/0000:01:00.0"

static void make_bridge(const char *root, const char *name, const char *above, enum port_type port, size_t config)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x8086, .device = 1, .class_code = 0x060400, .port = port,
		.speed = "16.0 GT/s PCIe", .width = 16, .config_size = config, .driver = "pcieport",
	});
}

static void make_gpu(const char *root, const char *name, const char *above, size_t config)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x10de, .device = 0x2335, .class_code = 0x030200,
		.port = PORT_ENDPOINT, .speed = "8.0 GT/s PCIe", .width = 8, .max_speed = "32.0 GT/s PCIe",
		.max_width = 16, .master = true, .driver = "nvidia", .numa_node = 1, .ats = true, .ats_on = true,
		.bars = { 16 << 20, 256ull << 30 }, .rebar = 1ull << 38 | 1 << 8, .group = 12,
		.iommu_type = "DMA-FQ", .config_size = config,
	});
}

/* A switch with one downstream port and a GPU below it */
static void make_switch(const char *root, size_t config)
{
	make_bridge(root, "0000:00:01.0", "pci0000:00", PORT_ROOT, config);
	make_bridge(root, "0000:01:00.0", ROOT_PORT, PORT_UPSTREAM, config);
	make_bridge(root, "0000:02:00.0", SWITCH, PORT_DOWNSTREAM, config);
	make_gpu(root, "0000:03:00.0", SWITCH "/0000:02:00.0", config);
}

static void tree_without_pci_is_enoent(void **state)
{
	struct made *m = *state;

	assert_int_equal(machine_read(m->tree, &m->machine), -ENOENT);
	assert_int_equal(m->machine.count, 0);
	assert_null(machine_find(&m->machine, "0000:00:00.0"));
}

/* A small archive, too, may hold so many devices. */
static void too_many_pairs_are_refused(void **state)
{
	struct made *m = *state;
	int i;

	for (i = 0; i < 258; i++)
		make_device(m->root, &(struct made_device) {
			.name = tree_path("%04x:00:00.0", i).at, .above = "pci0000:00", .vendor = i < 255 ? 0x10de : 0x144d,
			.class_code = i < 255 ? 0x030200 : 0x010802,
		});
	assert_int_equal(machine_read(m->tree, &m->machine), -E2BIG);
	assert_null(m->machine.at);
	unlink(tree_path("%s/sys/bus/pci/devices/0101:00:00.0", m->root).at);
	read_it(m);
	assert_int_equal(m->machine.count, 257);
}

static void device_attributes_are_read(void **state)
{
	struct made *m = *state;
	const struct device *d;

	make_switch(m->root, 0);
	d = find(m, "0000:03:00.0");
	assert_int_equal(d->vendor, 0x10de);
	assert_int_equal(d->device, 0x2335);
	assert_int_equal(d->class_code, 0x030200);
	assert_int_equal(d->kind, DEVICE_GPU);
	assert_int_equal(d->port, PORT_ENDPOINT);
	assert_string_equal(d->driver, "nvidia");
	assert_string_equal(d->root_bus, "pci0000:00");
	assert_string_equal(m->machine.at[d->parent].name, "0000:02:00.0");
	assert_int_equal(d->numa_node, 1);
	assert_int_equal(d->iommu_group, 12);
	assert_string_equal(d->iommu_type, "DMA-FQ");
	assert_true(d->master);
	assert_true(d->config_seen);
	assert_true(d->has_ats && d->ats_on);
	assert_false(d->has_acs);
	assert_false(d->is_virtual);
}

static void bar_sizes_and_links_are_read(void **state)
{
	struct made *m = *state;
	const struct device *d;

	make_switch(m->root, 0);
	d = find(m, "0000:03:00.0");
	assert_int_equal(d->bars[0], 16 << 20);
	assert_int_equal(d->bars[1], 256ull << 30);
	assert_int_equal(d->bars[2], 0);
	assert_int_equal(d->bar_at[1], 0x200000000000);
	assert_true(d->has_rebar);
	assert_int_equal(d->rebar[1], 1ull << 38 | 1 << 8);
	assert_int_equal(d->rebar[0], 0);
	assert_int_equal(d->link.speed_mts, 8000);
	assert_int_equal(d->link.width, 8);
	assert_int_equal(d->link.max_speed_mts, 32000);
	assert_int_equal(d->link.max_width, 16);
}

static void acs_capability_is_read(void **state)
{
	struct made *m = *state;
	const struct device *d;

	make_device(m->root, &(struct made_device) {
		.name = "0000:00:01.0", .above = "pci0000:00", .vendor = 1, .class_code = 0x060400,
		.port = PORT_ROOT, .acs_cap = 0x5f, .acs_ctrl = 0x1d,
	});
	d = find(m, "0000:00:01.0");
	assert_true(d->has_acs);
	assert_int_equal(d->acs_at, 0x100);
	assert_int_equal(d->acs_cap, 0x5f);
	assert_int_equal(d->acs_ctrl, 0x1d);
}

/* Without root, the topology gives the port types: configuration space is unreadable. */
static void port_types_need_no_root(void **state)
{
	static const enum port_type ports[] = { PORT_ROOT, PORT_UPSTREAM, PORT_DOWNSTREAM, PORT_ENDPOINT };
	struct made *m = *state;
	size_t i;

	make_switch(m->root, PCI_CONFIG_UNPRIVILEGED);
	read_it(m);
	assert_int_equal(m->machine.count, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(m->machine.at[i].port, ports[i]);
		assert_false(m->machine.at[i].config_seen);
	}
	assert_true(m->machine.at[3].master);
	assert_false(m->machine.at[3].has_ats);
}

static void other_port_types_need_no_root(void **state)
{
	struct made *m = *state;

	make_bridge(m->root, "0000:00:01.0", "pci0000:00", PORT_ROOT, PCI_CONFIG_UNPRIVILEGED);
	make_bridge(m->root, "0000:01:00.0", ROOT_PORT, PORT_TO_PCI, PCI_CONFIG_UNPRIVILEGED);
	make_gpu(m->root, "0000:00:02.0", "pci0000:00", PCI_CONFIG_UNPRIVILEGED);
	make_device(m->root, &(struct made_device) {
		.name = "0000:00:03.0", .above = "pci0000:00", .vendor = 0x8086, .class_code = 0x020000,
		.speed = "Unknown", .max_speed = "2.5 GT/s", .config_size = PCI_CONFIG_UNPRIVILEGED,
	});
	make_device(m->root, &(struct made_device) {
		.name = "0000:02:00.0", .above = SWITCH, .vendor = 0x1000, .class_code = 0x010000,
		.config_size = PCI_CONFIG_UNPRIVILEGED,
	});
	assert_int_equal(find(m, "0000:01:00.0")->port, PORT_TO_PCI);
	assert_int_equal(find(m, "0000:00:02.0")->port, PORT_ENDPOINT);	/* virtual machines have such endpoints */
	assert_int_equal(find(m, "0000:00:03.0")->port, PORT_IN_ROOT_COMPLEX);
	assert_int_equal(find(m, "0000:02:00.0")->port, PORT_CONVENTIONAL);
}

/* ---- kinds of devices ----------------------------------------------------------- */

static enum device_kind kind_of(struct made *m, const struct made_device *d)
{
	static unsigned int bus;
	struct made_device named = *d;
	struct tree_path name = tree_path("0000:%02x:00.0", 0x10 + bus++);

	named.name = name.at;
	named.above = ROOT_PORT;
	make_device(m->root, &named);
	return find(m, name.at)->kind;
}

static enum device_kind kind_of_class(struct made *m, uint32_t class_code, bool master)
{
	return kind_of(m, &(struct made_device) { .vendor = 0x8086, .class_code = class_code, .master = master });
}

static void class_code_decides_device_kind(void **state)
{
	struct made *m = *state;

	make_bridge(m->root, "0000:00:01.0", "pci0000:00", PORT_ROOT, 0);
	assert_int_equal(kind_of_class(m, 0x020000, true), DEVICE_NIC);
	assert_int_equal(kind_of_class(m, 0x010802, true), DEVICE_NVME);
	assert_int_equal(kind_of_class(m, 0x010000, true), DEVICE_STORAGE);
	assert_int_equal(kind_of_class(m, 0x010601, true), DEVICE_NONE);
	assert_int_equal(kind_of_class(m, 0x0c0330, true), DEVICE_NONE);
	assert_int_equal(kind_of_class(m, 0x0c0600, true), DEVICE_NIC);
	assert_int_equal(kind_of_class(m, 0x120000, false), DEVICE_OTHER_MASTER);
	assert_int_equal(kind_of_class(m, 0x00ff00, false), DEVICE_OTHER_MASTER);
	assert_int_equal(kind_of_class(m, 0x058000, true), DEVICE_OTHER_MASTER);
	assert_int_equal(kind_of_class(m, 0x058000, false), DEVICE_NONE);
	assert_int_equal(kind_of_class(m, 0x030000, true), DEVICE_NONE);
	assert_int_equal(kind_of_class(m, 0x060400, true), DEVICE_BRIDGE);
}

static void driver_and_vendor_decide_kind(void **state)
{
	struct made *m = *state;

	make_bridge(m->root, "0000:00:01.0", "pci0000:00", PORT_ROOT, 0);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x15b3, .class_code = 0x020000, .rdma = "mlx5_0" }), DEVICE_RDMA);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x15b3, .class_code = 0x0c0600, .rdma = "mthca0" }), DEVICE_RDMA);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x1af4, .class_code = 0x020000, .rdma = "rxe0" }), DEVICE_NONE);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x1af4, .class_code = 0x050000, .driver = "emugpu" }), DEVICE_GPU);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x1af4, .class_code = 0x020000, .driver = "virtio-pci" }), DEVICE_NONE);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x10ec, .class_code = 0xff0000, .driver = "rtsx_pci" }), DEVICE_NONE);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x10ee, .class_code = 0xff0000 }), DEVICE_OTHER_MASTER);
	assert_int_equal(kind_of(m, &(struct made_device) {
		.vendor = 0x10de, .class_code = 0x040300 }), DEVICE_NONE);
	assert_int_equal(kind_of(m, &(struct made_device) { .class_code = 0x020000 }), DEVICE_NONE);
}

/* rdma-core makes long names from the topology, and administrators can rename devices. */
static void longest_rdma_name_is_kept(void **state)
{
	static const char name[] = "rocep65s0f0np0-storage-of-the-third-rack-behind-switch-17-port-8";
	struct made *m = *state;
	const struct device *d;

	make_device(m->root, &(struct made_device) {
		.name = "0000:01:00.0", .above = "pci0000:00", .vendor = 0x15b3, .class_code = 0x020000,
		.rdma = name + 1,
	});
	d = find(m, "0000:01:00.0");
	assert_int_equal(strlen(d->rdma), 63);
	assert_string_equal(d->rdma, name + 1);
	assert_int_equal(d->kind, DEVICE_RDMA);
}

static void rdma_name_is_read(void **state)
{
	struct made *m = *state;
	const struct device *d;

	make_device(m->root, &(struct made_device) {
		.name = "0000:01:00.0", .above = "pci0000:00", .vendor = 0x15b3, .class_code = 0x020000,
		.rdma = "mlx5_0",
	});
	d = find(m, "0000:01:00.0");
	assert_string_equal(d->rdma, "mlx5_0");
	assert_true(device_is_peer(d));
	make_link(m->root, "sys/devices/pci0000:00/0000:01:00.0/physfn", "../0000:00:00.0");
	d = find(m, "0000:01:00.0");
	assert_true(d->is_virtual);
	assert_false(device_is_peer(d));
}

/* ---- nodes ---------------------------------------------------------------------- */

static void numa_nodes_are_read(void **state)
{
	struct made *m = *state;

	make_gpu(m->root, "0000:00:02.0", "pci0000:00", 0);
	make_node(m->root, 0, 0);
	make_node(m->root, 1, 1);
	make_file(m->root, "sys/devices/system/node/node2/cpulist", "\n");
	make_file(m->root, "sys/devices/system/node/nodes", "x");
	read_it(m);
	assert_int_equal(m->machine.nr_nodes, 3);
	assert_int_equal(machine_node(&m->machine, 0)->package, 0);
	assert_int_equal(machine_node(&m->machine, 1)->package, 1);
	assert_null(machine_node(&m->machine, NO_NODE));
}

/* Node 2 has memory only, so processor 0 must not count as its processor. */
static void node_without_cpus_has_no_package(void **state)
{
	struct made *m = *state;

	make_gpu(m->root, "0000:00:02.0", "pci0000:00", 0);
	make_node(m->root, 0, 3);
	make_file(m->root, "sys/devices/system/node/node2/cpulist", "\n");
	read_it(m);
	assert_int_equal(machine_node(&m->machine, 0)->package, 3);
	assert_int_equal(machine_node(&m->machine, 2)->package, -1);
}

/* ---- malformed trees ------------------------------------------------------------- */

static void bad_device_names_are_ignored(void **state)
{
	static const char *const names[] = {
		"x", "0000:00:00", "0000:00:00.8", "0000:00:20.0", "00:00.0", "0000:00:00.0x", "0000:000:00.0",
		"0000:00:00.0.0", "0000:0g:00.0", "000000000:00:00.0", "-000:00:00.0", "0000 00:00.0", "..0000:00:00.0",
	};
	struct made *m = *state;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		make_file(m->root, tree_path("sys/bus/pci/devices/%s/vendor", names[i]).at, "0x10de\n");
	make_file(m->root, "sys/bus/pci/devices/10000:00:00.0/vendor", "0x10de\n");
	read_it(m);
	assert_int_equal(m->machine.count, 1);
	assert_string_equal(m->machine.at[0].name, "10000:00:00.0");
	assert_int_equal(m->machine.at[0].parent, NO_PARENT);
	assert_string_equal(m->machine.at[0].root_bus, "");
}

static void circular_parents_end(void **state)
{
	struct made *m = *state;
	struct path p;

	make_link(m->root, "sys/bus/pci/devices/0000:00:01.0", "x/0000:00:02.0/0000:00:01.0");
	make_link(m->root, "sys/bus/pci/devices/0000:00:02.0", "x/0000:00:03.0/0000:00:02.0");
	make_link(m->root, "sys/bus/pci/devices/0000:00:03.0", "x/0000:00:01.0/0000:00:03.0");
	make_link(m->root, "sys/bus/pci/devices/0000:00:04.0", "0000:00:04.0/0000:00:04.0");
	read_it(m);
	assert_int_equal(m->machine.count, 4);
	assert_int_equal(m->machine.at[3].parent, NO_PARENT);
	path_find(&m->machine, 0, 2, &p);
	assert_true(p.nr_bridges <= 3);
}

/* No read may go past the end of the file. Missing values are 0. */
static void short_config_is_read_safely(void **state)
{
	struct made *m = *state;
	const struct device *d;
	size_t size;

	for (size = 1; size < 0x150; size += 7) {
		make_device(m->root, &(struct made_device) {
			.name = "0000:00:01.0", .above = tree_path("pci0000:%02zx", size & 0xff).at, .vendor = 0x10de,
			.class_code = 0x030200, .port = PORT_ENDPOINT, .acs_cap = 0x5f, .ats = true, .rebar = 1,
			.config_size = size, .master = true,
		});
		d = find(m, "0000:00:01.0");
		assert_int_equal(d->config_seen, size > 256);
		assert_int_equal(d->config_cut, size > 64 && size <= 256);
		assert_int_equal(d->has_acs, size >= 0x104);
		assert_int_equal(d->has_ats, size >= 0x124);
		unlink(tree_path("%s/sys/bus/pci/devices/0000:00:01.0", m->root).at);
	}
}

/* A conventional device has only 256 bytes, so 256 bytes are the whole space. */
static void conventional_config_counts_as_whole(void **state)
{
	struct made *m = *state;

	make_device(m->root, &(struct made_device) {
		.name = "0000:00:01.0", .above = "pci0000:00", .vendor = 0x1000, .class_code = 0x010000,
		.port = PORT_CONVENTIONAL, .config_size = 256,
	});
	assert_true(find(m, "0000:00:01.0")->config_seen);
	assert_int_equal(find(m, "0000:00:01.0")->port, PORT_CONVENTIONAL);
}

static void malformed_files_give_defaults(void **state)
{
	struct made *m = *state;
	const struct device *d;

	make_file(m->root, "sys/bus/pci/devices/0000:00:01.0/config", "%s", "");
	make_file(m->root, "sys/bus/pci/devices/0000:00:01.0/vendor", "nonsense\n");
	make_file(m->root, "sys/bus/pci/devices/0000:00:01.0/numa_node", "99999999999999999999\n");
	make_file(m->root, "sys/bus/pci/devices/0000:00:01.0/resource", "0x5 0x1 0\nx\n0x0 0xffffffffffffffff 0\n");
	make_file(m->root, "sys/bus/pci/devices/0000:00:01.0/current_link_speed", "Unknown\n");
	make_file(m->root, "sys/bus/pci/devices/0000:00:01.0/current_link_width", "255\n");
	make_link(m->root, "sys/bus/pci/devices/0000:00:01.0/iommu_group", "/sys/kernel/iommu_groups/1x");
	d = find(m, "0000:00:01.0");
	assert_int_equal(d->kind, DEVICE_NONE);
	assert_int_equal(d->numa_node, NO_NODE);
	assert_int_equal(d->bars[0] + d->bars[1] + d->bars[2], 0);
	assert_int_equal(d->link.speed_mts + d->link.width, 0);
	assert_int_equal(d->iommu_group, NO_GROUP);
}

/* ---- configuration space alone -------------------------------------------------- */

static void looping_capability_lists_end(void **state)
{
	static struct pci_config c;

	(void)state;
	c.size = PCI_CONFIG_SIZE;
	put_u16(c.at, PCI_AT_STATUS, PCI_STATUS_CAPABILITIES);
	c.at[PCI_AT_CAPABILITIES] = 0x40;
	put_u16(c.at, 0x40, 0x50 << 8 | 1);
	put_u16(c.at, 0x50, 0x40 << 8 | 2);
	put_u32(c.at, 0x100, 0x200u << 20 | 1);
	put_u32(c.at, 0x200, 0x100u << 20 | 2);
	assert_int_equal(config_capability(&c, 2), 0x50);
	assert_int_equal(config_capability(&c, 3), 0);
	assert_int_equal(config_extended(&c, 2), 0x200);
	assert_int_equal(config_extended(&c, 3), 0);
}

static void capability_pointers_stay_inside(void **state)
{
	static struct pci_config c;

	(void)state;
	c.size = 0x104;
	put_u16(c.at, PCI_AT_STATUS, PCI_STATUS_CAPABILITIES);
	c.at[PCI_AT_CAPABILITIES] = 0x10;	/* points into the header, where no capability can be */
	put_u16(c.at, 0x10, PCI_CAP_EXPRESS);
	put_u32(c.at, 0x100, 0xffcu << 20 | 1);
	assert_int_equal(config_capability(&c, PCI_CAP_EXPRESS), 0);
	assert_int_equal(config_extended(&c, PCI_EXT_ACS), 0);
	put_u32(c.at, 0x100, UINT32_MAX);	/* all ones: the answer of a removed device */
	assert_int_equal(config_extended(&c, 0xffff), 0);
	assert_int_equal(config_u16(&c, 0x103), 0);
	assert_int_equal(config_u32(&c, 0x101), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tree_without_pci_is_enoent, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_pairs_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(device_attributes_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(bar_sizes_and_links_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(acs_capability_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(port_types_need_no_root, setup, teardown),
		cmocka_unit_test_setup_teardown(other_port_types_need_no_root, setup, teardown),
		cmocka_unit_test_setup_teardown(class_code_decides_device_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(driver_and_vendor_decide_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(longest_rdma_name_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(rdma_name_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(numa_nodes_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(node_without_cpus_has_no_package, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_device_names_are_ignored, setup, teardown),
		cmocka_unit_test_setup_teardown(circular_parents_end, setup, teardown),
		cmocka_unit_test_setup_teardown(short_config_is_read_safely, setup, teardown),
		cmocka_unit_test_setup_teardown(conventional_config_counts_as_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(malformed_files_give_defaults, setup, teardown),
		cmocka_unit_test(looping_capability_lists_end),
		cmocka_unit_test(capability_pointers_stay_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
