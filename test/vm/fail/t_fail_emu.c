// SPDX-License-Identifier: MIT
/* /dev/emugpu of both kinds of GPU, while each allocation fails in turn: open, each command, mmap, close. */
#include "fail.h"

#define VA (1ull << 33)

enum {
	BLOCK = 2 << 20,
	SIZE = 8 << 20,
};

static int gpu;
static struct emugpu_info info;
static unsigned char bytes[BLOCK];

SETUP(everything_is_there)
{
	gpu = emu_open();
	EXPECT(!emu_info(gpu, 0, &info), "type: emu/vm/run --kernel debug [--tegra] -- build/bin/vm/t_fail_emu");
	EXPECT(!emu_scatter(gpu, 1), "scatter");
}

CASE(open_of_emugpu)
{
	int fd, ret;

	FAIL_EACH(f) {
		FAIL(f, ret = (fd = emu_open()) < 0 ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		close(fd);
	}
}

CASE(information)
{
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = emu_info(gpu, 0, &info));
		EXPECT_PLAUSIBLE(f, ret);
	}
}

/* ---- memory ---------------------------------------------------------------------- */

static int alloc(unsigned int flags)
{
	struct emugpu_alloc a = { .va = VA, .size = SIZE, .flags = flags };

	return emu_call(gpu, EMUGPU_IOC_ALLOC, &a);
}

static void each_alloc(unsigned int flags)
{
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = alloc(flags));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(emu_free(gpu, VA) == (ret ? -ENOENT : 0), "allocation %u: a block after %d", f.nth, ret);
	}
}

CASE(alloc_of_a_block)
{
	each_alloc(0);
}

CASE(alloc_of_host_memory)
{
	if (!info.out_integrated)
		SKIP("only an integrated GPU has host memory; type: emu/vm/run --tegra ...");
	each_alloc(EMUGPU_ALLOC_HOST);
}

CASE(alloc_of_write_combined_memory)
{
	if (!info.out_integrated)
		SKIP("only an integrated GPU has host memory; type: emu/vm/run --tegra ...");
	each_alloc(EMUGPU_ALLOC_HOST | EMUGPU_ALLOC_WRITE_COMBINED);
}

CASE(free_of_a_block)
{
	int ret;

	FAIL_EACH(f) {
		EXPECT(!alloc(0), "alloc");
		FAIL(f, ret = emu_free(gpu, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(emu_free(gpu, VA) == (ret ? 0 : -ENOENT), "allocation %u: a block after %d", f.nth, ret);
	}
}

CASE(memory_without_an_address)
{
	uint32_t memory;
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = emu_memory(gpu, SIZE, &memory));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !emu_drop(gpu, memory), "drop");
	}
}

CASE(alloc_of_a_block_of_memory)
{
	uint32_t memory;
	int ret;

	FAIL_EACH(f) {
		EXPECT(!emu_memory(gpu, SIZE, &memory), "memory");
		FAIL(f, ret = emu_alloc_memory(gpu, memory, BLOCK, VA, BLOCK));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !emu_free(gpu, VA), "free");
		EXPECT(!emu_drop(gpu, memory), "drop");
	}
}

/* Context numbers are sequential, so a leaked context would show as a missing number. */
CASE(contexts)
{
	struct emugpu_context_new c, next;
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = emu_context(gpu, &c));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!emu_context(gpu, &next) && next.out_context == (ret ? 1 : c.out_context + 1),
		       "allocation %u: the next is %u after %d", f.nth, next.out_context, ret);
		EXPECT(!emu_drop(gpu, next.out_context) && (ret || !emu_drop(gpu, c.out_context)), "drop");
		close(gpu);
		gpu = emu_open();
	}
}

CASE(drop_of_memory)
{
	uint32_t memory;
	int ret;

	FAIL_EACH(f) {
		EXPECT(!emu_memory(gpu, SIZE, &memory), "memory");
		FAIL(f, ret = emu_drop(gpu, memory));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_drop(gpu, memory), "drop");
	}
}

CASE(close_of_emugpu)
{
	uint32_t memory;
	int fd, ret;

	FAIL_EACH(f) {
		fd = emu_open();
		EXPECT(!emu_memory(fd, SIZE, &memory) && !emu_alloc_memory(fd, memory, 0, VA, BLOCK), "alloc");
		FAIL(f, ret = close(fd));
		EXPECT_DONE(f, ret);
	}
}

