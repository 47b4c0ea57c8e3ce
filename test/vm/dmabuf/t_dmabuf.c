// SPDX-License-Identifier: MIT
/* Static dma-bufs, which keep the memory, as NVIDIA's driver makes them. One case for each promise. */
#include "dmabuf.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ...");
	EXPECT(check >= 0, "no /dev/dmabuf_check; type: emu/vm/run --no-default-modules "
	       "--insmod build/KERNEL/emu/emugpu.ko --insmod build/KERNEL/test/dmabuf_check.ko ...");
}

/* ---- memory that can be exported ---- */

CASE(export_needs_4k_alignment_only)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA + 4096, 8192);
	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(lseek(dmabuf, 0, SEEK_END) == 8192, "%ld", lseek(dmabuf, 0, SEEK_END));
	EXPECT(fcntl(dmabuf, F_GETFD) == FD_CLOEXEC, "%#x", fcntl(dmabuf, F_GETFD));
	close(dmabuf);
	EXPECT(export(VA + 512, 4096) == -EINVAL, "address");
	EXPECT(export(VA, 512) == -EINVAL, "size");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(bad_export_ranges_are_refused)
{
	struct emugpu_export reserved = { .va = VA, .size = BLOCK, .flags = 2 };

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "alloc");
	EXPECT(emu_call(fd, EMUGPU_IOC_EXPORT, &reserved) == -EINVAL, "reserved");
	EXPECT(export(VA, 0) == -EINVAL, "nothing");
	EXPECT(export(VA + BLOCK, 2 * BLOCK) == -EINVAL, "export past the end of the block");
	EXPECT(export(VA, 3 * BLOCK) == -EINVAL, "export past the end of two blocks");
	EXPECT(export(VA + 4096, -4096) == -EINVAL, "a size that overflows");
	EXPECT(export(VA - 4096, 4096) == -ENOENT, "unknown memory");
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(export(VA, BLOCK) == -ENOENT, "freed memory");
	EXPECT_NOTHING_LEFT();
}

static int child_without_descriptors_exports(void)
{
	const struct rlimit none = { 0 };
	int client = emu_open();

	if (emu_alloc(client, VA, BLOCK) || setrlimit(RLIMIT_NOFILE, &none))
		return 1;
	return export_by(client, VA, BLOCK) == -EMFILE && !emu_free(client, VA) ? 0 : 2;
}

CASE(export_without_descriptor_fails)
{
	int err = emu_in_child(child_without_descriptors_exports);

	EXPECT(!err, "%d", err);
	EXPECT_NOTHING_LEFT();
}

static int child_exports_ours(void)
{
	return export_by(emu_open(), VA, BLOCK) == -ENOENT ? 0 : 1;
}

