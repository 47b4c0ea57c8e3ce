// SPDX-License-Identifier: MIT
/* Host memory of an integrated GPU in its process: mmap() of blocks, and cudaHostAlloc(). */
#include <signal.h>
#include <sys/uio.h>

#include "test/vm/cuda/cu.h"
#include "tegra.h"

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --tegra ...");
	EXPECT(check >= 0, "no /dev/tegra_check; type: emu/vm/run --tegra --insmod build/KERNEL/test/tegra_check.ko ...");
}

CASE(cpu_and_gpu_share_the_memory)
{
	char *p, text[] = "by the GPU", buf[16] = "";

	two_blocks();
	CHECK_CASE();
	p = map_at(VA, 2 * BLOCK);
	EXPECT(p == MAP_FAILED && errno == EINVAL, "one mmap of two blocks succeeded");
	p = map_at(VA + CHUNK, CHUNK);
	EXPECT(p != MAP_FAILED, "mmap: %s", strerror(errno));
	strcpy(p + PAGE, "by the CPU");
	EXPECT(emu_read(fd, buf, VA + CHUNK + PAGE, 11) == 0 && !strcmp(buf, "by the CPU"), "%s", buf);
	EXPECT(emu_write(fd, VA + CHUNK, text, sizeof(text)) == 0 && !strcmp(p, text), "%s", p);
	munmap(p, CHUNK);
	free_both();
}

CASE(bad_mmaps_are_refused)
{
	void *p;

	EXPECT(map_at(VA, BLOCK) == MAP_FAILED && errno == ENOENT, "no block: %s", strerror(errno));
	two_blocks();
	CHECK_CASE();
	EXPECT(emu_alloc(fd, VA + 2 * BLOCK, BLOCK) == 0, "alloc");
	EXPECT(map_at(VA + 2 * BLOCK, BLOCK) == MAP_FAILED && errno == EINVAL, "device memory: %s", strerror(errno));
	p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, VA);
	EXPECT(p == MAP_FAILED && errno == EINVAL, "private: %s", strerror(errno));
	EXPECT(emu_free(fd, VA + 2 * BLOCK) == 0, "free");
	EXPECT(alloc_flags(VA + 2 * BLOCK, BLOCK, EMUGPU_ALLOC_WRITE_COMBINED) == -EINVAL, "device memory, combined");
	free_both();
}

CASE(write_combined_memory_is_mapped_wc)
{
	char *plain, *combined;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(alloc_flags(VA + BLOCK, BLOCK, EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_WRITE_COMBINED) == 0, "alloc");
	plain = map_at(VA, BLOCK);
	combined = map_at(VA + BLOCK, BLOCK);
	EXPECT(plain != MAP_FAILED && combined != MAP_FAILED, "mmap: %s", strerror(errno));
	EXPECT(caching(plain) == 0, "plain: %d", caching(plain));
	EXPECT(caching(combined) == 1, "write-combined: %d", caching(combined));
	munmap(plain, BLOCK);
	munmap(combined, BLOCK);
	free_both();
}

/* Guide 13.4.3: a driver maps pages to a process with the cache type of the allocation. */
CASE(driver_mapping_keeps_cache_type)
{
	char *own, *by_driver;

	EXPECT(alloc_flags(VA, BLOCK, EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_WRITE_COMBINED) == 0, "alloc");
	own = map_at(VA, BLOCK);
	EXPECT(own != MAP_FAILED && get(1, VA + PAGE, 2 * PAGE) == 0, "mmap, get");
	by_driver = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, check,
			 TEGRA_CHECK_MMAP(1) | TEGRA_CHECK_WRITE_COMBINED);
	EXPECT(by_driver != MAP_FAILED, "mmap: %s", strerror(errno));
	EXPECT(caching(by_driver) == caching(own), "%d, the process's %d", caching(by_driver), caching(own));
	strcpy(by_driver + PAGE, "here");
	EXPECT(!strcmp(own + 2 * PAGE, "here"), "the driver's mapping shows other memory");
	munmap(by_driver, 2 * PAGE);
	munmap(own, BLOCK);
	EXPECT(put(1) == 0 && emu_free(fd, VA) == 0 && nothing_pinned(), "pins are left");
}

