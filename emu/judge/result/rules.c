// SPDX-License-Identifier: MIT
#include <string.h>
#include "rows.h"
#include "rules.h"

static const struct rule rules[] = {
	/* rules of NVIDIA's guide */
	{ "bus-addresses", "13.3", "a device used other addresses than those of dma_map_pages", TRIES_IOMMU },
	{ "call-in-callback", "11.3", "get_pages, put_pages or dma_map_pages called in a free callback", TRIES_REVOKE },
	{ "dma-after-callback", "11.3", "a device used the memory after the free callback had returned", TRIES_REVOKE },
	{ "no-version-check", "13.3", "the driver used a page table without checking its version", TRIES_VERSION },
	{ "foreign-handle", "11.6", "a process reached memory that another process had pinned", TRIES_FOREIGN },
	{ "put-by-other-process", "12.3", "put_pages by another process than get_pages, which leaks the pin", 0 },
	{ "put-wrong-address", "12.3", "put_pages with another address than get_pages", 0 },
	{ "put-wrong-kind", "ch. 10", "put_pages of a persistent pin, or put_pages_persistent of another pin", 0 },
	{ "put-of-dead-table", "12.3", "put_pages of a page table that was not pinned", 0 },
	{ "map-of-dead-table", "13.3", "dma_map_pages of a page table that was not pinned", 0 },
	{ "unmap-of-dead-table", "13.3", "dma_unmap_pages of a page table that was not pinned", 0 },
	{ "unmap-of-dead-mapping", "13.3", "dma_unmap_pages of a mapping that did not exist", 0 },
	{ "unmap-wrong-peer", "13.3", "dma_unmap_pages for another device than dma_map_pages", 0 },
	{ "free-of-dead-table", "12.4", "free_page_table of a page table that no longer existed", 0 },
	{ "free-of-dead-mapping", "13.3", "free_dma_mapping of a mapping that no longer existed", 0 },
	{ "free-of-live-table", "12.4", "free_page_table outside the free callback", 0 },
	{ "write-to-dead-table", "12.4", "the driver wrote to a page table after its end", 0 },
	{ "no-callback", "11.3", "get_pages without a free callback", 0 },
	{ "unaligned", "12.2", "an address or a length is not a multiple of the GPU's page size", 0 },
	{ "unknown-flags", "ch. 10", "get_pages_persistent with flags that do not exist", 0 },
	{ "rsync-mismatch", "", "an rsync driver was not unregistered as it was registered", 0 },

	/* consequences: use-after-free precedes callback-waits, because a callback may wait on a freed lock */
	{ "unload-in-use", "", "the module could be removed while its device was open", TRIES_UNLOAD },
	{ "gone-peer", "", "memory was attached to a device that was no longer registered with peerpin", 0 },
	{ "stop-waits", "11.3", "stop() of a peer waited, for example for DMA, and with it the thread that frees memory", TRIES_REVOKE },
	{ "overstayed", "11.3", "the driver's DMA did not end in time, and peerpin had to wait for it", TRIES_REVOKE },
	{ "use-after-free", "", "memory was used after it had been freed", 0 },
	{ "double-free", "", "memory was freed twice", 0 },
	{ "overflow", "", "memory was written beyond its end", 0 },
	{ "refcount", "", "a reference was dropped that was not held", 0 },
	{ "callback-waits", "11.3", "a lock of the free callback is held around get_pages, put_pages or dma_map_pages",
	  TRIES_REVOKE },
	{ "data-wrong", "11.7", "the data read differ from the data written", 0 },
	{ "table-leaked", "11.3", "a free callback did not call free_page_table", TRIES_REVOKE },
	{ "mapping-leaked", "13.3", "a DMA mapping was never unmapped", 0 },
	{ "pin-leaked", "12.3", "the module was removed and left a pin", 0 },
	{ "pins-left", "12.3", "pins or mappings were left when no process had the device open", 0 },
	{ "regions-left", "", "regions of peerpin were left when no process had the device open", 0 },
	{ "memory-leaked", "", "the module was removed and left memory that it had allocated", 0 },

	/* symptoms without a known cause */
	{ "kernel-splat", "", "the kernel logged a warning or an oops", 0 },
	{ "crashed", "", "a signal ended the test program", 0 },
	{ "hang", "", "the test program or the virtual machine hung", 0 },
	{ "cannot-unload", "", "the module could not be removed when no process had the device open", 0 },
	{ "slow-callback", "11.3", "a free callback took long", TRIES_REVOKE },
	{ "test-failed", "", "the test program failed, and no fault had happened", 0 },
	{ "other", "", "the judge found a violation that this program does not know", 0 },
};

enum {
	NR_RULES = sizeof(rules) / sizeof(rules[0]),
};

const struct rule *rule_at(size_t i)
{
	return i < NR_RULES ? &rules[i] : NULL;
}

size_t rule_index(const char *name)
{
	size_t i;

	for (i = 0; i < NR_RULES - 1; i++)
		if (!strcmp(rules[i].name, name))
			break;
	return i;
}
