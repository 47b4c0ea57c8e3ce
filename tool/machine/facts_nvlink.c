// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include "facts.h"
#include "facts_nvlink.h"

/* values of NVML's enums */
enum {
	NVML_P2P_CAPS_INDEX_NVLINK = 2,
	NVML_P2P_STATUS_OK = 0,
	NVML_NVLINK_DEVICE_TYPE_GPU = 0,
	NVML_NVLINK_DEVICE_TYPE_SWITCH = 2,
	NVML_NVLINK_MAX_LINKS = 36, /* more than any GPU has; NVML refuses the numbers above its own maximum */
};

/* nvmlPciInfo_t */
struct nvml_pci {
	char legacy[16];
	unsigned int domain, bus, device, ids, subsystem;
	char bus_id[32];
};

/** struct nvml - functions of NVML; @remote_type: NULL in old drivers: links to switches are then not counted */
struct nvml {
	int (*init)(void);
	int (*count)(unsigned int *out);
	int (*device)(unsigned int index, void **out);
	int (*pci)(void *device, struct nvml_pci *out);
	int (*state)(void *device, unsigned int link, int *active);
	int (*remote)(void *device, unsigned int link, struct nvml_pci *out);
	int (*remote_type)(void *device, unsigned int link, int *type);
	int (*p2p)(void *a, void *b, int index, int *status);
};

/**
 * struct gpu_links - the active NVLinks of a GPU
 * @to: number of links to each GPU
 * @to_switch: number of links to switches
 */
struct gpu_links {
	void *device;
	struct nvml_pci pci;
	unsigned int to[FACTS_GPUS];
	unsigned int to_switch;
};

static bool find(void *lib, const char *name, void *function)
{
	*(void **)function = dlsym(lib, name);
	return *(void **)function;
}

static bool resolve(void *lib, struct nvml *nvml)
{
	find(lib, "nvmlDeviceGetNvLinkRemoteDeviceType", &nvml->remote_type);
	return find(lib, "nvmlInit_v2", &nvml->init) && find(lib, "nvmlDeviceGetCount_v2", &nvml->count) &&
	       find(lib, "nvmlDeviceGetHandleByIndex_v2", &nvml->device) &&
	       find(lib, "nvmlDeviceGetPciInfo_v3", &nvml->pci) &&
	       find(lib, "nvmlDeviceGetNvLinkState", &nvml->state) &&
	       find(lib, "nvmlDeviceGetNvLinkRemotePciInfo_v2", &nvml->remote) &&
	       find(lib, "nvmlDeviceGetP2PStatus", &nvml->p2p);
}

static struct gpu_links *gpu_at(struct gpu_links *gpus, unsigned int count, const struct nvml_pci *pci)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (gpus[i].pci.domain == pci->domain && gpus[i].pci.bus == pci->bus &&
		    gpus[i].pci.device == pci->device)
			return &gpus[i];
	return NULL;
}

static void count_link(const struct nvml *nvml, struct gpu_links *gpus, unsigned int count, unsigned int gpu,
		       unsigned int link)
{
	int type = NVML_NVLINK_DEVICE_TYPE_GPU, active = 0;
	struct gpu_links *peer = NULL;
	struct nvml_pci pci;

	if (nvml->state(gpus[gpu].device, link, &active) || !active)
		return;
	if (nvml->remote_type && nvml->remote_type(gpus[gpu].device, link, &type))
		return;
	if (type == NVML_NVLINK_DEVICE_TYPE_SWITCH)
		gpus[gpu].to_switch++;
	else if (type == NVML_NVLINK_DEVICE_TYPE_GPU && !nvml->remote(gpus[gpu].device, link, &pci))
		peer = gpu_at(gpus, count, &pci);
	if (peer)
		gpus[gpu].to[peer - gpus]++;
}

/* GPUs that are behind switches reach each other by all links, unless the switches keep them apart. */
static unsigned int links_between(const struct nvml *nvml, const struct gpu_links *gpus, unsigned int a, unsigned int b)
{
	unsigned int least = gpus[a].to_switch < gpus[b].to_switch ? gpus[a].to_switch : gpus[b].to_switch;
	int status;

	if (nvml->p2p(gpus[a].device, gpus[b].device, NVML_P2P_CAPS_INDEX_NVLINK, &status) ||
	    status != NVML_P2P_STATUS_OK)
		return 0;
	return gpus[a].to[b] ? gpus[a].to[b] : least;
}

/* NVML has eight digits of the domain, and letters in upper case. */
static void write_address(FILE *out, const struct nvml_pci *pci)
{
	const char *c = pci->bus_id + (strncmp(pci->bus_id, "0000", 4) ? 0 : 4);

	putc(' ', out);
	for (; *c; c++)
		putc(tolower((unsigned char)*c), out);
}

static void write_links(FILE *out, const struct nvml *nvml, const struct gpu_links *gpus, unsigned int count)
{
	unsigned int a, b, links, written = 0;

	for (a = 0; a < count; a++)
		for (b = a + 1; b < count && written < FACTS_NVLINKS; b++) {
			links = links_between(nvml, gpus, a, b);
			if (!links)
				continue;
			fputs("nvlink", out);
			write_address(out, &gpus[a].pci);
			write_address(out, &gpus[b].pci);
			fprintf(out, " %u\n", links);
			written++;
		}
	fputs("nvlinks known\n", out);
}

static unsigned int find_gpus(const struct nvml *nvml, struct gpu_links *gpus)
{
	unsigned int index, all, count = 0;

	if (nvml->count(&all))
		return 0;
	for (index = 0; index < all && count < FACTS_GPUS; index++)
		if (!nvml->device(index, &gpus[count].device) && !nvml->pci(gpus[count].device, &gpus[count].pci))
			count++;
	return count;
}

void tell_nvlinks(FILE *out)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	static struct gpu_links gpus[FACTS_GPUS];
	unsigned int count, gpu, link;
	struct nvml nvml;

	if (!lib || !resolve(lib, &nvml) || nvml.init())
		return;
	count = find_gpus(&nvml, gpus);
	for (gpu = 0; gpu < count; gpu++)
		for (link = 0; link < NVML_NVLINK_MAX_LINKS; link++)
			count_link(&nvml, gpus, count, gpu, link);
	write_links(out, &nvml, gpus, count);
}
