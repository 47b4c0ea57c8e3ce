// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include "lib/sys/cancel.h"
#include "nvml.h"

static struct pp_nvml nvml;	/* written once, under @lock */
static bool ready;		/* under @lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Runs in a child of fork(), which may inherit a lock held by a thread of the parent. */
static void start_anew(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void init_once(void)
{
	pthread_atfork(NULL, NULL, start_anew);
}

static bool find(void *lib, const char *name, void *function)
{
	*(void **)function = dlsym(lib, name);
	return *(void **)function;
}

static bool resolve(void *lib, struct pp_nvml *out)
{
	return find(lib, "nvmlInit_v2", &out->init) &&
	       find(lib, "nvmlDeviceGetHandleByIndex_v2", &out->by_index) &&
	       find(lib, "nvmlDeviceGetName", &out->name) &&
	       find(lib, "nvmlDeviceGetUUID", &out->uuid) &&
	       find(lib, "nvmlDeviceGetPciInfo_v3", &out->pci) &&
	       find(lib, "nvmlDeviceGetBAR1MemoryInfo", &out->bar1);
}

static int init(void *lib, struct pp_nvml *out)
{
	if (!resolve(lib, out))
		return -EIO;
	switch (out->init()) {
	case PP_NVML_SUCCESS:
		return 0;
	case PP_NVML_DRIVER_NOT_LOADED:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static bool is_ready(void)
{
	bool yes;

	pthread_mutex_lock(&lock);
	yes = ready;
	pthread_mutex_unlock(&lock);
	return yes;
}

/* If several threads found the functions, the first thread publishes them. */
static void publish(const struct pp_nvml *fresh)
{
	pthread_mutex_lock(&lock);
	if (!ready)
		nvml = *fresh;
	ready = true;
	pthread_mutex_unlock(&lock);
}

/*
 * Does not hold @lock over dlopen(): the loader holds its own lock while it runs the
 * constructors of a library, and these may call pp_bar1(). NVML is never shut down,
 * because other code in the process may use it.
 */
static int load(void)
{
	PP_NO_CANCEL;
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	struct pp_nvml fresh;
	int ret;

	if (!lib)
		return -ENOENT;
	ret = init(lib, &fresh);
	if (ret)
		dlclose(lib);
	else
		publish(&fresh);
	return ret;
}

int pp_nvml(const struct pp_nvml **out)
{
	*out = &nvml;
	pthread_once(&once, init_once);
	return is_ready() ? 0 : load();
}
