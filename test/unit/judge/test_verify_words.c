// SPDX-License-Identifier: MIT
/* Words of a report: the fault of a scenario; the functions that allocated, freed and used damaged memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/unit/unit.h"
#include "emu/judge/report/words.h"

static char *out;
static size_t length;

static const char hint[] =
	"  memory:   a run of the --only command below may also show which functions allocated and freed this memory\n";

/* @only: the scenario of --only, or NULL */
static void words_with(const char *only, const char *const *lines)
{
	const struct verify_args args = { .driver = "/no/driver.ko", .only = only };
	const struct run run = { .args = &args };
	const struct summary summary = { .run = &run };
	struct result result = { 0 };
	const struct judgement judgement = { .rule = rule_at(rule_index("use-after-free")), .result = &result };
	FILE *file = open_memstream(&out, &length);

	assert_non_null(file);
	for (; *lines; lines++)
		result_log(&result, *lines);
	words_of_memory(file, &summary, &judgement);
	fclose(file);
	free(result.log);
}

static void words_of_log(const char *const *lines)
{
	words_with("plain", lines);
}

static void functions_of_driver_are_named(void **state)
{
	const char *const log[] = {
		"Allocated in mydrv_open+0x10/0x20 [mydrv] age=7 cpu=0 pid=93",
		" other+0x1/0x2 [other]",
		"Freed in mydrv_close+0x1/0x20 [mydrv] age=3 cpu=0 pid=93",
		"RIP: 0010:mydrv_ioctl+0x5/0x30 [mydrv]",
		NULL,
	};

	(void)state;
	words_of_log(log);
	assert_string_equal(out, "  allocated: mydrv_open+0x10/0x20 [mydrv]\n"
				 "  freed:    mydrv_close+0x1/0x20 [mydrv]\n"
				 "  used:     mydrv_ioctl+0x5/0x30 [mydrv]\n");
	free(out);
}

static void stack_names_module_behind_kernel(void **state)
{
	const char *const log[] = {
		"Allocated in arch_rethook_trampoline+0x0/0x60 age=7 cpu=0 pid=93",
		" kmalloc_trace+0x26/0x90",
		" mydrv_open+0x10/0x20 [mydrv]",
		" later+0x1/0x2 [other]",
		"Freed in kvfree+0x1/0x20 age=3 cpu=0 pid=93",
		" do_syscall_64+0x5d/0xb0",
		"Object 0x1 @offset=2 [not a stack]",
		NULL,
	};

	(void)state;
	words_of_log(log);
	assert_string_equal(out, "  allocated: mydrv_open+0x10/0x20 [mydrv]\n  freed:    kvfree+0x1/0x20\n");
	free(out);
}

static void user_is_the_driver_behind_the_kernel(void **state)
{
	const char *const log[] = {
		"general protection fault, probably for non-canonical address 0x6b6b6b6b6b6b6b9c: 0000 [#1]",
		"RIP: 0010:__mutex_lock.constprop.0+0x229/0x720",
		"RAX: 6b6b6b6b6b6b6b68 RBX: ffff8880067d3798 RCX: 0000000000000000",
		"Call Trace:",
		" <TASK>",
		" ? driver_stale+0x1/0x20 [driver]",
		" nvidia_p2p_put_pages+0x10/0x40 [emugpu]",
		" driver_ioctl+0x72/0x150 [driver]",
		" driver_later+0x1/0x20 [driver]",
		" </TASK>",
		"RIP: 0033:0x7f0213398829",
		NULL,
	};

	(void)state;
	words_of_log(log);
	assert_string_equal(out, "  used:     driver_ioctl+0x72/0x150 [driver]\n");
	free(out);
}

static void user_without_the_driver_is_the_kernel(void **state)
{
	const char *const log[] = {
		"RIP: 0010:memcpy+0x12/0x20",
		"Call Trace:",
		" ? driver_stale+0x1/0x20 [driver]",
		" process_one_work+0x1/0x20",
		"Modules linked in: driver(OE) [driver]",
		NULL,
	};

	(void)state;
	words_of_log(log);
	assert_string_equal(out, "  used:     memcpy+0x12/0x20\n");
	free(out);
}

/* Only with --only, the kernel keeps the stacks that allocated and freed memory. */
static void hint_replaces_missing_stacks(void **state)
{
	const char *const log[] = { "RIP: 0010:driver_ioctl+0x5/0x30 [driver]", NULL };
	const char *const full[] = { "Freed in driver_close+0x1/0x20 [driver] age=3 cpu=0 pid=93", NULL };
	char expected[256];

	(void)state;
	words_with(NULL, log);
	snprintf(expected, sizeof(expected), "  used:     driver_ioctl+0x5/0x30 [driver]\n%s", hint);
	assert_string_equal(out, expected);
	free(out);
	words_with(NULL, full);
	assert_null(strstr(out, hint));
	free(out);
	words_with("plain", log);
	assert_null(strstr(out, hint));
	free(out);
}

static void late_memory_is_a_fault(void **state)
{
	const struct scenario late = { .keys = "move=100" }, plain = { .keys = "" };
	FILE *file = open_memstream(&out, &length);

	(void)state;
	assert_non_null(file);
	words_of_scenario(file, &late, NULL);
	fputs("; ", file);
	words_of_scenario(file, &plain, NULL);
	fclose(file);
	assert_string_equal(out, "the contents of a dma-buf arrive after it was mapped, late by this many ms: 100; "
				 "no fault is injected");
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_driver_are_named),
		cmocka_unit_test(stack_names_module_behind_kernel),
		cmocka_unit_test(user_is_the_driver_behind_the_kernel),
		cmocka_unit_test(user_without_the_driver_is_the_kernel),
		cmocka_unit_test(hint_replaces_missing_stacks),
		cmocka_unit_test(late_memory_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
