// SPDX-License-Identifier: MIT
#include "libraries.h"

static int adapter_import(int fd, uint64_t offset, size_t length)
{
	sent++;
	return fd >= 0 && offset < 4096 && length ? 0 : -EINVAL;
}

static int use(const char *buffer, size_t length)
{
	const struct pp_cache_entry *entry;
	const struct pp_dmabuf *dmabuf;
	struct pp_cache *dmabufs;

BLOCK
	return err;
}

int main(void)
{
	return start() || use((const char *)gpu_memory(1 << 20), 1 << 20) || sent != 1;
}
