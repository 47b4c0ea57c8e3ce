# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables of emu/vm/run and test/run
#
# Sourced by scripts that search a kernel log for splats: patterns for grep -E, and a filter.

mistakes='WARNING: |BUG: |Oops: |hard LOCKUP|nobody cared'
mistakes+='|KASAN: |KCSAN: |UBSAN: |refcount_t: |kmemleak: [0-9]+ new|unreferenced object|DMA-API: [^ ]+ [^ ]+: |DMAR:.*fault'
mistakes+='|arm-smmu-v3 [^ ]+: event 0x[0-9a-f]+ received'	# IOMMU faults on arm64
mistakes+='|pagealloc: (memory corruption|single bit error)'
mistakes+='|dma-debug disabled|DMA-API: debugging out of memory|ODEBUG: Out of memory'	# a checker has stopped
mistakes+='|possible (circular|recursive) locking|inconsistent lock state|suspicious RCU usage|bad unlock balance'
mistakes+='|Unable to handle kernel|Internal error: '	# an oops on arm64
mistakes+='|BUG [^ ]+ \(|Objects remaining in |sysfs: cannot create duplicate|page allocation failure|INFO: trying to register'
mistakes+='|Trying to free nonexistent resource|huh, entered softirq|buggy \.next function|returned bad count'
mistakes+='|debugfs: .*already present|bad p[mgu4]d '
mistakes+='|put_pages(_persistent)? failed|put_pages ended \('	# printed by peerpin: GPU memory stays pinned
mistakes+='|rcu: INFO: |blocked( in I/O wait)? for more than'
mistakes+='|printk messages dropped'	# a dropped message may have been a splat

# Matches the first line of a splat, and lines inside a splat.
splats="$mistakes|: [0-9a-f]{4} \[#[0-9]+\]|Call [Tt]race:|Kernel panic"

# Prints LOG without the backtraces that the kernel logs after a failed kmem_cache_create() or
# vmalloc(): tests with failing allocations cause these failures. Without memory,
# kmem_cache_create() returns -ENOMEM, or -EINVAL on some kernels.
complaints() { # LOG
	awk '/kmem_cache_create[_a-z]*\([^)]*\) failed with error -(12|22)|: vmalloc error: size [0-9]+,/ { expected = 1 }
		expected && /Call Trace:/ { expected = 0; next }
		{ print }' "$1"
}
