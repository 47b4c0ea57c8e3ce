// SPDX-License-Identifier: MIT
/*
 * Modules are loaded and removed, and devices bound and unbound, when allocations
 * fail one by one; of a load those of the module's own init function.
 */
#include <limits.h>
#include <sys/stat.h>

#include "fail.h"
#include "hotplug.h"

/* Each needs those before it; the provider's init function takes nothing that its removal does not. */
static const struct {
	const char *name, *file;
} modules[] = {
	{ "emugpu", "emu/emugpu.ko" },
	{ "peerpin", "kmod/peerpin.ko" },
	{ "peerpin_nv", "kmod/peerpin_nv.ko" },
	{ "peerpin_lsi", "kmod/peerpin_lsi.ko" },
};

enum { EMUGPU, PEERPIN, NV, LSI, MODULES };

static struct {
	void *at;
	size_t size;
} images[MODULES];

/* ---- whose allocations count ------------------------------------------------------ */

struct text {
	unsigned long start, end;
};

static const struct text everything = { 0, ULONG_MAX };

static unsigned long symbol_at(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long at, found = 0;
	char is[128];

	while (f && !found && fscanf(f, "%lx %*c %127s%*[^\n]", &at, is) == 2)
		found = strcmp(is, name) ? 0 : at;
	if (f)
		fclose(f);
	return found;
}

static unsigned long symbol_after(unsigned long start)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long at, next = ULONG_MAX;

	while (f && fscanf(f, "%lx%*[^\n]", &at) == 1)
		if (at > start && at < next)
			next = at;
	if (f)
		fclose(f);
	return next;
}

/* Of a function of the kernel's */
static struct text text_of(const char *function)
{
	struct text text = { .start = symbol_at(function) };

	if (!text.start)
		vmtest_end(VMTEST_FAILED, "/proc/kallsyms has no %s", function);
	else
		text.end = symbol_after(text.start);
	return text;
}

static void count_bound(const char *what, const char *end, unsigned long value)
{
	char name[32], text[32];

	snprintf(name, sizeof(name), "%s-%s", what, end);
	snprintf(text, sizeof(text), "%lu", value);
	fail_attribute("failslab", name, text);
	fail_attribute("fail_page_alloc", name, text);
}

/* @what: "require", only what is called from there, or "reject", all but that */
static void count_below(const char *what, struct text text)
{
	count_bound(what, "start", text.start);
	count_bound(what, "end", text.end);
}

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

static int load(int module)
{
	return syscall(SYS_init_module, images[module].at, images[module].size, "") ? -errno : 0;
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
	CHECK_CASE();
	/* it warns itself when it removes a directory in whose making it ran out of memory */
	count_below("reject", text_of("register_irq_proc"));
}

/* ---- loading ---------------------------------------------------------------------- */

/* The kernel says -EINVAL of a driver for whose directory it has no memory. */
static bool load_plausible(struct fail *f, int err)
{
	return fail_plausible(f, f->fired && err == -EINVAL ? -ENOMEM : err);
}

static void each_load(int module)
{
	int err;

	load_others(0, module);
	CHECK_CASE();
	count_below("require", text_of("do_one_initcall"));
	FAIL_EACH(f) {
		FAIL(f, err = load(module));
		EXPECT(load_plausible(&f, err), "allocation %u: %d", f.nth, err);
		EXPECT(err || !module_remove(modules[module].name), "remove");
	}
	count_below("require", everything);
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
