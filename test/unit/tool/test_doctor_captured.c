// SPDX-License-Identifier: MIT
/*
 * doctor on the capture of a machine with an H200, unchanged and with planted faults. Each fault
 * must give its own findings and change no others.
 */
#include "doctor_case.h"
#include "tool/machine/root.h"

#define H200 "0000:00:06.0"
#define CARD "0000:00:08.0"
#define AT_GPU(file) "sys/devices/pci0000:00/" H200 "/" file

/** struct edit - replace the first @from in @file by @to; @from NULL: replace the whole file */
struct edit {
	const char *file;
	const char *from;
	const char *to;
};

struct fault {
	const char *name;
	struct edit edits[3];
	void (*plant)(const char *root);
	const char *gone, *come;
	const char *pair;
};

static void read_whole(const char *root, const char *path, char *out, size_t size)
{
	char *whole = make_way(root, path);
	FILE *f = fopen(whole, "r");
	size_t length;

	assert_non_null(f);
	length = fread(out, 1, size - 1, f);
	assert_true(length < size - 1);
	out[length] = '\0';
	fclose(f);
	free(whole);
}

static void apply(const char *root, const struct edit *e)
{
	static char text[65536];
	char *at;

	if (!e->from) {
		make_file(root, e->file, "%s", e->to);
		return;
	}
	read_whole(root, e->file, text, sizeof(text));
	at = strstr(text, e->from);
	assert_non_null(at);
	make_file(root, e->file, "%.*s%s%s", (int)(at - text), text, e->to, at + strlen(e->from));
}

/* ---- faults that need more than an edit -------------------------------------------------- */

static void remove_at(const char *root, const char *path)
{
	char *whole = make_way(root, path);

	assert_int_equal(remove(whole), 0);
	free(whole);
}

static void unbind_gpu(const char *root)
{
	remove_at(root, AT_GPU("driver"));
}

static void hide_modules(const char *root)
{
	char *whole = make_way(root, "proc/modules");

	assert_int_equal(chmod(whole, 0), 0);
	free(whole);
}

static void add_card(const char *root, const char *iommu_type)
{
	make_device(root, &(struct made_device){
		.name = CARD, .above = "pci0000:00", .vendor = 0x15b3, .device = 0x1021, .class_code = 0x020700,
		.driver = "mlx5_core", .rdma = "mlx5_0", .port = PORT_IN_ROOT_COMPLEX,
		.iommu_type = iommu_type, .group = 1,
	});
}

static void add_peer(const char *root)
{
	add_card(root, NULL);
}

static void add_translated_peer(const char *root)
{
	add_card(root, "DMA");
}

