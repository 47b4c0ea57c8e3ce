// SPDX-License-Identifier: MIT
/* doctor --process, on files like those of /proc */
#include <errno.h>
#include "tool/doctor/checks/checks.h"
#include "tree_maker.h"

#define LIB "7f0000000000-7f0000001000 r-xp 00000000 08:01 42                         /usr/lib/x86_64-linux-gnu/"
#define FABRIC LIB "libfabric.so.1.18.0\n"
#define OURS LIB "libpeerpin-fi.so.1\n"
#define NODE "7f0000008000-7f0000009000 r--s 00000000 00:05 7                          /dev/peerpin\n"
#define OPENMPI LIB "openmpi/lib/libmca_common_ofi.so.10.0.2\n"
#define MTL LIB "openmpi/lib/openmpi3/mca_mtl_ofi.so\n"
#define BTL LIB "openmpi/lib/openmpi3/mca_btl_ofi.so\n"
#define MODULE LIB "libfabric/libverbs-fi.so\n"
#define MODULE_WITH_VERSION LIB "prov/libefa-1.12-fi.so\n"
#define MODULE_WITHOUT_CACHE LIB "libfabric/libshm-fi.so\n"
#define UCX LIB "libucm.so.0.0.0\n"
#define UCM LIB "libpeerpin-ucm.so.1\n"
#define HOOK LIB "libpeerpin-hook.so.1\n"
#define CUDA LIB "libcuda.so.580.159.04\n"
#define CUDART LIB "libcudart.so.12.2.140\n"
#define HEAP "55550000-55551000 rw-p 00000000 00:00 0                                  [heap]\n"

#define RDMA "/dev/infiniband/uverbs0"

/**
 * struct example
 * @environment: one variable
 * @files: targets of the descriptors
 * @come: the begin of each finding
 * @type: NULL, or the begin of the last finding's advice
 */
