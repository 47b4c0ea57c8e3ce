// SPDX-License-Identifier: MIT
/* Collects the facts of this machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libpeerpin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>
#include "facts.h"
#include "facts_vendor.h"

static const char *const seen_words[] = { [SEEN_UNKNOWN] = "unknown", [SEEN_NO] = "no", [SEEN_YES] = "yes" };

/* ---- device nodes --------------------------------------------------------------- */

static int open_error(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* Also an error if another file is in the place of the device */
static int peerpin_error(const char *path)
{
	struct pp_ctx *ctx;
	int ret = pp_open(&ctx);

	(void)path;
	if (!ret)
		pp_close(ctx);
	return -ret;
}

static int access_error(const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) ? errno : 0;
}

static void write_node(FILE *out, const char *path, int (*error)(const char *path))
{
	struct stat st;

	if (stat(path, &st))
		fprintf(out, "node %s absent %d\n", path, errno);
	else
		fprintf(out, "node %s %04o %u %u %d\n", path, st.st_mode & 07777, st.st_uid, st.st_gid,
			S_ISCHR(st.st_mode) ? error(path) : ENODEV);
}

static int is_gpu(const struct dirent *entry)
{
	size_t digits = strspn(entry->d_name + strcspn(entry->d_name, "0123456789"), "0123456789");

	return !strncmp(entry->d_name, "nvidia", 6) && digits && strlen(entry->d_name) == 6 + digits;
}

static int is_rdma(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "uverbs", 6) || !strcmp(entry->d_name, "rdma_cm");
}

static void write_nodes_of(FILE *out, const char *dir, int (*wanted)(const struct dirent *entry),
			   int (*error)(const char *path))
{
	struct dirent **names;
	char path[300];
	int i, count = scandir(dir, &names, wanted, versionsort);

	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		write_node(out, path, error);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

static void write_nodes(FILE *out)
{
	write_node(out, "/dev/peerpin", peerpin_error);
	write_node(out, "/dev/gdrdrv", open_error);
	write_node(out, "/dev/nvidiactl", access_error);
	write_node(out, "/dev/nvidia-uvm", access_error);
	write_nodes_of(out, "/dev", is_gpu, access_error);
	write_nodes_of(out, "/dev/infiniband", is_rdma, open_error);
}

/* ---- symbols -------------------------------------------------------------------- */

/* The symbols *_reg_user_mr_dmabuf show which RDMA drivers can register dma-bufs. */
static const char *const symbols[] = {
	"bnxt_re_reg_user_mr_dmabuf",
	"efa_reg_user_mr_dmabuf",
	"ib_register_peer_memory_client",
	"ionic_reg_user_mr_dmabuf",
	"irdma_reg_user_mr_dmabuf",
	"mana_ib_reg_user_mr_dmabuf",
	"mlx5_ib_reg_user_mr_dmabuf",
	"nvidia_p2p_get_pages",
	"nvidia_p2p_get_pages_persistent",
	"peerpin_peer_register",
};

enum {
	NR_SYMBOLS = sizeof(symbols) / sizeof(*symbols),
};

/* @line: "ffffffffc0de0000 t name\t[module]". Unprivileged readers also see the name, but address 0. */
static void look_at_symbol(char *line, enum seen *seen)
{
	char *name = strchr(line, ' ');
	size_t i;

	if (!name || strlen(name) < 4)
		return;
	name += 3;
	name[strcspn(name, " \t\n")] = '\0';
	for (i = 0; i < NR_SYMBOLS; i++)
		if (!strcmp(name, symbols[i]))
			seen[i] = SEEN_YES;
}

static void find_symbols(FILE *f, enum seen *seen)
{
	char line[1024];
	size_t i;

	for (i = 0; i < NR_SYMBOLS; i++)
		seen[i] = SEEN_NO;
	while (fgets(line, sizeof(line), f))
		look_at_symbol(line, seen);
}

static void write_symbols(FILE *out)
{
	enum seen seen[NR_SYMBOLS] = { SEEN_UNKNOWN };
	FILE *f = fopen("/proc/kallsyms", "re");
	size_t i;

	if (f) {
		find_symbols(f, seen);
		fclose(f);
	}
	for (i = 0; i < NR_SYMBOLS; i++)
		fprintf(out, "symbol %s %s\n", symbols[i], seen_words[seen[i]]);
}

/* ---- the kernel's configuration -------------------------------------------------- */

static const char *const options[] = {
	"AMD_IOMMU", "DMABUF_MOVE_NOTIFY", "DMA_SHARED_BUFFER", "HMM_MIRROR", "INFINIBAND", "INFINIBAND_USER_MEM",
	"INTEL_IOMMU", "IOMMU_DEFAULT_DMA_LAZY", "IOMMU_DEFAULT_DMA_STRICT", "IOMMU_DEFAULT_PASSTHROUGH",
	"MODULE_SIG", "MODULE_SIG_FORCE", "PCI_P2PDMA", "ZONE_DEVICE",
};

enum {
	NR_OPTIONS = sizeof(options) / sizeof(*options),
	VALUE_SIZE = 64,
};

/* @line: "CONFIG_MODULE_SIG=y" */
static void take_option(char *line, char (*values)[VALUE_SIZE])
{
	char *value = strchr(line, '=');
	size_t i;

	if (strncmp(line, "CONFIG_", 7) || !value)
		return;
	*value++ = '\0';
	for (i = 0; i < NR_OPTIONS; i++)
		if (!strcmp(line + 7, options[i]))
			snprintf(values[i], VALUE_SIZE, "%.*s", (int)strcspn(value, "\n"), value);
}

/* gzgets() also reads files that are not compressed. */
static void write_options(FILE *out, gzFile config)
{
	char values[NR_OPTIONS][VALUE_SIZE] = { 0 };
	char line[256];
	size_t i;

	while (gzgets(config, line, sizeof(line)))
		take_option(line, values);
	for (i = 0; i < NR_OPTIONS; i++)
		fprintf(out, "option %s %s\n", options[i], *values[i] ? values[i] : "n");
}

static gzFile open_config(void)
{
	static const char *const places[] = {
		"/boot/config-%s", "/lib/modules/%s/config", "/lib/modules/%s/build/.config",
	};
	gzFile config = gzopen("/proc/config.gz", "re");
	struct utsname kernel;
	char path[512];
	size_t i;

	uname(&kernel);
	for (i = 0; !config && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), places[i], kernel.release);
		config = gzopen(path, "re");
	}
	return config;
}

