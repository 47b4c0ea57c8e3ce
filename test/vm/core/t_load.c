// SPDX-License-Identifier: MIT
/*
 * A hundred loads and removals of the emulated GPU's module must leave nothing behind. This program
 * first removes the other modules. So it runs last, in its own VM.
 */
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

enum {
	ROUNDS = 100,
	WARM_UP = 10,		/* first loads, in which the kernel fills its caches */
	LEAK_MAX_KIB = 384,	/* maximum growth in 90 rounds: less than a page a round */
};

static char file[128];

static long remove_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

static long load(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	long err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;

	close(fd);
	return err;
}

/* Value of a line of /proc/meminfo in KiB. */
static long meminfo(const char *name)
{
	char line[128];
	long value = -1;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			value = atol(line + strlen(name));
	if (f)
		fclose(f);
	return value;
}

static long kernel_memory(void)
{
	return meminfo("Slab:") + meminfo("VmallocUsed:") + meminfo("Percpu:");
}

/* Allocate, fill and stash memory. So the removal also frees the memory of a used GPU. */
static int use(void)
{
	unsigned int changed;
	int fd = emu_open();
	int err = emu_alloc(fd, 1ull << 33, 4 * EMUGPU_BLOCK_SIZE);

	if (!err)
		err = emu_fill(fd, 1ull << 33, 1, 0x5a, EMUGPU_BLOCK_SIZE);
	if (!err)
		err = emu_stash(fd, 1, &changed);
	close(fd);
	return err;
}

CASE(consumers_keep_the_module)
{
	struct utsname name;

	uname(&name);
	snprintf(file, sizeof(file), "build/%s/emu/emugpu.ko", name.release);
	EXPECT(access(file, R_OK) == 0, "%s: %s", file, strerror(errno));
	EXPECT(remove_module("emugpu") == -EWOULDBLOCK, "%s", strerror(errno));
	EXPECT(!remove_module("peerpin_lsi") && !remove_module("peerpin_nv") && !remove_module("peerpin"), "%s",
	       strerror(errno));
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;

	close(fd);
	return err;
}

/* Enable count of the LSI chip; -1: no chip. */
static int peer_enabled(void)
{
	char line[64], path[96];
	int enabled = -1;
	glob_t found;
	size_t i;
	FILE *f;

	if (glob("/sys/bus/pci/devices/*/modalias", 0, NULL, &found))
		return -1;
	for (i = 0; i < found.gl_pathc && enabled < 0; i++) {
		f = fopen(found.gl_pathv[i], "re");
		if (f && fgets(line, sizeof(line), f) && !strncmp(line, "pci:v00001000d00000012", 22)) {
			snprintf(path, sizeof(path), "%.*senable", (int)strlen(found.gl_pathv[i]) - 8,
				 found.gl_pathv[i]);
			fclose(f);
			f = fopen(path, "re");
			enabled = f && fgets(line, sizeof(line), f) ? atoi(line) : -1;
		}
		if (f)
			fclose(f);
	}
	globfree(&found);
	return enabled;
}

/* The LSI chip has a BAR2 of 8 KiB. Its driver was removed before. */
CASE(device_with_small_bar_is_refused)
{
	int fd = emu_open();

	EXPECT(peer_enabled() == 0, "enabled before: %d", peer_enabled());
	EXPECT(!put("/sys/bus/pci/drivers/emugpu/new_id", "1000 0012"), "new_id: %s", strerror(errno));
	EXPECT(peer_enabled() == 0, "enabled afterwards: %d", peer_enabled());
	EXPECT(emu_alloc_on(fd, 1, 1ull << 33, EMUGPU_BLOCK_SIZE) == -ENODEV, "a second GPU");
	EXPECT(!put("/sys/bus/pci/drivers/emugpu/remove_id", "1000 0012"), "remove_id: %s", strerror(errno));
	close(fd);
}

CASE(open_file_keeps_the_module)
{
	int fd = emu_open();

	EXPECT(fd >= 0, "%s", strerror(errno));
	EXPECT(remove_module("emugpu") == -EWOULDBLOCK, "%s", strerror(errno));
	close(fd);
	EXPECT(remove_module("emugpu") == 0, "%s", strerror(errno));
	EXPECT(access("/dev/emugpu", F_OK) && access("/sys/kernel/debug/emugpu", F_OK), "nodes are left");
}

/* Remove emugpu.ko first: it exports the same symbols. */
CASE(bad_size_of_integrated_gpu_refused)
{
	static const char tegra[] = "emu/emugpu_tegra.ko";

	EXPECT(module_load(tegra, "vram_mib=0") == -EINVAL, "0: %s", strerror(errno));
	EXPECT(module_load(tegra, "vram_mib=3") == -EINVAL, "odd: %s", strerror(errno));
	EXPECT(module_load(tegra, "vram_mib=1048576") == -ENOMEM, "a TiB: %s", strerror(errno));
	EXPECT(access("/sys/module/emugpu_tegra", F_OK) && access("/sys/kernel/debug/emugpu_tegra", F_OK),
	       "nodes are left");
}

CASE(a_hundred_loads_leak_nothing)
{
	long before = 0, after;
	int i, err;

	for (i = 0; i < ROUNDS; i++) {
		if (i == WARM_UP)
			before = kernel_memory();
		err = load();
		EXPECT(!err, "load %d: %s", i, strerror(-err));
		err = use();
		EXPECT(!err, "use %d: %s", i, strerror(-err));
		err = remove_module("emugpu");
		EXPECT(!err, "remove %d: %s", i, strerror(-err));
	}
	after = kernel_memory();
	EXPECT(after - before < LEAK_MAX_KIB || kernel_checks_itself(), "%ld KiB more after %d rounds", after - before,
	       ROUNDS - WARM_UP);
	EXPECT(!load(), "%s", strerror(errno));
}

VMTEST_MAIN
