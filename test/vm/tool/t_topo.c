// SPDX-License-Identifier: MIT
/*
 * peerpin topo and peerpin doctor in a VM with a known topology:
 *
 *	t_topo TOPOLOGY [CASE]...
 *
 * The expected values follow from emu/vm/topology/TOPOLOGY and from the kernel's command line. The
 * VM has two GPUs and two peers.
 */
#include <ctype.h>

#include "topo.h"

enum {
	NR_GPUS = 2,
	NR_PEERS = 2,
};

/**
 * struct layout - a topology and the expected values
 * @gpu_root, @peer_root: host bridge of the GPUs, and of the peers
 * @gpu_bridges, @peer_bridges: number of bridges above a GPU, and above a peer
 * @shared_bridges: number of bridges that a GPU and a peer share
 * @gpu_node, @peer_node: NUMA node of the GPUs, and of the peers
 * @acs: true: the root ports have ACS in the VM that the suite line starts
 * @class: path class between a GPU and a peer
 * @gpus_class: path class between the two GPUs
 * @way: path between a GPU and a peer, one of the three paths of guide 11.4
 * @verdict: verdict on a pair without an IOMMU
 */
struct layout {
	const char *name;
	const char *gpu_root, *peer_root;
	size_t gpu_bridges, peer_bridges, shared_bridges;
	int gpu_node, peer_node;
	bool acs;
	const char *class, *gpus_class, *way, *verdict;
};

static const struct layout layouts[] = {
	{ "flat", "pci0000:00", "pci0000:00", 0, 0, 0, -1, -1, true,
	  "PHB", "PHB", "a single processor", "works slowly" },
	{ "root-ports", "pci0000:00", "pci0000:00", 1, 1, 0, -1, -1, true,
	  "PHB", "PHB", "a single processor", "works slowly" },
	{ "switch", "pci0000:00", "pci0000:00", 3, 3, 2, -1, -1, true,
	  "PIX", "PIX", "PCIe switches only", "works well" },
	{ "nested-switches", "pci0000:00", "pci0000:00", 3, 5, 2, -1, -1, true,
	  "PXB", "PIX", "PCIe switches only", "works well" },
	{ "two-switches", "pci0000:00", "pci0000:00", 3, 3, 0, -1, -1, false,
	  "PHB", "PIX", "a single processor", "works slowly" },
	{ "two-complexes", "pci0000:40", "pci0000:80", 1, 1, 0, 0, 0, true,
	  "NODE", "PHB", "a single processor", "works slowly" },
	{ "two-sockets", "pci0000:40", "pci0000:80", 1, 1, 0, 0, 1, true,
	  "SYS", "PHB", "two processors and the link between them", "works slowly" },
};

static const struct layout *layout;
static struct places gpus, peers;
static struct json_object *topo, *doctor;
static int status;

/* ---- the VM itself ----------------------------------------------------------- */

static size_t count_bridges(const char *place)
{
	size_t slashes = 0;

	for (; *place; place++)
		slashes += *place == '/';
	return slashes - 4;
}

static size_t count_shared(const char *a, const char *b)
{
	size_t slashes = 0;

	for (; *a && *a == *b; a++, b++)
		slashes += *a == '/';
	return slashes > 4 ? slashes - 4 : 0;
}

static int node_of(const char *place)
{
	char path[300];
	FILE *file;
	int node = -2;

	snprintf(path, sizeof(path), "%s/numa_node", place);
	file = fopen(path, "re");
	if (!file)
		return node;
	if (fscanf(file, "%d", &node) != 1)
		node = -2;
	fclose(file);
	return node;
}

static void expect_place(const char *place, const char *root, size_t bridges, int node)
{
	const char *rest = place + strlen("/sys/devices/");

	EXPECT(!strncmp(rest, root, strlen(root)), "%s", place);
	EXPECT(count_bridges(place) == bridges, "%s", place);
	EXPECT(node_of(place) == node, "%s: %d", place, node_of(place));
}

CASE(vm_has_the_named_topology)
{
	size_t i;

	places_find(gpus_are, &gpus);
	places_find(peers_are, &peers);
	EXPECT(gpus.count == NR_GPUS && peers.count == NR_PEERS, "%zu GPUs, %zu peers", gpus.count, peers.count);
	for (i = 0; i < NR_GPUS; i++) {
		expect_place(gpus.at[i], layout->gpu_root, layout->gpu_bridges, layout->gpu_node);
		expect_place(peers.at[i], layout->peer_root, layout->peer_bridges, layout->peer_node);
		CHECK_CASE();
	}
	EXPECT(count_shared(gpus.at[0], peers.at[1]) == layout->shared_bridges, "%s, %s", gpus.at[0], peers.at[1]);
}

/* The control register of the ACS capability; -1: no ACS. */
static int acs_control(const char *address)
{
	char command[128], text[16] = "";
	FILE *file;

	snprintf(command, sizeof(command), "setpci -s %.12s ECAP_ACS+6.w 2>/dev/null", address);
	file = popen(command, "re");
	if (!file)
		return -1;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	pclose(file);
	return isxdigit((unsigned char)text[0]) ? (int)strtol(text, NULL, 16) : -1;
}

/* With an IOMMU the kernel isolates devices: ACS redirects requests and completions. */
CASE(root_ports_have_the_layouts_acs)
{
	const char *port = gpus.at[0] + strlen("/sys/devices/pci0000:00/");
	int expected = booted_with("intel_iommu=on") ? 0x0c : 0, seen;

	if (!layout->gpu_bridges)
		SKIP("this layout has no root ports");
	seen = acs_control(port);
	if (layout->acs)
		EXPECT(seen >= 0 && (seen & 0x0c) == expected, "%.12s: %x", port, (unsigned int)seen);
	else
		EXPECT(seen < 0, "%.12s: %x", port, (unsigned int)seen);
}

