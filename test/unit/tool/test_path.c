// SPDX-License-Identifier: MIT
#include "tool/machine/path.h"
#include "tree_maker.h"

/*
 * One machine for all cases: two processors, the first with two NUMA nodes.
 *
 *	pci0000:00 (node 0)  00:01.0 root port - switch A - 03:00.0 GPU
 *	                                                  - 04:00.0 NIC
 *	                                                  - switch B - 08:00.0 NVMe
 *	                     00:02.0 root port - 10:00.0 NIC, 10:00.1 its second port
 *	                     00:03.0 in the root complex itself
 *	                     00:04.0 root port - bridge to PCI - 13:04.0, 13:05.0
 *	pci0000:40 (node 0)  40:01.0 root port - 41:00.0 NIC
 *	pci0000:60 (node 1)  60:01.0 root port - 61:00.0 NIC
 *	pci0000:80 (node 2)  80:01.0 root port - 81:00.0 NIC
 *	pci0000:a0 (node unknown) a0:00.0
 */
static char *root;
static struct tree *tree;
static struct machine machine;

#define A "pci0000:00/0000:00:01.0/0000:01:00.0"
#define B A "/0000:02:02.0/0000:05:00.0"

static void bridge(const char *name, const char *above, enum port_type port)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x8086, .class_code = 0x060400, .port = port,
		.speed = "32.0 GT/s PCIe", .width = 16,
	});
}

static void device(const char *name, const char *above, int node, const char *speed, unsigned int width)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x15b3, .class_code = 0x020000, .port = PORT_ENDPOINT,
		.numa_node = node, .speed = speed, .width = width, .max_width = 16, .max_speed = "64.0 GT/s PCIe",
	});
}

static void make_switches(void)
{
	bridge("0000:00:01.0", "pci0000:00", PORT_ROOT);
	bridge("0000:01:00.0", "pci0000:00/0000:00:01.0", PORT_UPSTREAM);
	bridge("0000:02:00.0", A, PORT_DOWNSTREAM);
	bridge("0000:02:01.0", A, PORT_DOWNSTREAM);
	bridge("0000:02:02.0", A, PORT_DOWNSTREAM);
	bridge("0000:05:00.0", A "/0000:02:02.0", PORT_UPSTREAM);
	bridge("0000:06:00.0", B, PORT_DOWNSTREAM);
	device("0000:03:00.0", A "/0000:02:00.0", 0, "32.0 GT/s PCIe", 16);
	device("0000:04:00.0", A "/0000:02:01.0", 0, "16.0 GT/s PCIe", 16);
	device("0000:08:00.0", B "/0000:06:00.0", 0, "16.0 GT/s PCIe", 4);
}

static void make_ports(void)
{
	bridge("0000:00:02.0", "pci0000:00", PORT_ROOT);
	device("0000:10:00.0", "pci0000:00/0000:00:02.0", 0, "8.0 GT/s PCIe", 8);
	device("0000:10:00.1", "pci0000:00/0000:00:02.0", 0, "8.0 GT/s PCIe", 8);
	make_device(root, &(struct made_device) {
		.name = "0000:00:03.0", .above = "pci0000:00", .vendor = 1, .port = PORT_IN_ROOT_COMPLEX,
	});
	bridge("0000:00:04.0", "pci0000:00", PORT_ROOT);
	bridge("0000:12:00.0", "pci0000:00/0000:00:04.0", PORT_TO_PCI);
	device("0000:13:04.0", "pci0000:00/0000:00:04.0/0000:12:00.0", 0, NULL, 0);
	device("0000:13:05.0", "pci0000:00/0000:00:04.0/0000:12:00.0", 0, NULL, 0);
}

static void make_others(void)
{
	bridge("0000:40:01.0", "pci0000:40", PORT_ROOT);
	device("0000:41:00.0", "pci0000:40/0000:40:01.0", 0, "32.0 GT/s PCIe", 8);
	bridge("0000:60:01.0", "pci0000:60", PORT_ROOT);
	device("0000:61:00.0", "pci0000:60/0000:60:01.0", 1, "32.0 GT/s PCIe", 8);
	bridge("0000:80:01.0", "pci0000:80", PORT_ROOT);
	device("0000:81:00.0", "pci0000:80/0000:80:01.0", 2, "64.0 GT/s PCIe", 16);
	device("0000:a0:00.0", "pci0000:a0", NO_NODE, NULL, 0);
}