CASE(export_by_another_process_fails)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_in_child(child_exports_ours) == 0, "exported");
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* For example NVIDIA's pool memory, and memory without gpuDirectRDMACapable. */
CASE(unpinnable_memory_can_be_exported)
{
	struct emugpu_alloc alloc = { .va = VA, .size = BLOCK, .flags = EMUGPU_ALLOC_NO_P2P };
	int dmabuf;

	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(dmabuf >= 0, "%d", dmabuf);
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(mmap_of_static_dmabuf_fails)
{
	void *p;
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(dmabuf >= 0, "%d", dmabuf);
	p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	EXPECT(p == MAP_FAILED && errno == ENOTSUPP, "%p, errno %d", p, errno);
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* ---- scatterlists ---- */

/* Length of the next entry: contiguous bytes from @va on, at most @max. */
static uint64_t piece(uint64_t va, uint64_t end, uint64_t max)
{
	uint64_t length = PAGE - va % PAGE;

	while (va + length < end && phys(va + length) == phys(va) + length)
		length += PAGE;
	if (length > end - va)
		length = end - va;
	return length < max ? length : max;
}

static void expect_entries(unsigned int slot, uint64_t va, uint64_t end, uint64_t max)
{
	struct dmabuf_check_look seen;
	unsigned int n;

	for (n = 0; va < end; n++) {
		seen = look(slot, n);
		EXPECT(seen.out_length == piece(va, end, max), "entry %u: %u bytes, not %lu", n, seen.out_length,
		       piece(va, end, max));
		EXPECT(!seen.out_has_page, "entry %u", n);
		EXPECT((seen.out_bus == phys(va)) == !iommu_translates(), "entry %u: bus %#llx, physical %#lx", n,
		       seen.out_bus, phys(va));
		va += seen.out_length;
	}
	EXPECT(look(slot, 0).out_entries == n, "%u entries, not %u", look(slot, 0).out_entries, n);
}

static void expect_range(uint64_t va, uint64_t size, unsigned int max_segment)
{
	int dmabuf = export(va, size);

	EXPECT(dmabuf >= 0, "export: %d", dmabuf);
	EXPECT(limit(max_segment, 0) == 0, "limit");
	EXPECT(import(0, dmabuf) == 0, "import");
	expect_entries(0, va, va + size, max_segment / 4096 * 4096 ?: 65536);
	EXPECT(detach(0) == 0 && limit(0, 0) == 0, "detach");
	close(dmabuf);
}

static void expect_ranges(unsigned int max_segment)
{
	EXPECT(emu_alloc(fd, VA, 2 * BLOCK) == 0, "alloc");
	expect_range(VA, 2 * BLOCK, max_segment);
	expect_range(VA + 4096, 4096, max_segment);
	expect_range(VA + PAGE - 4096, 8192, max_segment);
	expect_range(VA + 12288, BLOCK, max_segment);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(entries_have_bus_addresses_only)
{
	expect_ranges(0);
}

CASE(dmabuf_may_span_blocks)
{
	EXPECT(emu_alloc(fd, VA + BLOCK, BLOCK) == 0 && emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_alloc(fd, VA + 2 * BLOCK, 2 * BLOCK) == 0, "alloc");
	expect_range(VA, 4 * BLOCK, 0);
	expect_range(VA + BLOCK - 4096, 8192, 0);
	expect_range(VA + BLOCK - 4096, BLOCK + 8192, 4096);
	expect_range(VA + 12288, 3 * BLOCK, 0);
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0 && emu_free(fd, VA + 2 * BLOCK) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

/* The dma-buf keeps all blocks, and their memory is not reused for others before it is closed. */
CASE(spanning_dmabuf_outlives_its_blocks)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "alloc");
	dmabuf = export(VA + BLOCK - PAGE, 2 * PAGE);
	EXPECT(import(0, dmabuf) == 0, "import");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(vram_used() == 2 * BLOCK && bar1_used() == 2 * PAGE, "VRAM %lu BAR1 %lu", vram_used(), bar1_used());
	EXPECT(peer_write(0, 0, 0, 0x11) == 0 && peer_write(0, 1, 0, 0x22) == 0, "DMA");
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(peer_reads(0, 0, 0, 0x11) && peer_reads(0, 1, 0, 0x22), "contents");
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

CASE(entries_obey_max_seg_size)
{
	expect_ranges(4096);
	expect_ranges(6000);
	expect_ranges(196608 + 1);
	expect_ranges(64 << 20);
}

CASE(entries_of_neighbouring_pages_are_merged)
{
	int dmabuf;

	EXPECT(scatter(false) == 0, "scatter");
	expect_ranges(0);
	expect_ranges(6000);
	expect_ranges(196608 + 1);
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && limit(64 << 20, 0) == 0, "alloc");
	dmabuf = export(VA + 4096, BLOCK - 4096);
	EXPECT(import(0, dmabuf) == 0, "import");
	EXPECT(look(0, 0).out_entries == 1, "%u entries", look(0, 0).out_entries);
	EXPECT(detach(0) == 0 && limit(0, 0) == 0, "detach");
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0 && scatter(true) == 0, "free");
}

CASE(segments_below_a_page_are_refused)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(limit(2048, 0) == 0 && attach(0, dmabuf) == 0, "attach");
	EXPECT(map(0) == -ENOMEM, "mapped");
	EXPECT(bar1_used() == 0, "%lu", bar1_used());
	EXPECT(limit(0, 0) == 0 && map(0) == 0 && detach(0) == 0, "map");
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(peer_reads_and_writes_the_memory)
{
	unsigned char byte;
	unsigned int i;
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	for (i = 0; i < BLOCK / PAGE; i++)
		EXPECT(emu_fill(fd, VA + i * PAGE, 1, i, PAGE) == 0, "fill");
	dmabuf = export(VA, BLOCK);
	EXPECT(import(0, dmabuf) == 0, "import");
	for (i = 0; i < BLOCK / PAGE; i++) {
		EXPECT(peer_reads(0, i, PAGE - DMABUF_CHECK_BYTES, i), "page %u", i);
		EXPECT(peer_write(0, i, 4096, ~i) == 0, "page %u", i);
		EXPECT(emu_read(fd, &byte, VA + i * PAGE + 4096 + DMABUF_CHECK_BYTES - 1, 1) == 0, "read");
		EXPECT(byte == (unsigned char)~i, "page %u: %#x", i, byte);
	}
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

/* ---- importers ---- */

CASE(a_dynamic_importer_must_allow_peer2peer)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC_NO_P2P, false) == -ENOTSUPP, "attached");
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, false) == 0, "with peer2peer");
	EXPECT(attach(1, dmabuf) == 0, "static");
	EXPECT(map(0) == 0 && map(1) == 0, "map");
	EXPECT(detach(0) == 0 && detach(1) == 0, "detach");
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(static_dmabuf_never_notifies)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, false) == 0 && map(0) == 0, "import");
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(notified(0) == 0, "%u", notified(0));
	EXPECT(unmap(0) == 0 && map(0) == 0, "the dma-buf cannot be mapped again");
	EXPECT(slot_call(DMABUF_CHECK_PIN, 0) == 0, "pin");
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

