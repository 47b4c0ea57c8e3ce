/* SPDX-License-Identifier: MIT */
/*
 * Load and remove modules while each allocation fails in turn: code that several programs share.
 */
#ifndef TEST_FAIL_MODULES_H
#define TEST_FAIL_MODULES_H

#include <sys/stat.h>

#include "fail.h"

struct module {
	const char *name, *file, *parameters;
};

/* Each module needs the modules before it. */
static const struct module discrete[] = {
	{ "emugpu", "emu/emugpu.ko", "" },
	{ "peerpin", "kmod/peerpin.ko", "" },
	{ "peerpin_nv", "kmod/peerpin_nv.ko", "" },
	{ "peerpin_lsi", "kmod/peerpin_lsi.ko", "" },
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

enum { FIRST, SECOND, THIRD, FOURTH };

/* The image of the tested module in memory. With a load from a file, most allocations would be of the file read. */
static void *image;
static size_t image_size;

static inline void read_image(const struct module *module)
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

static inline int load(const struct module *module)
{
	return syscall(SYS_init_module, image, image_size, module->parameters) ? -errno : 0;
}

/* Load the modules before @which, and read the image of @which. */
static inline void prepare(const struct module *modules, int which)
{
	int i;

	for (i = 0; i < which; i++)
		EXPECT(!module_load(modules[i].file, modules[i].parameters), "%s: %s", modules[i].name, strerror(errno));
	read_image(&modules[which]);
}

static inline void remove_others(const struct module *modules, int which)
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

/* ---- loads that fail -------------------------------------------------------------- */

static const struct text everything = { 0, ULONG_MAX };

/* Fail only allocations that are called from @text. */
static inline void count_below(struct text text)
{
	fail_bound("require-start", text.start);
	fail_bound("require-end", text.end);
}

/*
 * Without memory for a driver's sysfs directory, the kernel returns -EINVAL. The InfiniBand core
 * refuses a client without a reason: peerpin_ibpeer then returns -EBUSY.
 */
static inline bool load_plausible(struct fail *f, int err)
{
	return fail_plausible(f, f->fired && (err == -EINVAL || err == -EBUSY) ? -ENOMEM : err);
}

/* Only allocations below @function fail. */
static inline void each_load_below(const char *function, const struct module *modules, int which)
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

#endif
