// SPDX-License-Identifier: MIT
#include <json-c/json.h>
#include <sys/wait.h>
#include "tool/machine/path.h"
#include "tool/topo/topo.h"
#include "tool/topo/layout.h"
#include "tree_maker.h"

static char *root;
static struct tree *tree;
static struct topo topo;

#define PORT "pci0000:17/0000:17:01.0"
#define UP PORT "/0000:18:00.0"

static void bridge(const char *name, const char *above, enum port_type port, int node)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x8086, .class_code = 0x060400, .port = port,
		.speed = "32.0 GT/s PCIe", .width = 16, .numa_node = node, .driver = "pcieport",
	});
}

static void gpu(const char *name, const char *above, int node, unsigned int width)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x10de, .device = 0xfffe, .class_code = 0x030200,
		.port = PORT_ENDPOINT, .speed = "32.0 GT/s PCIe", .width = width, .max_width = 16, .numa_node = node,
		.driver = "nvidia",
	});
}

static void nic(const char *name, const char *above, int node, const char *rdma)
{
	make_device(root, &(struct made_device) {
		.name = name, .above = above, .vendor = 0x15b3, .device = 0xfffe, .class_code = 0x020000,
		.port = PORT_ENDPOINT, .speed = "16.0 GT/s PCIe", .width = 16, .numa_node = node, .rdma = rdma,
		.max_speed = "32.0 GT/s PCIe", .driver = "mlx5_core",
	});
}

/*
 * Two pairs of a GPU and an adapter, each under its own switch and processor. topo does not show
 * the other devices.
 */
static void make_server(void)
{
	make_node(root, 0, 0);
	make_node(root, 1, 1);
	bridge("0000:17:01.0", "pci0000:17", PORT_ROOT, 0);
	bridge("0000:18:00.0", PORT, PORT_UPSTREAM, 0);
	bridge("0000:19:00.0", UP, PORT_DOWNSTREAM, 0);
	bridge("0000:19:01.0", UP, PORT_DOWNSTREAM, 0);
	bridge("0000:19:02.0", UP, PORT_DOWNSTREAM, 0);	/* no device is below this port */
	gpu("0000:1a:00.0", UP "/0000:19:00.0", 0, 16);
	nic("0000:1b:00.0", UP "/0000:19:01.0", 0, "mlx5_0");
	nic("0000:1b:00.2", UP "/0000:19:01.0", 0, NULL);
	make_link(root, "sys/devices/" UP "/0000:19:01.0/0000:1b:00.2/physfn", "../0000:1b:00.0");
	bridge("0000:97:01.0", "pci0000:97", PORT_ROOT, 1);
	bridge("0000:97:02.0", "pci0000:97", PORT_ROOT, 1);
	gpu("0000:98:00.0", "pci0000:97/0000:97:01.0", 1, 8);
	nic("0000:99:00.0", "pci0000:97/0000:97:02.0", 1, NULL);
	make_file(root, "sys/class/dmi/id/product_name", "A <server> & \"more\"\n");
}

