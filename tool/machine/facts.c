// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "facts.h"
#include "tool/util/printable.h"

/* ---- lines --------------------------------------------------------------------- */

/* Returns the next word of the line, and moves @rest behind the word; "" at the end of the line. */
static char *word(char **rest)
{
	char *start = *rest + strspn(*rest, " ");
	char *end = start + strcspn(start, " ");

	*rest = *end ? end + 1 : end;
	*end = '\0';
	return start;
}

/* Replaces control characters, because texts are shown on terminals. */
static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text);
	make_printable(out);
}

static struct gpu_facts *gpu_of(struct facts *f, const char *pci)
{
	size_t i;

	for (i = 0; i < f->nr_gpus; i++)
		if (!strcmp(f->gpus[i].pci, pci))
			return &f->gpus[i];
	return NULL;
}

static struct gpu_facts *gpu_or_new(struct facts *f, const char *pci)
{
	struct gpu_facts *gpu = gpu_of(f, pci);

	if (gpu || f->nr_gpus == FACTS_GPUS || strlen(pci) >= sizeof(gpu->pci))
		return gpu;
	gpu = &f->gpus[f->nr_gpus++];
	*gpu = (struct gpu_facts){ .dma_buf = -1, .gdr = -1 };
	copy_text(gpu->pci, sizeof(gpu->pci), pci);
	return gpu;
}

static void parse_gpu(struct facts *f, char *rest)
{
	struct gpu_facts *gpu = gpu_or_new(f, word(&rest));
	const char *what = word(&rest);

	if (!gpu)
		return;
	if (!strcmp(what, "name")) {
		copy_text(gpu->name, sizeof(gpu->name), rest);
	} else if (!strcmp(what, "bar1")) {
		gpu->bar1_total = strtoull(word(&rest), NULL, 10);
		gpu->bar1_used = strtoull(word(&rest), NULL, 10);
	} else if (!strcmp(what, "dma-buf")) {
		gpu->dma_buf = !strcmp(rest, "1");
	} else if (!strcmp(what, "gdr")) {
		gpu->gdr = !strcmp(rest, "1");
	}
}

static void parse_node(struct facts *f, char *rest)
{
	struct node_fact *node = &f->nodes[f->nr_nodes];
	const char *mode;

	if (f->nr_nodes == FACTS_NODES)
		return;
	*node = (struct node_fact){ .mode = -1 };
	copy_text(node->path, sizeof(node->path), word(&rest));
	mode = word(&rest);
	if (strcmp(mode, "absent")) {
		node->mode = (int)strtoul(mode, NULL, 8) & 07777;
		node->uid = (unsigned int)strtoul(word(&rest), NULL, 10);
		node->gid = (unsigned int)strtoul(word(&rest), NULL, 10);
	}
	node->open_error = (int)strtoul(word(&rest), NULL, 10) & 0xfff;
	f->nr_nodes++;
}

static enum seen parse_seen(const char *text)
{
	return !strcmp(text, "yes") ? SEEN_YES : !strcmp(text, "no") ? SEEN_NO : SEEN_UNKNOWN;
}

static void parse_symbol(struct facts *f, char *rest)
{
	struct symbol_fact *symbol = &f->symbols[f->nr_symbols];

	if (f->nr_symbols == FACTS_SYMBOLS)
		return;
	copy_text(symbol->name, sizeof(symbol->name), word(&rest));
	symbol->seen = parse_seen(rest);
	f->nr_symbols++;
}

static void parse_option(struct facts *f, char *rest)
{
	struct option_fact *option = &f->options[f->nr_options];

	if (f->nr_options == FACTS_OPTIONS)
		return;
	copy_text(option->name, sizeof(option->name), word(&rest));
	copy_text(option->value, sizeof(option->value), rest);
	f->nr_options++;
}

static void parse_root(struct facts *f, char *rest)
{
	f->root = !strcmp(rest, "yes");
}

static void parse_ipc_lock(struct facts *f, char *rest)
{
	f->ipc_lock = parse_seen(rest);
}

static void parse_container(struct facts *f, char *rest)
{
	copy_text(f->container, sizeof(f->container), rest);
}

static void parse_nvml(struct facts *f, char *rest)
{
	copy_text(f->nvml_error, sizeof(f->nvml_error), rest);
}

static void parse_cuda(struct facts *f, char *rest)
{
	copy_text(f->cuda_error, sizeof(f->cuda_error), rest);
}

static void parse_config(struct facts *f, char *rest)
{
	copy_text(f->config_error, sizeof(f->config_error), rest);
}

