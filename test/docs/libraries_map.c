// SPDX-License-Identifier: MIT
#include "libraries.h"

static int use(const char *buffer)
{
	static const char message[] = "written by the CPU";
	char seen[sizeof(message)];
	void *view;

BLOCK
	return err || cuMemcpyDtoH(seen, (CUdeviceptr)buffer, sizeof(seen)) || memcmp(seen, message, sizeof(seen));
}

int main(void)
{
	char *buffer;

	if (start())
		return 1;
	buffer = (char *)gpu_memory(1 << 20);
	return pp_pin(ctx, buffer, 1 << 20, &region, NULL) || use(buffer);
}
