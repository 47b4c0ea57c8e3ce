// SPDX-License-Identifier: MIT
#include "libraries.h"

int send_message(const void *at, size_t length);

BLOCK

int main(void)
{
	static char host[10000];

	if (start() || send_message(host, sizeof(host)) || send_message(gpu_memory(10000), 10000))
		return 1;
	return send_message((void *)4096, 10) ? 0 : 1;	/* no memory is there */
}
