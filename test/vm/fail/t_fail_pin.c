// SPDX-License-Identifier: MIT
/* /dev/peerpin, while each allocation fails in turn: open, every kind of pin, query, unpin, close */
#include "fail.h"
#include "test/vm/core/pin.h"

enum {
	BLOCK = 2 << 20,
	LONG = 16 << 20,	/* pins of this length need page lists of more than a page */
};

static int gpu;
static char *host;

static int export_block(uint64_t va)
{
	struct emugpu_export e = { .va = va, .size = BLOCK };

	return emu_call(gpu, EMUGPU_IOC_EXPORT, &e) ?: e.out_fd;
}

/* Number of regions in the file's fdinfo; -1: fdinfo has no number. */
static int regions_of(int fd)
{
	char path[48], text[4096], *p;
	int info, n = -1;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	text[info < 0 ? 0 : read(info, text, sizeof(text) - 1)] = '\0';
	close(info);
	p = strstr(text, "peerpin-regions:");
	if (p)
		sscanf(p, "peerpin-regions:\t%d", &n);
	return n;
}

SETUP(everything_is_there)
{
	gpu = emu_open();
	EXPECT(gpu >= 0 && !access("/dev/peerpin", F_OK), "type: emu/vm/run --kernel debug -- build/bin/vm/t_fail_pin");
	EXPECT(!emu_scatter(gpu, 1) && !emu_alloc(gpu, GPU_A, LONG), "alloc");
	host = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(host != MAP_FAILED, "host memory");
}

CASE(open_of_peerpin)
{
	int fd, ret;

	FAIL_EACH(f) {
		FAIL(f, ret = (fd = pin_open()) < 0 ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		close(fd);
	}
}

/* ---- pin ---------------------------------------------------------------------------- */

static int pin(int fd, const struct peerpin_pin *want, struct peerpin_pin *p)
{
	*p = *want;
	return ioctl(fd, PEERPIN_IOC_PIN, p) ? -errno : 0;
}

/* A failed pin has a reason and leaves no region. The next pin must get the region id. */
static void after_pin(struct fail *f, int fd, int ret, const struct peerpin_pin *want, struct peerpin_pin *p)
{
	EXPECT(regions_of(fd) == !ret, "allocation %u: %d regions after %d", f->nth, regions_of(fd), ret);
	EXPECT(ret != -ENOMEM || p->out_reason == PEERPIN_REASON_NO_MEMORY || p->out_reason == PEERPIN_REASON_NO_BAR1,
	       "allocation %u: reason %u", f->nth, p->out_reason);
	if (!ret)
		return;
	ret = pin(fd, want, p);
	EXPECT(!ret && !p->out_region, "allocation %u: the next pin: %d, region %u", f->nth, ret, p->out_region);
}

static void each_pin(struct peerpin_pin want)
{
	struct peerpin_pin p;
	int fd, ret;

	want.size = sizeof(want);
	FAIL_EACH(f) {
		fd = pin_open();
		FAIL(f, ret = pin(fd, &want, &p));
		EXPECT_PLAUSIBLE(f, ret);
		after_pin(&f, fd, ret, &want, &p);
		close(fd);
	}
}

CASE(pin_of_gpu_memory)
{
	each_pin((struct peerpin_pin){ .addr = GPU_A, .length = LONG });
}

CASE(pin_of_gpu_memory_by_provider)
{
	each_pin((struct peerpin_pin){ .addr = GPU_A, .length = BLOCK, .provider = PEERPIN_PROVIDER_NV });
}

CASE(persistent_pin)
{
	each_pin((struct peerpin_pin){ .addr = GPU_A, .length = BLOCK, .flags = PEERPIN_PIN_PERSISTENT });
}

CASE(pin_by_tokens)
{
	struct emugpu_context_new context;

	EXPECT(!emu_context(gpu, &context) && !emu_alloc_in(gpu, context.out_context, GPU_B, BLOCK), "alloc");
	each_pin((struct peerpin_pin){ .addr = GPU_B, .length = BLOCK, .p2p_token = context.out_p2p_token,
				       .va_space_token = context.out_va_space });
	emu_free(gpu, GPU_B);
	emu_drop(gpu, context.out_context);
}

/* The kernel allocates the MMU notifier structure once for a process, in this pin. */
CASE(the_first_pin_of_host_memory)
{
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		FAIL(f, ret = pin_at(fd, (uintptr_t)host, BLOCK, &p));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(regions_of(fd) == !ret, "allocation %u: %d regions after %d", f.nth, regions_of(fd), ret);
		close(fd);
	}
}

CASE(pin_of_host_memory)
{
	each_pin((struct peerpin_pin){ .addr = (uintptr_t)host, .length = LONG });
}

CASE(pin_of_host_memory_by_provider)
{
	each_pin((struct peerpin_pin){ .addr = (uintptr_t)host, .length = BLOCK, .provider = PEERPIN_PROVIDER_HOST });
}