/* ---- copies ------------------------------------------------------------------------ */

static void each_copy(enum emugpu_copy_kind kind, uint64_t dst, uint64_t src, unsigned int elem)
{
	struct emugpu_copy copy = { .kind = kind, .elem = elem, .dst = dst, .src = src, .length = BLOCK };
	int ret;

	EXPECT(!alloc(0), "alloc");
	FAIL_EACH(f) {
		FAIL(f, ret = emu_call(gpu, EMUGPU_IOC_COPY, &copy));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!emu_call(gpu, EMUGPU_IOC_COPY, &copy), "afterwards");
	}
	EXPECT(!emu_free(gpu, VA), "free");
}

CASE(copies)
{
	each_copy(EMUGPU_COPY_HTOD, VA, (uintptr_t)bytes, 0);
	CHECK_CASE();
	each_copy(EMUGPU_COPY_DTOH, (uintptr_t)bytes, VA, 0);
	CHECK_CASE();
	each_copy(EMUGPU_COPY_DTOD, VA, VA + BLOCK, 0);
	CHECK_CASE();
	each_copy(EMUGPU_FILL, VA, 7, 4);
}

/* The copy faults in the pages of the process. Allocations of the fault may fail, too. */
CASE(copies_to_unpopulated_pages)
{
	struct emugpu_copy copy = { .kind = EMUGPU_COPY_DTOH, .src = VA, .length = 65536 };
	void *m;
	int ret;

	EXPECT(!alloc(0), "alloc");
	FAIL_EACH(f) {
		m = mmap(NULL, copy.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		copy.dst = (uintptr_t)m;
		FAIL(f, ret = emu_call(gpu, EMUGPU_IOC_COPY, &copy));
		EXPECT_PLAUSIBLE(f, ret);
		munmap(m, copy.length);
	}
	EXPECT(!emu_free(gpu, VA), "free");
}

/* ---- commands for tests ---------------------------------------------------------------- */

static void each_test(struct emugpu_test test)
{
	struct emugpu_test t;
	int ret;

	FAIL_EACH(f) {
		t = test;
		FAIL(f, ret = emu_test(gpu, &t));
		EXPECT_PLAUSIBLE(f, ret);
	}
}

static void each_test_of(const struct emugpu_test *tests, unsigned int n)
{
	unsigned int i;

	EXPECT(!alloc(0), "alloc");
	for (i = 0; i < n; i++) {
		each_test(tests[i]);
		EXPECT(vmtest_result == VMTEST_OK, "operation %u", tests[i].op);
	}
	EXPECT(!emu_free(gpu, VA), "free");
}

CASE(tests)
{
	static struct emugpu_event events[256];
	static const struct emugpu_test all[] = {
		{ .op = EMUGPU_TEST_COUNTS },
		{ .op = EMUGPU_TEST_TRANSLATE, .translate.va = VA },
		{ .op = EMUGPU_TEST_DELAY_CALLBACK, .delay.ms = 0 },
		{ .op = EMUGPU_TEST_REVOKE, .revoke.va = VA },
		{ .op = EMUGPU_TEST_PEEK, .peek = { .buf = (uintptr_t)bytes, .length = 65536 } },
		{ .op = EMUGPU_TEST_FAIL, .fail.call = EMUGPU_CALL_GET_PAGES },
		{ .op = EMUGPU_TEST_SCATTER, .scatter.on = 1 },
		{ .op = EMUGPU_TEST_VIOLATIONS, .violations.rule = EMUGPU_RULE_SLOW_CALLBACK },
		{ .op = EMUGPU_TEST_PLAN },
		{ .op = EMUGPU_TEST_EVENTS, .events = { .buf = (uintptr_t)events, .max = 256 } },
		{ .op = EMUGPU_TEST_REVOKE_ALL },
	};

	each_test_of(all, sizeof(all) / sizeof(*all));
}

CASE(tests_of_a_pci_device)
{
	static const struct emugpu_test all[] = {
		{ .op = EMUGPU_TEST_CPU_WINDOW, .cpu_window.mapped = 1 },
		{ .op = EMUGPU_TEST_BAR1_FREE, .bar1_free.bytes = ~0ull },
		{ .op = EMUGPU_TEST_GUARD },
	};

	if (info.out_integrated)
		SKIP("an integrated GPU is no PCI device");
	each_test_of(all, sizeof(all) / sizeof(*all));
}

CASE(remap_of_the_cpu_window)
{
	int ret;

	if (info.out_integrated)
		SKIP("an integrated GPU has no CPU window");
	FAIL_EACH(f) {
		EXPECT(!emu_cpu_window(gpu, 0), "unmap");
		FAIL(f, ret = emu_cpu_window(gpu, 1));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!emu_cpu_window(gpu, 1), "afterwards");
	}
}

