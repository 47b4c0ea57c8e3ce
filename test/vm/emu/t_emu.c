// SPDX-License-Identifier: MIT
/* The control node of the emulated GPU: blocks, their owners, and the test calls. */
#include <signal.h>
#include <sys/mman.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE EMUGPU_PAGE_SIZE
#define BLOCK EMUGPU_BLOCK_SIZE

static int fd;
static unsigned char buf[256 << 10];

static uint64_t vram_free(void)
{
	struct emugpu_info info;

	return emu_info(fd, 0, &info) ? 0 : info.out_vram_free;
}

SETUP(node_is_there)
{
	fd = emu_open();
	EXPECT(fd >= 0, "%s", strerror(errno));
}

CASE(info_describes_the_gpu)
{
	struct emugpu_info info;
	int err = emu_info(fd, 0, &info);

	EXPECT(!err, "%d", err);
	EXPECT(strstr(info.out_name, "Emulated GPU"), "%s", info.out_name);
	EXPECT(info.out_vram_total && info.out_vram_total % BLOCK == 0, "%llu", info.out_vram_total);
	EXPECT(info.out_bar1_total == info.out_vram_total, "%llu", info.out_bar1_total);
	EXPECT(info.out_bar1_used == 0, "%llu", info.out_bar1_used);
	EXPECT(info.out_bar1_reserved == 36 * MIB, "%llu", info.out_bar1_reserved);
	EXPECT(info.out_bus || info.out_device, "no PCI address");
	EXPECT(info.out_integrated == 0, "%u", info.out_integrated);
}

CASE(bad_info_calls_are_refused)
{
	struct emugpu_info info = { .reserved = { [2] = 1 } };
	int err = emu_call(fd, EMUGPU_IOC_INFO, &info);

	EXPECT(err == -EINVAL, "reserved: %d", err);
	err = emu_info(fd, 99, &info);
	EXPECT(err == -ENODEV, "gpu 99: %d", err);
	err = emu_call(fd, EMUGPU_IOC_INFO, NULL);
	EXPECT(err == -EFAULT, "NULL: %d", err);
	err = emu_call(fd, _IO(EMUGPU_TYPE, 77), NULL);
	EXPECT(err == -ENOTTY, "no such call: %d", err);
}

CASE(bad_allocations_are_refused)
{
	struct emugpu_alloc alloc = { .flags = 1u << 31, .va = VA, .size = BLOCK };
	uint64_t before = vram_free();

	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == -EINVAL, "flags");
	alloc.flags = EMUGPU_ALLOC_WRITE_COMBINED;
	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == -EINVAL, "write-combined, and not of the host");
	alloc.flags = EMUGPU_ALLOC_HOST;
	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == -EOPNOTSUPP, "of the host");
	alloc = (struct emugpu_alloc){ .va = VA, .size = BLOCK, .offset = BLOCK };
	EXPECT(emu_call(fd, EMUGPU_IOC_ALLOC, &alloc) == -EINVAL, "offset in no memory");
	EXPECT(emu_alloc_in(fd, 77, VA, BLOCK) == -ENOENT, "context 77");
	EXPECT(emu_alloc_memory(fd, 77, 0, VA, BLOCK) == -ENOENT, "memory 77");
	EXPECT(emu_alloc(fd, VA + PAGE, BLOCK) == -EINVAL, "address");
	EXPECT(emu_alloc(fd, VA, BLOCK + PAGE) == -EINVAL, "size");
	EXPECT(emu_alloc(fd, VA, 0) == -EINVAL, "size 0");
	EXPECT(emu_alloc(fd, 1ull << 40, BLOCK) == -EINVAL, "address 2^40");
	EXPECT(emu_alloc(fd, (1ull << 40) - BLOCK, 2 * BLOCK) == -EINVAL, "across 2^40");
	EXPECT(emu_alloc(fd, VA, -(uint64_t)BLOCK) == -ENOMEM, "size that overflows");
	EXPECT(emu_alloc(fd, VA, 1ull << 38) == -ENOMEM, "more than there is");
	EXPECT(emu_alloc(fd, VA, vram_free() + BLOCK) == -ENOMEM, "a block more than there is");
	EXPECT(emu_alloc_on(fd, 99, VA, BLOCK) == -ENODEV, "gpu 99");
	EXPECT(vram_free() == before, "leaked");
}

