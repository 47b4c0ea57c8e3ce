// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <time.h>
#include "tool/machine/facts.h"
#include "tree_maker.h"

static const char some_text[] =
	"root yes\n"
	"ipc-lock no\n"
	"node /dev/peerpin 0660 0 104 13\n"
	"node /dev/gdrdrv absent 2\n"
	"symbol nvidia_p2p_get_pages yes\n"
	"symbol ib_register_peer_memory_client no\n"
	"symbol peerpin_peer_register unknown\n"
	"option MODULE_SIG_FORCE y\n"
	"option PCI_P2PDMA n\n"
	"gpu 0000:3b:00.0 name NVIDIA H200\n"
	"gpu 0000:3b:00.0 bar1 274877906944 1048576\n"
	"gpu 0000:86:00.0 name NVIDIA H200\n"
	"gpu 0000:3b:00.0 dma-buf 1\n"
	"gpu 0000:3b:00.0 gdr 0\n"
	"cuda-error it does not start: error 100\n";

static struct facts *parse(const char *text)
{
	static struct facts f;
	char *copy = strdup(text);

	assert_non_null(copy);
	facts_parse(copy, &f);
	free(copy);
	return &f;
}

static void gpus_are_merged_by_address(void **state)
{
	const struct facts *f = parse(some_text);
	const struct gpu_facts *gpu = facts_gpu(f, "0000:3b:00.0");

	(void)state;
	assert_int_equal(f->nr_gpus, 2);
	assert_string_equal(gpu->name, "NVIDIA H200");
	assert_int_equal(gpu->bar1_total, 256ull << 30);
	assert_int_equal(gpu->bar1_used, 1 << 20);
	assert_int_equal(gpu->dma_buf, 1);
	assert_int_equal(gpu->gdr, 0);
	gpu = facts_gpu(f, "0000:86:00.0");
	assert_int_equal(gpu->bar1_total, 0);
	assert_int_equal(gpu->dma_buf, -1);
	assert_int_equal(gpu->gdr, -1);
	assert_null(facts_gpu(f, "0000:87:00.0"));
}

static void nodes_are_parsed_or_absent(void **state)
{
	const struct facts *f = parse(some_text);
	const struct node_fact *node = facts_node(f, "/dev/peerpin");

	(void)state;
	assert_int_equal(node->mode, 0660);
	assert_int_equal(node->uid, 0);
	assert_int_equal(node->gid, 104);
	assert_int_equal(node->open_error, EACCES);
	assert_int_equal(facts_node(f, "/dev/gdrdrv")->mode, -1);
	assert_int_equal(facts_node(f, "/dev/gdrdrv")->open_error, ENOENT);
	assert_null(facts_node(f, "/dev/null"));
}

static void symbols_options_errors_are_parsed(void **state)
{
	const struct facts *f = parse(some_text);
	char value[8];

	(void)state;
	assert_true(f->known);
	assert_true(f->root);
	assert_int_equal(f->ipc_lock, SEEN_NO);
	assert_int_equal(facts_symbol(f, "nvidia_p2p_get_pages"), SEEN_YES);
	assert_int_equal(facts_symbol(f, "ib_register_peer_memory_client"), SEEN_NO);
	assert_int_equal(facts_symbol(f, "peerpin_peer_register"), SEEN_UNKNOWN);
	assert_int_equal(facts_symbol(f, "nobody_asked"), SEEN_UNKNOWN);
	assert_true(facts_config(f, "MODULE_SIG_FORCE", value, sizeof(value)));
	assert_string_equal(value, "y");
	assert_false(facts_config(f, "MODULE_SIG", value, sizeof(value)));
	assert_string_equal(f->nvml_error, "");
	assert_string_equal(f->cuda_error, "it does not start: error 100");
	assert_string_equal(f->config_error, "");
	assert_int_equal(parse("root yes\n")->ipc_lock, SEEN_UNKNOWN);
}

static void hostile_text_does_no_harm(void **state)
{
	static const char *const texts[] = {
		"", "\n\n\n", "gpu", "gpu ", "gpu x", "node", "node ", "symbol", "option", "root", "nvml-error",
		"gpu 0000:3b:00.0 bar1 99999999999999999999999999 -1", "node a 99999999999999999999 -1 -1 -1",
		"gpu 0123456789012345678901234567890123456789 name x", "\x01\x02\xff", "no such kind",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_true(parse(texts[i])->known);
	assert_int_equal(parse("gpu 0123456789012345678901234567890123456789 name x")->nr_gpus, 0);
	assert_string_equal(parse("nvml-error \033[2Jhello\n")->nvml_error, "?[2Jhello");
}

static void excess_facts_are_dropped(void **state)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);
	const struct facts *facts;

	(void)state;
	for (i = 0; i < 1000; i++)
		fprintf(f, "gpu 0000:%02zx:%02zx.0 name x\nnode /dev/nvidia%zu absent 2\nsymbol s%zu yes\noption O%zu y\n",
			i >> 5, i & 31, i, i, i);
	fclose(f);
	facts = parse(text);
	free(text);
	assert_int_equal(facts->nr_gpus, FACTS_GPUS);
	assert_int_equal(facts->nr_nodes, FACTS_NODES);
	assert_int_equal(facts->nr_symbols, FACTS_SYMBOLS);
	assert_int_equal(facts->nr_options, FACTS_OPTIONS);
}