/* The pin faults the pages in. */
CASE(pin_of_unpopulated_host_memory)
{
	struct peerpin_pin want = { .size = sizeof(want), .length = 64 << 10, .provider = PEERPIN_PROVIDER_HOST }, p;
	int fd, ret;
	void *m;

	FAIL_EACH(f) {
		m = mmap(NULL, want.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		want.addr = (uintptr_t)m;
		fd = pin_open();
		FAIL(f, ret = pin(fd, &want, &p));
		EXPECT_PLAUSIBLE(f, ret);
		after_pin(&f, fd, ret, &want, &p);
		CHECK_CASE();
		close(fd);
		munmap(m, want.length);
	}
}

CASE(pin_of_a_dmabuf)
{
	int dmabuf = export_block(GPU_A);

	EXPECT(dmabuf >= 0, "export: %d", dmabuf);
	each_pin((struct peerpin_pin){ .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF, .fd = dmabuf });
	close(dmabuf);
}

/* A range without memory must give -EINVAL, even if allocations fail. */
CASE(pin_of_unmapped_range)
{
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		FAIL(f, ret = pin_at(fd, GPU_B, BLOCK, &p));
		EXPECT(ret == -EINVAL || (ret < 0 && fail_plausible(&f, ret)), "allocation %u: %d", f.nth, ret);
		EXPECT(regions_of(fd) == 0, "allocation %u: %d regions", f.nth, regions_of(fd));
		close(fd);
	}
}

/* The tables of regions have grown with the pins before. */
CASE(the_hundredth_pin)
{
	struct peerpin_pin p;
	int fd, ret, i;

	FAIL_EACH(f) {
		fd = pin_open();
		for (i = 0; i < 64; i++)
			EXPECT(!pin_at(fd, GPU_A, 65536, &p), "pin");
		FAIL(f, ret = pin_at(fd, GPU_A, 65536, &p));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(regions_of(fd) == 64 + !ret, "allocation %u: %d regions", f.nth, regions_of(fd));
		close(fd);
	}
}

/* ---- query, unpin, close -------------------------------------------------------------- */

CASE(query_of_a_region)
{
	struct peerpin_query q;
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!pin_at(fd, GPU_A, LONG, &p), "pin");
		FAIL(f, ret = query(fd, p.out_region, &q));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!query(fd, p.out_region, &q) && q.out_extents, "allocation %u: afterwards", f.nth);
		close(fd);
	}
}

static int copy_within(int fd, uint32_t region)
{
	int lsi = lsi_open(), ret;

	ret = lsi_copy(lsi, (struct end){ fd, region, 0 }, (struct end){ fd, region, 65536 }, 4096);
	close(lsi);
	return ret;
}

/* Pin the memory and use the region in every way: DMA mapping, export, CPU mapping. */
static int pin_and_use(int fd, uint64_t addr, struct peerpin_pin *p)
{
	struct peerpin_export e = { .size = sizeof(e), .length = BLOCK };
	volatile char *view;

	if (pin_at(fd, addr, BLOCK, p) || copy_within(fd, p->out_region))
		return -1;
	e.region = p->out_region;
	if (ioctl(fd, PEERPIN_IOC_EXPORT, &e))
		return -1;
	close(e.out_fd);
	view = mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, fd, PEERPIN_MMAP_OFFSET(p->out_region));
	if (view == MAP_FAILED)
		return -1;
	(void)*view;
	return munmap((void *)view, BLOCK);
}

static void each_unpin(uint64_t addr)
{
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!pin_and_use(fd, addr, &p), "pin");
		FAIL(f, ret = unpin(fd, p.out_region));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(regions_of(fd) == !!ret, "allocation %u: %d regions", f.nth, regions_of(fd));
		close(fd);
	}
}

CASE(unpin_of_gpu_memory)
{
	each_unpin(GPU_A);
}

CASE(unpin_of_host_memory)
{
	each_unpin((uintptr_t)host);
}

static void each_close(uint64_t addr)
{
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!pin_and_use(fd, addr, &p), "pin");
		FAIL(f, ret = close(fd));
		EXPECT_DONE(f, ret);
	}
}

CASE(close_with_gpu_memory)
{
	each_close(GPU_A);
}

CASE(close_with_host_memory)
{
	each_close((uintptr_t)host);
}

/* ---- free and munmap ------------------------------------------------------------------- */

CASE(free_of_pinned_memory)
{
	struct peerpin_pin p;
	int fd, ret;

	EXPECT(!emu_free(gpu, GPU_A), "free");
	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_and_use(fd, GPU_A, &p), "pin");
		FAIL(f, ret = emu_free(gpu, GPU_A));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(gpu, GPU_A), "allocation %u: free again", f.nth);
		close(fd);
	}
}

CASE(munmap_of_pinned_memory)
{
	struct peerpin_pin p;
	int fd, ret;
	void *m;

	FAIL_EACH(f) {
		fd = pin_open();
		m = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		EXPECT(!pin_and_use(fd, (uintptr_t)m, &p), "pin");
		FAIL(f, ret = munmap(m, BLOCK) ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		munmap(m, BLOCK);
		close(fd);
	}
}

VMTEST_MAIN
