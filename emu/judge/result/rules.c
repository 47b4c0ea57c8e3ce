// SPDX-License-Identifier: MIT
#include <string.h>
#include "rows.h"
#include "rules.h"

static const struct rule rules[] = {
	/* errors, then their symptoms. use-after-free precedes callback-waits: a callback may wait on a freed lock */
	{ "bus-addresses", "13.3", SEVERITY_CRASH,
	  "a device used other addresses than those of dma_map_pages or dma_buf_map_attachment", TRIES_IOMMU },
	{ "foreign-handle", "11.6", SEVERITY_CRASH, "a process reached memory that another process had pinned",
	  TRIES_FOREIGN | TRIES_PIN },
	{ "unload-in-use", "", SEVERITY_CRASH, "the module could be removed while its device was open", TRIES_UNLOAD },
	{ "gone-peer", "", SEVERITY_CRASH, "memory was attached to a device that was no longer registered with peerpin",
	  TRIES_PEERPIN },
	{ "use-after-free", "", SEVERITY_CRASH, "memory was used after it had been freed", 0 },
	{ "uninitialised-memory", "", SEVERITY_CRASH, "memory was used that the driver had allocated and never written", 0 },
	{ "double-free", "", SEVERITY_CRASH, "memory was freed twice", 0 },
	{ "overflow", "", SEVERITY_CRASH, "memory was written beyond its end", 0 },
	{ "refcount", "", SEVERITY_CRASH, "a reference was dropped that was not held", 0 },
	{ "write-to-dead-table", "12.4", SEVERITY_CRASH, "the driver wrote to a page table after its end", TRIES_PIN },
	{ "null-result", "", SEVERITY_CRASH,
	  "get_pages was called with NULL for the page table; NVIDIA's driver crashes", TRIES_PIN },
	{ "call-in-callback", "11.3", SEVERITY_CRASH,
	  "get_pages, put_pages or dma_map_pages called in a free callback, which is a deadlock",
	  TRIES_CALLBACK },
	{ "callback-waits", "11.3", SEVERITY_CRASH,
	  "a lock of the free callback is held around get_pages, put_pages or dma_map_pages",
	  TRIES_CALLBACK },
	{ "dma-before-fence", "", SEVERITY_CRASH, "a device used a dma-buf before the exporter's fences had signaled",
	  TRIES_IMPORT | TRIES_MOVE },
	{ "kernel-splat", "", SEVERITY_CRASH, "the kernel logged a warning or an oops", 0 },
	{ "data-wrong", "11.7", SEVERITY_CRASH, "the data read differ from the data written", 0 },
	{ "crashed", "", SEVERITY_CRASH, "a signal ended the test program", 0 },
	{ "hang", "", SEVERITY_CRASH, "the test program or the virtual machine hung", 0 },

	{ "dma-after-callback", "11.3", SEVERITY_ACCESS,
	  "a device or the driver used the memory after the free callback, or invalidate_mappings, had returned",
	  TRIES_REVOKE },
	{ "mapped-after-callback", "11.3", SEVERITY_ACCESS,
	  "a process could use the memory by a CPU mapping after the free callback, or invalidate_mappings, had returned",
	  TRIES_CPU_MAP },
	{ "dma-mapped-after-callback", "11.3", SEVERITY_ACCESS,
	  "a device could use the memory by a DMA mapping of the driver after the free callback had returned",
	  TRIES_REVOKE | TRIES_IOMMU },
	{ "overstayed", "11.3", SEVERITY_ACCESS, "the driver's DMA did not end in time, and peerpin had to wait for it",
	  TRIES_REVOKE | TRIES_PEERPIN },
	{ "use-of-dead-table", "12.4", SEVERITY_ACCESS, "the driver read or wrote a page table after its end",
	  TRIES_PIN },
	{ "put-of-dead-table", "12.3", SEVERITY_ACCESS, "put_pages of a page table that was not pinned", TRIES_PIN },
	{ "put-wrong-kind", "ch. 10", SEVERITY_ACCESS,
	  "put_pages of a persistent pin, or put_pages_persistent of another pin", TRIES_PIN },
	{ "unmap-of-dead-table", "13.3", SEVERITY_ACCESS, "dma_unmap_pages of a page table that was not pinned", TRIES_MAP },
	{ "unmap-of-dead-mapping", "13.3", SEVERITY_ACCESS, "dma_unmap_pages of a mapping that did not exist", TRIES_MAP },
	{ "free-of-dead-table", "12.4", SEVERITY_ACCESS, "free_page_table of a page table that no longer existed",
	  TRIES_PIN },
	{ "free-of-dead-mapping", "13.3", SEVERITY_ACCESS, "free_dma_mapping of a mapping that no longer existed", TRIES_MAP },
	{ "unmap-of-dead-import", "", SEVERITY_ACCESS, "a dma-buf was unmapped or unpinned that was not mapped or pinned",
	  TRIES_IMPORT },
	{ "free-of-live-table", "12.4", SEVERITY_ACCESS, "free_page_table outside the free callback", TRIES_PIN },

	{ "put-by-other-process", "12.3", SEVERITY_LEAK,
	  "put_pages by another process than get_pages, which leaks the pin", TRIES_PIN },
	{ "pin-leaked", "12.3", SEVERITY_LEAK, "the module was removed and left a pin", 0 },
	{ "pins-left", "12.3", SEVERITY_LEAK, "pins or mappings were left when no process had the device open",
	  TRIES_CLOSE },
	{ "detach-in-use", "", SEVERITY_LEAK, "a dma-buf was detached while it was mapped or pinned", TRIES_IMPORT },
	{ "regions-left", "", SEVERITY_LEAK, "regions of peerpin were left when no process had the device open",
	  TRIES_PEERPIN },
	{ "memory-leaked", "", SEVERITY_LEAK, "the module was removed and left memory that it had allocated", 0 },
	{ "cannot-unload", "", SEVERITY_LEAK, "the module could not be removed when no process had the device open", 0 },

	{ "no-version-check", "13.3", SEVERITY_CONTRACT, "the driver used a page table without checking its version",
	  TRIES_VERSION | TRIES_PIN },
	{ "put-wrong-address", "12.3", SEVERITY_CONTRACT, "put_pages with another address than get_pages", TRIES_PIN },
	{ "map-of-dead-table", "13.3", SEVERITY_CONTRACT, "dma_map_pages of a page table that was not pinned", TRIES_MAP },
	{ "unmap-wrong-peer", "13.3", SEVERITY_CONTRACT, "dma_unmap_pages for another device than dma_map_pages", TRIES_MAP },
	{ "no-reservation-lock", "", SEVERITY_CONTRACT,
	  "a dma-buf was mapped, unmapped, pinned or unpinned without its reservation lock", TRIES_IMPORT },
	{ "no-peer2peer", "", SEVERITY_CONTRACT, "a dynamic importer of GPU memory did not set allow_peer2peer",
	  TRIES_IMPORT },
	{ "no-callback", "11.3", SEVERITY_CONTRACT, "get_pages without a free callback", TRIES_PIN },
	{ "unaligned", "12.2", SEVERITY_CONTRACT, "an address or a length is not a multiple of the GPU's page size",
	  TRIES_PIN },
	{ "unknown-flags", "ch. 10", SEVERITY_CONTRACT, "get_pages_persistent with flags that do not exist",
	  TRIES_PERSISTENT },
	{ "rsync-mismatch", "", SEVERITY_CONTRACT, "an rsync driver was not unregistered as it was registered", 0 },
	{ "stop-waits", "11.3", SEVERITY_CONTRACT,
	  "stop() of a peer waited, for example for DMA, and with it the thread that frees memory",
	  TRIES_REVOKE | TRIES_PEERPIN },
	{ "slow-callback", "11.3", SEVERITY_CONTRACT, "a free callback took long", TRIES_CALLBACK },
	{ "test-failed", "", SEVERITY_CONTRACT, "the test program failed, and no fault had happened", 0 },

	{ "table-leaked", "11.3", SEVERITY_ADVICE,
	  "a free callback did not call free_page_table: harmless since NVIDIA's driver 515, needed before",
	  TRIES_CALLBACK },
	{ "mapping-leaked", "13.3", SEVERITY_ADVICE,
	  "a DMA mapping was never unmapped or freed: harmless since NVIDIA's driver 515, needed before", TRIES_MAP },

	/* the last: see rule_index() */
	{ "other", "", SEVERITY_ADVICE, "the judge found a violation that this program does not know", 0 },
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

const char *severity_name(enum severity severity)
{
	static const char *const names[] = {
		[SEVERITY_CRASH] = "crash or corruption",
		[SEVERITY_ACCESS] = "access after the end",
		[SEVERITY_LEAK] = "lasting leak",
		[SEVERITY_CONTRACT] = "broken contract",
		[SEVERITY_ADVICE] = "advice",
	};

	return names[severity];
}
