// SPDX-License-Identifier: MIT
/* DRM's vgem, a static importer in the kernel. */
#include <stdbool.h>
#include <stdint.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	SIZE = 2 << 20,
};

/* Argument of DRM_IOCTL_PRIME_FD_TO_HANDLE and DRM_IOCTL_GEM_CLOSE */
struct prime {
	uint32_t handle;
	uint32_t flags;
	int32_t fd;
};

struct gem_close {
	uint32_t handle;
	uint32_t pad;
};

#define PRIME_FD_TO_HANDLE _IOWR('d', 0x2e, struct prime)
#define GEM_CLOSE _IOW('d', 0x09, struct gem_close)

static int gpu, fd, vgem;

/* ---- the module and its dependencies ---- */

/* Some of these modules are built in, and some exist in other kernels only: ignore a failure. */
static int load_vgem(void)
{
	module_load_kernel("drivers/gpu/drm/drm_panel_orientation_quirks");
	module_load_kernel("drivers/gpu/drm/drm");
	module_load_kernel("drivers/gpu/drm/drm_client_lib");
	module_load_kernel("drivers/gpu/drm/drm_kms_helper");
	module_load_kernel("drivers/gpu/drm/drm_shmem_helper");
	return module_load_kernel("drivers/gpu/drm/vgem/vgem");
}

/* ---- calls ---- */

static int import(int dmabuf, uint32_t *handle)
{
	struct prime arg = { .fd = dmabuf };
	int err = ioctl(vgem, PRIME_FD_TO_HANDLE, &arg) ? -errno : 0;

	*handle = arg.handle;
	close(dmabuf);
	return err;
}

static int let_go(uint32_t handle)
{
	struct gem_close arg = { .handle = handle };

	return ioctl(vgem, GEM_CLOSE, &arg) ? -errno : 0;
}

static int export(const struct peerpin_pin *pin)
{
	struct peerpin_export c = { .size = sizeof(c), .region = pin->out_region, .length = pin->out_length };

	return ioctl(fd, PEERPIN_IOC_EXPORT, &c) ? -errno : c.out_fd;
}

static long pinned_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = -1;

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static bool is_given_back(void)
{
	int i;

	for (i = 0; i < 200 && pinned_kib(); i++)
		usleep(10000);
	return !pinned_kib();
}

SETUP(everything_is_there)
{
	int err = load_vgem();

	gpu = emu_open();
	fd = pin_open();
	vgem = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	EXPECT(gpu >= 0 && fd >= 0 && vgem >= 0, "%d %d %d; vgem: %s; type: emu/vm/run --kernel 6.1 ...", gpu, fd, vgem,
	       strerror(-err));
}

/* True if vgem maps at import, as in Linux 6. In Linux 7 it maps on use, so here it maps nothing. */
static bool maps_at_once(void)
{
	struct utsname kernel;

	return !uname(&kernel) && atoi(kernel.release) < 7;
}

CASE(vgem_keeps_host_memory_until_close)
{
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct peerpin_query q;
	struct peerpin_pin pin;
	uint32_t handle;

	EXPECT(at != MAP_FAILED && !pin_at(fd, (uintptr_t)at, SIZE, &pin), "pin");
	EXPECT(!import(export(&pin), &handle), "import: %s", strerror(errno));
	EXPECT(!query(fd, pin.out_region, &q) && q.out_maps == maps_at_once(), "%u mappings", q.out_maps);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	munmap(at, SIZE);
	EXPECT(pinned_kib() == (maps_at_once() ? SIZE / 1024 : 0), "%ld KiB pinned after the unpin", pinned_kib());
	EXPECT(!let_go(handle) && is_given_back(), "%ld KiB", pinned_kib());
}

CASE(gpu_memory_is_refused)
{
	struct peerpin_pin pin;
	uint32_t handle;
	int err;

	EXPECT(!emu_alloc(gpu, GPU_A, SIZE) && !pin_at(fd, GPU_A, SIZE, &pin), "pin");
	err = import(export(&pin), &handle);
	EXPECT(err == -EOPNOTSUPP, "%d", err);
	EXPECT(!emu_free(gpu, GPU_A) && !unpin(fd, pin.out_region), "end");
}

VMTEST_MAIN
