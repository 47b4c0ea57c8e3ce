// SPDX-License-Identifier: MIT
/* A CUDA library with two GPUs. The environment variable FAKE_CUDA selects a fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned int flags);
int cuDeviceGetCount(int *out);
int cuDeviceGet(int *device, int index);
int cuDeviceGetPCIBusId(char *out, int size, int device);
int cuDeviceGetAttribute(int *out, int attribute, int device);

static int does(const char *what)
{
	const char *how = getenv("FAKE_CUDA");

	return how && !strcmp(how, what);
}

int cuInit(unsigned int flags)
{
	puts("what is printed here is no fact");
	if (does("hangs"))
		pause();
	if (does("is slow"))
		sleep(2);
	return does("fails") ? 100 : (int)flags;
}

int cuDeviceGetCount(int *out)
{
	if (does("crashes"))
		_exit(1);
	*out = 2;
	return 0;
}

int cuDeviceGet(int *device, int index)
{
	*device = index;
	return 0;
}

int cuDeviceGetPCIBusId(char *out, int size, int device)
{
	snprintf(out, (size_t)size, "%s", device ? "0000:AF:00.0" : "0000:3B:00.0");
	return 0;
}

/* The second GPU's driver knows no attributes. */
int cuDeviceGetAttribute(int *out, int attribute, int device)
{
	*out = attribute == 116 || attribute == 124;
	return device;
}
