// SPDX-License-Identifier: MIT
/* A constructor calls a library while another thread of the library waits for the dynamic loader. */
#include <stdlib.h>
#include "gdrapi.h"
#include "lib/ucm/ucm.h"
#include "libpeerpin-fi.h"
#include "test/unit/loading.h"

static void ask_ucm(void)
{
	pp_ucm_watches();
}

static void constructor_asks_for_ucx(void **state)
{
	(void)state;
	load_plugin(ask_ucm);
}

static void import_fi(void)
{
	pp_fi_import();
}

static void constructor_imports_monitor(void **state)
{
	(void)state;
	load_plugin(import_fi);
}

static void open_gdr(void)
{
	gdr_t g = gdr_open();

	if (g)
		gdr_close(g);
}

static void constructor_opens_gdrapi(void **state)
{
	(void)state;
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	load_plugin(open_gdr);
}

static int load_fakes(void **state)
{
	(void)state;
	return !dlopen(BUILD "/bin/test/fake/libfabric.so.1", RTLD_NOW) || !dlopen(BUILD "/bin/test/fake/libucm.so.0", RTLD_NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constructor_asks_for_ucx),
		cmocka_unit_test(constructor_imports_monitor),
		cmocka_unit_test(constructor_opens_gdrapi),
	};

	return cmocka_run_group_tests(tests, load_fakes, NULL);
}
