// SPDX-License-Identifier: MIT
/*
 * Modules are loaded and removed when allocations fail one by one; of a load those of
 * the module's own init function, and so of binding its devices.
 */
#include <limits.h>
#include <sys/stat.h>

#include "fail.h"

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

static void count_bound(const char *name, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	fail_attribute("failslab", name, text);
	fail_attribute("fail_page_alloc", name, text);
}

/* Only what is called from there */
static void count_below(struct text text)
{
	count_bound("require-start", text.start);
	count_bound("require-end", text.end);
}

/*
 * The kernel does not survive a lack of these itself: it warns when it removes the directory of an interrupt in whose
 * making it ran out, and ACPI's interpreter frees what it could not count.
 */
static bool is_spared(const char *cache)
{
	return !strncmp(cache, "Acpi-", strlen("Acpi-")) || !strcmp(cache, "proc_dir_entry");
}

static void let_fail(const char *cache)
{
	char path[320];
	int file;

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", cache);
	file = open(path, O_WRONLY | O_CLOEXEC);
	EXPECT(file >= 0 && write(file, "1", 1) == 1, "%s: %s", path, strerror(errno));
	close(file);
}

static void count_what_is_not_spared(void)
{
	DIR *caches = opendir("/sys/kernel/slab");
	struct dirent *cache;

	EXPECT(caches, "/sys/kernel/slab: %s", strerror(errno));
	while (vmtest_result == VMTEST_OK && (cache = readdir(caches)))
		if (cache->d_name[0] != '.' && !is_spared(cache->d_name))
			let_fail(cache->d_name);
	if (caches)
		closedir(caches);
	fail_attribute("failslab", "cache-filter", "Y");
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
	count_what_is_not_spared();
}

/* ---- loading ---------------------------------------------------------------------- */

/* The kernel says -EINVAL of a driver for whose directory it has no memory. */
static bool load_plausible(struct fail *f, int err)
{
	return fail_plausible(f, f->fired && err == -EINVAL ? -ENOMEM : err);
}

static void each_load(int module)
{
	unsigned int refused = 0;
	int err;

	load_others(0, module);
	CHECK_CASE();
	count_below(text_of("do_one_initcall"));
	FAIL_EACH(f) {
		FAIL(f, err = load(module));
		EXPECT(load_plausible(&f, err), "allocation %u: %d", f.nth, err);
		EXPECT(err || !module_remove(modules[module].name), "remove");
		refused += !!err;
	}
	EXPECT(refused, "no allocation of the init function has failed");
	count_below(everything);
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

CASE(removing_the_emulator)
{
	each_removal(EMUGPU);
}

CASE(removing_the_core)
{
	each_removal(PEERPIN);
}

CASE(removing_the_provider)
{
	each_removal(NV);
}

VMTEST_MAIN