CASE(mapping_outlives_its_block)
{
	uint64_t before = vram_free();
	char *p;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	p = map_at(VA, BLOCK);
	EXPECT(p != MAP_FAILED, "mmap: %s", strerror(errno));
	p[0] = 'x';
	EXPECT(get(0, VA, PAGE) == 0 && emu_free(fd, VA) == 0 && callbacks(0) == 1, "free");
	EXPECT(vram_free() == before - BLOCK, "the mapped memory was freed");
	EXPECT(p[0] == 'x', "%#x", p[0]);
	p[BLOCK - 1] = 'y';
	EXPECT(!munmap(p, PAGE) && vram_free() == before - BLOCK, "munmap of a part freed the memory");
	EXPECT(!munmap(p + PAGE, BLOCK - PAGE) && vram_free() == before, "%lu", before - vram_free());
}

CASE(mappings_can_be_split_and_moved)
{
	uint64_t before = vram_free();
	char *room = mmap(NULL, 2 * BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *p, *moved, c;

	EXPECT(room != MAP_FAILED && alloc_host(VA, BLOCK) == 0, "alloc");
	p = mmap(room, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, VA);
	EXPECT(p == room, "mmap: %s", strerror(errno));
	p[8 * CHUNK] = 'x';
	EXPECT(!munmap(p + CHUNK, CHUNK), "%s", strerror(errno));
	EXPECT(!mprotect(p + 4 * CHUNK, CHUNK, PROT_READ), "%s", strerror(errno));
	moved = mremap(p + 6 * CHUNK, 8 * CHUNK, 8 * CHUNK, MREMAP_MAYMOVE | MREMAP_FIXED, p + BLOCK);
	EXPECT(moved == p + BLOCK, "%s", strerror(errno));
	EXPECT(moved[2 * CHUNK] == 'x', "%#x", moved[2 * CHUNK]);
	moved[3 * CHUNK + 5] = 'y';
	EXPECT(emu_read(fd, &c, VA + 9 * CHUNK + 5, 1) == 0 && c == 'y', "%#x", c);
	EXPECT(mremap(moved, 8 * CHUNK, 9 * CHUNK, MREMAP_MAYMOVE) == MAP_FAILED, "mremap enlarged the mapping");
	EXPECT(!munmap(p, 2 * BLOCK), "%s", strerror(errno));
	EXPECT(emu_free(fd, VA) == 0 && vram_free() == before, "%lu bytes lost", before - vram_free());
}

static char *shared;

static int touch(void)
{
	return shared[0];
}

static int map_as_child(void)
{
	return map_at(VA, BLOCK) == MAP_FAILED && errno == EACCES ? 0 : 1;
}

CASE(child_of_fork_has_no_access)
{
	int status;
	pid_t pid;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	shared = map_at(VA, BLOCK);
	EXPECT(shared != MAP_FAILED, "mmap: %s", strerror(errno));
	shared[0] = 0;
	pid = fork();
	if (!pid)
		_exit(touch());
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%#x", status);
	EXPECT(emu_in_child(map_as_child) == 0, "the child mapped memory of its parent");
	munmap(shared, BLOCK);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* System calls must accept the mapping as a buffer. A GPU copy may use it as source and destination. */
CASE(system_calls_accept_the_mapping)
{
	char *p, c = 0;
	int ends[2];

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	p = map_at(VA, BLOCK);
	EXPECT(p != MAP_FAILED && !pipe(ends), "mmap: %s", strerror(errno));
	EXPECT(emu_write(fd, VA + CHUNK, p, CHUNK) == 0, "copy from the untouched mapping");
	p[CHUNK] = 'z';
	EXPECT(write(ends[1], p + CHUNK, 1) == 1 && read(ends[0], &c, 1) == 1 && c == 'z', "%#x", c);
	close(ends[0]);
	close(ends[1]);
	munmap(p, BLOCK);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* A pipe holds a reference to the page, like direct I/O. A new owner must not get the page. */
CASE(referenced_pages_are_not_reused)
{
	struct iovec iov = { .iov_len = PAGE };
	char buf[16] = "";
	int ends[2];
	char *p;

	EXPECT(!pipe(ends) && alloc_host(VA, BLOCK) == 0, "alloc");
	p = map_at(VA, BLOCK);
	EXPECT(p != MAP_FAILED, "mmap: %s", strerror(errno));
	strcpy(p + CHUNK, "the last owner");
	iov.iov_base = p + CHUNK;
	EXPECT(vmsplice(ends[1], &iov, 1, 0) == (ssize_t)PAGE, "%s", strerror(errno));
	munmap(p, BLOCK);
	EXPECT(emu_free(fd, VA) == 0 && alloc_host(VA, 64 * MIB) == 0, "free, alloc");
	EXPECT(emu_fill(fd, VA, 1, 'n', 64 * MIB) == 0, "fill");
	EXPECT(read(ends[0], buf, sizeof(buf)) == sizeof(buf) && !strcmp(buf, "the last owner"), "%.15s", buf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	close(ends[0]);
	close(ends[1]);
}

CASE(export_as_dmabuf_is_refused)
{
	struct emugpu_export export = { .va = VA, .size = PAGE };

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(emu_call(fd, EMUGPU_IOC_EXPORT, &export) == -EOPNOTSUPP, "exported");
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* ---- by the CUDA driver API ------------------------------------------------------ */

/* The program frees nothing: its exit must end the pins. */
static int exit_with_pins(void *arg)
{
	void *p;

	(void)arg;
	if (!cu_start(0) || cuMemHostAlloc(&p, MIB, 0))
		return 1;
	return get(2, (uintptr_t)p, MIB) || dma_map(2, 0);
}

/* Runs before cuInit() in this process: afterwards a forked child could not use CUDA. */
CASE(exit_calls_the_callback)
{
	uint64_t before = violations();

	EXPECT(cu_in_child(exit_with_pins, NULL) == 0, "child");
	EXPECT(callbacks(2) == 1, "%u", callbacks(2));
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "pins or memory are left");
	EXPECT(violations() == before, "%lu", violations() - before);
}

static void host_alloc(unsigned int flags, int want_caching)
{
	CUdeviceptr dev;
	uint64_t va;
	void *p;

	OK(cuMemHostAlloc(&p, 3 * MIB, flags));
	va = (uintptr_t)p;
	OK(cuMemHostGetDevicePointer(&dev, p, 0));
	EXPECT(dev == va, "%#llx", dev);
	EXPECT(caching(p) == want_caching, "%d", caching(p));
	strcpy((char *)p + PAGE, "text");
	EXPECT(get(0, va + PAGE, PAGE) == 0 && get(1, va, 3 * MIB) == 0 && dma_map(1, 0) == 0, "get");
	OK(cuMemFreeHost(p));
	EXPECT(callbacks(0) == 1 && callbacks(1) == 1, "%u %u", callbacks(0), callbacks(1));
	EXPECT(nothing_pinned(), "pins are left");
	EXPECT(get(0, va, PAGE) == -EINVAL, "freed");
}

CASE(cumemfreehost_calls_the_callback)
{
	uint64_t before = violations();
	int integrated = 0;

	EXPECT(cu_start(0), "no context");
	OK(cuDeviceGetAttribute(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 0));
	EXPECT(integrated == 1, "%d", integrated);
	host_alloc(CU_MEMHOSTALLOC_DEVICEMAP, 0);
	CHECK_CASE();
	host_alloc(CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED, 1);
	CHECK_CASE();
	EXPECT(violations() == before, "%lu", violations() - before);
	cuDevicePrimaryCtxRelease(0);
}

CASE(cumemalloc_is_not_for_peers)
{
	CUdeviceptr p;

	EXPECT(cu_start(0), "no context");
	OK(cuMemAlloc(&p, MIB));
	EXPECT(get(0, p, PAGE) == -EINVAL, "device memory");
	OK(cuMemFree(p));
	cuDevicePrimaryCtxRelease(0);
}

VMTEST_MAIN