static void write_config(FILE *out)
{
	gzFile config = open_config();

	if (config) {
		write_options(out, config);
		gzclose(config);
	} else {
		fputs("config-error neither /proc/config.gz nor /boot/config-$(uname -r) can be read\n", out);
	}
}

/* ---- the process ----------------------------------------------------------------- */

/* CAP_IPC_LOCK lifts RLIMIT_MEMLOCK only in the initial user namespace. CapEff in another namespace has no effect. */
static bool in_first_user_namespace(void)
{
	enum {
		USER_NS_INIT_INO = 0xEFFFFFFD,
	};
	struct stat st;

	return stat("/proc/self/ns/user", &st) || st.st_ino == USER_NS_INIT_INO;
}

static enum seen has_capability(unsigned int number)
{
	FILE *f = fopen("/proc/self/status", "re");
	enum seen seen = SEEN_UNKNOWN;
	unsigned long long effective;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			seen = effective >> number & in_first_user_namespace() ? SEEN_YES : SEEN_NO;
	if (f)
		fclose(f);
	return seen;
}

/* Returns the first of several 0-terminated texts that begins with @key, or NULL. */
static const char *find_text(const char *texts, size_t length, const char *key)
{
	const char *at;

	for (at = texts; at < texts + length; at += strlen(at) + 1)
		if (!strncmp(at, key, strlen(key)))
			return at;
	return NULL;
}

/* systemd, LXC and others set a variable such as "container=lxc" in the environment of pid 1. */
static void write_container_of_init(FILE *out)
{
	char environment[8192];
	FILE *f = fopen("/proc/1/environ", "re");
	size_t length = f ? fread(environment, 1, sizeof(environment) - 1, f) : 0;
	const char *text;

	environment[length] = '\0';
	text = find_text(environment, length, "container=");
	if (text && text[strlen("container=")])
		fprintf(out, "container %.*s\n", (int)strcspn(text, " \n"), text);
	if (f)
		fclose(f);
}

/* With cgroup v2, /proc/1/cgroup does not reveal a container. So check the environment and Kubernetes' files. */
static void write_container(FILE *out)
{
	if (getenv("KUBERNETES_SERVICE_HOST"))
		fputs("container KUBERNETES_SERVICE_HOST\n", out);
	else if (!access("/run/secrets/kubernetes.io", F_OK) || !access("/var/run/secrets/kubernetes.io", F_OK))
		fputs("container run/secrets/kubernetes.io\n", out);
	else
		write_container_of_init(out);
}

static void write_process(FILE *out)
{
	enum {
		CAP_IPC_LOCK = 14,
	};

	fprintf(out, "root %s\n", geteuid() ? "no" : "yes");
	fprintf(out, "ipc-lock %s\n", seen_words[has_capability(CAP_IPC_LOCK)]);
	write_container(out);
}

int facts_write_nvml(FILE *out, unsigned int wait_ms)
{
	struct vendor vendor;

	vendor_ask_nvml(&vendor);
	vendor_answer(&vendor, out, wait_ms);
	return ferror(out) ? -EIO : 0;
}

/* Device nodes come last: the first cuInit() after boot creates NVIDIA's nodes. */
int facts_write(FILE *out, unsigned int wait_ms)
{
	struct vendor vendor;

	vendor_ask(&vendor);
	write_process(out);
	write_symbols(out);
	write_config(out);
	vendor_answer(&vendor, out, wait_ms);
	write_nodes(out);
	return ferror(out) ? -EIO : 0;
}
