// SPDX-License-Identifier: MIT
/*
 * Modules are loaded and removed when allocations fail one by one; of a load those of
 * the module's own init function, and so of binding its devices.
 */
#include <sys/stat.h>

#include "fail.h"

struct module {
	const char *name, *file, *parameters;
};

/* Each needs those before it; the providers' init functions take nothing that their removal does not. */
static const struct module discrete[] = {
	{ "emugpu", "emu/emugpu.ko", "" },
	{ "peerpin", "kmod/peerpin.ko", "" },
	{ "peerpin_nv", "kmod/peerpin_nv.ko", "" },
	{ "peerpin_lsi", "kmod/peerpin_lsi.ko", "" },
};

static const struct module with_pages[] = {
	{ "emugpu", "emu/emugpu.ko", "p2pdma=1" },
};

/* The GPU of a Tegra needs no device, so that any machine can have it; little memory, which it takes piece by piece. */
static const struct module integrated[] = {
	{ "emugpu_tegra", "emu/emugpu_tegra.ko", "vram_mib=2" },
	{ "peerpin", "kmod/peerpin.ko", "" },
	{ "peerpin_tegra", "kmod/peerpin_tegra.ko", "" },
};

static const struct module verbs[] = {
	{ "peerpin", "kmod/peerpin.ko", "" },
	{ "ib_peer_shim", "emu/ib_peer_shim.ko", "" },
	{ "peerpin_ibpeer", "kmod/peerpin_ibpeer.ko", "" },
};

static const struct module judges[] = {
	{ "judge", "emu/judge.ko", "" },
};

enum { FIRST, SECOND, THIRD, FOURTH };

/* Of the one whose load or removal fails, from memory: reading the file would be the most of a load. */
static void *image;
static size_t image_size;

/* ---- whose allocations count ------------------------------------------------------ */

static const struct text everything = { 0, ULONG_MAX };

/* Only what is called from there */
static void count_below(struct text text)
{
	fail_bound("require-start", text.start);
	fail_bound("require-end", text.end);
}

/* ---- modules ---------------------------------------------------------------------- */

static void read_image(const struct module *module)
{
	struct utsname name;
	struct stat file;
	char path[192];
	int fd;

	uname(&name);
	snprintf(path, sizeof(path), "build/%s/%s", name.release, module->file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && !fstat(fd, &file), "%s: %s", path, strerror(errno));
	CHECK_CASE();
	free(image);
	image_size = file.st_size;
	image = malloc(image_size);
	EXPECT(read(fd, image, image_size) == file.st_size, "%s: %s", path, strerror(errno));
	close(fd);
}

static int load(const struct module *module)
{
	return syscall(SYS_init_module, image, image_size, module->parameters) ? -errno : 0;
}

/* Those before it, and its image */
static void prepare(const struct module *modules, int which)
{
	int i;

	for (i = 0; i < which; i++)
		EXPECT(!module_load(modules[i].file, modules[i].parameters), "%s: %s", modules[i].name, strerror(errno));
	read_image(&modules[which]);
}

static void remove_others(const struct module *modules, int which)
{
	while (which-- > 0)
		EXPECT(!module_remove(modules[which].name), "%s", modules[which].name);
}

CASE(nothing_is_loaded)
{
	int i;

	for (i = FIRST; i <= FOURTH; i++)
		EXPECT(module_refs(discrete[i].name) == -1, "%s; type: emu/vm/run --no-default-modules ...",
		       discrete[i].name);
	EXPECT(fail_ready(), "no failures");
}

/* ---- loading ---------------------------------------------------------------------- */

/*
 * The kernel says -EINVAL of a driver for whose directory it has no memory. Why an
 * InfiniBand core takes no client it does not say: to its client the name is in use.
 */
static bool load_plausible(struct fail *f, int err)
{
	return fail_plausible(f, f->fired && (err == -EINVAL || err == -EBUSY) ? -ENOMEM : err);
}

static void each_load_below(const char *function, const struct module *modules, int which)
{
	unsigned int refused = 0;
	int err;

	prepare(modules, which);
	CHECK_CASE();
	count_below(text_of(function));
	FAIL_EACH(f) {
		FAIL(f, err = load(&modules[which]));
		EXPECT(load_plausible(&f, err), "allocation %u: %d", f.nth, err);
		EXPECT(err || !module_remove(modules[which].name), "remove");
		refused += !!err;
	}
	EXPECT(refused, "no allocation of the init function has failed");
	count_below(everything);
	remove_others(modules, which);
}

static void each_load(const struct module *modules, int which)
{
	each_load_below("do_one_initcall", modules, which);
}

CASE(loading_the_emulator)
{
	each_load(discrete, FIRST);
}

/* x86 warns where it has no memory for the map of new memory. */
CASE(loading_the_emulator_with_pages)
{
	fail_spare("arch_add_memory");
	each_load(with_pages, FIRST);
	fail_spare_books();
}

CASE(loading_the_integrated_emulator)
{
	each_load(integrated, FIRST);
}

/* The kernel keeps the name of a cache for whose directory it has no memory. */
CASE(loading_the_core)
{
	fail_spare("sysfs_slab_add");
	each_load(discrete, SECOND);
	fail_spare_books();
}

/* Where failures last, part of an interrupt's directory in /proc is missing, of which the kernel warns as that goes. */
CASE(loading_the_sample)
{
	if (fail_lasting >= 0)
		SKIP("the kernel warns of an interrupt for whose directory it had no memory");
	each_load(discrete, FOURTH);
}

CASE(loading_the_verbs_client)
{
	each_load(verbs, THIRD);
}

/* Its probes take seconds each time, and the kernel warns where it has no memory for what calls one. */
CASE(loading_the_judge)
{
	each_load_below("match_records", judges, FIRST);
	each_load_below("alloc_workqueue", judges, FIRST);
}

/* ---- removing --------------------------------------------------------------------- */

static void each_removal(const struct module *modules, int which)
{
	int err;

	prepare(modules, which);
	CHECK_CASE();
	FAIL_EACH(f) {
		EXPECT(!load(&modules[which]), "load");
		FAIL(f, err = module_remove(modules[which].name));
		EXPECT_PLAUSIBLE(f, err);
		EXPECT(!err || !module_remove(modules[which].name), "remove");
	}
	remove_others(modules, which);
}

CASE(removing_the_emulator)
{
	each_removal(discrete, FIRST);
}

CASE(removing_the_integrated_emulator)
{
	each_removal(integrated, FIRST);
}

CASE(removing_the_core)
{
	each_removal(discrete, SECOND);
}

CASE(removing_the_provider)
{
	each_removal(discrete, THIRD);
}

CASE(removing_the_provider_of_an_integrated_gpu)
{
	each_removal(integrated, THIRD);
}

CASE(removing_the_verbs_client)
{
	each_removal(verbs, THIRD);
}

VMTEST_MAIN