/* ---- topo ------------------------------------------------------------------------- */

static const char *label_of(const char *place)
{
	size_t i;

	for (i = 0; i < length_of(topo, "devices"); i++)
		if (has_text(element_of(topo, "devices", i), "pci", address_of(place)))
			return text_of(element_of(topo, "devices", i), "label");
	return "";
}

static void expect_class(const char *gpu, const char *device, const char *class, const char *way)
{
	struct json_object *pair = find_in(topo, "pairs", "gpu", label_of(gpu), "device", label_of(device));

	EXPECT(pair, "no pair of %s and %s", gpu, device);
	EXPECT(has_text(pair, "class", class), "%s and %s: %s, not %s", gpu, device, text_of(pair, "class"), class);
	EXPECT(!way || has_text(pair, "way", way), "%s and %s: %s, not %s", gpu, device, text_of(pair, "way"), way);
}

CASE(topo_classes_each_pair)
{
	size_t i;

	topo = said_by("peerpin topo --json", &status);
	EXPECT(topo && !status, "%d", status);
	for (i = 0; i < NR_GPUS * NR_PEERS; i++) {
		expect_class(gpus.at[i / NR_PEERS], peers.at[i % NR_PEERS], layout->class, layout->way);
		CHECK_CASE();
	}
	expect_class(gpus.at[0], gpus.at[1], layout->gpus_class, NULL);
	expect_class(gpus.at[1], gpus.at[0], layout->gpus_class, NULL);
}

/* The virtio devices and the disk controller of the chipset are no peers. */
CASE(topo_lists_only_expected_pairs)
{
	EXPECT(length_of(topo, "pairs") == NR_GPUS * (NR_PEERS + NR_GPUS - 1), "%zu", length_of(topo, "pairs"));
}

/* ---- doctor ----------------------------------------------------------------------- */

static void expect_verdict(const char *gpu, const char *peer)
{
	struct json_object *pair = find_in(doctor, "pairs", "gpu", address_of(gpu), "peer", address_of(peer));
	const char *verdict = iommu_translates() ? "works slowly" : layout->verdict;

	EXPECT(pair, "no pair of %s and %s", gpu, peer);
	EXPECT(has_text(pair, "verdict", verdict), "%s: %s", text_of(pair, "verdict"), text_of(pair, "reason"));
	EXPECT(has_text(pair, "class", layout->class), "%s", text_of(pair, "class"));
	EXPECT(iommu_translates() == !!strstr(text_of(pair, "reason"), "IOMMU"), "%s", text_of(pair, "reason"));
}

CASE(doctor_judges_each_pair)
{
	size_t i;

	doctor = said_by("peerpin doctor --json", &status);
	EXPECT(doctor && !status, "%d", status);
	EXPECT(length_of(doctor, "pairs") == NR_GPUS * NR_PEERS, "%zu", length_of(doctor, "pairs"));
	for (i = 0; i < NR_GPUS * NR_PEERS; i++) {
		expect_verdict(gpus.at[i / NR_PEERS], peers.at[i % NR_PEERS]);
		CHECK_CASE();
	}
}

static void expect_translation(const struct places *devices)
{
	const char *expected = iommu_translates() ? "WARN" : "", *seen;
	size_t i;

	for (i = 0; i < devices->count; i++) {
		seen = verdict_of(doctor, "iommu-translates", address_of(devices->at[i]));
		EXPECT(!strcmp(seen, expected), "%s: '%s'", devices->at[i], seen);
	}
}

CASE(doctor_names_translated_devices)
{
	expect_translation(&gpus);
	expect_translation(&peers);
	EXPECT(count_of(doctor, "iommu-translates", "WARN") == (iommu_translates() ? NR_GPUS + NR_PEERS : 0), "%zu",
	       count_of(doctor, "iommu-translates", "WARN"));
	EXPECT(!strcmp(verdict_of(doctor, "iommu", "machine"), "OK"), "%s", verdict_of(doctor, "iommu", "machine"));
}

/* QEMU's switches have no ACS, and above a root port there is no bridge. */
CASE(doctor_blames_no_root_port)
{
	const char *verdict = verdict_of(doctor, "acs-redirect", "machine");

	EXPECT(!strcmp(verdict, "OK"), "'%s'", verdict);
	EXPECT(!count_of(doctor, "acs-redirect", "WARN"), "%zu", count_of(doctor, "acs-redirect", "WARN"));
}

/* NVML and CUDA must find each GPU by its PCI address, behind any bridges. */
CASE(doctor_checks_bar1_and_dmabuf)
{
	const char *gpu, *verdict;
	size_t i;

	for (i = 0; i < NR_GPUS; i++) {
		gpu = address_of(gpus.at[i]);
		verdict = verdict_of(doctor, "bar1", gpu);
		EXPECT(!strcmp(verdict, "OK"), "%s: bar1: '%s'", gpu, verdict);
		verdict = verdict_of(doctor, "dma-buf", gpu);
		EXPECT(!strcmp(verdict, "OK"), "%s: dma-buf: '%s'", gpu, verdict);
	}
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (!strcmp(layouts[i].name, argv[1]))
			layout = &layouts[i];
	if (!layout) {
		printf("not ok usage: t_topo TOPOLOGY [CASE]..., not %s\n", argc > 1 ? argv[1] : "nothing");
		return 1;
	}
	return vmtest_main(argv + 2);
}