static const struct fault faults[] = {
	{ "the race", .edits = { { "proc/driver/nvidia/version", "580.159.04", "525.85.12" },
				 { "sys/module/nvidia/version", "580.159.04", "525.85.12" } },
	  .gone = "OK driver-race machine\n", .come = "FAIL driver-race machine\n" },
	{ "no nv-p2p", .edits = { { "peerpin/facts", "nvidia_p2p_get_pages yes", "nvidia_p2p_get_pages no" } },
	  .gone = "OK driver-nv-p2p machine\n", .come = "FAIL driver-nv-p2p machine\n" },
	{ "no persistent pins", .edits = { { "peerpin/facts", "pages_persistent yes", "pages_persistent no" } },
	  .gone = "OK driver-persistent machine\n", .come = "WARN driver-persistent machine\n" },
	{ "no driver", .plant = unbind_gpu,
	  .gone = "OK driver machine\nOK driver-flavour machine\nOK driver-nv-p2p machine\n"
		  "OK driver-persistent machine\nOK driver-race machine\nOK nodes-nvidia /dev/nvidia*\n",
	  .come = "FAIL driver " H200 "\n" },
	{ "proprietary",
	  .edits = { { "proc/driver/nvidia/version", "Open Kernel Module for x86_64", "x86_64 Kernel Module" },
		     { "peerpin/facts", "dma-buf 1", "dma-buf 0" },
		     { "peerpin/facts", "DMA_SHARED_BUFFER y", "DMA_SHARED_BUFFER n" } },
	  .gone = "OK dma-buf " H200 "\nOK kernel-dma-buf DMA_SHARED_BUFFER\n",
	  .come = "WARN dma-buf " H200 "\nWARN kernel-dma-buf DMA_SHARED_BUFFER\n" },
	{ "GPUDirect is not supported", .edits = { { "peerpin/facts", "gdr 1", "gdr 0" } },
	  .gone = "OK gpu-direct " H200 "\n", .come = "FAIL gpu-direct " H200 "\n" },
	{ "BAR1 is full", .edits = { { "peerpin/facts", "bar1 274877906944 ", "bar1 274877906944 27487790694" } },
	  .gone = "OK bar1 " H200 "\n", .come = "FAIL bar1 " H200 "\n" },
	{ "a BAR1 without room",
	  .edits = { { AT_GPU("resource"), NULL, "0x0000000080000000 0x0000000080ffffff 0x0000000000040200\n" } },
	  .gone = "OK bar1-size " H200 "\n", .come = "FAIL bar1-size " H200 "\n" },
	{ "a narrow link", .edits = { { AT_GPU("current_link_width"), "16", "4" } },
	  .gone = "OK link machine\n", .come = "WARN link " H200 "\n" },
	{ "an idle GPU", .edits = { { AT_GPU("current_link_speed"), "32.0", "2.5" } } },
	{ "modules are hidden", .plant = hide_modules,
	  .gone = "WARN peerpin-module peerpin\n", .come = "? peerpin-module peerpin\n" },
	{ "peerpin, but no provider and no node",
	  .edits = { { "proc/modules", "nvidia_uvm", "peerpin 1 0 - Live 0x0 (O)\nnvidia_uvm" } },
	  .gone = "WARN peerpin-module peerpin\nWARN kernel-signatures machine\n",
	  .come = "OK peerpin-module peerpin\nWARN peerpin-provider peerpin_nv\nFAIL peerpin-node /dev/peerpin\n"
		  "OK kernel-signatures machine\n" },
	{ "peerpin without permission",
	  .edits = { { "proc/modules", "nvidia_uvm",
		       "peerpin 1 0 - Live 0x0 (O)\npeerpin_nv 1 0 - Live 0x0 (O)\nnvidia_uvm" },
		     { "peerpin/facts", "node /dev/peerpin absent 2", "node /dev/peerpin 0600 0 0 13" } },
	  .gone = "WARN peerpin-module peerpin\nWARN kernel-signatures machine\n",
	  .come = "OK peerpin-module peerpin\nOK peerpin-provider peerpin_nv\nFAIL peerpin-node /dev/peerpin\n"
		  "OK kernel-signatures machine\n" },
	{ "no signatures", .edits = { { "sys/module/module/parameters/sig_enforce", "Y", "N" },
				      { "peerpin/facts", "MODULE_SIG_FORCE y", "MODULE_SIG_FORCE n" } },
	  .gone = "WARN kernel-signatures machine\n", .come = "OK kernel-signatures machine\n" },
	{ "a GPU's node is missing", .edits = { { "peerpin/facts", "node /dev/nvidia0 0666 0 0 0", "" } },
	  .gone = "OK nodes-nvidia /dev/nvidia*\n", .come = "FAIL nodes-nvidia /dev/nvidia0\n" },
	{ "little locked memory",
	  .edits = { { "proc/self/limits", NULL, "Max locked memory   65536   65536   bytes\n" },
		     { "peerpin/facts", "root yes", "root no" } },
	  .gone = "OK memlock RLIMIT_MEMLOCK\n", .come = "WARN memlock RLIMIT_MEMLOCK\n" },
	{ "ARM64", .edits = { { "proc/cpuinfo", NULL, "processor\t: 0\nCPU implementer\t: 0x41\n" } },
	  .gone = "OK platform machine\n? platform-virtual machine\n", .come = "WARN platform machine\n" },
	{ "both peer memories", .edits = { { "proc/modules", "nvidia_uvm", "nv_peer_mem 1 0 - Live 0x0 (O)\n"
					     "nvidia_peermem 1 0 - Live 0x0 (O)\nnvidia_uvm" } },
	  .come = "FAIL peermem-both nv_peer_mem\n" },
	{ "a peer", .plant = add_peer, .gone = "WARN peer machine\n",
	  .come = "OK peermem nvidia_peermem\nOK peermem-symbols ib_core\nOK acs-redirect machine\n"
		  "FAIL nodes-rdma /dev/infiniband/uverbs0\nOK peer machine\nOK rdma mlx5_0\n",
	  .pair = "not known\n" },
	{ "a peer whose addresses are translated", .plant = add_translated_peer, .gone = "WARN peer machine\n",
	  .come = "OK peermem nvidia_peermem\nOK peermem-symbols ib_core\nWARN iommu-translates " CARD "\n"
		  "OK acs-redirect machine\nFAIL nodes-rdma /dev/infiniband/uverbs0\nOK peer machine\nOK rdma mlx5_0\n",
	  .pair = "works slowly\n" },
};

