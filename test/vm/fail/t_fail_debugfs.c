// SPDX-License-Identifier: MIT
/* debugfs, fdinfo and module parameters, read while each allocation fails in turn */
#include "fail.h"
#include "test/vm/core/pin.h"

enum {
	BLOCK = 2 << 20,
	MANY = 200,	/* more than the first buffer can hold */
};

static int gpu, fd, lsi;

static int read_all(const char *path)
{
	static char text[65536];
	int file = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (file < 0)
		return -errno;
	while ((ret = read(file, text, sizeof(text))) > 0)
		;
	ret = ret < 0 ? -errno : 0;
	close(file);
	return ret;
}

static int copy_within(uint32_t region)
{
	return lsi_copy(lsi, (struct end){ fd, region, 0 }, (struct end){ fd, region, 4096 }, 4096);
}

SETUP(everything_is_there)
{
	struct peerpin_pin p;
	int i;

	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0, "%d %d %d; type: emu/vm/run --kernel debug ...", gpu, fd, lsi);
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	/* CONFIG_DMA_API_DEBUG takes more than seven mappings of a page for a leak, so spread the regions. */
	for (i = 0; i < MANY; i++)
		EXPECT(!pin_at(fd, GPU_A + i / 10 * 65536, 65536, &p) && (i % 10 || !copy_within(p.out_region)), "pin");
}

static void each_read(const char *path)
{
	int ret;

	EXPECT(!read_all(path), "%s", path);
	FAIL_EACH(f) {
		FAIL(f, ret = read_all(path));
		EXPECT_PLAUSIBLE(f, ret);
	}
}

CASE(files_of_debugfs)
{
	static const char *const files[] = {
		"peerpin/regions", "peerpin/accounts", "peerpin/peers", "emugpu/violations", "emugpu/pins",
	};
	char path[96];
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", files[i]);
		each_read(path);
		EXPECT(vmtest_result == VMTEST_OK, "%s", path);
	}
}

CASE(fdinfo)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	each_read(path);
}

CASE(parameters_of_modules)
{
	static const char *const parameters[] = {
		"peerpin/parameters/drain_timeout_ms", "peerpin/parameters/max_process_regions",
		"peerpin/parameters/max_total_bytes", "peerpin_lsi/parameters/poll_us",
		"emugpu/parameters/table_version",
	};
	char path[96], value[32];
	size_t i;
	int ret;

	for (i = 0; i < sizeof(parameters) / sizeof(*parameters); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", parameters[i]);
		ret = open(path, O_RDONLY | O_CLOEXEC);
		value[ret < 0 ? 0 : read(ret, value, sizeof(value) - 1)] = '\0';
		close(ret);
		each_read(path);
		FAIL_EACH(f) {
			FAIL(f, ret = module_set(parameters[i], value));
			EXPECT_PLAUSIBLE(f, ret);
		}
		EXPECT(vmtest_result == VMTEST_OK, "%s", path);
	}
}

CASE(nothing_is_left)
{
	close(lsi);
	close(fd);
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

VMTEST_MAIN
