// SPDX-License-Identifier: MIT
/* Tables, cookies and epochs at their ends; the kernel's log tells the checks apart. */
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

CASE(tables_cookies_and_epochs)
{
	EXPECT(!module_load("test/table_check.ko", ""), "%s; the kernel's log says which check", strerror(errno));
	EXPECT(!module_remove("table_check"), "remove");
}

VMTEST_MAIN
