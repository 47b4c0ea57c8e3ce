// SPDX-License-Identifier: MIT
/* GPU memory registered with an InfiniBand core, by any client. ibpeer.h selects the client. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ibpeer.h"

static int mr;

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	EXPECT(!client_load(""), "load");
	EXPECT_CLEAN();
}

static void expect_not_taken(uint64_t addr, uint64_t length)
{
	int ret = mr_register(mr, addr, length, IB_PEER_CHIP, 0);

	EXPECT(ret == -ENXIO, "%#lx + %#lx: %d", addr, length, ret);
}

CASE(only_gpu_memory_is_acquired)
{
	char *host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	expect_not_taken((uintptr_t)host, PAGE);
	expect_not_taken(GPU_A - PAGE, PAGE);
	expect_not_taken(GPU_A + BLOCK, 1);
	expect_not_taken(GPU_A + BLOCK - PAGE, 2 * PAGE);
	expect_not_taken(~0ul - 2 * PAGE, PAGE);
	expect_not_taken(~0ul - PAGE, PAGE);
	expect_not_taken(1, ~0ul - 1);
	CHECK_CASE();
	close(mr);
	munmap(host, BLOCK);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* The list must lead to the pages from @at on, in order. It may have any split into entries. */
static void expect_pages(const struct ib_peer *list, uint64_t at)
{
	struct emugpu_test t;
	uint64_t done, phys;
	unsigned int i;

	for (i = 0; i < list->out_count; i++) {
		EXPECT(!(list->out_len[i] % PAGE) && !(list->out_bus[i] % PAGE), "%#llx bytes", list->out_len[i]);
		for (done = 0; done < list->out_len[i]; done += PAGE, at += PAGE) {
			EXPECT(!emu_translate(gpu, at, &t), "translate");
			phys = mr_leads_to(mr, list->out_bus[i] + done, list->device);
			EXPECT(phys == t.translate.out_phys, "%#lx: %#lx, not %#llx", at, phys, t.translate.out_phys);
		}
	}
}

static uint64_t sum(const struct ib_peer *list)
{
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < list->out_count; i++)
		bytes += list->out_len[i];
	return bytes;
}

static void expect_mapped(uint64_t addr, uint64_t length, enum ib_peer_device device)
{
	struct ib_peer list = { .device = device };
	uint64_t first = addr & -(uint64_t)PAGE, last = (addr + length + PAGE - 1) & -(uint64_t)PAGE;

	mr = mr_open();
	EXPECT(!mr_register(mr, addr, length, device, 0), "register %#lx + %#lx", addr, length);
	EXPECT(!mr_call(mr, IB_PEER_LIST, &list) && list.out_count && list.out_count <= IB_PEER_PIECES, "%u pieces",
	       list.out_count);
	EXPECT(sum(&list) == last - first, "%#lx bytes", sum(&list));
	expect_pages(&list, first);
	EXPECT(!mr_deregister(mr), "deregister");
	close(mr);
}

static void expect_all_mapped(enum ib_peer_device device)
{
	static const uint64_t offsets[] = { 0, 1, PAGE - 1, PAGE, GPU_PAGE - 1, GPU_PAGE + 5 * PAGE, BLOCK - GPU_PAGE - 1 };
	static const uint64_t lengths[] = { 1, PAGE, PAGE + 1, GPU_PAGE, GPU_PAGE + 1 };
	unsigned int i;

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	for (i = 0; i < sizeof(offsets) / sizeof(*offsets) * (sizeof(lengths) / sizeof(*lengths)); i++) {
		expect_mapped(GPU_A + offsets[i % 7], lengths[i / 7], device);
		CHECK_CASE();
	}
	expect_mapped(GPU_A, BLOCK, device);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(chip_gets_the_right_pages)
{
	expect_all_mapped(IB_PEER_CHIP);
}

CASE(platform_device_gets_the_right_pages)
{
	expect_all_mapped(IB_PEER_PLATFORM);
}

static void expect_copied(uint64_t offset, uint64_t length)
{
	static char wrote[BLOCK], got[BLOCK];
	int to = mr_open();
	uint64_t i;

	for (i = 0; i < length; i++)
		wrote[i] = i * 7 + offset;
	mr = mr_open();
	EXPECT(!emu_write(gpu, GPU_A + offset, wrote, length) && !emu_fill(gpu, GPU_B, 1, 0xee, BLOCK), "write");
	EXPECT(!mr_register(mr, GPU_A + offset, length, IB_PEER_CHIP, 0), "register");
	EXPECT(!mr_register(to, GPU_B, BLOCK, IB_PEER_CHIP, 0), "register");
	EXPECT(!mr_copy(to, PAGE, mr, 0, length), "copy %#lx + %#lx", offset, length);
	EXPECT(!emu_read(gpu, got, GPU_B, BLOCK), "read");
	EXPECT(!memcmp(got + PAGE, wrote, length) && got[PAGE - 1] == '\xee' && got[PAGE + length] == '\xee',
	       "%#lx + %#lx: other bytes", offset, length);
	close(mr);
	close(to);
}

CASE(chip_copies_between_registrations)
{
	EXPECT(!gpu_alloc(GPU_A) && !gpu_alloc(GPU_B), "alloc");
	expect_copied(0, PAGE);
	expect_copied(4, 4);
	expect_copied(GPU_PAGE - 8, 16);
	expect_copied(3 * PAGE + 12, BLOCK / 2);
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A) && !emu_free(gpu, GPU_B), "free");
	EXPECT_CLEAN();
}

static void register_and_die(void)
{
	int own = emu_open();

	gpu_alloc_in(own, GPU_A);
	if (!mr_register(mr_open(), GPU_A, BLOCK, IB_PEER_CHIP, 0) && !mr_register(mr_open(), GPU_A, PAGE, IB_PEER_PLATFORM, 0))
		raise(SIGKILL);
	_exit(1);
}

/* Needs a VM with a forced bounce buffer: emu/vm/run --tegra --append swiotlb=force ... */
CASE_BY_NAME(bounced_registration_is_EIO)
{
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(mr_register(mr, GPU_A, BLOCK, IB_PEER_PLATFORM, 0) == -EIO, "registered");
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(killed_process_leaves_no_registration)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		register_and_die();
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "status %#x", status);
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	EXPECT(!client_remove(), "remove");
	EXPECT_CLEAN();
}

VMTEST_MAIN
