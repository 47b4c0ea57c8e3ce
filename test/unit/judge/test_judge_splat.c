// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/include/emugpu.h"
#include "emu/judge/log/splat.h"
#include "test/unit/unit.h"

enum { FOUND_MAX = 8 };

static struct splat found[FOUND_MAX];
static size_t nr_found;

static void read_log(const char *const *lines)
{
	struct splat splat = { 0 };

	for (nr_found = 0; *lines; lines++)
		nr_found += splat_feed(&splat, *lines, &found[nr_found]);
	nr_found += splat_end(&splat, &found[nr_found]);
}

static void is_one(const char *const *lines, const char *rule, const char *text)
{
	read_log(lines);
	assert_int_equal(nr_found, 1);
	assert_string_equal(found[0].rule, rule);
	assert_non_null(strstr(found[0].text, text));
}

static void line_is(const char *line, const char *rule)
{
	const char *const lines[] = { line, NULL };

	is_one(lines, rule, line);
}

static void ordinary_log_has_no_splat(void **state)
{
	static const char *const lines[] = {
		"direct: loading out-of-tree module taints kernel.",
		"emugpu: violation by direct, at its end: mapping-leaked: a DMA mapping that was never undone (13.3)",
		"DMAR: IOMMU enabled",
		"direct 0000:00:03.0: WARNING: no interrupt, so it is polled",	/* a driver's own message */
		"pci 0000:00:03.0: BAR 2: assigned",
		NULL
	};

	(void)state;
	read_log(lines);
	assert_int_equal(nr_found, 0);
}

static void warning_keeps_its_own_text(void **state)
{
	static const char *const lines[] = {
		"------------[ cut here ]------------",
		"direct_freed [direct] calls the GPU driver from its free callback",
		"WARNING: CPU: 0 PID: 77 at emu/common/node/api.c:75 emugpu_refuse_in_callback+0x40/0x50 [emugpu]",
		"Call Trace:",
		" <TASK>",
		"---[ end trace 0000000000000000 ]---",
		NULL
	};

	(void)state;
	is_one(lines, "kernel-splat", "direct_freed [direct] calls the GPU driver from its free callback (WARNING: CPU: 0");
}

static void two_warnings_count_twice(void **state)
{
	static const char *const lines[] = {
		"WARNING: CPU: 0 PID: 77 at a.c:1 a+0x40/0x50 [direct]",
		"RAX: 6b6b6b6b6b6b6b6b RBX: 0000000000000000",
		"---[ end trace 0000000000000000 ]---",
		"direct: nothing",
		"WARNING: CPU: 0 PID: 77 at b.c:1 b+0x40/0x50 [direct]",
		NULL
	};

	(void)state;
	read_log(lines);
	assert_int_equal(nr_found, 2);
	assert_string_equal(found[0].rule, "kernel-splat");
	assert_non_null(strstr(found[1].text, "b.c:1"));
}

static void refcount_splat_counts_once(void **state)
{
	static const char *const lines[] = {
		"------------[ cut here ]------------",
		"refcount_t: underflow; use-after-free.",
		"WARNING: CPU: 1 PID: 90 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110",
		"---[ end trace 0000000000000000 ]---",
		NULL
	};

	(void)state;
	is_one(lines, "refcount", "refcount_t: underflow");
}

static void oops_counts_once(void **state)
{
	static const char *const lines[] = {
		"BUG: kernel NULL pointer dereference, address: 0000000000000010",
		"#PF: supervisor read access in kernel mode",
		"Oops: 0000 [#1] PREEMPT SMP PTI",
		"RAX: 0000000000000000 RBX: 0000000000000000",
		"---[ end trace 0000000000000000 ]---",
		"Kernel panic - not syncing: Fatal exception",
		"---[ end Kernel panic - not syncing: Fatal exception ]---",
		NULL
	};

	(void)state;
	is_one(lines, "kernel-splat", "NULL pointer dereference");
}

