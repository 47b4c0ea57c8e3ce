// SPDX-License-Identifier: MIT
/*
 * Modules are loaded and removed, and devices bound and unbound, when allocations
 * fail one by one; of a load those of the module's own init function, which come
 * after those that a load takes whose parameter is refused.
 */
#include <sys/stat.h>

#include "fail.h"
#include "hotplug.h"

enum { MANY = 1 << 20 };	/* more than any load takes */

/* Each needs those before it; the provider's init function takes nothing that its removal does not. */
static const struct {
	const char *name, *file;
	const char *refused;	/* a parameter with what it does not take */
} modules[] = {
	{ "emugpu", "emu/emugpu.ko", "strict=perhaps" },
	{ "peerpin", "kmod/peerpin.ko", "max_process_bytes=many" },
	{ "peerpin_nv", "kmod/peerpin_nv.ko", NULL },
	{ "peerpin_lsi", "kmod/peerpin_lsi.ko", "poll_us=long" },
};

enum { EMUGPU, PEERPIN, NV, LSI, MODULES };

static struct {
	void *at;
	size_t size;
} images[MODULES];

/* ---- modules ---------------------------------------------------------------------- */

/* From memory: reading the file would be the most of a load. */
static void read_image(int module)
{
	struct utsname name;
	struct stat file;
	char path[192];
	int fd;

	uname(&name);
	snprintf(path, sizeof(path), "build/%s/%s", name.release, modules[module].file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && !fstat(fd, &file), "%s: %s", path, strerror(errno));
	CHECK_CASE();
	images[module].size = file.st_size;
	images[module].at = malloc(file.st_size);
	EXPECT(read(fd, images[module].at, file.st_size) == file.st_size, "%s: %s", path, strerror(errno));
	close(fd);
}

static int load_with(int module, const char *parameters)
{
	return syscall(SYS_init_module, images[module].at, images[module].size, parameters) ? -errno : 0;
}

static int load(int module)
{
	return load_with(module, "");
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

	for (i = 0; i < MODULES; i++) {
		EXPECT(module_refs(modules[i].name) == -1, "%s; type: emu/vm/run --no-default-modules ...",
		       modules[i].name);
		read_image(i);
	}
	EXPECT(fail_ready(), "no failures");
}

/* ---- loading ---------------------------------------------------------------------- */

static unsigned int allocations_of(int module, const char *parameters, int want)
{
	struct fail f = { .nth = MANY };
	int err;

	FAIL(f, err = load_with(module, parameters));
	if (err != want || (!err && module_remove(modules[module].name)))
		vmtest_end(VMTEST_FAILED, "%s %s: %d", modules[module].name, parameters, err);
	return MANY - f.left;
}

/* The kernel says -EINVAL of a driver for whose directory it has no memory. */
static bool load_plausible(struct fail *f, int err)
{
	return fail_plausible(f, f->fired && err == -EINVAL ? -ENOMEM : err);
}

static void each_load(int module)
{
	unsigned int first, last;
	int err;

	load_others(0, module);
	CHECK_CASE();
	first = allocations_of(module, modules[module].refused, -EINVAL);
	last = allocations_of(module, "", 0);
	EXPECT(first < last, "%u of %u", first, last);
	CHECK_CASE();
	FAIL_EACH_DOWN(f, last + 10, f.nth > first) {
		FAIL(f, err = load(module));
		EXPECT(load_plausible(&f, err), "allocation %u: %d", f.nth, err);
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
		EXPECT_PLAUSIBLE(f, err);
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
