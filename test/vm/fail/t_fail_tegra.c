// SPDX-License-Identifier: MIT
/* Memory of an integrated GPU, while each allocation fails in turn: Tegra's nv-p2p.h and the Tegra provider. */
#include "fail.h"
#include "test/vm/core/pin.h"
#include "test/vm/tegra/tegra.h"

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --kernel debug --tegra ...");
	EXPECT(check >= 0, "no /dev/tegra_check; type: emu/vm/run ... --insmod build/KERNEL/test/tegra_check.ko ...");
	EXPECT(!alloc_host(VA, BLOCK), "alloc");
}

/* ---- calls of NVIDIA's driver ---------------------------------------------------------------- */

/* True if the call has taken effect. This holds even if the copy of the result failed. */
static bool pinned(void)
{
	return counts().counts.out_pins;
}

CASE(get_pages)
{
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = get(0, VA, BLOCK));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!pinned() || !put(0), "put");
		EXPECT(!get(1, VA, BLOCK) && !put(1), "allocation %u: afterwards", f.nth);
	}
}

CASE(put_pages)
{
	int ret;

	FAIL_EACH(f) {
		EXPECT(!get(0, VA, BLOCK), "get");
		FAIL(f, ret = put(0));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!pinned() || !put(0), "put");
	}
}

CASE(dma_map_pages)
{
	int ret;

	EXPECT(!get(0, VA, BLOCK), "get");
	FAIL_EACH(f) {
		FAIL(f, ret = dma_map(0, 0));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		EXPECT(!counts().counts.out_dma_maps || !dma_unmap(0, 0), "unmap");
		EXPECT(!dma_map(0, 0) && !dma_unmap(0, 0), "allocation %u: afterwards", f.nth);
	}
	EXPECT(!put(0), "put");
}

CASE(free_of_memory_pinned_by_driver)
{
	int ret;

	EXPECT(!emu_free(fd, VA), "free");
	FAIL_EACH(f) {
		EXPECT(!alloc_host(VA, BLOCK) && !get(0, VA, BLOCK) && !dma_map(0, 0), "map");
		FAIL(f, ret = emu_free(fd, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(fd, VA), "free");
		EXPECT(callbacks(0) == 1, "%u callbacks", callbacks(0));
	}
	EXPECT(!alloc_host(VA, BLOCK), "alloc");
}

/* ---- the provider ------------------------------------------------------------------------ */

static void each_pin(unsigned int provider)
{
	struct peerpin_pin p;
	int file, ret;

	FAIL_EACH(f) {
		file = pin_open();
		FAIL(f, ret = pin_by(file, VA, BLOCK, provider, &p));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret != -ENOMEM || p.out_reason == PEERPIN_REASON_NO_MEMORY, "allocation %u: reason %u", f.nth,
		       p.out_reason);
		EXPECT(!pin_by(file, VA, BLOCK, provider, &p), "allocation %u: afterwards", f.nth);
		EXPECT(p.out_region == !ret, "allocation %u: the next region is %u", f.nth, p.out_region);
		close(file);
	}
}

CASE(pin_of_tegra_memory)
{
	each_pin(PEERPIN_PROVIDER_AUTO);
	CHECK_CASE();
	each_pin(PEERPIN_PROVIDER_TEGRA);
}

/* Pin, copy and export the memory. */
static int pin_and_use(int file, struct peerpin_pin *p)
{
	struct peerpin_export e = { .size = sizeof(e), .length = BLOCK };
	int lsi = lsi_open(), ret;

	ret = pin_at(file, VA, BLOCK, p);
	e.region = p->out_region;
	if (!ret)
		ret = lsi_copy(lsi, (struct end){ file, p->out_region, 0 }, (struct end){ file, p->out_region, PAGE },
			       PAGE);
	if (!ret)
		ret = ioctl(file, PEERPIN_IOC_EXPORT, &e) ? -errno : close(e.out_fd);
	close(lsi);
	return ret;
}

CASE(unpin_of_tegra_memory)
{
	struct peerpin_pin p;
	int file, ret;

	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_and_use(file, &p), "pin");
		FAIL(f, ret = unpin(file, p.out_region));
		EXPECT_PLAUSIBLE(f, ret);
		close(file);
	}
}

CASE(copy_and_export_of_tegra_memory)
{
	struct peerpin_pin p;
	int file, ret;

	FAIL_EACH(f) {
		file = pin_open();
		FAIL(f, ret = pin_and_use(file, &p));
		EXPECT(fail_plausible(&f, ret) || (f.fired && (ret == -EIO || ret == -EBADF)), "allocation %u: %d",
		       f.nth, ret);
		close(file);
	}
}

CASE(free_of_pinned_tegra_memory)
{
	struct peerpin_pin p;
	int file, ret;

	EXPECT(!emu_free(fd, VA), "free");
	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!alloc_host(VA, BLOCK) && !pin_and_use(file, &p), "pin");
		FAIL(f, ret = emu_free(fd, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(fd, VA), "free");
		close(file);
	}
	EXPECT(!alloc_host(VA, BLOCK), "alloc");
}

CASE(close_with_tegra_memory)
{
	struct peerpin_pin p;
	int file, ret;

	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_and_use(file, &p), "pin");
		FAIL(f, ret = close(file));
		EXPECT_DONE(f, ret);
	}
}

/* Map a view. If the process has a mapping of the memory, the view has the same cache type. */
static volatile char *view_of(int file, uint32_t region)
{
	return mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, file, PEERPIN_MMAP_OFFSET(region));
}

CASE(views_of_tegra_memory)
{
	volatile char *view;
	struct peerpin_pin p;
	int file, ret;

	EXPECT(mmap((void *)VA, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, VA) == (void *)VA,
	       "mmap");
	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_at(file, VA, BLOCK, &p), "pin");
		FAIL(f, ret = (view = view_of(file, p.out_region)) == MAP_FAILED ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!unpin(file, p.out_region), "unpin");
		EXPECT(ret || !munmap((void *)view, BLOCK), "munmap");
		close(file);
	}
}

CASE(faults_in_views_of_tegra_memory)
{
	volatile char *view;
	struct peerpin_pin p;
	int file;

	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_at(file, VA, BLOCK, &p), "pin");
		view = view_of(file, p.out_region);
		EXPECT(view != MAP_FAILED, "mmap");
		FAIL_ACCESS(f, (void)view[0]);
		EXPECT(!unpin(file, p.out_region), "unpin");
		munmap((void *)view, BLOCK);
		close(file);
	}
	munmap((void *)VA, BLOCK);
}

VMTEST_MAIN