static const struct example {
	const char *maps;
	const char *environment;
	const char *files[2];
	const char *thread;
	const char *come;
	const char *type;
} examples[] = {
	{ .maps = HEAP, .come = "OK process neither libfabric nor UCX\n" },
	{ .maps = FABRIC, .come = "OK process it uses libfabric\nOK fabric-cache no RDMA device is open\n" },
	{ .maps = FABRIC, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is memhooks: \n",
	  .type = "LD_PRELOAD=libpeerpin-fi.so.1 COMMAND" },
	{ .maps = FABRIC, .files = { "/dev/cxi0" },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\nWARN fabric-monitor libfabric's monitor is memhooks\n" },
	{ .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=memhooks",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is memhooks (FI_MR_CACHE_MONITOR)\n",
	  .type = "env -u FI_MR_CACHE_MONITOR LD_PRELOAD=libpeerpin-fi.so.1 COMMAND" },
	{ .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=kdreg2",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is kdreg2 (FI_MR_CACHE_MONITOR)\n" },
	{ .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=userfaultfd",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is userfaultfd (FI_MR_CACHE_MONITOR)\n" },
	{ .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=uffd",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is uffd (FI_MR_CACHE_MONITOR)\n" },
	{ .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=disabled",
	  .come = "OK process it uses libfabric\nOK fabric-cache libfabric caches nothing\n" },
	{ .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MAX_COUNT=0",
	  .come = "OK process it uses libfabric\nOK fabric-cache libfabric caches nothing\n" },
	{ .maps = FABRIC, .files = { RDMA, "anon_inode:[userfaultfd]" },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\nOK fabric-monitor libfabric's monitor is userfaultfd\n" },
	{ .maps = FABRIC, .files = { RDMA, "/dev/kdreg2" },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\nOK fabric-monitor libfabric's monitor is kdreg2\n" },
	{ .maps = FABRIC OPENMPI, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is that of Open MPI\n",
	  .type = "mpirun -x LD_PRELOAD=libpeerpin-fi.so.1" },
	{ .maps = FABRIC MTL, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is that of Open MPI\n" },
	{ .maps = FABRIC BTL, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is that of Open MPI\n" },
	{ .maps = FABRIC OPENMPI, .files = { RDMA, "anon_inode:[userfaultfd]" },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is userfaultfd\n" },
	{ .maps = FABRIC OURS NODE OPENMPI, .files = { RDMA }, .thread = "peerpin-fi",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is libpeerpin-fi: each hit\n" },
	{ .maps = FABRIC OURS NODE, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libpeerpin-fi is loaded, but no cache uses it\n", .type = "PEERPIN_DEBUG=1" },
	{ .maps = FABRIC OURS NODE,
	  .come = "OK process it uses libfabric\nOK fabric-cache no RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is libpeerpin-fi; there is no cache yet\n" },
	{ .maps = FABRIC OURS, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libpeerpin-fi is loaded, but is not the monitor\n", .type = "PEERPIN_DEBUG=1" },
	{ .maps = FABRIC OURS NODE, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=disabled",
	  .come = "OK process it uses libfabric\nOK fabric-cache libfabric caches nothing\n"
		  "WARN fabric-monitor libpeerpin-fi does nothing, because FI_MR_CACHE_MONITOR=disabled\n" },
	{ .maps = FABRIC OURS, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=memhooks",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libpeerpin-fi does nothing, because FI_MR_CACHE_MONITOR=memhooks\n",
	  .type = "env -u FI_MR_CACHE_MONITOR COMMAND" },
	{ .maps = FABRIC OURS NODE MODULE, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor a provider module of libfabric has its own cache, whose monitor is memhooks\n",
	  .type = "FI_MR_CACHE_MONITOR=userfaultfd COMMAND    # start the program again, without libpeerpin-fi" },
	{ .maps = FABRIC OURS NODE MODULE_WITH_VERSION CUDA, .files = { RDMA }, .thread = "peerpin-fi",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor a provider module of libfabric has its own cache, whose monitor is memhooks\n"
		  "WARN fabric-gpu libfabric has no CUDA here\n",
	  .type = "FI_MR_CACHE_MAX_COUNT=0 COMMAND" },
	{ .maps = FABRIC MODULE OPENMPI, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor a provider module of libfabric has its own cache, whose monitor is memhooks\n",
	  .type = "FI_MR_CACHE_MONITOR=userfaultfd COMMAND" },
	{ .maps = FABRIC OURS MODULE, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=userfaultfd",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is userfaultfd (FI_MR_CACHE_MONITOR)\n" },
	{ .maps = FABRIC MODULE, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=memhooks",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is memhooks (FI_MR_CACHE_MONITOR)\n",
	  .type = "FI_MR_CACHE_MONITOR=userfaultfd COMMAND" },
	{ .maps = FABRIC OURS NODE MODULE_WITHOUT_CACHE, .files = { RDMA }, .thread = "peerpin-fi",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is libpeerpin-fi: each hit\n" },
	{ .maps = FABRIC CUDA, .come = "OK process it uses libfabric\nOK fabric-cache no RDMA device is open\n" },
	{ .maps = FABRIC CUDA CUDART, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=disabled",
	  .come = "OK process it uses libfabric\nOK fabric-cache libfabric caches nothing\n" },
	{ .maps = FABRIC CUDA CUDART, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is memhooks: \n"
		  "OK fabric-gpu FI_HMEM_CUDA memory: a libfabric that was built with CUDA compares CUDA's buffer ids\n" },
	{ .maps = FABRIC CUDA, .files = { RDMA },
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "WARN fabric-monitor libfabric's monitor is memhooks: \nWARN fabric-gpu libfabric has no CUDA here\n",
	  .type = "LD_PRELOAD=libpeerpin-fi.so.1 COMMAND" },
	{ .maps = FABRIC OURS NODE CUDA, .files = { RDMA }, .thread = "peerpin-fi",
	  .come = "OK process it uses libfabric\nOK fabric-cache an RDMA device is open\n"
		  "OK fabric-monitor libfabric's monitor is libpeerpin-fi: each hit\nOK fabric-gpu libfabric has no CUDA here\n" },
	{ .maps = UCX, .come = "OK process it uses UCX\nOK ucx-monitor no RDMA device is open\n" },
	{ .maps = UCX, .files = { RDMA }, .come = "OK process it uses UCX\nWARN ucx-monitor UCX intercepts\n",
	  .type = "LD_PRELOAD=libpeerpin-hook.so.1:libpeerpin-ucm.so.1 COMMAND" },
	{ .maps = UCX UCM NODE, .files = { RDMA },
	  .come = "OK process it uses UCX\nWARN ucx-monitor libpeerpin-ucm is loaded\n", .type = "PEERPIN_DEBUG=1" },
	{ .maps = UCX CUDA, .come = "OK process it uses UCX\nOK ucx-monitor no RDMA device is open\n" },
	{ .maps = UCX CUDA HOOK, .files = { RDMA },
	  .come = "OK process it uses UCX\nWARN ucx-monitor UCX intercepts\nWARN ucx-gpu UCX intercepts\n" },
	{ .maps = UCX CUDA HOOK UCM NODE, .files = { RDMA }, .thread = "peerpin-ucm",
	  .come = "OK process it uses UCX\nOK ucx-monitor UCX intercepts\nOK ucx-gpu libpeerpin-hook reports frees\n" },
	{ .maps = UCX CUDA UCM NODE, .files = { RDMA }, .thread = "peerpin-ucm",
	  .come = "OK process it uses UCX\nOK ucx-monitor UCX intercepts\nWARN ucx-gpu UCX intercepts\n",
	  .type = "LD_PRELOAD=libpeerpin-hook.so.1:libpeerpin-ucm.so.1 COMMAND" },
	{ .maps = FABRIC UCX,
	  .come = "OK process it uses libfabric and UCX\nOK fabric-cache no RDMA device is open\nOK ucx-monitor no RDMA device is open\n" },
};

static void make_process(const char *root, const struct example *e)
{
	static const char before[] = "PATH=/usr/bin", after[] = "HOME=/root";
	char environment[256];
	size_t n = sizeof(before);
	unsigned int i;

	make_file(root, "proc/123/comm", "fi_pingpong\n");
	make_file(root, "proc/123/maps", "%s" HEAP, e->maps);
	memcpy(environment, before, sizeof(before));
	if (e->environment)
		n += (size_t)sprintf(environment + n, "%s", e->environment) + 1;
	memcpy(environment + n, after, sizeof(after));
	make_bytes(root, "proc/123/environ", environment, n + sizeof(after));
	make_link(root, "proc/123/fd/0", "/dev/pts/0");
	for (i = 0; i < 2 && e->files[i]; i++)
		make_link(root, i ? "proc/123/fd/10" : "proc/123/fd/9", e->files[i]);
	make_file(root, "proc/123/task/123/comm", "fi_pingpong\n");
	if (e->thread)
		make_file(root, "proc/123/task/124/comm", "%s\n", e->thread);
}

static int read_process(const char *root, const char *pid, struct process *out)
{
	struct tree *tree;
	int ret;

	assert_int_equal(tree_open(root, &tree), 0);
	ret = process_read(tree, pid, out);
	tree_close(tree);
	return ret;
}

/* Compares health, name and the begin of the reason of each finding with the lines of @want. @type: as in struct example */
static void judge(const struct process *p, const char *want, const char *type)
{
	struct report r = { 0 };
	char line[600];
	size_t i, length;

	checks_run_on(p, &r);
	for (i = 0; i < r.count; i++) {
		length = strcspn(want, "\n");
		snprintf(line, sizeof(line), "%s %s %s", health_name(r.at[i].health), r.at[i].check->id, r.at[i].why);
		if (!length || strncmp(line, want, length))
			fail_msg("%s; wanted: %.*s", line, (int)length, want);
		assert_string_equal(r.at[i].subject, "123 (fi_pingpong)");
		assert_int_equal(!*r.at[i].type, r.at[i].health == HEALTH_OK);
		want += length + 1;
	}
	assert_string_equal(want, "");
	if (type && strncmp(r.at[r.count - 1].type, type, strlen(type)))
		fail_msg("%s; wanted: %s", r.at[r.count - 1].type, type);
	report_free(&r);
}

static void monitor_is_named(void **state)
{
	struct process p;
	char *root;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		root = make_tree();
		make_process(root, &examples[i]);
		assert_int_equal(read_process(root, "123", &p), 0);
		judge(&p, examples[i].come, examples[i].type);
		remove_tree(root);
	}
}

/* A program with many mappings: libraries come last. */
static void long_maps_are_read_whole(void **state)
{
	enum { LINES = 30000 };
	char *root = make_tree(), *maps = malloc(LINES * sizeof(HEAP) + sizeof(FABRIC));
	struct example e = { .maps = maps };
	struct process p;
	size_t i;

	(void)state;
	for (i = 0; i < LINES; i++)
		memcpy(maps + i * (sizeof(HEAP) - 1), HEAP, sizeof(HEAP));
	strcat(maps + i * (sizeof(HEAP) - 1), FABRIC);
	make_process(root, &e);
	assert_int_equal(read_process(root, "123", &p), 0);
	assert_true(p.maps[MAP_LIBFABRIC]);
	free(maps);
	remove_tree(root);
}

static void missing_process_is_enoent(void **state)
{
	char *root = make_tree();
	struct process p;

	(void)state;
	make_process(root, &examples[0]);
	assert_int_equal(read_process(root, "124", &p), -ENOENT);
	remove_tree(root);
}

/* In another machine's tree a file without read permission was not readable there. */
static void unreadable_files_are_unseen(void **state)
{
	char *root = make_tree(), *maps;
	struct process p;

	(void)state;
	make_process(root, &examples[1]);
	maps = make_way(root, "proc/123/maps");
	assert_int_equal(chmod(maps, 0), 0);
	free(maps);
	assert_int_equal(read_process(root, "123", &p), 0);
	judge(&p, "? process its files in /proc cannot be read: Permission denied\n", "sudo peerpin doctor --process 123");
	remove_tree(root);
}

static void names_are_made_printable(void **state)
{
	struct example e = { .maps = FABRIC, .files = { RDMA }, .environment = "FI_MR_CACHE_MONITOR=\033[31mmem" };
	char *root = make_tree();
	struct process p;

	(void)state;
	make_process(root, &e);
	assert_int_equal(read_process(root, "123", &p), 0);
	assert_string_equal(p.variables[VARIABLE_MONITOR], "?[31mmem");
	remove_tree(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monitor_is_named),
		cmocka_unit_test(long_maps_are_read_whole),
		cmocka_unit_test(missing_process_is_enoent),
		cmocka_unit_test(unreadable_files_are_unseen),
		cmocka_unit_test(names_are_made_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