CASE(blocks_do_not_overlap)
{
	uint64_t before = vram_free();
	int other = emu_open();

	EXPECT(emu_alloc(fd, VA, 2 * BLOCK) == 0, "first");
	EXPECT(emu_alloc(fd, VA + BLOCK, BLOCK) == -EEXIST, "inside");
	EXPECT(emu_alloc(fd, VA - BLOCK, 4 * BLOCK) == -EEXIST, "around");
	EXPECT(emu_alloc(other, VA, BLOCK) == -EEXIST, "a second file allocated at the same address");
	EXPECT(emu_alloc(other, VA + 2 * BLOCK, BLOCK) == 0, "beside");
	EXPECT(vram_free() == before - 3 * BLOCK, "%lu", vram_free());
	close(other);
	EXPECT(vram_free() == before - 2 * BLOCK, "close did not free: %lu", vram_free());
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(vram_free() == before, "%lu", vram_free());
}

CASE(bad_frees_are_refused)
{
	EXPECT(emu_free(fd, VA) == -ENOENT, "no block");
	EXPECT(emu_alloc(fd, VA, 2 * BLOCK) == 0, "alloc");
	EXPECT(emu_free(fd, VA + BLOCK) == -ENOENT, "the middle");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(emu_free(fd, VA) == -ENOENT, "twice");
}

static uint64_t page_of(uint64_t va)
{
	struct emugpu_test test;

	return emu_translate(fd, va, &test) ? UINT64_MAX : test.translate.out_vram_page;
}

static void each_page_once(uint64_t size)
{
	uint64_t i, page;

	memset(buf, 0, size / PAGE);
	for (i = 0; i < size / PAGE; i++) {
		page = page_of(VA + i * PAGE);
		EXPECT(page < size / PAGE, "page %lu: %lu", i, page);
		EXPECT(!buf[page]++, "VRAM page %lu is there twice", page);
	}
}

CASE(all_vram_can_be_allocated)
{
	uint64_t before = vram_free();

	EXPECT(emu_alloc(fd, VA, before) == 0, "allocation of all free memory");
	EXPECT(vram_free() == 0, "%lu", vram_free());
	each_page_once(before);
	CHECK_CASE();
	EXPECT(emu_alloc(fd, VA - BLOCK, BLOCK) == -ENOMEM, "a block more than all VRAM");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(vram_free() == before, "%lu", vram_free());
}

CASE(pages_are_scattered)
{
	uint64_t i, here, last;

	EXPECT(emu_alloc(fd, VA, 32 * BLOCK) == 0, "alloc");
	last = page_of(VA);
	for (i = 1; i < 32 * BLOCK / PAGE; i++) {
		here = page_of(VA + i * PAGE);
		EXPECT(here != UINT64_MAX, "page %lu: no translation", i);
		EXPECT(here != last + 1 && here + 1 != last, "page %lu: %lu after %lu", i, here, last);
		last = here;
	}
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(freed_pages_return_in_reverse_order)
{
	uint64_t i, n = 2 * BLOCK / PAGE, old[64];

	EXPECT(emu_alloc(fd, VA, 2 * BLOCK) == 0, "alloc");
	for (i = 0; i < n; i++)
		old[i] = page_of(VA + i * PAGE);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(emu_alloc(fd, VA, 2 * BLOCK) == 0, "alloc");
	for (i = 0; i < n; i++)
		EXPECT(page_of(VA + i * PAGE) == old[n - 1 - i], "page %lu", i);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(process_finds_its_freed_data_again)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 1, 0xa5, BLOCK) == 0, "fill");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_read(fd, buf, VA, 16) == 0, "read");
	EXPECT(buf[0] == 0xa5 && buf[15] == 0xa5, "%#x", buf[0]);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* The driver allocates the last freed block first. */
CASE_BY_NAME(new_memory_is_0)
{
	uint64_t at;
	size_t i;

	fd = emu_open();
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	for (at = 0; at < BLOCK; at += sizeof(buf)) {
		EXPECT(emu_read(fd, buf, VA + at, sizeof(buf)) == 0, "read");
		for (i = 0; i < sizeof(buf); i++)
			EXPECT(!buf[i], "%#x at %lu", buf[i], at + i);
	}
}

static int leave_and_exec(void)
{
	int own = emu_open();

	if (emu_alloc(own, VA, BLOCK) || emu_fill(own, VA, 1, 0xa5, BLOCK) || emu_free(own, VA))
		return 2;
	execl("/proc/self/exe", "t_emu", "new_memory_is_0", NULL);
	return 3;
}

/* exec() keeps the process, but the new program may belong to another user. */
CASE(exec_clears_freed_memory)
{
	int status = emu_in_child(leave_and_exec);

	EXPECT(status == 0, "%d", status);
}

enum { GATE = 100 };