static void poison_address_means_use_after_free(void **state)
{
	static const char *const by_address[] = {
		"general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b6b: 0000 [#1]",
		NULL
	};
	static const char *const by_register[] = {
		"list_del corruption. prev->next should be ffff888003a, but was 1",
		"------------[ cut here ]------------",
		"kernel BUG at lib/list_debug.c:62!",
		"invalid opcode: 0000 [#1] PREEMPT SMP NOPTI",
		"RDX: 0000000000000000 RSI: 6b6b6b6b6b6b6b6b RDI: 00000000ffffffff",
		NULL
	};
	static const char *const by_spinning[] = {
		"rcu: INFO: rcu_preempt self-detected stall on CPU",
		"RIP: 0010:native_queued_spin_lock_slowpath+0x30/0x2a0",
		"RDX: 0000000000000001 RSI: 000000006b6b6b6b RDI: ffff88800751de88",
		NULL
	};

	(void)state;
	is_one(by_spinning, "use-after-free", "rcu: INFO");
	is_one(by_address, "use-after-free", "general protection fault");
	is_one(by_register, "use-after-free", "list_del corruption");
}

/* The allocator checks the red zone of an object that is freed. If the object is free already, nothing was overwritten. */
static void free_redzone_means_double_free(void **state)
{
	static const char *const freed[] = {
		"BUG kmalloc-32 (Tainted: G    B      OE     ): Left Redzone overwritten",
		"0xffff888006d740a0-0xffff888006d740bf @offset=160. First byte 0xbb instead of 0xcc",
		NULL
	};
	static const char *const overwritten[] = {
		"BUG kmalloc-32 (Tainted: G    B      OE     ): Right Redzone overwritten",
		"0xffff888006d740a0-0xffff888006d740bf @offset=160. First byte 0x0 instead of 0xcc",
		NULL
	};

	(void)state;
	is_one(freed, "double-free", "Redzone");
	is_one(overwritten, "overflow", "Redzone");
}

/* judge.ko fills what the driver allocates with 0x5a. The faulting address says more than a register. */
static void filled_address_means_uninitialised_memory(void **state)
{
	static const char *const by_address[] = {
		"general protection fault, probably for non-canonical address 0x5a5a5a5a5a5a5a8e: 0000 [#1]",
		"RDX: 0000000000000000 RSI: 6b6b6b6b6b6b6b6b RDI: 5a5a5a5a5a5a5a5a",
		NULL
	};
	static const char *const by_register[] = {
		"BUG: unable to handle page fault for address: ffffed1000000000",
		"RDX: 0000000000000001 RSI: 000000005a5a5a5a RDI: ffff88800751de88",
		NULL
	};
	static const char *const freed[] = {
		"general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b9c: 0000 [#1]",
		"RDX: 0000000000000000 RSI: 5a5a5a5a5a5a5a5a RDI: 0000000000000000",
		NULL
	};
	static const char *const hang[] = {
		"watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [test:77]",
		"RDX: 0000000000000000 RSI: 5a5a5a5a5a5a5a5a RDI: 0000000000000000",
		NULL
	};

	(void)state;
	is_one(by_address, "uninitialised-memory", "general protection fault");
	is_one(by_register, "uninitialised-memory", "unable to handle");
	is_one(freed, "use-after-free", "general protection fault");
	is_one(hang, "hang", "soft lockup");
}

static void allocator_report_names_its_rule(void **state)
{
	(void)state;
	line_is("BUG kmalloc-64 (Tainted: G           OE     ): Object already free", "double-free");
	line_is("BUG kmalloc-64 (Tainted: G    B      OE     ): Poison overwritten", "use-after-free");
	line_is("BUG kmalloc-64 (Not tainted): Right Redzone overwritten", "overflow");
	line_is("BUG kmalloc-64 (Not tainted): Left Redzone overwritten", "overflow");
	line_is("BUG direct (Not tainted): Objects remaining in direct on __kmem_cache_shutdown()", "memory-leaked");
	line_is("WARNING: CPU: 0 PID: 1 at mm/vmalloc.c:2 Trying to vfree() nonexistent vm area (1)", "double-free");
}