static int setup(void **state)
{
	(void)state;
	root = make_tree();
	make_switches();
	make_ports();
	make_others();
	make_node(root, 0, 0);
	make_node(root, 1, 0);
	make_node(root, 2, 1);
	assert_int_equal(tree_open(root, &tree), 0);
	assert_int_equal(machine_read(tree, &machine), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	machine_free(&machine);
	tree_close(tree);
	remove_tree(root);
	return 0;
}

static int at(const char *name)
{
	const struct device *d = machine_find(&machine, name);

	assert_non_null(d);
	return (int)(d - machine.at);
}

static struct path path(const char *from, const char *to)
{
	struct path p;

	path_find(&machine, at(from), at(to), &p);
	return p;
}

static void bridges_are(const struct path *p, const char *names)
{
	char text[256] = "";
	size_t i;

	for (i = 0; i < p->nr_bridges; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", machine.at[p->bridges[i]].name + 5);
	assert_string_equal(text, names);
}

/* Assert the path from @from to @to. The path must be the same in both directions. */
static void is(const char *from, const char *to, enum path_class class, enum path_case c)
{
	struct path p = path(from, to), back = path(to, from);

	assert_string_equal(path_class_name(p.class), path_class_name(class));
	assert_int_equal(p.case_of_guide, c);
	assert_int_equal(back.class, p.class);
	assert_int_equal(back.case_of_guide, p.case_of_guide);
	assert_int_equal(back.nr_switches, p.nr_switches);
	assert_int_equal(back.nr_bridges, p.nr_bridges);
	assert_int_equal(back.mbps, p.mbps);
}

static void path_classes_follow_topology(void **state)
{
	(void)state;
	is("0000:03:00.0", "0000:03:00.0", PATH_SELF, PATH_SWITCHES_ONLY);
	is("0000:03:00.0", "0000:04:00.0", PATH_PIX, PATH_SWITCHES_ONLY);
	is("0000:03:00.0", "0000:08:00.0", PATH_PXB, PATH_SWITCHES_ONLY);
	is("0000:10:00.0", "0000:10:00.1", PATH_PIX, PATH_SWITCHES_ONLY);
	is("0000:13:04.0", "0000:13:05.0", PATH_PIX, PATH_SWITCHES_ONLY);
	is("0000:03:00.0", "0000:10:00.0", PATH_PHB, PATH_ONE_CPU);
	is("0000:03:00.0", "0000:00:03.0", PATH_PHB, PATH_ONE_CPU);
	is("0000:03:00.0", "0000:13:05.0", PATH_PHB, PATH_ONE_CPU);
	is("0000:03:00.0", "0000:41:00.0", PATH_NODE, PATH_ONE_CPU);
	is("0000:03:00.0", "0000:61:00.0", PATH_SYS, PATH_ONE_CPU);
	is("0000:03:00.0", "0000:81:00.0", PATH_SYS, PATH_TWO_CPUS);
	is("0000:03:00.0", "0000:a0:00.0", PATH_SYS, PATH_UNKNOWN);
}

static void paths_list_their_bridges(void **state)
{
	struct path p;

	(void)state;
	p = path("0000:03:00.0", "0000:04:00.0");
	bridges_are(&p, "02:00.0 01:00.0 02:01.0 ");
	assert_int_equal(p.common, at("0000:01:00.0"));
	assert_int_equal(p.nr_switches, 1);
	p = path("0000:03:00.0", "0000:08:00.0");
	bridges_are(&p, "02:00.0 01:00.0 02:02.0 05:00.0 06:00.0 ");
	assert_int_equal(p.nr_switches, 2);
	p = path("0000:08:00.0", "0000:81:00.0");
	bridges_are(&p, "06:00.0 05:00.0 02:02.0 01:00.0 00:01.0 80:01.0 ");
	assert_int_equal(p.common, -1);
	p = path("0000:13:04.0", "0000:13:05.0");
	bridges_are(&p, "12:00.0 ");
	assert_int_equal(p.nr_switches, 1);
	p = path("0000:10:00.0", "0000:10:00.1");
	bridges_are(&p, "00:02.0 ");
	assert_int_equal(p.nr_switches, 0);
}

static void slowest_is(const char *from, const char *to, const char *slowest, uint64_t mbps)
{
	struct path p = path(from, to);

	assert_string_equal(machine.at[p.slowest].name, slowest);
	assert_int_equal(p.mbps, mbps);
}

static void slowest_link_limits_path(void **state)
{
	struct path p;

	(void)state;
	slowest_is("0000:03:00.0", "0000:04:00.0", "0000:04:00.0", 31507);
	slowest_is("0000:03:00.0", "0000:08:00.0", "0000:08:00.0", 7876);
	slowest_is("0000:03:00.0", "0000:13:04.0", "0000:03:00.0", 63015);
	slowest_is("0000:81:00.0", "0000:03:00.0", "0000:01:00.0", 63015);	/* the first of two equal links */
	slowest_is("0000:81:00.0", "0000:10:00.1", "0000:10:00.1", 7876);
	p = path("0000:00:03.0", "0000:a0:00.0");
	assert_int_equal(p.mbps, 0);
	assert_int_equal(p.slowest, -1);
}

/* A path below the switch does not use the link between switch and root port. */
static void slow_uplink_limits_outer_paths_only(void **state)
{
	struct device *up = &machine.at[at("0000:01:00.0")];
	struct link before = up->link;

	(void)state;
	up->link = (struct link) { 2500, 1, 32000, 16 };
	slowest_is("0000:03:00.0", "0000:04:00.0", "0000:04:00.0", 31507);
	slowest_is("0000:03:00.0", "0000:41:00.0", "0000:01:00.0", 250);
	up->link = before;
}

static void link_rates_follow_generation(void **state)
{
	(void)state;
	assert_int_equal(link_mbps(2500, 1), 250);
	assert_int_equal(link_mbps(5000, 16), 8000);
	assert_int_equal(link_mbps(8000, 16), 15753);
	assert_int_equal(link_mbps(16000, 16), 31507);
	assert_int_equal(link_mbps(32000, 16), 63015);
	assert_int_equal(link_mbps(64000, 16), 118000);
	assert_int_equal(link_mbps(0, 16), 0);
	assert_int_equal(link_mbps(8000, 0), 0);
}

static void link_maximum_respects_port(void **state)
{
	struct link link;

	(void)state;
	link = path_link(&machine, at("0000:08:00.0"));	/* x16 at 64 GT/s in a port with x16 at 32 GT/s */
	assert_int_equal(link.width, 4);
	assert_int_equal(link.max_width, 16);
	assert_int_equal(link.speed_mts, 16000);
	assert_int_equal(link.max_speed_mts, 32000);
	assert_true(link_is_degraded(&link));
	link = path_link(&machine, at("0000:03:00.0"));
	assert_false(link_is_degraded(&link));
	link = path_link(&machine, at("0000:00:01.0"));	/* the link of a port is the link below the port */
	assert_int_equal(link.width, 0);
	link = path_link(&machine, at("0000:81:00.0"));	/* the device is faster than its port's stated maximum */
	assert_int_equal(link.speed_mts, 64000);
	assert_int_equal(link.max_speed_mts, 64000);
	assert_false(link_is_degraded(&link));
}

/* With a single NUMA node, an unknown node must be that node. */
static void single_node_resolves_unknown_node(void **state)
{
	size_t before = machine.nr_nodes;

	(void)state;
	machine.nr_nodes = 1;
	is("0000:03:00.0", "0000:a0:00.0", PATH_NODE, PATH_ONE_CPU);
	machine.nr_nodes = before;
}

/* With a single processor, each unknown node belongs to it. A memory-only node has no processor. */
static void single_cpu_resolves_unknown_node(void **state)
{
	int before = machine.nodes[2].package;

	(void)state;
	machine.nodes[2].package = 0;
	is("0000:03:00.0", "0000:a0:00.0", PATH_SYS, PATH_ONE_CPU);
	machine.nodes[2].package = -1;
	is("0000:03:00.0", "0000:a0:00.0", PATH_SYS, PATH_ONE_CPU);
	is("0000:03:00.0", "0000:81:00.0", PATH_SYS, PATH_TWO_CPUS);
	machine.nodes[2].package = before;
}

/* If the packages of two nodes are unknown, assume two processors. */
static void unknown_packages_count_as_two(void **state)
{
	int before[2] = { machine.nodes[0].package, machine.nodes[1].package };

	(void)state;
	machine.nodes[0].package = machine.nodes[1].package = -1;
	is("0000:03:00.0", "0000:61:00.0", PATH_SYS, PATH_TWO_CPUS);
	machine.nodes[0].package = before[0];
	machine.nodes[1].package = before[1];
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_classes_follow_topology),
		cmocka_unit_test(paths_list_their_bridges),
		cmocka_unit_test(slowest_link_limits_path),
		cmocka_unit_test(slow_uplink_limits_outer_paths_only),
		cmocka_unit_test(link_rates_follow_generation),
		cmocka_unit_test(link_maximum_respects_port),
		cmocka_unit_test(single_node_resolves_unknown_node),
		cmocka_unit_test(single_cpu_resolves_unknown_node),
		cmocka_unit_test(unknown_packages_count_as_two),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