static int setup(void **state)
{
	(void)state;
	root = make_tree();
	assert_int_equal(tree_open(root, &tree), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	topo_free(&topo);
	tree_close(tree);
	remove_tree(root);
	return 0;
}

/* ---- selection of devices -------------------------------------------------------------- */

static bool is_shown(const char *name)
{
	const struct device *d = machine_find(&topo.machine, name);

	assert_non_null(d);
	return topo.is_shown[d - topo.machine.at];
}

static void topo_shows_gpus_and_peers(void **state)
{
	(void)state;
	make_server();
	assert_int_equal(topo_read(tree, &topo), 0);
	assert_int_equal(topo.nr_gpus, 2);
	assert_int_equal(topo.count, 4);
	assert_string_equal(topo.devices[0].label, "GPU0");
	assert_string_equal(topo.devices[1].label, "GPU1");
	assert_string_equal(topo.devices[2].label, "mlx5_0");
	assert_string_equal(topo.devices[3].label, "NIC0");
	assert_int_equal(topo.nr_virtual, 1);
	assert_true(is_shown("0000:18:00.0"));
	assert_false(is_shown("0000:19:02.0"));
	assert_false(is_shown("0000:1b:00.2"));
	assert_int_equal(topo.nr_roots, 2);
	assert_int_equal(topo.roots[0].node, 0);
	assert_int_equal(topo.roots[1].node, 1);
}

/* ---- text ----------------------------------------------------------------- */

/* Print with @print to a string, which the caller frees. */
static char *printed(void (*print)(const struct topo *t, FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(topo_read(tree, &topo), 0);
	print(&topo, f);
	fclose(f);
	return text;
}

static void says(const char *text, const char *what)
{
	if (!strstr(text, what))
		print_error("\"%s\" is not in:\n%s", what, text);
	assert_non_null(strstr(text, what));
}

static void text_shows_paths_and_links(void **state)
{
	char *out;

	(void)state;
	make_server();
	out = printed(topo_text);
	says(out, "NUMA node 0, processor 0\n  root bus pci0000:17\n    0000:17:01.0  root port");
	says(out, "\n      0000:18:00.0  switch ");
	says(out, "\n          0000:1a:00.0  GPU0 ");
	says(out, "driver nvidia  x8 at 32 GT/s (could be x16 at 32 GT/s)\n");
	says(out, "\nGPU0             X       SYS       PIX       SYS    0-9             0\n");
	says(out, "\nGPU1           SYS         X       SYS       PHB    10-19           1\n");
	says(out, "\nNVLinks are not known: ");
	says(out, "\nGPU0             -      31.5      31.5      31.5\n");
	says(out, "\n  0000:98:00.0  GPU1  x8 at 32 GT/s (could be x16 at 32 GT/s)\n");
	says(out, "\n1 virtual functions are not shown.\n");
	assert_null(strstr(out, "virtual machine"));
	assert_null(strstr(out, "0000:19:02.0"));
	free(out);
}

static void nvlinks_replace_the_class(void **state)
{
	char *out;

	(void)state;
	make_server();
	make_file(root, "peerpin/facts", "nvlink 0000:98:00.0 0000:1a:00.0 18\nnvlinks known\n");
	out = printed(topo_text);
	says(out, "\nGPU0             X      NV18       PIX       SYS    ");
	says(out, "\nGPU1          NV18         X       SYS       PHB    ");
	says(out, "\nGPU0             -      31.5      31.5      31.5\n");
	assert_null(strstr(out, "NVLinks are not known"));
	free(out);
	assert_int_equal(topo_nvlinks(&topo, 1, 0), 18);
	assert_int_equal(topo_nvlinks(&topo, 0, 2), 0);
}

/* A GPU that is passed through to a virtual machine. The list of PCI devices does not have it yet. */
static void text_names_guest_gpu(void **state)
{
	char *out;

	(void)state;
	gpu("0000:00:06.0", "pci0000:00", 0, 16);
	out = printed(topo_text);
	says(out, "\nThis is a virtual machine");
	says(out, "GPU0       NVIDIA Corporation Device fffe  driver nvidia  x16 at 32 GT/s\n");
	free(out);
	topo_free(&topo);
	make_file(root, "proc/driver/nvidia/gpus/0000:00:06.0/information", "Model: \t\t NVIDIA H\033200\nIRQ: 41\n");
	out = printed(topo_text);
	says(out, "GPU0       NVIDIA H?200  driver nvidia  x16 at 32 GT/s\n");
	free(out);
}

/* Topology of a virtual machine of libvirt. */
static void text_detects_guest_with_bridges(void **state)
{
	char *out;

	(void)state;
	make_server();
	make_file(root, "proc/cpuinfo", "flags\t: fpu hypervisor lm\n");
	out = printed(topo_text);
	says(out, "\nThis is a virtual machine");
	free(out);
}

static void text_reports_empty_machine(void **state)
{
	char *out;

	(void)state;
	make_file(root, "sys/bus/pci/devices/nothing/x", "x");
	out = printed(topo_text);
	assert_string_equal(out, "There is no GPU here, nor a device that could be its peer.\n");
	free(out);
}

static void text_reports_missing_gpu(void **state)
{
	char *out;

	(void)state;
	nic("0000:01:00.0", "pci0000:00", 0, "mlx5_0");
	out = printed(topo_text);
	says(out, "mlx5_0");
	says(out, "\nThere is no GPU here.\n");
	assert_null(strstr(out, "PIX"));
	free(out);
}

/* No row exceeds 120 characters, for any number of devices. */
static void text_wraps_wide_tables(void **state)
{
	char *out, *rest, *line;
	unsigned int i, rows = 0;

	(void)state;
	for (i = 0; i < 40; i++)
		nic(tree_path("0000:%02x:00.0", 0x10 + i).at, "pci0000:00", 0, i ? NULL : "rocep123s0f0np0");
	gpu("0000:01:00.0", "pci0000:00", 0, 16);
	out = rest = printed(topo_text);
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "GPU0 ", 5)) {
			assert_true(strlen(line) <= 120);
			rows++;
		}
	assert_int_equal(rows, 2 * 7);	/* each row has six columns of 17 characters */
	free(out);
}

