// SPDX-License-Identifier: MIT
/* The library on an integrated GPU: each call, on memory of cuMemHostAlloc(), cached and write-combined. */
#include <libpeerpin.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "test/vm/cuda/cu.h"
#include "test/vm/core/pin.h"
#include "tegra.h"

enum {
	SURFACE = 3 << 20,
	ROUNDS = 12,
};

static const unsigned int kinds[] = { CU_MEMHOSTALLOC_DEVICEMAP,
				      CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED };

static struct pp_ctx *ctx;
static struct pp_cache *cache;
static struct pp_peer *peer;

static int start(void)
{
	if (!cu_start(0) || pp_open(&ctx) || pp_cache_create_ctx(ctx, NULL, &cache))
		return -1;
	return pp_peer_open("lsi0", cache, &peer);
}

static void stop(void)
{
	pp_peer_close(peer);
	pp_cache_destroy(cache);
	pp_close(ctx);
}

static unsigned char *surface(unsigned int flags)
{
	void *p;

	return cuMemHostAlloc(&p, SURFACE, flags) ? NULL : p;
}

/* ---- before this process has CUDA ------------------------------------------------ */

static int copy_for_ever(void *ready)
{
	struct pp_copy_result result;
	unsigned char *from, *to;

	if (start())
		return 1;
	from = surface(kinds[1]);
	to = surface(kinds[0]);
	while (from && to && !pp_peer_copy(peer, to, from, SURFACE, &result))
		atomic_fetch_add((atomic_int *)ready, 1);
	return 1;
}

CASE(kill_during_copies_leaves_nothing)
{
	atomic_int *copies = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	EXPECT(fd >= 0 && check >= 0, "type: emu/vm/run --tegra --insmod build/KERNEL/test/tegra_check.ko ...");
	if (!pid)
		_exit(copy_for_ever(copies));
	while (atomic_load(copies) < 3 && !waitpid(pid, NULL, WNOHANG))
		usleep(1000);
	EXPECT(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid, "the child exited by itself");
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "pins or memory are left");
	munmap(copies, PAGE);
}

/* ---- single calls ------------------------------------------------------ */

SETUP(everything_is_there)
{
	EXPECT(!start(), "no GPU, /dev/peerpin or /dev/lsi0");
}

CASE(query_reports_host_memory)
{
	unsigned char *p = surface(0);
	struct pp_mem mem;

	EXPECT(p && !pp_query(p, &mem), "query");
	EXPECT(mem.kind == PP_MEM_HOST && mem.device == -1, "kind %d", mem.kind);
	OK(cuMemFreeHost(p));
}

CASE(bar1_query_is_EOPNOTSUPP)
{
	struct pp_bar1 bar1;

	EXPECT(pp_bar1(0, &bar1) == -EOPNOTSUPP, "%d", pp_bar1(0, &bar1));
	EXPECT(pp_bar1(1, &bar1) == -ENODEV, "a second GPU");
}

CASE(persistent_pin_is_EOPNOTSUPP)
{
	unsigned char *p = surface(0);
	struct pp_region region;
	struct pp_why why;

	EXPECT(p, "alloc");
	IS(pp_pin_with(ctx, p, PAGE, PEERPIN_PIN_PERSISTENT, &region, &why), -EOPNOTSUPP);
	OK(cuMemFreeHost(p));
	IS(pp_pin(ctx, p, PAGE, &region, &why), -EINVAL);
}

static void views_are_alike(unsigned int flags, int combined)
{
	unsigned char *p = surface(flags);
	struct pp_region region;
	void *view;

	EXPECT(p && !pp_pin(ctx, p + PAGE, 2 * PAGE, &region, NULL), "pin");
	EXPECT(region.provider == PEERPIN_PROVIDER_TEGRA && region.addr == (uintptr_t)p + PAGE, "%u %#lx",
	       region.provider, region.addr);
	EXPECT(!pp_region_map(ctx, &region, PAGE, PAGE, PROT_READ | PROT_WRITE, &view), "map");
	EXPECT(caching(p) == combined && caching(view) == combined, "%d, the view's %d", caching(p), caching(view));
	strcpy(view, "by the view");
	EXPECT(!strcmp((char *)p + 2 * PAGE, "by the view"), "the view shows other memory");
	EXPECT(!pp_region_unmap(ctx, view, PAGE) && !pp_unpin(ctx, &region), "unmap, unpin");
	OK(cuMemFreeHost(p));
}

