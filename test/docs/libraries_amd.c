// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>
#include "libraries.h"

/* ---- stand-ins for ROCm: one allocation ------------------------------------------------ */

typedef struct {
	uint32_t size;
	int type;
	void *agentBaseAddress;
	void *hostBaseAddress;
	size_t sizeInBytes;
} hsa_amd_pointer_info_t;

enum { HSA_EXT_POINTER_TYPE_UNKNOWN, HSA_EXT_POINTER_TYPE_HSA };

static char allocation[1 << 20];

static int hsa_amd_pointer_info(const void *at, hsa_amd_pointer_info_t *info, void *alloc, void *count, void *agents)
{
	uint64_t offset = (uint64_t)at - (uint64_t)allocation;

	(void)alloc, (void)count, (void)agents;
	*info = (hsa_amd_pointer_info_t) {
		.type = offset < sizeof(allocation) ? HSA_EXT_POINTER_TYPE_HSA : HSA_EXT_POINTER_TYPE_UNKNOWN,
		.agentBaseAddress = allocation,
		.sizeInBytes = sizeof(allocation),
	};
	return 0;
}

static int hsa_amd_portable_export_dmabuf(const void *at, size_t size, int *dmabuf, uint64_t *offset)
{
	*offset = (uint64_t)at - (uint64_t)allocation;
	if (*offset > sizeof(allocation) || size > sizeof(allocation) - *offset)
		return 1;
	*dmabuf = open("/dev/null", O_RDWR | O_CLOEXEC);
	return *dmabuf < 0;
}

static int hsa_amd_portable_close_dmabuf(int dmabuf)
{
	return close(dmabuf);
}

/* ---- the adapter ------------------------------------------------------------------------- */

struct adapter {
	int imports;
	uint64_t length;
};

static void *amd_import(struct adapter *adapter, int dmabuf, uint64_t offset, uint64_t length)
{
	adapter->imports++;
	adapter->length = length;
	return dmabuf >= 0 && !offset ? adapter : NULL;
}

static void amd_unpin(void *arg, void *reg)
{
	struct adapter *adapter = (struct adapter *)arg;

	adapter->imports -= reg == arg;
}

BLOCK

static int get(struct pp_cache *gets, char *at, size_t length)
{
	const struct pp_cache_entry *entry;

	err = pp_cache_get(gets, at, length, &entry, NULL);
	if (!err)
		pp_cache_put(gets, entry);
	return err;
}

/* Two ranges of an allocation are one import; a range past its end is refused. */
int main(void)
{
	struct adapter adapter = {};

	if (pp_cache_create(&amd_ops, &adapter, NULL, &cache))
		return 1;
	if (get(cache, allocation + 100, 200) || get(cache, allocation + 50000, 1000))
		return 2;
	if (adapter.imports != 1 || adapter.length != sizeof(allocation))
		return 3;
	if (get(cache, allocation + 100, sizeof(allocation)) != -EOPNOTSUPP)
		return 4;
	pp_cache_invalidate(cache, allocation, 1);
	return adapter.imports;
}
