// SPDX-License-Identifier: MIT
/* libgdrapi on peerpin.ko: pins, mappings, copies, and refused calls. */
#include "gdr.h"
#include "test/vm/security/user.h"

enum {
	SIZE = 16 * GPU_PAGE,
	PAGES = SIZE / PAGE,
};

static gdr_t g;
static int gpu = -1;
static CUdeviceptr mem;
static unsigned char bytes[SIZE], seen[SIZE];

SETUP(everything_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	gpu = emu_open();
	g = gdr_open();
	EXPECT(gpu >= 0 && g, "gpu %d, gdr_open: %s", gpu, strerror(errno));
	EXPECT(!view_catch(), "sigaction %d", errno);
	OK(cuMemAlloc(&mem, SIZE));
	EXPECT(mem % GPU_PAGE == 0, "0x%llx", mem);
}

/* ---- mapping of any page --------------------------------------------------------- */

static void check_page(unsigned int page, const gdr_info_t *info, const struct mapped *m)
{
	unsigned int last = m->size - 1;

	EXPECT(info->va == m->gpu, "page %u: va 0x%lx", page, info->va);
	EXPECT(info->va + info->mapped_size >= m->gpu + m->size, "page %u: %lu bytes", page, info->mapped_size);
	EXPECT(info->mapped && info->wc_mapping && info->mapping_type == GDR_MAPPING_TYPE_WC, "page %u", page);
	EXPECT(m->view[0] == bytes[page * PAGE] && m->view[last] == bytes[page * PAGE + last],
	       "page %u: %#x, not %#x", page, m->view[0], bytes[page * PAGE]);
	m->view[1] = page;
	bytes[page * PAGE + 1] = page;
}

CASE(any_page_is_mapped_as_reported)
{
	struct mapped m;
	gdr_info_t info;
	unsigned int page;
	int ret;

	pattern_fill(bytes, 1, SIZE);
	OK(cuMemcpyHtoD(mem, bytes, SIZE));
	for (page = 0; page < PAGES; page++) {
		ret = gdr_get(g, mem + page * PAGE, (PAGES - page) * PAGE, &m);
		EXPECT(!ret, "page %u: %d", page, ret);
		EXPECT(!gdr_get_info(g, m.mh, &info), "page %u: info", page);
		check_page(page, &info, &m);
		CHECK_CASE();
		EXPECT(!gdr_put(&m), "page %u: put", page);
	}
	OK(cuMemcpyDtoH(seen, mem, SIZE));
	EXPECT(!memcmp(seen, bytes, SIZE), "the GPU does not see the CPU's writes");
}

CASE(mapping_ends_with_the_gpu_page)
{
	void *view;
	gdr_info_t info;
	gdr_mh_t mh;

	EXPECT(!gdr_pin_buffer(g, mem + 3 * PAGE, 1, 0, 0, &mh), "pin");
	EXPECT(!gdr_get_info(g, mh, &info), "info");
	EXPECT(info.mapped_size == GPU_PAGE - 3 * PAGE && info.page_size == GPU_PAGE && !info.mapped, "%lu of %u",
	       info.mapped_size, info.page_size);
	EXPECT(gdr_map(g, mh, &view, info.mapped_size + 1) == EINVAL, "more than mapped_size is mapped");
	EXPECT(!gdr_map(g, mh, &view, info.mapped_size), "map");
	EXPECT(!view_touch((unsigned char *)view + info.mapped_size - 1), "access to the last byte of the view");
	EXPECT(!gdr_unpin_buffer(g, mh), "unpin");
}

/* Programs of gdrcopy find their memory at "map + (address - va)". */
CASE(two_allocations_in_one_page)
{
	CUdeviceptr small[2];
	struct mapped m[2];
	gdr_info_t info;
	int i;

	for (i = 0; i < 2; i++) {
		OK(cuMemAlloc(&small[i], 512));
		EXPECT(!gdr_get(g, small[i], 512, &m[i]), "allocation %d at 0x%llx", i, small[i]);
		EXPECT(!gdr_get_info(g, m[i].mh, &info), "info");
		m[i].view += small[i] - info.va;
	}
	EXPECT(small[0] / PAGE == small[1] / PAGE, "0x%llx and 0x%llx are not in one page", small[0], small[1]);
	CHECK_CASE();
	for (i = 0; i < 2; i++)
		EXPECT(!gdr_copy_to_mapping(m[i].mh, m[i].view, bytes + i, 512), "copy");
	for (i = 0; i < 2; i++) {
		OK(cuMemcpyDtoH(seen, small[i], 512));
		EXPECT(!memcmp(seen, bytes + i, 512), "allocation %d has other bytes", i);
		EXPECT(!gdr_unpin_buffer(g, m[i].mh), "unpin");
		OK(cuMemFree(small[i]));
	}
}