CASE(views_have_the_memorys_cache_type)
{
	views_are_alike(kinds[0], 0);
	CHECK_CASE();
	views_are_alike(kinds[1], 1);
	CHECK_CASE();
	views_are_alike(kinds[0], 0);	/* the pages were write-combined before */
}

/* A pin by address through the host provider must work, too: ibv_reg_mr() pins like this. */
CASE(host_provider_pins_gpu_memory_too)
{
	struct peerpin_pin pin, to;
	unsigned char *p, *q;
	int lsi = lsi_open();

	for (int i = 0; i < 2; i++) {
		p = surface(kinds[i]);
		q = surface(kinds[!i]);
		EXPECT(p && q, "alloc");
		pattern_fill(p, i, SURFACE);
		IS(pin_by(pp_fd(ctx), (uintptr_t)p, SURFACE, PEERPIN_PROVIDER_HOST, &pin), 0);
		IS(pin_by(pp_fd(ctx), (uintptr_t)q, SURFACE, PEERPIN_PROVIDER_TEGRA, &to), 0);
		IS(lsi_copy(lsi, (struct end){ pp_fd(ctx), to.out_region, 0 },
			    (struct end){ pp_fd(ctx), pin.out_region, 0 }, SURFACE), 0);
		EXPECT(!memcmp(p, q, SURFACE), "wrong bytes");
		OK(cuMemFreeHost(p));
		OK(cuMemFreeHost(q));
		EXPECT(!unpin(pp_fd(ctx), pin.out_region) && !unpin(pp_fd(ctx), to.out_region), "unpin");
	}
	close(lsi);
}

CASE(region_can_be_exported_and_imported)
{
	struct pp_region region, imported;
	unsigned char *p = surface(0);
	struct pp_why why;
	int dmabuf = -1;

	EXPECT(p && !pp_pin(ctx, p, SURFACE, &region, NULL), "pin");
	IS(pp_region_export(ctx, &region, PAGE, 4 * PAGE, &dmabuf), 0);
	IS(pp_pin_dmabuf(ctx, dmabuf, 0, 4 * PAGE, &imported, &why), 0);
	IS(pp_unpin(ctx, &imported), 0);
	close(dmabuf);
	EXPECT(!pp_unpin(ctx, &region), "unpin");
	OK(cuMemFreeHost(p));
}

/* ---- copies, surface to surface ------------------------------------------------------ */

static bool holds(const unsigned char *p, uint64_t seed, uint64_t from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (p[i] != pattern(seed, from + i))
			return false;
	return true;
}

static void copy_part(unsigned char *to, const unsigned char *from, uint64_t at, uint64_t n)
{
	struct pp_copy_result result;

	pattern_fill((unsigned char *)from, n, SURFACE);
	memset(to, 0xee, SURFACE);
	IS(pp_peer_copy(peer, to + at, from + at / 2, n, &result), 0);
	EXPECT(result.bytes == n && holds(to + at, n, at / 2, n), "%lu bytes to %lu", n, at);
	EXPECT(to[at - 1] == 0xee && to[at + n] == 0xee, "bytes outside the range were written");
}

CASE(copies_between_all_kinds_work)
{
	static const uint64_t sizes[] = { 1, 4095, 4097, 65536, 1000003, SURFACE - 8200 };

	for (int i = 0; i < 4; i++) {
		unsigned char *from = surface(kinds[i & 1]), *to = surface(kinds[i >> 1]);

		EXPECT(from && to, "alloc");
		for (size_t n = 0; n < sizeof(sizes) / sizeof(*sizes); n++) {
			copy_part(to, from, 4099, sizes[n]);
			CHECK_CASE();
		}
		OK(cuMemFreeHost(from));
		OK(cuMemFreeHost(to));
	}
}