/* ---- the memory ---- */

/* Fill all free VRAM with another value than the value in the dma-buf. */
static void fill_vram(int value)
{
	uint64_t size = info().out_vram_free / BLOCK * BLOCK;

	EXPECT(emu_alloc(fd, VA + (1ull << 32), size) == 0, "alloc");
	EXPECT(emu_fill(fd, VA + (1ull << 32), 1, value, size) == 0, "fill");
	EXPECT(emu_free(fd, VA + (1ull << 32)) == 0, "free");
}

static void expect_contents(unsigned int slot, int value)
{
	unsigned int i;

	for (i = 0; i < BLOCK / PAGE; i++)
		EXPECT(peer_reads(slot, i, i * DMABUF_CHECK_BYTES, value), "page %u", i);
}

CASE(static_dmabuf_keeps_freed_memory)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_fill(fd, VA, 1, 0x5a, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(vram_used() == BLOCK, "%lu", vram_used());
	fill_vram(0xa5);
	EXPECT(import(0, dmabuf) == 0, "import");
	expect_contents(0, 0x5a);
	close(dmabuf);
	EXPECT(vram_used() == BLOCK, "the mapped memory was freed: %lu bytes in use", vram_used());
	EXPECT(detach(0) == 0, "detach");
	EXPECT_NOTHING_LEFT();
}

