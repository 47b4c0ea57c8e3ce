// SPDX-License-Identifier: MIT
#include "libraries.h"

static char *buffer;

/* Free the memory after the third send. */
static int more_to_send(void)
{
	if (sent == 3)
		cuMemFree((CUdeviceptr)buffer);
	return sent < 10;
}

static int use(size_t length)
{
BLOCK
}

int main(void)
{
	if (start())
		return 1;
	buffer = (char *)gpu_memory(4 << 20);
	return use(4 << 20) || sent != 3;
}