static void other_watchdogs_have_own_rules(void **state)
{
	(void)state;
	line_is("DMAR: [DMA Write NO_PASID] Request device [00:03.0] fault addr 0xfd000000 [fault reason 0x05] PTE",
		"iommu-fault");
	line_is("peerpin: peerpin_lsi (0000:00:04.0) still has DMA in flight on memory that is being given up; its",
		"overstayed");
	line_is("peerpin: 0000:00:04.0 (importer) still uses a dma-buf of an ended region; its driver must end DMA after",
		"overstayed");
	line_is("watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [direct_test:99]", "hang");
	line_is("INFO: task direct_test:99 blocked for more than 120 seconds.", "hang");
}

static void nested_allocator_report_counts(void **state)
{
	static const char *const lines[] = {
		"BUG kmalloc-64 (Tainted: G           OE     ): Poison overwritten",
		"Slab 0x0 objects=1",
		"BUG kmalloc-96 (Tainted: G    B      OE     ): Object already free",
		NULL
	};

	(void)state;
	read_log(lines);
	assert_int_equal(nr_found, 2);
	assert_string_equal(found[0].rule, "use-after-free");
	assert_string_equal(found[1].rule, "double-free");
}

/* SLUB's message says what SLUB did after the report. It may come long after the report's last line. */
static void disabled_slab_is_no_new_splat(void **state)
{
	static const char *const lines[] = {
		"BUG kmalloc-64 (Tainted: G           OE     ): Poison overwritten",
		"---[ end trace 0000000000000000 ]---",
		"FIX kmalloc-64: Restoring Poison 0xffff888003a44d00-0xffff888003a44d00=0x6b",
		"BUG kmalloc-64 (Tainted: G    B      OE     ): Slab disabled since SLUB metadata consistency check failed",
		NULL
	};

	(void)state;
	is_one(lines, "use-after-free", "Poison overwritten");
}

/* An IOMMU fault is a single line: the next line is a splat of its own. */
static void iommu_fault_hides_no_splat(void **state)
{
	static const char *const lines[] = {
		"DMAR: [DMA Write NO_PASID] Request device [00:04.0] fault addr 0x0 [fault reason 0x05]",
		"WARNING: CPU: 0 PID: 1 at drivers/x.c:1 x+0x1/0x2",
		NULL
	};

	(void)state;
	read_log(lines);
	assert_int_equal(nr_found, 2);
	assert_string_equal(found[0].rule, "iommu-fault");
	assert_string_equal(found[1].rule, "kernel-splat");
}

static void fault_after_revocation_is_late(void **state)
{
	static const char *const lines[] = {
		"DMAR: [DMA Write NO_PASID] Request device [00:04.0] fault addr 0x0 [fault reason 0x05]",
		"emugpu: " EMUGPU_REVOKED,
		"DMAR: [DMA Write NO_PASID] Request device [00:04.0] fault addr 0x0 [fault reason 0x05]",
		NULL
	};

	(void)state;
	read_log(lines);
	assert_int_equal(nr_found, 2);
	assert_string_equal(found[0].rule, SPLAT_IOMMU);
	assert_string_equal(found[1].rule, SPLAT_IOMMU_LATE);
	assert_false(splat_disturbs(&found[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_log_has_no_splat),
		cmocka_unit_test(warning_keeps_its_own_text),
		cmocka_unit_test(two_warnings_count_twice),
		cmocka_unit_test(refcount_splat_counts_once),
		cmocka_unit_test(oops_counts_once),
		cmocka_unit_test(poison_address_means_use_after_free),
		cmocka_unit_test(free_redzone_means_double_free),
		cmocka_unit_test(filled_address_means_uninitialised_memory),
		cmocka_unit_test(allocator_report_names_its_rule),
		cmocka_unit_test(other_watchdogs_have_own_rules),
		cmocka_unit_test(nested_allocator_report_counts),
		cmocka_unit_test(disabled_slab_is_no_new_splat),
		cmocka_unit_test(iommu_fault_hides_no_splat),
		cmocka_unit_test(fault_after_revocation_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
