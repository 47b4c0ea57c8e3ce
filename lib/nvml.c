// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include "nvml.h"

static struct pp_nvml nvml;
static bool ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool find(void *lib, const char *name, void *function)
{
	*(void **)function = dlsym(lib, name);
	return *(void **)function;
}

static bool resolve(void *lib)
{
	return find(lib, "nvmlInit_v2", &nvml.init) &&
	       find(lib, "nvmlDeviceGetHandleByIndex_v2", &nvml.by_index) &&
	       find(lib, "nvmlDeviceGetName", &nvml.name) &&
	       find(lib, "nvmlDeviceGetUUID", &nvml.uuid) &&
	       find(lib, "nvmlDeviceGetPciInfo_v3", &nvml.pci) &&
	       find(lib, "nvmlDeviceGetBAR1MemoryInfo", &nvml.bar1);
}

static int init(void *lib)
{
	if (!resolve(lib))
		return -EIO;
	switch (nvml.init()) {
	case PP_NVML_SUCCESS:
		return 0;
	case PP_NVML_DRIVER_NOT_LOADED:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/* Never shut down: other code in the process may be using it as well. */
static int load(void)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int ret;

	if (!lib)
		return -ENOENT;
	ret = init(lib);
	if (ret)
		dlclose(lib);
	return ret;
}

int pp_nvml(const struct pp_nvml **out)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (!ready)
		ret = load();
	ready = !ret;
	pthread_mutex_unlock(&lock);
	*out = &nvml;
	return ret;
}
