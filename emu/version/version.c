// SPDX-License-Identifier: MIT
#include "version.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

/* The first one is the default. */
static const struct driver_version versions[] = {
	{ 580, "580.65.06", 13000 },
	{ 535, "535.288.01", 12020 },
	{ 550, "550.163.01", 12040 },
	{ 570, "570.211.01", 12080 },
	{ 595, "595.45.04", 13020 },
	{ 610, "610.43.02", 13030 },
};

static const struct driver_version *played = versions;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void)
{
	int saved = errno;
	FILE *file = fopen("/sys/module/emugpu/parameters/driver_version", "re");
	unsigned int branch = 0;

	if (file && fscanf(file, "%u", &branch) == 1)
		for (unsigned int i = 0; i < sizeof(versions) / sizeof(*versions); i++)
			if (versions[i].branch == branch)
				played = &versions[i];
	if (file)
		fclose(file);
	errno = saved;
}

const struct driver_version *driver_version(void)
{
	pthread_once(&once, find);
	return played;
}
