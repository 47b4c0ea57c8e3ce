// SPDX-License-Identifier: MIT
/*
 * Modules are loaded and removed, and devices bound and unbound, when allocations
 * fail one by one. Of a load that is the end, where the module's own init function
 * is; before it the kernel's loader is at work.
 */
#include "fail.h"
#include "hotplug.h"

enum {
	MANY = 1 << 20,		/* more than any load takes */
	WINDOW = 400,		/* and more than any init function */
};

/* Each needs those before it. */
static const struct {
	const char *name, *file;
} modules[] = {
	{ "emugpu", "emu/emugpu.ko" },
	{ "peerpin", "kmod/peerpin.ko" },
	{ "peerpin_nv", "kmod/peerpin_nv.ko" },
	{ "peerpin_lsi", "kmod/peerpin_lsi.ko" },
};

enum { EMUGPU, PEERPIN, NV, LSI, MODULES };

static int load(int module)
{
	return module_load(modules[module].file, "");
}

static void load_others(int first, int last)
{
	int i;

	for (i = first; i < last; i++)
		EXPECT(!load(i), "%s", modules[i].name);
}

static void remove_others(int first, int last)
{
	int i;

	for (i = last; i-- > first;)
		EXPECT(!module_remove(modules[i].name), "%s", modules[i].name);
}

CASE(nothing_is_loaded)
{
	int i;

	for (i = 0; i < MODULES; i++)
		EXPECT(module_refs(modules[i].name) == -1, "%s; type: emu/vm/run --no-default-modules ...",
		       modules[i].name);
	EXPECT(fail_ready(), "no failures");
}

/* ---- loading ---------------------------------------------------------------------- */

static unsigned int allocations_of(int module)
{
	struct fail f = { .nth = MANY };
	int err;

	FAIL(f, err = load(module));
	if (err || module_remove(modules[module].name))
		vmtest_end(VMTEST_FAILED, "%s: %d", modules[module].name, err);
	return MANY - f.left;
}

static void each_load(int module)
{
	unsigned int count, last;
	int err;

	load_others(0, module);
	CHECK_CASE();
	count = allocations_of(module);
	CHECK_CASE();
	last = count > WINDOW ? count - WINDOW : 1;
	FAIL_EACH_DOWN(f, count + 10, f.nth > last) {
		FAIL(f, err = load(module));
		EXPECT_PLAUSIBLE(f, err);
		EXPECT(err || !module_remove(modules[module].name), "remove");
	}
	remove_others(0, module);
}

CASE(loading_the_emulator)
{
	each_load(EMUGPU);
}

CASE(loading_the_core)
{
	each_load(PEERPIN);
}

CASE(loading_the_provider)
{
	each_load(NV);
}

CASE(loading_the_sample)
{
	each_load(LSI);
}

/* ---- removing --------------------------------------------------------------------- */

static void each_removal(int module)
{
	int err;

	load_others(0, module);
	CHECK_CASE();
	FAIL_EACH(f) {
		EXPECT(!load(module), "load");
		FAIL(f, err = module_remove(modules[module].name));
		EXPECT(!err || fail_plausible(&f, err), "allocation %u: %d", f.nth, err);
		EXPECT(!err || !module_remove(modules[module].name), "remove");
	}
	remove_others(0, module);
}

CASE(removing)
{
	int i;

	for (i = 0; i < MODULES; i++) {
		each_removal(i);
		CHECK_CASE();
	}
}

/* ---- devices ---------------------------------------------------------------------- */

static void each_bind(const char *driver, struct hotplug device)
{
	int err;

	EXPECT(device.address[0] && !hotplug_unbind(driver, &device), "%s: unbind", driver);
	FAIL_EACH(f) {
		FAIL(f, err = hotplug_bind(driver, &device));
		EXPECT_PLAUSIBLE(f, err);
		EXPECT(err || !hotplug_unbind(driver, &device), "unbind");
	}
	FAIL_EACH(f) {
		EXPECT(!hotplug_bind(driver, &device), "bind");
		FAIL(f, err = hotplug_unbind(driver, &device));
		EXPECT_PLAUSIBLE(f, err);
		EXPECT(!err || !hotplug_unbind(driver, &device), "unbind");
	}
	EXPECT(!hotplug_bind(driver, &device), "%s: bind", driver);
}

CASE(binding)
{
	struct emugpu_info info;
	int gpu;

	load_others(0, MODULES);
	CHECK_CASE();
	each_bind("peerpin_lsi", hotplug_of_node("lsi0"));
	CHECK_CASE();
	gpu = emu_open();
	EXPECT(!emu_info(gpu, 0, &info), "info");
	close(gpu);
	each_bind("emugpu", hotplug_gpu(&info));
	CHECK_CASE();
	remove_others(0, MODULES);
}

VMTEST_MAIN