static int keep_until_gate_is_shut(int gate)
{
	char byte;

	close(GATE);
	return read(gate, &byte, 1) != 0;
}

/* A forked child of the old program still owns its blocks. In the new program their addresses are free. */
CASE_BY_NAME(blocks_from_before_exec_are_unknown)
{
	int status;

	fd = emu_open();
	EXPECT(emu_read(fd, buf, VA, 16) == -ENOENT, "read");
	EXPECT(emu_fill(fd, VA, 1, 1, BLOCK) == -ENOENT, "fill");
	EXPECT(emu_free(fd, VA) == -ENOENT, "free");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 1, 1, BLOCK) == 0, "fill");
	close(GATE);
	EXPECT(wait(&status) > 0 && !status, "the child: %#x", status);
	EXPECT(emu_read(fd, buf, VA, 16) == 0 && buf[0] == 1, "%#x", buf[0]);
}

static int keep_and_exec(void)
{
	int own = emu_open(), gate[2];

	if (emu_alloc(own, VA, BLOCK) || emu_fill(own, VA, 1, 0xa5, BLOCK) || pipe(gate) || dup2(gate[1], GATE) < 0)
		return 2;
	close(gate[1]);
	if (!fork())
		_exit(keep_until_gate_is_shut(gate[0]));
	execl("/proc/self/exe", "t_emu", "blocks_from_before_exec_are_unknown", NULL);
	return 3;
}

CASE(exec_gives_a_new_address_space)
{
	int status = emu_in_child(keep_and_exec);

	EXPECT(status == 0, "%d", status);
}

CASE(translate_and_peek_check_addresses)
{
	struct emugpu_test test;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
		EXPECT(emu_translate(fd, VA + PAGE + 5, &test) == 0, "translate");
	EXPECT(test.translate.out_phys % PAGE == 5, "%#llx", test.translate.out_phys);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(emu_translate(fd, VA, &test) == -ENOENT, "translate freed memory");
	EXPECT(emu_peek(fd, test.translate.out_vram_page, buf, 0, 0) == 0, "nothing");
	EXPECT(emu_peek(fd, 1 << 20, buf, 0, 1) == -EINVAL, "page past the end");
	EXPECT(emu_peek(fd, 0, buf, PAGE, 1) == -EINVAL, "offset past the page");
	EXPECT(emu_peek(fd, 0, buf, 1, PAGE) == -EINVAL, "length past the page");
}

CASE(peek_sees_freed_memory)
{
	struct emugpu_test test;
	uint64_t page;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 1, 0x3c, PAGE) == 0, "fill");
	EXPECT(emu_translate(fd, VA, &test) == 0, "translate");
	page = test.translate.out_vram_page;
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(emu_peek(fd, page, buf, 100, 1000) == 0, "peek");
	EXPECT(buf[0] == 0x3c && buf[999] == 0x3c, "%#x %#x", buf[0], buf[999]);
}

static int try_inherited(void)
{
	struct emugpu_info info;

	return emu_info(fd, 0, &info) == -EACCES && emu_free(fd, VA) == -EACCES ? 0 : 1;
}

static int try_same_address(void)
{
	int mine = emu_open();
	unsigned char byte = 1;

	if (emu_read(mine, &byte, VA, 1) != -ENOENT || emu_alloc(mine, VA, BLOCK))
		return 1;
	return emu_fill(mine, VA, 1, 0x11, BLOCK) ? 2 : 0;
}

CASE(a_child_is_another_process)
{
	uint64_t before = vram_free();
	int status;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 1, 0x22, BLOCK) == 0, "fill");
	status = emu_in_child(try_inherited);
	EXPECT(!status, "inherited fd: %d", status);
	status = emu_in_child(try_same_address);
	EXPECT(!status, "same address in the child: %d", status);
	EXPECT(emu_read(fd, buf, VA, 1) == 0 && buf[0] == 0x22, "%#x", buf[0]);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(vram_free() == before, "the child's block outlived it");
}

