// SPDX-License-Identifier: MIT
#include "libraries.h"

struct adapter {
	int registered;
};

static void *adapter_register(struct adapter *adapter, void *at, uint64_t length)
{
	return length && ++adapter->registered < 3 ? at : NULL;
}

static void adapter_forget(struct adapter *adapter, void *reg)
{
	if (reg)
		adapter->registered -= 2;
}

int make_cache(struct adapter *adapter, struct pp_cache **out);

BLOCK

/* The third does not fit before an idle one has gone. */
int main(void)
{
	const struct pp_cache_entry *entry;
	struct adapter adapter = {};
	static char memory[3 << 16];
	int i;

	if (make_cache(&adapter, &cache))
		return 1;
	for (i = 0; i < 3; i++) {
		if (pp_cache_get(cache, memory + (i << 16), 100, &entry, NULL))
			return 1;
		pp_cache_put(cache, entry);
	}
	return 0;
}
