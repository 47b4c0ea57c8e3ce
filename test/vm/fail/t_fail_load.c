// SPDX-License-Identifier: MIT
/*
 * Load and remove modules while each allocation fails in turn. During a load, only allocations
 * below the module's init function fail. This includes its probe functions.
 */
#include <sys/stat.h>

#include "fail.h"

struct module {
	const char *name, *file, *parameters;
};

/* Each module needs the modules before it. The removal cases cover the init functions of the providers. */
static const struct module discrete[] = {
	{ "emugpu", "emu/emugpu.ko", "" },
	{ "peerpin", "kmod/peerpin.ko", "" },
	{ "peerpin_nv", "kmod/peerpin_nv.ko", "" },
	{ "peerpin_lsi", "kmod/peerpin_lsi.ko", "" },
};

static const struct module with_pages[] = {
	{ "emugpu", "emu/emugpu.ko", "p2pdma=1" },
};

/* The emulated Tegra GPU needs no PCI device. A small size keeps the number of its allocations low. */
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

/* The image of the tested module in memory. With a load from a file, most allocations would be of the file read. */
static void *image;
static size_t image_size;

/* ---- which allocations fail ------------------------------------------------------ */

static const struct text everything = { 0, ULONG_MAX };

/* Fail only allocations that are called from @text. */
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

/* Load the modules before @which, and read the image of @which. */
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

SETUP(nothing_is_loaded)
{
	int i;

	for (i = FIRST; i <= FOURTH; i++)
		EXPECT(module_refs(discrete[i].name) == -1, "%s; type: emu/vm/run --no-default-modules ...",
		       discrete[i].name);
	EXPECT(fail_ready(), "no failures");
}

/* ---- loading ---------------------------------------------------------------------- */

/*
 * Without memory for a driver's sysfs directory, the kernel returns -EINVAL. The InfiniBand core
 * refuses a client without a reason: peerpin_ibpeer then returns -EBUSY.
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

/* x86 warns if arch_add_memory() gets no memory. */
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

/* Without memory for the sysfs directory of a slab cache, the kernel leaks the cache's name. */
CASE(loading_the_core)
{
	fail_spare("sysfs_slab_add");
	each_load(discrete, SECOND);
	fail_spare_books();
}

/*
 * The kernel warns when it removes an interrupt's /proc directory that got no memory for one of its files.
 * fail_spare() spares one function. add_dma_entry(), spared otherwise, needs radix tree nodes, so this cache does not
 * fail.
 */
CASE(load_of_the_sample_driver)
{
	fail_spare("register_irq_proc");
	fail_set("/sys/kernel/slab", "radix_tree_node/failslab", "0");
	each_load(discrete, FOURTH);
	fail_set("/sys/kernel/slab", "radix_tree_node/failslab", "1");
	fail_spare_books();
}

CASE(loading_the_verbs_client)
{
	each_load(verbs, THIRD);
}

/* The judge's kprobes take seconds in each load. The kernel warns if a kprobe gets no memory. */
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

CASE(removal_of_the_tegra_provider)
{
	each_removal(integrated, THIRD);
}

CASE(removing_the_verbs_client)
{
	each_removal(verbs, THIRD);
}

VMTEST_MAIN
