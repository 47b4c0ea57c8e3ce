// SPDX-License-Identifier: MIT
/* Limits of tables, cookies and epochs. The kernel log names a failed check. */
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

CASE(limits_of_tables_cookies_and_epochs)
{
	EXPECT(!module_load("test/table_check.ko",
	       ""), "table_check: %s; the kernel log names the failed check", strerror(errno));
	EXPECT(!module_remove("table_check"), "remove");
}

VMTEST_MAIN
