// SPDX-License-Identifier: MIT
/* doctor's verdict on a GPU and a peer at any two places, and its text and JSON reports. */
#include <json-c/json.h>
#include <time.h>
#include "doctor_case.h"
#include "tool/doctor/json.h"
#include "tool/doctor/text.h"

/* ---- places of the GPU and the peer ------------------------------------------------- */

/**
 * struct place - a GPU and a peer, each below its own root port
 * @split: true: the two devices are on separate root buses
 */
struct place {
	bool split;
	int gpu_node, peer_node;
	const char *cpuinfo;
	const char *iommu_type;
	bool ats_on;
	uint16_t host_bridge; /* device ID of Intel's host bridge */
	const char *verdict;
	const char *reason; /* part of the reason that the report gives */
	bool p2pdma_refuses;
};

static const char intel[] = "vendor_id\t: GenuineIntel\ncpu family\t: 6\n";
static const char zen[] = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n";
static const char old_amd[] = "vendor_id\t: AuthenticAMD\ncpu family\t: 21\n";
static const char power8[] = "cpu\t\t: POWER8NVL (raw)\n";

static const struct place places[] = {
	{ false, 0, 0, intel, NULL, false, 0x2020, "works slowly\n", "root complex of one CPU", false },
	{ false, 0, 0, intel, NULL, false, 0x29c0, "works slowly\n", "root complex of one CPU", true },
	{ false, 0, 0, intel, NULL, false, 0x3c00, "works slowly\n", "root complex of one CPU", false },
	{ true, 0, 0, intel, NULL, false, 0x3c00, "works slowly\n", "root complex of one CPU", true },
	{ false, 0, 0, zen, NULL, false, 0x29c0, "works slowly\n", "root complex of one CPU", false },
	{ false, 0, 0, old_amd, NULL, false, 0x29c0, "works slowly\n", "root complex of one CPU", true },
	{ true, 0, 1, intel, NULL, false, 0x2020, "works slowly\n", "link between two CPUs", false },
	{ true, 0, 1, intel, "DMA", false, 0x2020, "works slowly\n", "the IOMMU translates for 0000:81:00.0,", false },
	{ true, 0, 1, intel, "identity", false, 0x2020, "works slowly\n", "of the same CPU", false },
	{ true, 0, NO_NODE, intel, NULL, false, 0x2020, "works slowly\n", "node of 0000:81:00.0 is unknown", false },
	{ true, NO_NODE, 0, intel, NULL, false, 0x2020, "works slowly\n", "node of 0000:01:00.0 is unknown", false },
	{ false, 0, 0, power8, NULL, false, 0x2020, "not supported\n", "POWER8", false },
	{ false, 0, 0, zen, "DMA", true, 0x29c0, "works slowly\n", "the IOMMU translates for 0000:81:00.0,", false },
};

static void make_port(const char *root, const char *bus, const char *name, int node)
{
	make_device(root, &(struct made_device){
				  .name = name,
				  .above = bus,
				  .vendor = 0x8086,
				  .device = 0x352a,
				  .class_code = 0x060400,
				  .driver = "pcieport",
				  .port = PORT_ROOT,
				  .numa_node = node,
			  });
}

static void make_host_bridge(const char *root, const struct place *p, const char *bus, const char *name)
{
	make_device(root, &(struct made_device){
				  .name = name,
				  .above = bus,
				  .vendor = 0x8086,
				  .device = p->host_bridge,
				  .class_code = 0x060000,
			  });
}

static void make_gpu(const char *root, const char *name, const char *above, int node)
{
	make_device(root, &(struct made_device){
				  .name = name,
				  .above = above,
				  .vendor = 0x10de,
				  .device = 0x2335,
				  .class_code = 0x030200,
				  .driver = "nvidia",
				  .port = PORT_ENDPOINT,
				  .numa_node = node,
				  .bars = { 16ull << 20, 32ull << 30 },
				  .speed = "16.0 GT/s PCIe",
				  .width = 16,
			  });
}

static void make_disk(const char *root, const struct place *p, const char *above)
{
	make_device(root, &(struct made_device){
				  .name = "0000:81:00.0",
				  .above = above,
				  .vendor = 0x144d,
				  .device = 0xa824,
				  .class_code = 0x010802,
				  .driver = "nvme",
				  .port = PORT_ENDPOINT,
				  .numa_node = p->peer_node,
				  .speed = "8.0 GT/s PCIe",
				  .width = 4,
				  .iommu_type = p->iommu_type, .ats = p->ats_on, .ats_on = p->ats_on,
				  .group = 9,
			  });
}