CASE(static_dmabuf_outlives_killed_owner)
{
	pid_t owner;
	int dmabuf;

	owner = start_owner(0x3c, &dmabuf);
	EXPECT(owner > 0 && dmabuf >= 0, "%d", dmabuf);
	EXPECT(import(0, dmabuf) == 0, "import");
	kill_owner(owner);
	EXPECT(vram_used() == BLOCK && bar1_used() == BLOCK, "%lu %lu", vram_used(), bar1_used());
	fill_vram(0xc3);
	expect_contents(0, 0x3c);
	EXPECT(detach(0) == 0 && import(0, dmabuf) == 0, "import again");
	expect_contents(0, 0x3c);
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

static int import_and_die(void)
{
	if (emu_alloc(fd = emu_open(), VA, BLOCK) || import(0, export(VA, BLOCK)))
		return 1;
	kill(getpid(), SIGKILL);
	return 2;
}

CASE(importer_keeps_killed_owners_memory)
{
	EXPECT(emu_in_child(import_and_die) == -1, "the child was not killed");
	EXPECT(vram_used() == BLOCK && bar1_used() == BLOCK, "%lu %lu", vram_used(), bar1_used());
	EXPECT(peer_write(0, 0, 0, 1) == 0 && peer_reads(0, 0, 0, 1), "DMA");
	EXPECT(detach(0) == 0, "detach");
	EXPECT_NOTHING_LEFT();
}

CASE(export_of_a_part_of_memory)
{
	struct emugpu_memory_new memory = { .size = 2 * BLOCK };
	struct emugpu_alloc alloc = { .va = VA, .size = BLOCK, .offset = BLOCK };
	struct emugpu_drop drop;
	int dmabuf;

	EXPECT(emu_call(fd, EMUGPU_IOC_MEMORY, &memory) == 0, "memory");
	drop = (struct emugpu_drop){ .id = memory.out_memory };
	alloc.memory = memory.out_memory;
	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == 0, "alloc");
	dmabuf = export(VA + PAGE, PAGE);
	EXPECT(import(0, dmabuf) == 0, "import");
	expect_entries(0, VA + PAGE, VA + 2 * PAGE, 65536);
	EXPECT(emu_free(fd, VA) == 0 && emu_call(fd, EMUGPU_IOC_DROP, &drop) == 0, "free");
	EXPECT(vram_used() == 2 * BLOCK, "%lu", vram_used());
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

/* ---- BAR1 ---- */

static void expect_bar1(uint64_t va, uint64_t size, uint64_t want)
{
	int dmabuf = export(va, size);

	EXPECT(bar1_used() == 0, "%lu bytes of BAR1 before the map", bar1_used());
	EXPECT(import(0, dmabuf) == 0, "import");
	EXPECT(bar1_used() == want, "%lu, not %lu", bar1_used(), want);
	EXPECT(import(1, dmabuf) == 0 && detach(0) == 0, "another importer");
	EXPECT(bar1_used() == want, "%lu, not %lu", bar1_used(), want);
	EXPECT(unmap(1) == 0 && bar1_used() == 0, "%lu bytes of BAR1 after the unmap", bar1_used());
	EXPECT(detach(1) == 0, "detach");
	close(dmabuf);
}

CASE(bar1_is_used_while_mapped)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	expect_bar1(VA, BLOCK, BLOCK);
	expect_bar1(VA + 4096, 4096, PAGE);
	expect_bar1(VA + PAGE - 4096, 8192, 2 * PAGE);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(exhausted_bar1_is_enomem)
{
	int big, small;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	big = export(VA, 2 * PAGE);
	small = export(VA + BLOCK - PAGE, PAGE);
	EXPECT(bar1_free(PAGE) == 0 && attach(0, big) == 0 && attach(1, small) == 0 && attach(2, small) == 0, "attach");
	EXPECT(map(0) == -ENOMEM, "mapped");
	EXPECT(map(1) == 0, "no room for one page");
	EXPECT(map(2) == 0, "a second importer needed more BAR1");
	EXPECT(bar1_used() == PAGE, "%lu", bar1_used());
	EXPECT(bar1_free(-1) == 0 && map(0) == 0, "map");
	EXPECT(detach(0) == 0 && detach(1) == 0 && detach(2) == 0, "detach");
	close(big);
	close(small);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

/*
 * The dma-buf has two entries, but the IOMMU has addresses for one entry only. So the mapping fails
 * in the middle. Long entries, because IOMMU drivers cache short ranges. The sleeps let freed
 * addresses become available.
 */
CASE(failed_mapping_leaves_nothing_mapped)
{
	int whole, half, i, err;

	if (!iommu_translates())
		SKIP("no IOMMU to run out of addresses; type: emu/vm/run --iommu ...");
	EXPECT(scatter(false) == 0 && emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	whole = export(VA, BLOCK);
	half = export(VA, BLOCK / 2);
	EXPECT(limit(BLOCK / 2, BLOCK - 1) == 0 && attach(0, whole) == 0 && attach(1, half) == 0, "attach");
	for (i = 0; i < 5; i++) {
		err = map(0);
		EXPECT(err == -ENOMEM, "%d", err);
		EXPECT(bar1_used() == 0, "%lu", bar1_used());
		usleep(50000);
		err = map(1);
		EXPECT(err == 0, "%d after %d failed mappings", err, i);
		EXPECT(unmap(1) == 0, "unmap");
		usleep(50000);
	}
	EXPECT(detach(0) == 0 && detach(1) == 0 && limit(0, 0) == 0, "detach");
	close(whole);
	close(half);
	EXPECT(emu_free(fd, VA) == 0 && scatter(true) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

/* ---- GPU and module ---- */

CASE(static_dmabuf_outlives_its_gpu)
{
	struct emugpu_info gpu = info();
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(import(0, dmabuf) == 0 && attach(1, dmabuf) == 0, "import");
	EXPECT(emu_sysfs(&gpu, "unbind") == 0, "unbind");
	EXPECT(export(VA, BLOCK) == -ENODEV, "exported without a GPU");
	EXPECT(map(1) == -ENODEV, "mapped without a GPU");
	EXPECT(emu_sysfs(&gpu, "bind") == -EBUSY, "bound while a device maps the GPU's addresses");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(unmap(0) == 0 && map(0) == -ENODEV, "mapped again");
	EXPECT(detach(0) == 0 && detach(1) == 0, "detach");
	close(dmabuf);
	EXPECT(emu_sysfs(&gpu, "bind") == 0, "bind");
	EXPECT_NOTHING_LEFT();
}

CASE(open_dmabuf_keeps_the_module)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(dmabuf >= 0, "%d", dmabuf);
	close(fd);
	EXPECT(syscall(SYS_delete_module, "emugpu", O_NONBLOCK) == -1 && errno == EWOULDBLOCK, "errno %d", errno);
	close(dmabuf);
	fd = emu_open();
	EXPECT_NOTHING_LEFT();
}

/* ---- races ---- */

static int shared = -1;	/* descriptor of a dma-buf that is opened and closed */
static bool stop;

/* Import until the end. An import may fail only because the dma-buf is closed. */
static void *import_shared(void *errors)
{
	int err;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		err = import(0, shared);
		if (err && err != -EINVAL && err != -EBADF)
			++*(int *)errors;
		detach(0);
	}
	return NULL;
}

CASE(close_and_free_race_with_import)
{
	int i, dmabuf, null = open("/dev/null", O_RDONLY), errors = 0;
	pthread_t thread;

	shared = dup(null);
	EXPECT(pthread_create(&thread, NULL, import_shared, &errors) == 0, "thread");
	for (i = 0; i < 300; i++) {
		EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
		dmabuf = export(VA, BLOCK);
		EXPECT(dup2(dmabuf, shared) == shared, "dup2");
		close(dmabuf);
		EXPECT(emu_free(fd, VA) == 0, "free");
		if (i % 2)
			dup2(null, shared);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	close(shared);
	close(null);
	EXPECT(errors == 0, "%d", errors);
	EXPECT_NOTHING_LEFT();
}

VMTEST_MAIN