/* ---- the tests ------------------------------------------------------------------------- */

static void diagnose_with(const struct fault *f, struct diagnosis *out)
{
	struct root root;
	size_t i;

	assert_int_equal(root_open("test/machines/h200.tar.gz", &root), 0);
	for (i = 0; i < 3 && f->edits[i].file; i++)
		apply(root.dir, &f->edits[i]);
	if (f->plant)
		f->plant(root.dir);
	diagnose(root.dir, out);
	root_close(&root);
}

static void test_fault(const struct diagnosis *captured, const struct fault *f)
{
	static struct diagnosis sick;
	static char gone[sizeof(sick.findings)], come[sizeof(sick.findings)];

	diagnose_with(f, &sick);
	only_in(captured->findings, sick.findings, gone);
	only_in(sick.findings, captured->findings, come);
	print_message("%s\n", f->name);
	assert_string_equal(gone, f->gone ? f->gone : "");
	assert_string_equal(come, f->come ? f->come : "");
	assert_string_equal(sick.pairs, f->pair ? f->pair : "");
	assert_int_equal(sick.nr_failures > 0, strstr(come, "FAIL") != NULL);
}

static void each_fault_gives_its_findings(void **state)
{
	static const struct fault none;
	static struct diagnosis captured;
	size_t i;

	(void)state;
	diagnose_with(&none, &captured);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		test_fault(&captured, &faults[i]);
}

static const struct finding *find(const struct report *r, const char *id)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (!strcmp(r->at[i].check->id, id))
			return &r->at[i];
	fail_msg("no finding of %s", id);
	return NULL;
}

static void expect(const struct report *r, const char *id, enum health health, const char *words)
{
	const struct finding *f = find(r, id);

	assert_int_equal(f->health, health);
	assert_non_null(strstr(f->why, words));
}

static void captured_h200_gives_known_findings(void **state)
{
	static struct view view;
	struct report r = { 0 };
	struct root root;

	(void)state;
	assert_int_equal(root_open("test/machines/h200.tar.gz", &root), 0);
	assert_int_equal(view_open(root.tree, &view), 0);
	checks_run(&view, &r);
	expect(&r, "gpu", HEALTH_OK, "1 GPU: NVIDIA H200");
	expect(&r, "driver", HEALTH_OK, "580.159.04");
	expect(&r, "driver-flavour", HEALTH_OK, "open kernel modules");
	expect(&r, "dma-buf", HEALTH_OK, "can be exported");
	expect(&r, "bar1", HEALTH_OK, "BAR1 256.0 GiB");
	expect(&r, "kernel-signatures", HEALTH_WARN, "signed modules only");
	expect(&r, "peer", HEALTH_WARN, "there is no peer to talk to");
	assert_int_equal(report_count(&r, HEALTH_FAIL), 0);
	report_free(&r);
	view_close(&view);
	root_close(&root);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured_h200_gives_known_findings),
		cmocka_unit_test(each_fault_gives_its_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
