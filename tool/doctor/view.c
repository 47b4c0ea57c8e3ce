// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "view.h"

enum {
	MODULES_SIZE = 128 * 1024,
};

/* ---- reading ------------------------------------------------------------------ */

static void parse_version(const char *text, struct gpu_driver *d)
{
	sscanf(text, "%u.%u.%u", &d->version[0], &d->version[1], &d->version[2]);
	snprintf(d->text, sizeof(d->text), "%.*s", (int)strspn(text, "0123456789."), text);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..." */
static enum driver_kind flavour(const char *line)
{
	if (strstr(line, "Open Kernel Module"))
		return DRIVER_OPEN;
	return strstr(line, "Kernel Module") ? DRIVER_PROPRIETARY : DRIVER_NVIDIA;
}

/* Returns the first number that is followed by a dot, or "". */
static const char *find_version(const char *line)
{
	for (; *line; line++)
		if (isdigit((unsigned char)*line) && line[strspn(line, "0123456789")] == '.')
			return line;
	return "";
}

static bool gpu_with_driver(const struct view *v, const char *name)
{
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i))
		if (!strcmp(v->machine.at[i].driver, name))
			return true;
	return false;
}

static void read_nvidia(struct view *v)
{
	char line[256];

	v->driver.kind = DRIVER_NVIDIA;
	if (!tree_line(v->tree, "proc/driver/nvidia/version", line, sizeof(line))) {
		v->driver.kind = flavour(line);
		parse_version(find_version(line), &v->driver);
	}
	if (!tree_line(v->tree, "sys/module/nvidia/version", line, sizeof(line)))
		parse_version(line, &v->driver);
}

static void read_emulated(struct view *v)
{
	char line[64];

	v->driver.kind = DRIVER_EMULATED;
	if (!tree_line(v->tree, "sys/module/emugpu/version", line, sizeof(line)))
		parse_version(line, &v->driver);
}

static void read_driver(struct view *v)
{
	if (gpu_with_driver(v, "nvidia"))
		read_nvidia(v);
	else if (gpu_with_driver(v, "emugpu"))
		read_emulated(v);
}

static void read_kernel(struct view *v)
{
	char line[128];

	if (!tree_line(v->tree, "proc/sys/kernel/osrelease", line, sizeof(line)))
		sscanf(line, "%u.%u", &v->kernel[0], &v->kernel[1]);
	if (tree_line(v->tree, "proc/cmdline", v->cmdline, sizeof(v->cmdline)))
		v->cmdline[0] = '\0';
	if (tree_read(v->tree, "proc/cpuinfo", v->cpuinfo, sizeof(v->cpuinfo)) < 0)
		v->cpuinfo[0] = '\0';
}

static int read_modules(struct view *v)
{
	v->modules = malloc(MODULES_SIZE);
	if (!v->modules)
		return -ENOMEM;
	if (tree_read(v->tree, "proc/modules", v->modules, MODULES_SIZE) >= 0)
		return 0;
	free(v->modules);
	v->modules = NULL;
	return 0;
}

/* Keep only safe characters: names come from an untrusted tree, and go into commands that users copy to a shell. */
static void make_name(char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("_-.:/", *name))
			*name = '?';
}

static void make_names(struct view *v)
{
	size_t i;

	for (i = 0; i < v->machine.count; i++) {
		make_name(v->machine.at[i].driver);
		make_name(v->machine.at[i].rdma);
	}
	for (i = 0; i < v->facts.nr_nodes; i++)
		make_name(v->facts.nodes[i].path);
}

int view_open(const struct tree *tree, struct view *out)
{
	int ret;

	memset(out, 0, sizeof(*out));
	out->tree = tree;
	out->pci_error = machine_read(tree, &out->machine);
	ret = facts_read(tree, &out->facts);
	if (!ret)
		ret = read_modules(out);
	if (ret) {
		machine_free(&out->machine);
		return ret;
	}
	make_names(out);
	read_driver(out);
	read_kernel(out);
	return 0;
}

void view_close(struct view *v)
{
	free(v->modules);
	machine_free(&v->machine);
}

/* ---- devices ------------------------------------------------------------------- */

static int next_that(const struct view *v, int last, bool (*wanted)(const struct device *))
{
	size_t i;

	for (i = (size_t)(last + 1); i < v->machine.count; i++)
		if (wanted(&v->machine.at[i]))
			return (int)i;
	return -1;
}

static bool is_gpu(const struct device *d)
{
	return d->kind == DEVICE_GPU && !d->is_virtual;
}

bool could_be_peer(const struct device *d)
{
	if (d->kind == DEVICE_GPU || !device_is_peer(d))
		return false;
	return d->kind == DEVICE_RDMA || d->kind == DEVICE_NVME || d->kind == DEVICE_OTHER_MASTER ||
	       !strncmp(d->driver, "peerpin_", strlen("peerpin_"));
}