static void facts_come_from_the_tree(void **state)
{
	static struct facts f;
	char *root = make_tree();
	struct tree *tree;

	(void)state;
	assert_int_equal(tree_open(root, &tree), 0);
	assert_int_equal(facts_read(tree, &f), 0);
	assert_false(f.known);
	assert_string_equal(f.nvml_error, "the tree has no peerpin/facts");
	make_file(root, "peerpin/facts", "%s", some_text);
	assert_int_equal(facts_read(tree, &f), 0);
	assert_true(f.known);
	assert_int_equal(f.nr_gpus, 2);
	tree_close(tree);
	remove_tree(root);
}

/* ---- this machine, with a fake CUDA library -------------------- */

enum {
	PATIENCE_MS = 60000,
};

/* Facts with a mock CUDA that answers as in @how. facts_write() reads all kernel symbols: slow under valgrind. */
static const struct facts *ask(const char *how, unsigned int wait_ms)
{
	static struct facts f;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	setenv("FAKE_CUDA", how, 1);
	assert_int_equal(facts_write(out, wait_ms), 0);
	fclose(out);
	facts_parse(text, &f);
	free(text);
	return &f;
}

static void cuda_answers_become_facts(void **state)
{
	const struct facts *f = ask("answers", PATIENCE_MS);

	(void)state;
	assert_string_equal(f->cuda_error, "");
	assert_int_equal(facts_gpu(f, "0000:3b:00.0")->dma_buf, 1);
	assert_int_equal(facts_gpu(f, "0000:3b:00.0")->gdr, 1);
	assert_int_equal(facts_gpu(f, "0000:af:00.0")->dma_buf, 0);
	assert_int_equal(f->root, !geteuid());
	assert_non_null(facts_node(f, "/dev/peerpin"));
}

static void set_capabilities(struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* In a container, root lacks CAP_IPC_LOCK. */
static void root_without_capability_may_not_lock(void **state)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2], less[2];
	const struct facts *f;

	(void)state;
	assert_int_equal(syscall(SYS_capget, &header, all), 0);
	memcpy(less, all, sizeof(less));
	less[0].effective &= ~(1u << CAP_IPC_LOCK);
	set_capabilities(less);
	f = ask("answers", PATIENCE_MS);
	set_capabilities(all);
	assert_int_equal(f->root, !geteuid());
	assert_int_equal(f->ipc_lock, SEEN_NO);
}

/* cuInit() creates NVIDIA's device nodes. */
static void nodes_are_read_after_cuda_answers(void **state)
{
	char *text = NULL, *answer, *node;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	setenv("FAKE_CUDA", "answers", 1);
	assert_int_equal(facts_write(out, PATIENCE_MS), 0);
	fclose(out);
	answer = strstr(text, "gpu 0000:3b:00.0 dma-buf 1\n");
	node = strstr(text, "node /dev/nvidia-uvm ");
	assert_non_null(answer);
	assert_non_null(node);
	assert_true(answer < node);
	free(text);
}

static void kubernetes_environment_is_detected(void **state)
{
	(void)state;
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	assert_string_equal(ask("answers", PATIENCE_MS)->container, "KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_HOST");
	assert_string_not_equal(ask("answers", PATIENCE_MS)->container, "KUBERNETES_SERVICE_HOST");
}

static void failing_cuda_is_reported(void **state)
{
	(void)state;
	assert_string_equal(ask("fails", PATIENCE_MS)->cuda_error, "it does not start: error 100");
}

static void crashing_cuda_is_reported(void **state)
{
	const struct facts *f = ask("crashes", PATIENCE_MS);

	(void)state;
	assert_string_equal(f->cuda_error, "it ended before it had answered");
	assert_int_equal(f->nr_gpus, 0);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void hanging_cuda_times_out(void **state)
{
	long begin = now_ms();

	(void)state;
	assert_string_equal(ask("hangs", 300)->cuda_error, "it did not answer in time");
	assert_in_range(now_ms() - begin, 300, PATIENCE_MS);
}

/* cuInit() takes 0.2 s for each GPU: eight GPUs need more than a second. */
static void slow_cuda_is_waited_for(void **state)
{
	static struct facts f;
	struct tree *tree;

	(void)state;
	setenv("FAKE_CUDA", "is slow", 1);
	assert_int_equal(tree_open(NULL, &tree), 0);
	assert_int_equal(facts_read(tree, &f), 0);
	tree_close(tree);
	assert_string_equal(f.cuda_error, "");
	assert_int_equal(facts_gpu(&f, "0000:3b:00.0")->dma_buf, 1);
}

static void all_symbols_and_options_are_listed(void **state)
{
	const struct facts *f = ask("answers", PATIENCE_MS);
	char value[8];

	(void)state;
	assert_int_equal(f->nr_symbols, 10);
	if (!*f->config_error)
		assert_true(facts_config(f, "MODULE_SIG_FORCE", value, sizeof(value)));
	else
		assert_false(facts_config(f, "MODULE_SIG_FORCE", value, sizeof(value)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_are_merged_by_address),
		cmocka_unit_test(nodes_are_parsed_or_absent),
		cmocka_unit_test(symbols_options_errors_are_parsed),
		cmocka_unit_test(hostile_text_does_no_harm),
		cmocka_unit_test(excess_facts_are_dropped),
		cmocka_unit_test(facts_come_from_the_tree),
		cmocka_unit_test(cuda_answers_become_facts),
		cmocka_unit_test(root_without_capability_may_not_lock),
		cmocka_unit_test(nodes_are_read_after_cuda_answers),
		cmocka_unit_test(kubernetes_environment_is_detected),
		cmocka_unit_test(failing_cuda_is_reported),
		cmocka_unit_test(crashing_cuda_is_reported),
		cmocka_unit_test(hanging_cuda_times_out),
		cmocka_unit_test(slow_cuda_is_waited_for),
		cmocka_unit_test(all_symbols_and_options_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