static char *make_place(const struct place *p)
{
	const char *bus = p->split ? "pci0000:80" : "pci0000:00";
	const char *port = p->split ? "0000:80:01.0" : "0000:00:02.0";
	char *root = make_tree();

	make_host_bridge(root, p, "pci0000:00", "0000:00:00.0");
	if (p->split)
		make_host_bridge(root, p, "pci0000:80", "0000:80:00.0");
	make_port(root, "pci0000:00", "0000:00:01.0", p->gpu_node);
	make_gpu(root, "0000:01:00.0", "pci0000:00/0000:00:01.0", p->gpu_node);
	make_port(root, bus, port, p->peer_node);
	make_disk(root, p, tree_path("%s/%s", bus, port).at);
	make_node(root, 0, 0);
	make_node(root, 1, 1);
	make_file(root, "proc/cpuinfo", "%s", p->cpuinfo);
	make_file(root, "peerpin/facts", "option PCI_P2PDMA y\n");
	return root;
}

/* ---- reports -------------------------------------------------------------------------- */

/** struct told - doctor's reports on a tree */
struct told {
	char *text;
	struct json_object *json;
};

static void write_both(const struct view *v, struct told *out)
{
	struct report report = { 0 };
	struct pairs pairs;
	size_t size;
	FILE *f = open_memstream(&out->text, &size);

	assert_non_null(f);
	checks_run(v, &report);
	pairs_judge(v, &pairs);
	doctor_text(f, v, &report, &pairs);
	assert_int_equal(fclose(f), 0);
	out->json = doctor_json(v, &report, &pairs, 0);
	pairs_free(&pairs);
	report_free(&report);
}

static void tell(const char *root, struct told *out)
{
	static struct view view;
	struct tree *tree;

	assert_int_equal(tree_open(root, &tree), 0);
	assert_int_equal(view_open(tree, &view), 0);
	write_both(&view, out);
	view_close(&view);
	tree_close(tree);
}

static void forget(struct told *told)
{
	free(told->text);
	json_object_put(told->json);
}

/* ---- the tests -------------------------------------------------------------------------- */

static void test_place(const struct place *p)
{
	static struct diagnosis diagnosis;
	char *root = make_place(p);
	struct told told;

	diagnose(root, &diagnosis);
	tell(root, &told);
	remove_tree(root);
	assert_string_equal(diagnosis.pairs, p->verdict);
	assert_non_null(strstr(told.text, p->reason));
	assert_int_equal(strstr(diagnosis.findings, "WARN p2pdma-host-bridge") != NULL, p->p2pdma_refuses);
	forget(&told);
}

static void placement_decides_pair_verdict(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		test_place(&places[i]);
}

/* Both devices have a link, but no bridge is visible above them. */
static void hidden_bridges_give_unknown_verdict(void **state)
{
	static struct diagnosis diagnosis;
	char *root = make_tree();

	(void)state;
	make_gpu(root, "0000:00:06.0", "pci0000:00", 0);
	make_disk(root, &places[0], "pci0000:00");
	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.pairs, "not known\n");
	make_node(root, 0, 0);
	make_node(root, 1, 1);
	make_gpu(root, "0000:00:07.0", "pci0000:80", 1);
	make_gpu(root, "0000:00:08.0", "pci0000:80", NO_NODE);
	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.pairs, "not known\nnot known\nnot known\n");
	remove_tree(root);
}

/** struct guest - a file that shows that the machine may be virtual: then its bridges prove nothing */
struct guest {
	const char *file;
	const char *text;
	const char *verdict;
};

static const struct guest guests[] = {
	{ "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme hypervisor lahf_lm\n", "not known\n" },
	{ "sys/class/dmi/id/sys_vendor", "QEMU\n", "not known\n" },
	{ "sys/class/dmi/id/product_name", "KVM Virtual Machine\n", "not known\n" },
	{ "proc/device-tree/compatible", "linux,dummy-virt", "not known\n" },
	{ "sys/class/dmi/id/sys_vendor", "Supermicro\n", "works slowly\n" },
	{ "proc/cpuinfo", "model name\t: x\nflags\t\t: fpu vmx\nvmx flags\t: vnmi\n", "works slowly\n" },
};

static void is_judged(const char *root, const char *verdict)
{
	static struct diagnosis diagnosis;

	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.pairs, verdict);
}

/* libvirt puts a root port above each device. With the emulated GPU these ports are real. */
static void guest_bridges_give_unknown_verdict(void **state)
{
	char *root;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(guests) / sizeof(guests[0]); i++) {
		root = make_place(&places[0]);
		make_file(root, guests[i].file, "%s", guests[i].text);
		is_judged(root, guests[i].verdict);
		make_file(root, "sys/module/emugpu/version", "580.65.06\n");
		is_judged(root, "works slowly\n");
		remove_tree(root);
	}
}

static void qemu_bridges_mark_a_guest(void **state)
{
	char *root = make_place(&places[0]);

	(void)state;
	make_file(root, "sys/devices/pci0000:00/0000:00:01.0/vendor", "0x1b36\n");
	is_judged(root, "not known\n");
	remove_tree(root);
}