static void make_refused_calls(void)
{
	void *view;
	gdr_mh_t mh;
	int n;

	gdr_unpin_buffer(g, (gdr_mh_t){ 0 });
	gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, NULL);
	gdr_get_attribute(g, (gdr_attr_t)99, &n);
	gdr_pin_buffer_v2(g, mem, PAGE, 0x80, &mh);
	gdr_pin_buffer(g, 0x1000, PAGE, 0, 0, &mh);
	EXPECT(!gdr_pin_buffer(g, mem, PAGE, 0, 0, &mh), "pin");
	gdr_map(g, mh, &view, 2 * GPU_PAGE);
	EXPECT(!gdr_map(g, mh, &view, PAGE), "map");
	gdr_map(g, mh, &view, PAGE);
	gdr_unmap(g, mh, NULL, PAGE);
	EXPECT(!gdr_unpin_buffer(g, mh), "unpin");
}

CASE(each_refusal_is_logged)
{
	static const char *const lines[] = {
		"gdr_mh_t is not pinned", "v is NULL", "no attribute has the number 99", "gdr_pin_buffer_v2() has no flags 0x80",
		"cannot be pinned", "bytes cannot be mapped", "is mapped already", "is not mapped at",
	};
	int err = dup(STDERR_FILENO);
	FILE *log = tmpfile();
	char line[512];
	size_t i;

	EXPECT(log && err >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0, "%d", errno);
	CHECK_CASE();
	setenv("GDRCOPY_ENABLE_LOGGING", "1", 1);
	make_refused_calls();
	unsetenv("GDRCOPY_ENABLE_LOGGING");
	dup2(err, STDERR_FILENO);
	close(err);
	rewind(log);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		EXPECT(fgets(line, sizeof(line), log) && strstr(line, lines[i]), "%s: %s", lines[i], line);
	EXPECT(!fgets(line, sizeof(line), log), "one more line: %s", line);
	fclose(log);
}

/* ---- copies ------------------------------------------------------------------------ */

static void check_copies(const struct mapped *m, size_t at, size_t from, size_t n)
{
	memset(seen, 0, SIZE);
	OK(gdr_fill(mem, 0, SIZE));
	EXPECT(!gdr_copy_to_mapping(m->mh, m->view + at, bytes + from, n), "to");
	OK(cuMemcpyDtoH(seen, mem, SIZE));
	EXPECT(!memcmp(seen + at, bytes + from, n), "to %zu from %zu, %zu bytes: the GPU has other bytes", at, from, n);
	EXPECT((!at || !seen[at - 1]) && !seen[at + n], "to %zu, %zu bytes: more was written", at, n);
	memset(seen, 0, SIZE);
	EXPECT(!gdr_copy_from_mapping(m->mh, seen + from, m->view + at, n), "from");
	EXPECT(!memcmp(seen + from, bytes + from, n), "from %zu to %zu, %zu bytes: other bytes", at, from, n);
	EXPECT((!from || !seen[from - 1]) && !seen[from + n], "from %zu, %zu bytes: more was read", at, n);
}

CASE(copies_arrive_at_any_alignment)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 63, 64, 65, 100, 127, 128, 200, 4097,
					65536, 100001 };
	struct mapped m;
	size_t i;

	memset(bytes, 0xA7, SIZE);
	pattern_fill(bytes, 2, SIZE);
	EXPECT(!gdr_get(g, mem, SIZE, &m), "get");
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check_copies(&m, i * 5, i * 3 % 16, sizes[i]);
		CHECK_CASE();
		check_copies(&m, 2 * PAGE - i * 7, i, sizes[i]);
		CHECK_CASE();
	}
	EXPECT(!gdr_copy_to_mapping(m.mh, m.view, bytes, 0), "copy of 0 bytes");
	EXPECT(!gdr_put(&m), "put");
	EXPECT(gdr_copy_to_mapping(m.mh, m.view, bytes, 1) == EINVAL, "copy to an ended mapping");
	EXPECT(gdr_copy_from_mapping(m.mh, seen, m.view, 1) == EINVAL, "copy from an ended mapping");
}

/* ---- refused calls ---------------------------------------------------------------- */

CASE(other_memory_is_refused)
{
	unsigned char *host = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr gone, managed;
	gdr_mh_t mh;

	EXPECT(host != MAP_FAILED, "mmap");
	EXPECT(gdr_pin_buffer(g, (uintptr_t)host, GPU_PAGE, 0, 0, &mh) == EINVAL, "host memory");
	EXPECT(gdr_pin_buffer(g, 1ul << 46, GPU_PAGE, 0, 0, &mh) == EINVAL, "unmapped address");
	EXPECT(gdr_pin_buffer(g, mem, 1ul << 40, 0, 0, &mh) == EINVAL, "more than the allocation");
	EXPECT(gdr_pin_buffer(g, mem, 0, 0, 0, &mh) == EINVAL, "0 bytes");
	EXPECT(gdr_pin_buffer(g, mem, SIZE_MAX, 0, 0, &mh) == EINVAL, "range past the end of the address space");
	EXPECT(gdr_pin_buffer_v2(g, mem, SIZE, GDR_PIN_FLAG_FORCE_PCIE, &mh) == EOPNOTSUPP, "forced to PCIe");
	OK(cuMemAllocManaged(&managed, GPU_PAGE, CU_MEM_ATTACH_GLOBAL));
	EXPECT(gdr_pin_buffer(g, managed, GPU_PAGE, 0, 0, &mh) == EINVAL, "managed memory");
	OK(cuMemFree(managed));
	OK(cuMemAlloc(&gone, 4 << 20));
	OK(cuMemFree(gone));
	EXPECT(gdr_pin_buffer(g, gone, GPU_PAGE, 0, 0, &mh) == EINVAL, "freed memory");
	munmap(host, GPU_PAGE);
}