CASE(gpu_sees_the_devices_writes)
{
	unsigned char *from = surface(kinds[1]), *to = surface(kinds[0]), *read = malloc(SURFACE);
	struct pp_copy_result result;
	CUdeviceptr device;

	EXPECT(from && to && read, "alloc");
	OK(cuMemHostGetDevicePointer(&device, from, 0));
	OK(cuMemsetD8(device, 0x5a, SURFACE));
	OK(cuCtxSynchronize());
	IS(pp_peer_copy(peer, to, from, SURFACE, &result), 0);
	OK(cuMemHostGetDevicePointer(&device, to, 0));
	OK(cuMemcpyDtoH(read, device, SURFACE));
	for (int i = 0; i < SURFACE; i++)
		EXPECT(read[i] == 0x5a, "byte %d is %#x", i, read[i]);
	IS(pp_peer_copy(peer, to, from, SURFACE, &result), 0);
	EXPECT(!result.pins, "%u pins for the second copy", result.pins);
	free(read);
	OK(cuMemFreeHost(from));
	OK(cuMemFreeHost(to));
}

CASE(reused_address_is_pinned_anew)
{
	unsigned char *from = surface(0), *to = surface(0), *again;
	struct pp_copy_result result;

	EXPECT(from && to && !pp_peer_copy(peer, to, from, SURFACE, &result), "copy");
	OK(cuMemFreeHost(to));
	IS(pp_peer_copy(peer, to, from, SURFACE, &result), -ESTALE);
	again = surface(kinds[1]);
	EXPECT(again == to, "memory at %p, not at %p again", again, to);
	pattern_fill(from, 7, SURFACE);
	IS(pp_peer_copy(peer, again, from, SURFACE, &result), 0);
	EXPECT(result.pins == 1 && holds(again, 7, 0, SURFACE), "%u pins", result.pins);
	OK(cuMemFreeHost(again));
	OK(cuMemFreeHost(from));
}

/* ---- races -------------------------------------------------------------- */

static unsigned char *shared_from, *shared_to;
static _Atomic(int) copied, refused, wrong;
static _Atomic(bool) over;

static void *copy_again_and_again(void *unused)
{
	struct pp_copy_result result;

	(void)unused;
	while (!over)
		switch (pp_peer_copy(peer, shared_to, shared_from, SURFACE, &result)) {
		case 0:
			copied++;
			break;
		case -ESTALE:
		case -EINVAL:
		case -EFAULT:
			refused++;
			break;
		default:
			wrong++;
		}
	return NULL;
}

/* Wait for a copy: on a slow VM no copy may fit between two frees. */
static void let_one_be_copied(void)
{
	int before = copied;

	for (int i = 0; i < 1000 && copied == before; i++)
		usleep(2000);
}

CASE(free_and_alloc_race_with_copies)
{
	pthread_t thread;

	shared_from = surface(kinds[1]);
	shared_to = surface(kinds[0]);
	EXPECT(shared_from && shared_to, "alloc");
	EXPECT(!pthread_create(&thread, NULL, copy_again_and_again, NULL), "thread");
	for (int i = 0; i < ROUNDS || (i < 100 * ROUNDS && (copied < ROUNDS || !refused)); i++) {
		OK(cuMemFreeHost(shared_to));
		EXPECT(surface(kinds[i & 1]) == shared_to, "memory at another address");
		if (i % 2)
			let_one_be_copied();
		else
			usleep(2000);
	}
	over = true;
	pthread_join(thread, NULL);
	EXPECT(!wrong && copied >= ROUNDS && refused, "%d copied, %d refused, %d other errors", copied, refused, wrong);
	copy_part(shared_to, shared_from, PAGE, SURFACE - 2 * PAGE);
	OK(cuMemFreeHost(shared_from));
	OK(cuMemFreeHost(shared_to));
}

static int use_the_parents(void *p)
{
	struct pp_copy_result result;
	struct pp_region region;

	return pp_pin(ctx, p, PAGE, &region, NULL) == -EACCES &&
	       pp_peer_copy(peer, p, p, PAGE, &result) == -EACCES ? 0 : 1;
}

CASE(child_of_fork_is_refused)
{
	unsigned char *p = surface(0);

	EXPECT(p && cu_in_child(use_the_parents, p) == 0, "not refused");
	OK(cuMemFreeHost(p));
}

CASE(nothing_is_left)
{
	stop();
	EXPECT(nothing_pinned(), "%u pins", counts().counts.out_pins);
	cuDevicePrimaryCtxRelease(0);
	EXPECT(vram_free() == 64 * MIB, "%lu bytes free", vram_free());
}

VMTEST_MAIN