static void amazon_metal_is_no_guest(void **state)
{
	char *root = make_place(&places[0]);

	(void)state;
	make_file(root, "sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	make_file(root, "sys/class/dmi/id/product_name", "m7g.metal\n");
	is_judged(root, "works slowly\n");
	make_file(root, "sys/class/dmi/id/product_name", "m7g.large\n");
	is_judged(root, "not known\n");
	remove_tree(root);
}

static void text_names_pair_path_and_bottleneck(void **state)
{
	char *root = make_place(&places[0]);
	struct told told;

	(void)state;
	tell(root, &told);
	remove_tree(root);
	assert_non_null(strstr(told.text, "\nGPU 0 (0000:01:00.0) - NVMe (0000:81:00.0), PHB: works slowly: "));
	assert_non_null(strstr(told.text, "3.9 GB/s by the link of 0000:81:00.0\n"));
	forget(&told);
}

static const char *member(struct json_object *o, const char *key)
{
	struct json_object *found;

	assert_true(json_object_object_get_ex(o, key, &found));
	return json_object_get_string(found);
}

static struct json_object *list(const struct told *told, const char *key)
{
	struct json_object *found;

	assert_true(json_object_object_get_ex(told->json, key, &found));
	return found;
}

static void json_equals_text(void **state)
{
	char *root = make_place(&places[0]);
	struct json_object *o;
	struct told told;
	size_t i;

	(void)state;
	tell(root, &told);
	remove_tree(root);
	for (i = 0; i < json_object_array_length(list(&told, "checks")); i++) {
		o = json_object_array_get_idx(list(&told, "checks"), i);
		assert_non_null(strstr(told.text, member(o, "check")));
		assert_non_null(strstr(told.text, member(o, "why")));
		assert_non_null(strstr(told.text, member(o, "type")));
		assert_non_null(strstr(told.text, member(o, "section")));
	}
	assert_true(i > 5);
	assert_int_equal(json_object_array_length(list(&told, "pairs")), 1);
	o = json_object_array_get_idx(list(&told, "pairs"), 0);
	assert_string_equal(member(o, "gpu"), "0000:01:00.0");
	assert_string_equal(member(o, "peer"), "0000:81:00.0");
	assert_string_equal(member(o, "class"), "PHB");
	assert_string_equal(member(o, "verdict"), "works slowly");
	forget(&told);
}

/* Names from a captured machine must not act as control characters on a terminal or as commands in a shell. */
static void hostile_names_are_sanitized(void **state)
{
	char *root = make_place(&places[0]);
	struct told told;
	const char *c;

	(void)state;
	make_device(root, &(struct made_device){
				  .name = "0000:82:00.0",
				  .above = "pci0000:00",
				  .vendor = 0x10de,
				  .class_code = 0x030200,
				  .driver = "x;$(reboot)`\033[2J",
			  });
	make_file(root, "sys/module/nvidia/version", "1.2\033]0;owned\a\n");
	tell(root, &told);
	remove_tree(root);
	for (c = told.text; *c; c++)
		assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
	assert_non_null(strstr(told.text, "x?"));
	assert_null(strstr(told.text, "$(reboot)"));
	forget(&told);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 16 GPUs and 484 disks give 7744 pairs. */
static void report_on_500_devices_is_fast(void **state)
{
	char *root = make_tree();
	struct told told;
	double start;
	int i;

	(void)state;
	for (i = 0; i < 500; i++)
		make_device(root, &(struct made_device){
					  .name = tree_path("0000:%02x:%02x.%x", i / 256, i / 8 % 32, i % 8).at,
					  .above = "pci0000:00",
					  .vendor = i < 16 ? 0x10de : 0x144d,
					  .class_code = i < 16 ? 0x030200 : 0x010802,
					  .driver = i < 16 ? "nvidia" : "nvme",
					  .port = PORT_IN_ROOT_COMPLEX,
					  .speed = "8.0 GT/s PCIe",
					  .width = 4,
				  });
	start = cpu_seconds();
	tell(root, &told);
	assert_true(cpu_seconds() - start < 1);
	remove_tree(root);
	assert_int_equal(json_object_array_length(list(&told, "pairs")), 16 * 484);
	forget(&told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(placement_decides_pair_verdict),
		cmocka_unit_test(hidden_bridges_give_unknown_verdict),
		cmocka_unit_test(guest_bridges_give_unknown_verdict),
		cmocka_unit_test(qemu_bridges_mark_a_guest),
		cmocka_unit_test(amazon_metal_is_no_guest),
		cmocka_unit_test(text_names_pair_path_and_bottleneck),
		cmocka_unit_test(json_equals_text),
		cmocka_unit_test(hostile_names_are_sanitized),
		cmocka_unit_test(report_on_500_devices_is_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