static void parse_nvlink(struct facts *f, char *rest)
{
	struct nvlink_fact *nvlink = &f->nvlinks[f->nr_nvlinks];

	if (f->nr_nvlinks == FACTS_NVLINKS)
		return;
	copy_text(nvlink->a, sizeof(nvlink->a), word(&rest));
	copy_text(nvlink->b, sizeof(nvlink->b), word(&rest));
	nvlink->links = (unsigned int)strtoul(word(&rest), NULL, 10) & 0xfff;
	f->nr_nvlinks++;
}

static void parse_nvlinks(struct facts *f, char *rest)
{
	f->nvlinks_known = !strcmp(rest, "known");
}

static const struct {
	const char *kind;
	void (*parse)(struct facts *f, char *rest);
} kinds[] = {
	{ "root", parse_root },
	{ "ipc-lock", parse_ipc_lock },
	{ "container", parse_container },
	{ "nvml-error", parse_nvml },
	{ "cuda-error", parse_cuda },
	{ "config-error", parse_config },
	{ "gpu", parse_gpu },
	{ "nvlink", parse_nvlink },
	{ "nvlinks", parse_nvlinks },
	{ "node", parse_node },
	{ "symbol", parse_symbol },
	{ "option", parse_option },
};

static void parse_line(struct facts *f, char *line)
{
	const char *kind = word(&line);
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].kind, kind))
			kinds[i].parse(f, line);
}

void facts_parse(char *text, struct facts *out)
{
	char *line;

	*out = (struct facts){ .known = true };
	while ((line = strsep(&text, "\n")))
		parse_line(out, line);
}

/* ---- where the text comes from ------------------------------------------------- */

static int read_live(struct facts *out, int (*write)(FILE *out, unsigned int wait_ms))
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	int ret;

	if (!f)
		return -errno;
	ret = write(f, FACTS_WAIT_MS);
	if (fclose(f) && !ret)
		ret = -ENOMEM;
	if (!ret)
		facts_parse(text, out);
	free(text);
	return ret;
}

static void know_nothing(struct facts *out)
{
	static const char why[] = "the tree has no peerpin/facts";

	*out = (struct facts){ .known = false };
	copy_text(out->nvml_error, sizeof(out->nvml_error), why);
	copy_text(out->cuda_error, sizeof(out->cuda_error), why);
	copy_text(out->config_error, sizeof(out->config_error), why);
}

static int read_captured(const struct tree *tree, struct facts *out)
{
	char *text = malloc(FACTS_SIZE);

	if (!text)
		return -ENOMEM;
	if (tree_read(tree, "peerpin/facts", text, FACTS_SIZE) < 0)
		know_nothing(out);
	else
		facts_parse(text, out);
	free(text);
	return 0;
}

int facts_read(const struct tree *tree, struct facts *out)
{
	return tree_is_live(tree) ? read_live(out, facts_write) : read_captured(tree, out);
}

int facts_read_nvml(const struct tree *tree, struct facts *out)
{
	return tree_is_live(tree) ? read_live(out, facts_write_nvml) : read_captured(tree, out);
}

/* ---- looking up ---------------------------------------------------------------- */

const struct gpu_facts *facts_gpu(const struct facts *f, const char *pci)
{
	return gpu_of((struct facts *)f, pci);
}

unsigned int facts_nvlinks(const struct facts *f, const char *pci_a, const char *pci_b)
{
	size_t i;

	for (i = 0; i < f->nr_nvlinks; i++) {
		const struct nvlink_fact *n = &f->nvlinks[i];

		if ((!strcmp(n->a, pci_a) && !strcmp(n->b, pci_b)) || (!strcmp(n->a, pci_b) && !strcmp(n->b, pci_a)))
			return n->links;
	}
	return 0;
}

const struct node_fact *facts_node(const struct facts *f, const char *path)
{
	size_t i;

	for (i = 0; i < f->nr_nodes; i++)
		if (!strcmp(f->nodes[i].path, path))
			return &f->nodes[i];
	return NULL;
}

bool facts_config(const struct facts *f, const char *key, char *value, size_t size)
{
	size_t i;

	for (i = 0; i < f->nr_options; i++)
		if (!strcmp(f->options[i].name, key)) {
			snprintf(value, size, "%s", f->options[i].value);
			return true;
		}
	return false;
}

enum seen facts_symbol(const struct facts *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->nr_symbols; i++)
		if (!strcmp(f->symbols[i].name, name))
			return f->symbols[i].seen;
	return SEEN_UNKNOWN;
}