CASE(a_killed_process_leaves_nothing)
{
	uint64_t before = vram_free();
	int ready[2], status;
	pid_t pid;

	EXPECT(!pipe(ready), "%s", strerror(errno));
	pid = fork();
	if (!pid) {
		if (!emu_alloc(emu_open(), VA, 8 * BLOCK) && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	EXPECT(read(ready[0], buf, 1) == 1, "child");
	EXPECT(vram_free() == before - 8 * BLOCK, "%lu", vram_free());
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(vram_free() == before, "%lu", vram_free());
	close(ready[0]);
	close(ready[1]);
}

static int test_as_nobody(void)
{
	struct emugpu_test test;
	int mine;

	if (setuid(65534))
		return 1;
	mine = emu_open();
	if (emu_alloc(mine, VA, BLOCK))
		return 2;
	return emu_counts(mine, &test) == -EPERM ? 0 : 3;
}

CASE(test_calls_are_for_root)
{
	int status = emu_in_child(test_as_nobody);

	EXPECT(!status, "%d", status);
}

CASE(bad_test_calls_are_refused)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_MOVE + 1 };
	char module[48];

	EXPECT(emu_test(fd, &test) == -EINVAL, "op");
	test = (struct emugpu_test){ .op = EMUGPU_TEST_COUNTS, .gpu = 99 };
	EXPECT(emu_test(fd, &test) == -ENODEV, "gpu");
	EXPECT(emu_revoke(fd, VA) == -ENOENT, "revoke nothing");
	EXPECT(emu_delay_callback(fd, 1000000) == -EINVAL, "delay");
	EXPECT(emu_fail(fd, 1, 0) == -EINVAL && emu_fail(fd, 1, 5) == -EINVAL, "error");
	EXPECT(emu_fail_call(fd, EMUGPU_CALL_IMPORT + 1, 1, -EIO) == -EINVAL, "call");
	EXPECT(emu_scatter(fd, 2) == -EINVAL, "scatter");
	EXPECT(emu_bar1_free(fd, PAGE / 2) == -EINVAL, "bar1_free");
	EXPECT(emu_violations(fd, EMUGPU_RULES, module) == UINT64_MAX, "rule");
}

CASE(peek_to_bad_address_is_EFAULT)
{
	EXPECT(emu_peek(fd, 0, (void *)16, 0, 1) == -EFAULT, "peek");
}

CASE(desktop_gpu_has_no_host_memory)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, VA) == MAP_FAILED && errno == ENODEV, "%s",
	       strerror(errno));
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* ---- memories and contexts --------------------------------------------------- */

CASE(several_blocks_map_one_memory)
{
	uint64_t before = vram_free();
	uint32_t memory;

	EXPECT(emu_memory(fd, 2 * BLOCK, &memory) == 0, "memory");
	EXPECT(vram_free() == before - 2 * BLOCK, "%lu", before - vram_free());
	EXPECT(emu_alloc_memory(fd, memory, 0, VA, 2 * BLOCK) == 0, "mapping of the whole memory");
	EXPECT(emu_alloc_memory(fd, memory, BLOCK, VA + 8 * BLOCK, BLOCK) == 0, "second mapping of the last block");
	EXPECT(vram_free() == before - 2 * BLOCK, "%lu", before - vram_free());
	EXPECT(emu_fill(fd, VA + BLOCK + 5, 1, 0x42, 1) == 0, "fill");
	EXPECT(emu_read(fd, buf, VA + 8 * BLOCK + 5, 1) == 0 && buf[0] == 0x42, "%#x", buf[0]);
	EXPECT(page_of(VA + BLOCK) == page_of(VA + 8 * BLOCK), "the mappings have different pages");
	EXPECT(emu_drop(fd, memory) == 0 && vram_free() == before - 2 * BLOCK, "memory freed while blocks map it");
	EXPECT(emu_free(fd, VA) == 0 && vram_free() == before - 2 * BLOCK, "memory freed while a block maps it");
	EXPECT(emu_free(fd, VA + 8 * BLOCK) == 0 && vram_free() == before, "%lu are lost", before - vram_free());
}

CASE(memory_survives_its_blocks)
{
	uint64_t before = vram_free();
	uint32_t memory;

	EXPECT(emu_memory(fd, BLOCK, &memory) == 0 && emu_alloc_memory(fd, memory, 0, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 1, 0x43, BLOCK) == 0 && emu_free(fd, VA) == 0, "fill, free");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_fill(fd, VA, 1, 0x11, BLOCK) == 0, "another block");
	EXPECT(emu_alloc_memory(fd, memory, 0, VA + BLOCK, BLOCK) == 0, "alloc");
	EXPECT(emu_read(fd, buf, VA + BLOCK, 1) == 0 && buf[0] == 0x43, "%#x", buf[0]);
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0 && emu_drop(fd, memory) == 0, "free, drop");
	EXPECT(vram_free() == before, "%lu are lost", before - vram_free());
}