/* ---- the picture ---------------------------------------------------------------- */

/* @s is at the name of a tag; returns the end of the tag. Attributes are quoted and contain no tag. */
static const char *pass_tag(const char *s)
{
	bool quoted = false;

	for (; *s && (quoted || *s != '>'); s++) {
		quoted ^= *s == '"';
		assert_false(*s == '<');
	}
	assert_int_equal(*s, '>');
	assert_false(quoted);
	return s;
}

static const char *pass_entity(const char *s)
{
	static const char *const known[] = { "&lt;", "&gt;", "&amp;", "&quot;" };
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(s, known[i], strlen(known[i])))
			return s + strlen(known[i]) - 1;
	print_error("a bare & in the picture: %.20s\n", s);
	assert_true(false);
	return s;
}

/* Check that each tag is closed and that text contains no bare & or <. */
static void is_well_formed(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		if (*s == '&')
			s = pass_entity(s);
		if (*s != '<')
			continue;
		depth += s[1] == '/' ? -1 : 1;
		s = pass_tag(s + 1);
		depth -= s[-1] == '/';
		assert_true(depth >= 0);
	}
	assert_int_equal(depth, 0);
}

static size_t times(const char *s, const char *what)
{
	size_t n = 0;

	for (; (s = strstr(s, what)); s++)
		n++;
	return n;
}

static void picture_shows_server(void **state)
{
	char *out;

	(void)state;
	make_server();
	out = printed(topo_svg);
	is_well_formed(out);
	says(out, ">A &lt;server&gt; &amp; &quot;more&quot;</text>");
	says(out, ">PIX to GPU0</text>");
	says(out, ">PHB to GPU1</text>");
	says(out, ">x8 of x16</text>");
	says(out, ">16 of 32</text>");
	says(out, ">link between</text>");
	assert_int_equal(times(out, ">host bridge</text>"), 2);
	assert_int_equal(times(out, ">PCIe switch</text>"), 1);
	free(out);
}

static void picture_shows_empty_machine(void **state)
{
	char *out;

	(void)state;
	make_file(root, "sys/bus/pci/devices/nothing/x", "x");
	out = printed(topo_svg);
	is_well_formed(out);
	says(out, "0 GPUs and 0 other");
	free(out);
}

