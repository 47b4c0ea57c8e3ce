// SPDX-License-Identifier: MIT
/* GPU memory mapped through its dma-bufs: what is seen there, by whom, and until when. */
#include "flight.h"

SETUP(everything_is_there)
{
	EXPECT(start(), "no disk, or no GPU");
}

CASE(the_cpu_sees_the_same_memory)
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

CASE(a_part_of_a_view_is_the_right_part)
{
	struct flight f;
	unsigned char *part;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	fill(f.view, SIZE, OTHERS, 0);
	part = mmap(NULL, 8192, PROT_READ, MAP_SHARED, f.dmabuf, 3 * LENGTH + 4096);
	EXPECT(part != MAP_FAILED, "%s", strerror(errno));
	EXPECT(differs(part, 8192, OTHERS, 3 * LENGTH + 4096) == 8192, "other bytes");
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

CASE(a_child_of_fork_has_no_view)
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

CASE(a_view_keeps_freed_memory_as_long_as_it_is_there)
{
	struct flight f;

	NEEDS_PAGES();
	EXPECT(!view_open(&f), "%s", strerror(errno));
	close(f.dmabuf);
	OK(cuMemFree(f.gpu));
	EXPECT(gpu_free() + SIZE == free_at_start, "%lu free of %lu", gpu_free(), free_at_start);
	EXPECT(touch(f.view) == 1, "it cannot be read");
	munmap(f.view, SIZE);
	all_is_free_in_the_end();
}

/* Nor does who had it: it may be another process that has the view. */
CASE(what_is_written_to_freed_memory_nobody_finds)
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
	EXPECT(!host[0] && !memcmp(host, host + 1, SIZE - 1), "it does");
	OK(cuMemFree(f.gpu));
}

/* Nobody else gets pages out of the kernel's pool of p2pdma memory. */
CASE(there_is_nothing_to_allocate_in_sysfs)
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

/* ---- dma-bufs that end with their memory --------------------------------------------------- */

CASE(a_view_of_a_dynamic_one_ends_with_the_memory)
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
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, f.dmabuf, 0) == MAP_FAILED && errno == ENODEV, "mapped again");
	view_close(&f);
}

VMTEST_MAIN
