# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables of emu/vm/run and test/run
#
# Sourced by those who look for the kernel's complaints in its log.

mistakes='WARNING: |BUG: |Oops: |hard LOCKUP|nobody cared'
mistakes+='|KASAN: |KCSAN: |UBSAN: |refcount_t: |kmemleak: [0-9]+ new|unreferenced object|DMA-API: [^ ]+ [^ ]+: |DMAR:.*fault'
mistakes+='|arm-smmu-v3 [^ ]+: event 0x[0-9a-f]+ received'	# its faults
mistakes+='|pagealloc: (memory corruption|single bit error)'
mistakes+='|dma-debug disabled|DMA-API: debugging out of memory|ODEBUG: Out of memory'	# which ends it
mistakes+='|possible (circular|recursive) locking|inconsistent lock state|suspicious RCU usage|bad unlock balance'
mistakes+='|Unable to handle kernel|Internal error: '	# arm64's words
mistakes+='|BUG [^ ]+ \(|Objects remaining in |sysfs: cannot create duplicate|page allocation failure|INFO: trying to register'
mistakes+='|Trying to free nonexistent resource|huh, entered softirq|buggy \.next function|returned bad count'
mistakes+='|debugfs: .*already present|bad p[mgu4]d '
mistakes+='|put_pages(_persistent)? failed|put_pages ended \('	# ours: what was pinned stays
mistakes+='|rcu: INFO: |blocked( in I/O wait)? for more than'
mistakes+='|printk messages dropped'	# which may have been any of these

# and what comes with one
splats="$mistakes|: [0-9a-f]{4} \[#[0-9]+\]|Call [Tt]race:|Kernel panic"

# A cache that cannot be made, as when a test has allocations fail, and vmalloc() without memory
# are told with a backtrace. Of some of its memory the kernel says that the cache is invalid.
complaints() { # LOG
	awk '/kmem_cache_create[_a-z]*\([^)]*\) failed with error -(12|22)|: vmalloc error: size [0-9]+,/ { expected = 1 }
		expected && /Call Trace:/ { expected = 0; next }
		{ print }' "$1"
}