CASE(bad_memory_calls_are_refused)
{
	uint64_t before = vram_free();
	struct emugpu_drop drop = { .reserved = 1 };
	struct emugpu_context_new context;
	uint32_t memory;

	EXPECT(emu_memory(fd, BLOCK + PAGE, &memory) == -EINVAL, "size");
	EXPECT(emu_memory(fd, 0, &memory) == -EINVAL, "size 0");
	EXPECT(emu_memory(fd, before + BLOCK, &memory) == -ENOMEM, "more than there is");
	EXPECT(emu_memory(fd, 2 * BLOCK, &memory) == 0, "memory");
	EXPECT(emu_alloc_memory(fd, memory, BLOCK, VA, 2 * BLOCK) == -EINVAL, "mapping past the end of the memory");
	EXPECT(emu_alloc_memory(fd, memory, 2 * BLOCK, VA, BLOCK) == -EINVAL, "mapping behind the end of the memory");
	EXPECT(emu_alloc_memory(fd, memory, PAGE, VA, BLOCK) == -EINVAL, "offset");
	EXPECT(emu_alloc_in(fd, memory, VA, BLOCK) == -ENOENT, "as a context");
	EXPECT(emu_drop(fd, memory) == 0 && emu_drop(fd, memory) == -ENOENT, "drop twice");
	EXPECT(emu_context(fd, &context) == 0, "context");
	EXPECT(emu_alloc_memory(fd, context.out_context, 0, VA, BLOCK) == -ENOENT, "a context as a memory");
	EXPECT(emu_drop(fd, context.out_context) == 0, "drop");
	EXPECT(emu_call(fd, EMUGPU_IOC_DROP, &drop) == -EINVAL, "reserved");
	context = (struct emugpu_context_new){ .reserved = 1 };
	EXPECT(emu_call(fd, EMUGPU_IOC_CONTEXT, &context) == -EINVAL, "reserved");
	context = (struct emugpu_context_new){ .gpu = 99 };
	EXPECT(emu_call(fd, EMUGPU_IOC_CONTEXT, &context) == -ENODEV, "gpu 99");
	EXPECT(vram_free() == before, "leaked");
}

CASE(close_drops_memories_and_contexts)
{
	uint64_t before = vram_free();
	struct emugpu_context_new context;
	uint32_t memory;
	int own = emu_open();

	EXPECT(emu_memory(own, 4 * BLOCK, &memory) == 0 && emu_context(own, &context) == 0, "memory, context");
	EXPECT(emu_drop(fd, memory) == -ENOENT, "the memory's number is valid in another file");
	EXPECT(vram_free() == before - 4 * BLOCK, "%lu", before - vram_free());
	close(own);
	EXPECT(vram_free() == before, "%lu are lost", before - vram_free());
}

CASE(client_has_at_most_16384_blocks)
{
	struct emugpu_alloc alloc = { .size = BLOCK };
	int own = emu_open(), err = emu_memory(own, BLOCK, &alloc.memory);
	unsigned int n;

	for (n = 0; !err && n < 16400; n += !err) {
		alloc.va = VA + (uint64_t)n * BLOCK;
		err = emu_call(own, EMUGPU_IOC_ALLOC, &alloc);
	}
	EXPECT(err == -ENOMEM && n == 16384, "%d after %u", err, n);
	EXPECT(emu_free(own, VA) == 0 && emu_call(own, EMUGPU_IOC_ALLOC, &alloc) == 0, "a block for the freed block");
	close(own);
}

CASE(gpu_with_blocks_can_be_unbound)
{
	struct emugpu_info info;

	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "alloc");
	EXPECT(emu_sysfs(&info, "unbind") == 0, "unbind");
	EXPECT(emu_read(fd, buf, VA, 1) == -ENODEV, "read");
	EXPECT(emu_alloc(fd, VA + 2 * BLOCK, BLOCK) == -ENODEV, "alloc");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(emu_sysfs(&info, "bind") == 0, "bind");
	EXPECT(emu_read(fd, buf, VA + BLOCK, 1) == -ENODEV, "the old block works after bind");
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(emu_info(fd, 0, &info) == 0 && info.out_vram_free == info.out_vram_total, "new start");
}

CASE(nothing_is_left)
{
	struct emugpu_info info;
	struct emugpu_test test;

	EXPECT(emu_info(fd, 0, &info) == 0, "info");
	EXPECT(info.out_vram_free == info.out_vram_total, "%llu bytes", info.out_vram_total - info.out_vram_free);
	EXPECT(emu_counts(fd, &test) == 0, "counts");
	EXPECT(!test.counts.out_blocks, "%u blocks", test.counts.out_blocks);
	EXPECT(!test.counts.out_pins && !test.counts.out_dma_maps, "%u pins %u maps", test.counts.out_pins,
	       test.counts.out_dma_maps);
	EXPECT(test.counts.out_clients == 1, "%u", test.counts.out_clients);
}

VMTEST_MAIN