static bool overlap(const struct box *a, const struct box *b)
{
	return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

static bool is_within(const struct box *b, const struct socket *s)
{
	return b->x >= s->x && b->x + b->width <= s->x + s->width &&
	       b->y >= s->y && b->y + b->height <= s->y + s->height;
}

static void check_socket(const struct layout *l, const struct socket *s)
{
	size_t i, j;

	for (i = s->first; i < s->end; i++) {
		const struct box *b = &l->boxes[i];

		assert_true(is_within(b, s));
		for (j = i + 1; j < s->end; j++)
			assert_false(overlap(b, &l->boxes[j]));
		if (b->above < 0)
			continue;
		assert_true(b->x >= l->boxes[b->above].x);
		assert_true(b->x + b->width <= l->boxes[b->above].x + l->boxes[b->above].width);
	}
	assert_true(s->x + s->width <= l->width && s->y + s->height <= l->height);
}

/* Two processors with two nodes each are too wide for one line. */
static void layout_wraps_many_nodes(void **state)
{
	struct layout l;
	int node, i;
	char *out;

	(void)state;
	for (node = 0; node < 4; node++) {
		make_node(root, node, node / 2);
		for (i = 0; i < 5; i++)
			nic(tree_path("0000:%x%d:00.0", 0xa + node, i).at, tree_path("pci0000:%x0", 0xa + node).at,
			    node, NULL);
	}
	out = printed(topo_svg);
	says(out, ">link between processors</text>");
	says(out, ">NUMA nodes</text>");
	free(out);
	layout_find(&topo, &l);
	assert_int_equal(l.nr_sockets, 4);
	assert_int_equal(l.sockets[1].y, l.sockets[0].y);
	assert_true(l.sockets[2].y > l.sockets[1].y);
	assert_int_equal(l.sockets[2].x, l.sockets[0].x);
	for (i = 0; i < 4; i++)
		check_socket(&l, &l.sockets[i]);
	layout_free(&l);
}

/* ---- the command ---------------------------------------------------------------- */

/* Run topo. Returns the output, which the caller frees; stores the exit status in @status. */
static char *run(const char *arguments, int *status)
{
	char *command, *out = calloc(1, 65536);
	FILE *f;
	int ended;

	assert_true(asprintf(&command, BUILD "/bin/peerpin topo --root %s %s 2>&1", root, arguments) > 0);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(out);
	assert_true(fread(out, 1, 65535, f) < 65535);
	ended = pclose(f);
	assert_true(WIFEXITED(ended));
	*status = WEXITSTATUS(ended);
	free(command);
	return out;
}

static struct json_object *member(struct json_object *list, size_t i, const char *key)
{
	return json_object_object_get(json_object_array_get_idx(list, i), key);
}

static void json_describes_pairs(void **state)
{
	struct json_object *o, *pairs, *devices;
	int status;
	char *out;

	(void)state;
	make_server();
	out = run("--json", &status);
	assert_int_equal(status, 0);
	o = json_tokener_parse(out);
	assert_non_null(o);
	pairs = json_object_object_get(o, "pairs");
	devices = json_object_object_get(o, "devices");
	assert_int_equal(json_object_array_length(json_object_object_get(o, "numa_nodes")), 2);
	assert_int_equal(json_object_array_length(devices), 10);
	assert_string_equal(json_object_get_string(member(devices, 4, "pci")), "0000:1a:00.0");
	assert_string_equal(json_object_get_string(member(devices, 4, "parent")), "0000:19:00.0");
	assert_int_equal(json_object_get_int(json_object_object_get(member(devices, 4, "link"), "width")), 16);
	assert_null(member(devices, 0, "link"));
	assert_int_equal(json_object_array_length(pairs), 6);
	assert_string_equal(json_object_get_string(member(pairs, 1, "device")), "mlx5_0");
	assert_string_equal(json_object_get_string(member(pairs, 1, "class")), "PIX");
	assert_string_equal(json_object_get_string(member(pairs, 1, "slowest_link")), "0000:1b:00.0");
	assert_int_equal(json_object_get_int(member(pairs, 1, "mbytes_per_s")), 31507);
	json_object_put(o);
	free(out);
}

static void ends_with(const char *arguments, int status, const char *what)
{
	int ended;
	char *out = run(arguments, &ended);

	says(out, what);
	assert_int_equal(ended, status);
	free(out);
}

static void errors_say_what_to_do(void **state)
{
	(void)state;
	ends_with("", 1, "no sys/bus/pci/devices");
	make_server();
	ends_with("", 0, "GPU1");
	ends_with("--json --svg x", 2, "one of --json and --svg");
	ends_with("--svg /nowhere/x.svg", 1, "give --svg another file");
	ends_with("--frobnicate", 2, "--frobnicate");
	ends_with("more", 2, "more");
}

static void svg_option_writes_file(void **state)
{
	struct tree_path path = tree_path("%s/x.svg", root);
	char text[65536];
	int status;

	(void)state;
	make_server();
	free(run(tree_path("--svg %s", path.at).at, &status));
	assert_int_equal(status, 0);
	assert_true(tree_read(tree, "x.svg", text, sizeof(text)) > 1000);
	is_well_formed(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(topo_shows_gpus_and_peers, setup, teardown),
		cmocka_unit_test_setup_teardown(text_shows_paths_and_links, setup, teardown),
		cmocka_unit_test_setup_teardown(nvlinks_replace_the_class, setup, teardown),
		cmocka_unit_test_setup_teardown(text_names_guest_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(text_detects_guest_with_bridges, setup, teardown),
		cmocka_unit_test_setup_teardown(text_reports_empty_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(text_reports_missing_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(text_wraps_wide_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(picture_shows_server, setup, teardown),
		cmocka_unit_test_setup_teardown(picture_shows_empty_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(layout_wraps_many_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(json_describes_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_say_what_to_do, setup, teardown),
		cmocka_unit_test_setup_teardown(svg_option_writes_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