/* ---- dma-bufs and mappings ---------------------------------------------------------------- */

static int export(struct emugpu_export *e)
{
	*e = (struct emugpu_export){ .va = VA, .size = SIZE };
	return emu_call(gpu, EMUGPU_IOC_EXPORT, e);
}

static void each_export(const char *dynamic)
{
	struct emugpu_export e;
	int ret;

	if (info.out_integrated)
		SKIP("an integrated GPU exports no dma-bufs");
	EXPECT(!module_set("emugpu/parameters/dmabuf_dynamic", dynamic) && !alloc(0), "alloc");
	FAIL_EACH(f) {
		FAIL(f, ret = export(&e));
		EXPECT_PLAUSIBLE(f, ret);
		if (!ret)
			close(e.out_fd);
	}
	EXPECT(!module_set("emugpu/parameters/dmabuf_dynamic", "0") && !emu_free(gpu, VA), "free");
}

CASE(exports)
{
	each_export("0");
	CHECK_CASE();
	each_export("1");
}

CASE(close_of_a_dmabuf)
{
	struct emugpu_export e;
	int ret;

	if (info.out_integrated)
		SKIP("an integrated GPU exports no dma-bufs");
	FAIL_EACH(f) {
		EXPECT(!alloc(0) && !export(&e) && !emu_free(gpu, VA), "export");
		FAIL(f, ret = close(e.out_fd));
		EXPECT_DONE(f, ret);
	}
}

/* The file to map: a dma-buf (with p2pdma=1), or host memory of an integrated GPU. */
static int map_what(struct emugpu_export *e, uint64_t *offset)
{
	e->out_fd = gpu;
	*offset = VA;
	if (info.out_integrated)
		return alloc(EMUGPU_ALLOC_HOST);
	*offset = 0;
	return alloc(0) ?: export(e);
}

static void unmap_what(struct emugpu_export *e)
{
	if (!info.out_integrated)
		close(e->out_fd);
	emu_free(gpu, VA);
}

static bool maps(void)
{
	char yes = 'N';
	int node = open("/sys/module/emugpu/parameters/p2pdma", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(node, &yes, 1);

	close(node);
	return info.out_integrated || (n == 1 && yes == 'Y');
}

static int try_map(const struct emugpu_export *e, uint64_t offset, void **p)
{
	*p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, e->out_fd, offset);
	return *p == MAP_FAILED ? -errno : 0;
}

CASE(mmap_of_memory)
{
	struct emugpu_export e;
	uint64_t offset;
	void *p;
	int ret;

	if (!maps())
		SKIP("dma-bufs cannot be mapped; type: emu/vm/run --module-param emugpu.p2pdma=1 ...");
	EXPECT(!map_what(&e, &offset), "alloc");
	FAIL_EACH(f) {
		FAIL(f, ret = try_map(&e, offset, &p));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !munmap(p, SIZE), "munmap");
	}
	unmap_what(&e);
}

CASE(faults_in_memory)
{
	struct emugpu_export e;
	volatile char *p;
	uint64_t offset;

	if (!maps())
		SKIP("dma-bufs cannot be mapped; type: emu/vm/run --module-param emugpu.p2pdma=1 ...");
	FAIL_EACH(f) {
		EXPECT(!map_what(&e, &offset), "alloc");
		p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, e.out_fd, offset);
		EXPECT(p != MAP_FAILED, "mmap");
		FAIL_ACCESS(f, p[0] = p[SIZE - 1] = f.nth);
		EXPECT(p[0] == (char)f.nth && p[SIZE - 1] == (char)f.nth,
		       "allocation %u: the memory lacks the written value", f.nth);
		munmap((void *)p, SIZE);
		unmap_what(&e);
	}
}

VMTEST_MAIN