CASE(no_room_in_bar1_is_enomem)
{
	gdr_mh_t mh;

	EXPECT(!emu_bar1_free(gpu, GPU_PAGE), "bar1_free");
	EXPECT(gdr_pin_buffer(g, mem, SIZE, 0, 0, &mh) == ENOMEM, "pinned");
	EXPECT(!emu_bar1_free(gpu, ~0ull), "bar1_free");
	EXPECT(!gdr_pin_buffer(g, mem, SIZE, 0, 0, &mh) && !gdr_unpin_buffer(g, mh), "not pinned afterwards");
}

CASE(only_write_combined_mapping_is_allowed)
{
	gdr_mh_t mh;
	void *view;

	EXPECT(!gdr_pin_buffer(g, mem, GPU_PAGE, 0, 0, &mh), "pin");
	EXPECT(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_CACHE_MAPPING) == EOPNOTSUPP, "cached");
	EXPECT(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_DEVICE_MAPPING) == EOPNOTSUPP, "device");
	EXPECT(!gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_WC_MAPPING), "write-combined");
	EXPECT(gdr_map(g, mh, &view, PAGE) == EAGAIN, "twice");
	EXPECT(!gdr_unpin_buffer(g, mh), "unpin");
}

/* ---- tokens -------------------------------------------------------------------------- */

static int pin_with(unsigned long long p2p, unsigned int va_space)
{
	gdr_mh_t mh;
	int ret = gdr_pin_buffer(g, mem, GPU_PAGE, p2p, va_space, &mh);

	return ret ? ret : gdr_unpin_buffer(g, mh);
}

CASE(wrong_tokens_are_EINVAL)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;

	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, mem));
	EXPECT(tokens.p2pToken, "no tokens");
	EXPECT(!pin_with(tokens.p2pToken, tokens.vaSpaceToken), "the right tokens are refused");
	EXPECT(pin_with(tokens.p2pToken + 1, tokens.vaSpaceToken) == EINVAL, "wrong tokens are accepted");
}

/* The child has memory at the parent's address. The tokens are for the parent's memory. */
static int pins_its_own(void *arg)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *tokens = arg;
	gdr_t own = gdr_open();
	struct mapped m;
	gdr_mh_t mh;

	if (!own || gdr_pin_buffer(own, mem, GPU_PAGE, tokens->p2pToken, tokens->vaSpaceToken, &mh) != EINVAL)
		return 1;
	gpu = emu_open();
	if (emu_alloc(gpu, mem, BLOCK) || emu_write(gpu, mem, "child", 6))
		return 2;
	if (gdr_pin_buffer(own, mem, GPU_PAGE, tokens->p2pToken, tokens->vaSpaceToken, &m.mh))
		return 3;
	if (gdr_map(own, m.mh, (void **)&m.view, GPU_PAGE))
		return 4;
	return strcmp((char *)m.view, "child") ? 5 : 0;
}

CASE(tokens_of_another_process_are_useless)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	int status;

	OK(cuMemcpyHtoD(mem, "parent", 7));
	OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, mem));
	status = cu_in_child(pins_its_own, &tokens);
	EXPECT(!status, "status %#x", status);
}

/* The kernel refuses tokens of an unprivileged user with EPERM. libgdrapi must then pin without tokens. */
static void pins_with_tokens(void)
{
	gdr_t own = gdr_open();
	gdr_mh_t mh;

	gpu = emu_open();
	EXPECT(own && !emu_alloc(gpu, mem, BLOCK), "%s", strerror(errno));
	EXPECT(!gdr_pin_buffer(own, mem, GPU_PAGE, 1, 0xfe00, &mh), "the tokens are not ignored");
	EXPECT(!gdr_unpin_buffer(own, mh), "unpin");
}

CASE(tokens_of_ordinary_user_are_ignored)
{
	AS_USER(ALICE, pins_with_tokens);
}

CASE(nothing_is_left)
{
	EXPECT(!gdr_close(g), "close");
	OK(cuMemFree(mem));
	EXPECT(pins_left(gpu) == 0, "%u pins", pins_left(gpu));
}

VMTEST_MAIN
