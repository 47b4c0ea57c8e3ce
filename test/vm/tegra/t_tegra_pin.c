// SPDX-License-Identifier: MIT
/* Memory of an integrated GPU through /dev/peerpin: pins, refused pins, copies, CPU mappings, and the library. */
#include <libpeerpin.h>

#include "test/vm/cuda/cu.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "tegra.h"

static int file, lsi;
static uint64_t broken;

SETUP(nodes_are_there)
{
	file = pin_open();
	lsi = lsi_open();
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --tegra ...");
	EXPECT(check >= 0, "no /dev/tegra_check; type: emu/vm/run --tegra --insmod build/KERNEL/test/tegra_check.ko ...");
	EXPECT(file >= 0 && lsi >= 0, "peerpin %d lsi %d", file, lsi);
	broken = violations();
}

static uint64_t put_calls(void)
{
	return counts().counts.out_put_calls;
}

CASE(auto_pin_rounds_to_4_KiB)
{
	uint64_t puts = put_calls();
	struct peerpin_pin p;
	struct peerpin_query q;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(!pin_at(file, VA + PAGE + 7, PAGE, &p), "errno %d reason %u", errno, p.out_reason);
	EXPECT(p.out_provider == PEERPIN_PROVIDER_TEGRA, "provider %u", p.out_provider);
	EXPECT(p.out_addr == VA + PAGE && p.out_length == 2 * PAGE && p.out_page_size == PAGE, "%#llx %llu by %u",
	       p.out_addr, p.out_length, p.out_page_size);
	EXPECT(counts().counts.out_pins == 1, "%u pins", counts().counts.out_pins);
	EXPECT(!query(file, p.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE, "state %u", q.out_state);
	EXPECT(!unpin(file, p.out_region), "unpin");
	EXPECT(nothing_pinned() && put_calls() == puts + 1, "%lu puts", put_calls() - puts);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

static uint64_t get_calls(void)
{
	return counts().counts.out_get_calls;
}

/* The host provider must pin the memory. The Tegra driver would pin it, too, but without counting it. */
static void expect_host(void *at, uint64_t length)
{
	uint64_t gets = get_calls();
	struct peerpin_pin p;

	EXPECT(at != MAP_FAILED && !pin_at(file, (uintptr_t)at, length, &p), "errno %d reason %u", errno, p.out_reason);
	EXPECT(p.out_provider == PEERPIN_PROVIDER_HOST && !unpin(file, p.out_region), "provider %u", p.out_provider);
	EXPECT(pin_by(file, (uintptr_t)at, length, PEERPIN_PROVIDER_TEGRA, &p) == -EINVAL, "pinned");
	EXPECT(get_calls() == gets, "the Tegra driver was called");
}

static void *map_file(int memory, uint64_t length)
{
	return ftruncate(memory, length) ? MAP_FAILED :
	       mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
}

CASE(ordinary_memory_goes_to_host_provider)
{
	int memfd = memfd_create("ordinary", MFD_CLOEXEC);
	void *plain = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *shared = map_file(memfd, BLOCK);

	expect_host(plain, BLOCK);
	CHECK_CASE();
	expect_host(shared, BLOCK);
	CHECK_CASE();
	munmap(plain, BLOCK);
	munmap(shared, BLOCK);
	close(memfd);
}

/* The first pages of the range belong to CUDA, but the last page does not. */
CASE(range_past_cuda_memory_is_refused)
{
	uint64_t gets = get_calls();
	struct peerpin_pin p;
	void *at, *behind;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	at = mmap((void *)VA, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, VA);
	behind = mmap((void *)(VA + BLOCK), PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	EXPECT(at == (void *)VA && behind == (void *)(VA + BLOCK), "mmap");
	EXPECT(pin_by(file, VA, BLOCK + PAGE, PEERPIN_PROVIDER_TEGRA, &p) == -EINVAL && get_calls() == gets, "pinned");
	EXPECT(!pin_by(file, VA, BLOCK, PEERPIN_PROVIDER_TEGRA, &p) && get_calls() == gets + 1, "errno %d", errno);
	EXPECT(!unpin(file, p.out_region), "unpin");
	munmap(behind, PAGE);
	munmap(at, BLOCK);
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(array_of_pages_too_long_for_kcalloc_is_ENOMEM)
{
	uint64_t gets = get_calls();
	struct peerpin_pin p;

	EXPECT(pin_by(file, VA, (2ull << 30) + PAGE, PEERPIN_PROVIDER_TEGRA, &p) == -ENOMEM &&
	       p.out_reason == PEERPIN_REASON_NO_MEMORY && get_calls() == gets, "errno %d, reason %u", errno, p.out_reason);
}

static int pin_in_child(void)
{
	struct peerpin_pin p;

	return pin_by(pin_open(), VA, PAGE, PEERPIN_PROVIDER_TEGRA, &p) == -EINVAL ? 0 : 1;
}

static int pin_flags(struct peerpin_pin *p)
{
	p->size = sizeof(*p);
	p->addr = VA;
	p->length = PAGE;
	p->provider = PEERPIN_PROVIDER_TEGRA;
	return ioctl(file, PEERPIN_IOC_PIN, p) ? -errno : 0;
}

CASE(bad_pins_are_refused)
{
	struct peerpin_pin tokens = { .p2p_token = 1 }, space = { .va_space_token = 1 };
	struct peerpin_pin lasting = { .flags = PEERPIN_PIN_PERSISTENT };
	struct peerpin_pin p;

	two_blocks();
	CHECK_CASE();
	EXPECT(emu_alloc(fd, VA + 2 * BLOCK, BLOCK) == 0, "alloc");
	EXPECT(pin_by(file, VA + BLOCK - 1, 2, PEERPIN_PROVIDER_TEGRA, &p) == -EINVAL, "two blocks");
	EXPECT(p.out_reason == PEERPIN_REASON_VENDOR_REFUSED, "reason %u", p.out_reason);
	EXPECT(pin_at(file, VA + 2 * BLOCK, PAGE, &p) == -EINVAL, "device memory");
	EXPECT(p.out_reason == PEERPIN_REASON_NOT_MAPPED, "reason %u", p.out_reason);
	EXPECT(pin_by(file, VA, PAGE, PEERPIN_PROVIDER_NV, &p) == -EOPNOTSUPP, "as a discrete GPU's");
	EXPECT(p.out_reason == PEERPIN_REASON_NO_PROVIDER, "reason %u", p.out_reason);
	EXPECT(pin_flags(&tokens) == -EINVAL && tokens.out_reason == PEERPIN_REASON_NO_API, "token");
	EXPECT(pin_flags(&space) == -EINVAL && space.out_reason == PEERPIN_REASON_NO_API, "address space");
	EXPECT(pin_flags(&lasting) == -EOPNOTSUPP, "persistent pin on Tegra");
	EXPECT(emu_in_child(pin_in_child) == 0, "a child pinned memory of its parent");
	EXPECT(emu_free(fd, VA + 2 * BLOCK) == 0, "free");
	free_both();
}

static void vendor_fails(int error, int want, unsigned int reason)
{
	struct peerpin_pin p;

	EXPECT(emu_fail(fd, 1, error) == 0, "inject");
	EXPECT(pin_by(file, VA, PAGE, PEERPIN_PROVIDER_TEGRA, &p) == want, "%d gives %d", error, -errno);
	EXPECT(p.out_reason == reason, "%d gives reason %u", error, p.out_reason);
}

CASE(gpu_driver_errors_are_passed_on)
{
	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	vendor_fails(-ENOMEM, -ENOMEM, PEERPIN_REASON_NO_MEMORY);
	CHECK_CASE();
	vendor_fails(-EIO, -EIO, PEERPIN_REASON_VENDOR_ERROR);
	CHECK_CASE();
	EXPECT(nothing_pinned() && emu_free(fd, VA) == 0, "pins are left");
}

/* ---- DMA ------------------------------------------------------- */

static unsigned char buffer[BLOCK];

static int holds(uint64_t va, uint64_t seed, uint64_t from, uint64_t n)
{
	if (emu_read(fd, buffer, va, n))
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (buffer[i] != pattern(seed, from + i))
			return 0;
	return 1;
}

CASE(device_copies_tegra_memory)
{
	uint64_t n = BLOCK - 3 * PAGE - 5;
	struct peerpin_pin from, to, host;
	static unsigned char memory[BLOCK], source[BLOCK];

	two_blocks();
	CHECK_CASE();
	pattern_fill(source, 1, BLOCK);
	EXPECT(emu_write(fd, VA, source, BLOCK) == 0 && emu_fill(fd, VA + BLOCK, 1, 0, BLOCK) == 0, "write");
	EXPECT(!pin_at(file, VA, BLOCK, &from) && !pin_at(file, VA + BLOCK + PAGE, BLOCK - PAGE, &to), "pin");
	EXPECT(!pin_at(file, (uintptr_t)memory, BLOCK, &host), "pin");
	EXPECT(host.out_provider == PEERPIN_PROVIDER_HOST, "provider %u", host.out_provider);
	EXPECT(!lsi_copy(lsi, (struct end){ file, to.out_region, 3 }, (struct end){ file, from.out_region, 77 }, n),
	       "copy: %d", errno);
	EXPECT(holds(VA + BLOCK + PAGE + 3, 1, 77, n), "wrong bytes");
	EXPECT(!lsi_copy(lsi, (struct end){ file, host.out_region, memory - (unsigned char *)host.out_addr },
			 (struct end){ file, from.out_region, 0 }, BLOCK), "to the host: %d", errno);
	EXPECT(!memcmp(memory, source, BLOCK), "wrong bytes");
	EXPECT(!unpin(file, from.out_region) && !unpin(file, to.out_region) && !unpin(file, host.out_region), "unpin");
	free_both();
}

CASE(neighbouring_pages_are_one_extent)
{
	struct peerpin_query q;
	struct peerpin_pin p;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(!pin_at(file, VA, CHUNK, &p), "pin");
	EXPECT(!lsi_copy(lsi, (struct end){ file, p.out_region, 0 }, (struct end){ file, p.out_region, PAGE }, PAGE),
	       "copy: %d", errno);
	EXPECT(!query(file, p.out_region, &q) && q.out_extents == 1 && q.out_attached == 1, "%u extents, %u devices",
	       q.out_extents, q.out_attached);
	EXPECT(!unpin(file, p.out_region) && emu_free(fd, VA) == 0 && nothing_pinned(), "pins are left");
}

/* ---- CPU mappings ------------------------------------------------------ */

/* Map @va into the process at the same address, as unified addressing does. */
static char *map_unified(uint64_t va, uint64_t size)
{
	return mmap((void *)(uintptr_t)va, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, va);
}

static char *view_of(const struct peerpin_pin *p)
{
	return mmap(NULL, p->out_length, PROT_READ | PROT_WRITE, MAP_SHARED, file, PEERPIN_MMAP_OFFSET(p->out_region));
}

static void mapped_alike(unsigned int flags, unsigned int want, int combined)
{
	struct peerpin_pin p;
	char *own, *view;

	EXPECT(alloc_flags(VA, BLOCK, EMUGPU_ALLOC_HOST | flags) == 0, "alloc");
	own = map_unified(VA, BLOCK);
	EXPECT(own != MAP_FAILED, "mmap: %s", strerror(errno));
	EXPECT(!pin_at(file, VA + PAGE, 4 * PAGE, &p) && p.out_provider == PEERPIN_PROVIDER_TEGRA, "pin");
	EXPECT(p.out_caching == want, "caching %u", p.out_caching);
	view = view_of(&p);
	EXPECT(view != MAP_FAILED, "mmap: %s", strerror(errno));
	EXPECT(caching(view) == combined && caching(own) == combined, "%d, the process's %d", caching(view),
	       caching(own));
	strcpy(view + PAGE, "by the view");
	EXPECT(!strcmp(own + 2 * PAGE, "by the view"), "the view shows other memory");
	EXPECT(!munmap(view, p.out_length) && !munmap(own, BLOCK), "munmap");
	EXPECT(!unpin(file, p.out_region) && emu_free(fd, VA) == 0, "unpin, free");
}

CASE(view_has_the_memorys_cache_type)
{
	mapped_alike(0, PEERPIN_CACHING_CACHED, 0);
	CHECK_CASE();
	mapped_alike(EMUGPU_ALLOC_WRITE_COMBINED, PEERPIN_CACHING_COMBINED, 1);
}

CASE(unmapped_memory_has_no_view)
{
	struct peerpin_pin none, half;
	char *own;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(!pin_at(file, VA, 2 * PAGE, &none), "pin");
	EXPECT(none.out_caching == PEERPIN_CACHING_NONE, "caching %u", none.out_caching);
	EXPECT(view_of(&none) == MAP_FAILED && errno == EOPNOTSUPP, "mapped: %s", strerror(errno));
	own = map_unified(VA, BLOCK);
	EXPECT(own != MAP_FAILED && !munmap(own + PAGE, PAGE), "%s", strerror(errno));
	EXPECT(!pin_at(file, VA, 2 * PAGE, &half), "pin");
	EXPECT(half.out_caching == PEERPIN_CACHING_NONE, "caching %u", half.out_caching);
	munmap(own, BLOCK);
	EXPECT(!unpin(file, none.out_region) && !unpin(file, half.out_region), "unpin");
	EXPECT(emu_free(fd, VA) == 0 && nothing_pinned(), "free");
}

/* ---- modules --------------------------------------------------------------------- */

CASE(region_keeps_the_provider)
{
	struct peerpin_pin p;

	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(!pin_at(file, VA, PAGE, &p), "pin");
	EXPECT(module_remove("peerpin_tegra") == -EWOULDBLOCK, "removed");
	EXPECT(!unpin(file, p.out_region), "unpin");
	EXPECT(!module_remove("peerpin_tegra"), "%s", strerror(errno));
	EXPECT(pin_by(file, VA, PAGE, PEERPIN_PROVIDER_TEGRA, &p) == -EOPNOTSUPP, "pin without the Tegra provider");
	EXPECT(p.out_reason == PEERPIN_REASON_NO_PROVIDER, "reason %u", p.out_reason);
	EXPECT(!module_load("kmod/peerpin_tegra.ko", ""), "%s", strerror(errno));
	EXPECT(!pin_at(file, VA, PAGE, &p) && !unpin(file, p.out_region), "pin again");
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* ---- by the library, with CUDA; no child of this process has CUDA afterwards ------ */

static struct pp_ctx *ctx;

static void library_pins(unsigned int flags)
{
	struct pp_region region;
	struct pp_why why;
	void *p;

	OK(cuMemHostAlloc(&p, 3 * MIB, flags));
	EXPECT(!pp_pin(ctx, (char *)p + 5, MIB, &region, &why), "reason %u", why.reason);
	EXPECT(region.provider == PEERPIN_PROVIDER_TEGRA && region.page_size == PAGE, "provider %u", region.provider);
	EXPECT(pp_region_valid(ctx, &region), "not valid");
	OK(cuMemFreeHost(p));
	EXPECT(!pp_region_valid(ctx, &region), "the freed region is valid");
	EXPECT(!pp_unpin(ctx, &region), "unpin");
}

CASE(library_pins_cudahostalloc_memory)
{
	EXPECT(cu_start(0), "no context");
	EXPECT(!pp_open(&ctx), "open");
	library_pins(0);
	CHECK_CASE();
	library_pins(CU_MEMHOSTALLOC_WRITECOMBINED);
}

CASE(library_explains_refused_cumemalloc_memory)
{
	struct pp_region region;
	struct pp_why why;
	CUdeviceptr p;

	OK(cuMemAlloc(&p, MIB));
	EXPECT(pp_pin(ctx, (void *)(uintptr_t)p, MIB, &region, &why) == -EINVAL, "pinned");
	EXPECT(why.reason == PEERPIN_REASON_NOT_RDMA, "reason %u", why.reason);
	OK(cuMemFree(p));
}

CASE(cache_notices_a_free)
{
	const struct pp_cache_entry *e, *again;
	struct pp_cache_attr attr = { 0 };
	struct pp_cache *cache;
	void *p;

	EXPECT(!pp_cache_create_ctx(ctx, &attr, &cache), "cache");
	OK(cuMemHostAlloc(&p, 2 * MIB, 0));
	EXPECT(!pp_cache_get(cache, p, MIB, &e, NULL) && !pp_cache_get(cache, p, MIB, &again, NULL), "get");
	EXPECT(e == again, "a miss");
	pp_cache_put(cache, e);
	pp_cache_put(cache, again);
	OK(cuMemFreeHost(p));
	EXPECT(pp_cache_get(cache, p, MIB, &e, NULL), "freed memory from the cache");
	pp_cache_destroy(cache);
	pp_close(ctx);
	cuDevicePrimaryCtxRelease(0);
}

CASE(nothing_is_left)
{
	close(file);
	close(lsi);
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "%u pins", counts().counts.out_pins);
	/* At the removal of a consumer module, the emulator checks for leftovers. */
	EXPECT(!module_remove("peerpin_tegra"), "%s", strerror(errno));
	EXPECT(violations() == broken, "%lu rules broken", violations() - broken);
	EXPECT(!module_load("kmod/peerpin_tegra.ko", ""), "%s", strerror(errno));
}

VMTEST_MAIN
