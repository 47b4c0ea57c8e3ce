// SPDX-License-Identifier: MIT
/* CPU mappings of GPU memory through its dma-bufs: contents, access, and lifetime. */
#include "flight.h"

SETUP(everything_is_there)
{
	EXPECT(start(), "no NVMe disk, or no GPU");
}

CASE(view_shows_the_gpu_memory)
{
	struct flight f;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	fill(f.view, SIZE, OTHERS, 0);
	OK(cuMemcpyDtoH(host, f.gpu, SIZE));
	EXPECT(differs(host, SIZE, OTHERS, 0) == SIZE, "byte %zu", differs(host, SIZE, OTHERS, 0));
	OK(cuMemsetD8(f.gpu + 5000, 77, 1));
	OK(cuCtxSynchronize());
	EXPECT(f.view[5000] == 77, "%u", f.view[5000]);
	view_close(&f);
	OK(cuMemFree(f.gpu));
}

CASE(partial_view_shows_its_part)
{
	struct flight f;
	unsigned char *part;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	fill(f.view, SIZE, OTHERS, 0);
	part = mmap(NULL, 8192, PROT_READ, MAP_SHARED, f.dmabuf, 3 * LENGTH + 4096);
	EXPECT(part != MAP_FAILED, "%s", strerror(errno));
	EXPECT(differs(part, 8192, OTHERS, 3 * LENGTH + 4096) == 8192, "wrong bytes");
	EXPECT(!munmap(f.view, LENGTH), "munmap");
	EXPECT(differs(f.view + LENGTH, LENGTH, OTHERS, LENGTH) == LENGTH, "the rest of the view");
	EXPECT(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, f.dmabuf, 0) == MAP_FAILED && errno == EINVAL, "private");
	EXPECT(mmap(NULL, 8192, PROT_READ, MAP_SHARED, f.dmabuf, SIZE) == MAP_FAILED, "past the end");
	munmap(part, 8192);
	view_close(&f);
	OK(cuMemFree(f.gpu));
	all_is_free_in_the_end();
}

static int touch_in_child(void *view)
{
	return touch(view) == -EFAULT ? 3 : 4;
}

CASE(child_of_fork_has_no_view)
{
	struct flight f;
	int status;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	EXPECT(touch(f.view) == 1, "parent");
	status = cu_in_child(touch_in_child, f.view);
	view_close(&f);
	OK(cuMemFree(f.gpu));
	EXPECT(status == 3 << 8, "status %#x", status);
}

CASE(view_keeps_freed_memory)
{
	struct flight f;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	close(f.dmabuf);
	OK(cuMemFree(f.gpu));
	EXPECT(gpu_free() + SIZE == free_at_start, "%lu free of %lu", gpu_free(), free_at_start);
	EXPECT(touch(f.view) == 1, "the view cannot be read");
	munmap(f.view, SIZE);
	all_is_free_in_the_end();
}

/* The memory is cleared even for its former owner: another process may have the view. */
CASE(freed_memory_is_cleared_before_reuse)
{
	struct flight f;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	OK(cuMemFree(f.gpu));
	fill(f.view, SIZE, OTHERS, 0);
	view_close(&f);
	all_is_free_in_the_end();
	CHECK_CASE();
	OK(cuMemAlloc(&f.gpu, SIZE));
	OK(cuMemcpyDtoH(host, f.gpu, SIZE));
	EXPECT(!host[0] && !memcmp(host, host + 1, SIZE - 1), "new memory is not zeroed");
	OK(cuMemFree(f.gpu));
}

/* No process may allocate pages from the kernel's p2pdma pool. */
CASE(p2pmem_allocate_gives_no_pages)
{
	struct emugpu_info info;
	char path[96];
	int emu = emu_open(), fd;

	NEEDS_PAGES();
	EXPECT(!emu_info(emu, 0, &info), "info");
	close(emu);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/p2pmem/allocate", info.out_domain,
		 info.out_bus, info.out_device, info.out_function);
	fd = open(path, O_RDWR);
	EXPECT(fd >= 0, "%s: %s", path, strerror(errno));
	EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENOMEM, "%s",
	       strerror(errno));
	close(fd);
}

/* ---- dynamic dma-bufs --------------------------------------------------- */

CASE(free_ends_view_of_dynamic_dmabuf)
{
	struct flight f;
	int err, touched;

	NEEDS_PAGES();
	EXPECT(set_dynamic("1"), "parameter");
	err = view_open(&f);
	set_dynamic("0");
	EXPECT(!err && touch(f.view) == 1, "%d", err);
	OK(cuMemFree(f.gpu));
	touched = touch(f.view);
	EXPECT(touched == -EFAULT, "%d", touched);
	EXPECT(gpu_free() == free_at_start, "%lu free of %lu", gpu_free(), free_at_start);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, f.dmabuf, 0) == MAP_FAILED && errno == ENODEV,
	       "mmap after the free");
	view_close(&f);
}

VMTEST_MAIN