bool lends_memory(const struct device *gpu)
{
	return !strcmp(gpu->driver, "nvidia") || !strcmp(gpu->driver, "emugpu");
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* Match the end of the name, because vendors have own VFIO drivers, such as nvgrace-gpu-vfio-pci and mlx5_vfio_pci. */
bool is_for_guests(const struct device *d)
{
	return ends_with(d->driver, "vfio-pci") || ends_with(d->driver, "vfio_pci") || !strcmp(d->driver, "pciback") ||
	       !strcmp(d->driver, "pci-stub");
}

int next_gpu(const struct view *v, int last)
{
	return next_that(v, last, is_gpu);
}

int next_peer(const struct view *v, int last)
{
	return next_that(v, last, could_be_peer);
}

size_t count_gpus(const struct view *v)
{
	size_t n = 0;
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i))
		n++;
	return n;
}

bool has_rdma(const struct view *v)
{
	int i;

	for (i = next_peer(v, -1); i >= 0; i = next_peer(v, i))
		if (v->machine.at[i].kind == DEVICE_RDMA)
			return true;
	return false;
}

const char *address(const struct view *v, int index)
{
	return v->machine.at[index].name;
}

/* Types such as "blocked" and "unmanaged" belong to the present user of the group. A driver will get another type. */
enum seen translates(const struct device *d)
{
	if (d->iommu_group == NO_GROUP || !strcmp(d->iommu_type, "identity"))
		return SEEN_NO;
	return strncmp(d->iommu_type, "DMA", strlen("DMA")) ? SEEN_UNKNOWN : SEEN_YES;
}

/* ---- the kernel ------------------------------------------------------------------ */

static bool is_listed(const char *modules, const char *name)
{
	size_t length = strlen(name);
	const char *line;

	for (line = modules; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ' ')
			return true;
	}
	return false;
}

/* Built-in code has only /sys/module/NAME. In a captured tree a module may have only its line in /proc/modules. */
enum seen module_loaded(const struct view *v, const char *name)
{
	if (tree_exists(v->tree, tree_path("sys/module/%s", name).at))
		return SEEN_YES;
	if (!v->modules)
		return SEEN_UNKNOWN;
	return is_listed(v->modules, name) ? SEEN_YES : SEEN_NO;
}

bool kernel_before(const struct view *v, unsigned int major, unsigned int minor)
{
	if (!v->kernel[0])
		return false;
	return v->kernel[0] != major ? v->kernel[0] < major : v->kernel[1] < minor;
}

bool driver_before(const struct view *v, unsigned int a, unsigned int b, unsigned int c)
{
	const unsigned int *have = v->driver.version;

	if (have[0] != a)
		return have[0] < a;
	return have[1] != b ? have[1] < b : have[2] < c;
}

bool booted_with(const struct view *v, const char *word)
{
	size_t length = strlen(word);
	const char *at = v->cmdline;

	while ((at = strstr(at, word))) {
		if ((at == v->cmdline || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
		at += length;
	}
	return false;
}

static bool is_key(const char *line, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(line, key, length) && line[length + strspn(line + length, " \t")] == ':';
}

bool cpu_says(const struct view *v, const char *key, char *value, size_t size)
{
	const char *line;

	for (line = v->cpuinfo; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (is_key(line, key)) {
			line += strcspn(line, ":") + 1;
			line += strspn(line, " \t");
			snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
			return true;
		}
	}
	return false;
}

bool cpu_is_power8(const struct view *v)
{
	char cpu[64];

	return cpu_says(v, "cpu", cpu, sizeof(cpu)) && !strncmp(cpu, "POWER8", strlen("POWER8"));
}

bool is_tegra(const struct view *v)
{
	char compatible[256];
	ssize_t length = tree_read(v->tree, "proc/device-tree/compatible", compatible, sizeof(compatible));

	if (tree_exists(v->tree, "etc/nv_tegra_release"))
		return true;
	if (module_loaded(v, "emugpu_tegra") == SEEN_YES)
		return true;
	return length > 0 && memmem(compatible, (size_t)length, "nvidia,tegra", strlen("nvidia,tegra"));
}

bool in_container(const struct view *v, const char **hint)
{
	static const char *const files[] = {
		".dockerenv", "run/.containerenv", "run/systemd/container", "run/secrets/kubernetes.io",
		"var/run/secrets/kubernetes.io",
	};
	static const char *const words[] = { "docker", "kubepods", "containerd", "lxc", "libpod" };
	char cgroup[4096];
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (tree_exists(v->tree, *hint = files[i]))
			return true;
	if (*(*hint = v->facts.container))
		return true;
	if (tree_read(v->tree, "proc/1/cgroup", cgroup, sizeof(cgroup)) < 0)
		return false;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(cgroup, *hint = words[i]))
			return true;
	return false;
}

const char *who_sees(const struct view *v, const struct device *d)
{
	if (d->config_cut)
		return "more than 256 bytes of configuration space";
	return v->facts.root ? "CAP_SYS_ADMIN" : "root";
}

const char *how_to_see(const struct view *v, const struct device *d)
{
	if (d->config_cut)
		return "cat /proc/cmdline    # boot without pci=nommconf; in a virtual machine, run this on its host";
	return v->facts.root ? "peerpin doctor    # on the host, or here after docker run --privileged" :
			       "sudo peerpin doctor";
}
