// SPDX-License-Identifier: MIT
/* Calls that a cache of /dev/peerpin regions makes to CUDA and to the kernel. */
#include <errno.h>
#include <peerpin.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

#define MIB (1ull << 20)
#define GPU 0x200000000ull
#define HOST 0x555500000000ull

static struct pp_ctx *ctx;
static struct pp_cache *cache;
static struct peerpin_pin asked;	/* argument of the last PIN */
static uint32_t next_region;
static uint32_t unpinned;

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	next_region = 0;
	if (pp_open(&ctx))
		return -1;
	return pp_cache_create_ctx(ctx, NULL, &cache);
}

static int unpin_ok(void *arg)
{
	struct peerpin_unpin *unpin = arg;

	unpinned = unpin->region;
	return 0;
}

static int teardown(void **state)
{
	struct pp_cache_stats s;

	(void)state;
	pp_cache_stats(cache, &s);
	while (s.entries--)
		mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	pp_cache_destroy(cache);
	pp_close(ctx);
	mock_done();
	return 0;
}

static int pin_ok(void *arg)
{
	struct peerpin_pin *pin = arg;
	uint64_t mask = (pin->provider == PEERPIN_PROVIDER_NV ? 65536 : 4096) - 1;

	asked = *pin;
	pin->out_provider = pin->provider ? pin->provider : PEERPIN_PROVIDER_HOST;
	pin->out_region = ++next_region;
	pin->out_slot = next_region;
	pin->out_epoch = 1;
	pin->out_page_size = mask + 1;
	pin->out_addr = pin->addr & ~mask;
	pin->out_length = ((pin->addr + pin->length + mask) & ~mask) -
			  pin->out_addr;
	mock_epochs[next_region] = 1;
	return 0;
}

static int pin_not_mapped(void *arg)
{
	struct peerpin_pin *pin = arg;

	asked = *pin;
	pin->out_reason = PEERPIN_REASON_NOT_MAPPED;
	return -EINVAL;
}

static int get_error(uint64_t addr, uint64_t length)
{
	const struct pp_cache_entry *e;

	return pp_cache_get(cache, (void *)(uintptr_t)addr, length, &e, NULL);
}

static const struct pp_region *get(uint64_t addr, uint64_t length)
{
	const struct pp_cache_entry *e = NULL;
	int ret = pp_cache_get(cache, (void *)(uintptr_t)addr, length, &e,
			       NULL);

	assert_int_equal(ret, 0);
	pp_cache_put(cache, e);
	return e->reg;
}

static void allocate(int slot, uint64_t base, uint64_t size, uint64_t id)
{
	mock_allocations[slot] = (struct mock_allocation) {
		.base = base, .size = size, .id = id,
	};
}

static void miss_pins_whole_gpu_allocation(void **state)
{
	const struct pp_region *r;

	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	r = get(GPU + 5 * MIB + 77, 3);
	assert_int_equal(asked.addr, GPU);
	assert_int_equal(asked.length, 8 * MIB);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_NV);
	assert_int_equal(mock_allocations[0].synced, 1);
	assert_int_equal(r->id, 1);
	get(GPU, 8 * MIB);
	assert_int_equal(mock_allocations[0].synced, 1);
}

static void a_hit_asks_cuda_nothing(void **state)
{
	int calls;

	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU, 1);
	calls = mock_cuda_calls;
	get(GPU, 1);
	assert_int_equal(mock_cuda_calls, calls);
}

/*
 * The small allocation was freed. If a miss of other memory asked CUDA about it, the entry would be unpinned. But CUDA's
 * driver may crash if it is asked while another thread frees the memory, and the pin keeps no memory allocated.
 */
static void a_miss_asks_about_no_other_memory(void **state)
{
	(void)state;
	unpinned = 0;
	allocate(0, GPU + 512, 512, 1);
	allocate(1, GPU + 8 * MIB, 2 * MIB, 2);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU + 512, 512);
	allocate(0, 0, 0, 0);
	get(GPU + 8 * MIB, 1);
	assert_int_equal(unpinned, 0);
}

static void host_memory_pins_whole_pages(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(HOST + 5000, 4000);
	assert_int_equal(asked.addr, HOST + 4096);
	assert_int_equal(asked.length, 2 * 4096);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_HOST);
	get(HOST + 4096, 2 * 4096);
}

static void without_cuda_kernel_picks_provider(void **state)
{
	(void)state;
	mock_cuda_loaded = false;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(HOST, 4096);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_AUTO);
}

static void revoked_region_is_pinned_again(void **state)
{
	const struct pp_region *r;

	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	r = get(GPU, 1);
	mock_epochs[r->slot]++;
	allocate(0, GPU, 8 * MIB, 2);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	r = get(GPU, 1);
	assert_int_equal(unpinned, 1);
	assert_int_equal(r->id, 2);
	assert_int_equal(mock_allocations[0].synced, 1);
}

static void freed_memory_is_stale(void **state)
{
	const struct pp_region *r;

	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	r = get(GPU, 1);
	mock_epochs[r->slot]++;
	allocate(0, 0, 0, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(get_error(GPU, 1), -ESTALE);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_HOST);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(get_error(GPU, 1), -EINVAL);
}

/* Both allocations lie in one block of 2 MiB. So freeing one allocation revokes no region. */
static void small_allocations_get_own_entries(void **state)
{
	const struct pp_region *a, *b;

	(void)state;
	allocate(0, GPU, 512, 1);
	allocate(1, GPU + 512, 512, 2);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	a = get(GPU, 512);
	b = get(GPU + 512, 512);
	assert_int_equal(a->addr, b->addr);
	assert_int_not_equal(a->id, b->id);
	assert_int_equal(mock_allocations[1].synced, 1);
}

static void small_allocation_replaced_in_its_block(void **state)
{
	(void)state;
	allocate(0, GPU + 512, 512, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU + 512, 512);
	get(GPU + 600, 8);
	allocate(0, GPU + 512, 512, 9);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU + 512, 512);
	assert_int_equal(mock_allocations[0].synced, 1);
}

static void small_allocation_freed_in_its_block(void **state)
{
	(void)state;
	allocate(0, GPU + 512, 512, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU + 512, 512);
	allocate(0, 0, 0, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(get_error(GPU + 512, 512), -ESTALE);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_HOST);
}

/* Another thread frees the allocation and makes two small allocations in its place. */
static int pin_of_what_came_after(void *arg)
{
	allocate(0, GPU, 65536, 2);
	allocate(1, GPU + 65536, 65536, 3);
	return pin_ok(arg);
}

static void replaced_between_query_and_pin(void **state)
{
	(void)state;
	allocate(0, GPU, 2 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_of_what_came_after);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	assert_int_equal(get_error(GPU, 2 * MIB), -ESTALE);
	assert_int_equal(unpinned, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU, 4096);
	assert_int_equal(asked.length, 65536);
	assert_int_equal(mock_allocations[0].synced, 1);
	/* The block remains, so the kernel revokes nothing. */
	allocate(0, 0, 0, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(get_error(GPU, 4096), -ESTALE);
}

static int pin_as_gpu_memory(void *arg)
{
	struct peerpin_pin *pin = arg;
	int ret = pin_ok(arg);

	pin->out_provider = PEERPIN_PROVIDER_NV;
	return ret;
}

/* Without CUDA the cache can neither detect the free of GPU memory nor set SYNC_MEMOPS. */
static void gpu_memory_without_cuda_is_refused(void **state)
{
	struct pp_why why;
	const struct pp_cache_entry *e;

	(void)state;
	allocate(0, GPU + 512, 4096, 7);
	mock_cuda_error = 700;
	mock_expect(PEERPIN_IOC_PIN, pin_as_gpu_memory);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	assert_int_equal(pp_cache_get(cache, (void *)(uintptr_t)(GPU + 512), 4096,
				      &e, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_NOT_GPU);
	assert_int_equal(unpinned, 1);
}

/* The allocation fills whole blocks, but a free only returns the blocks to the pool. */
static void pool_memory_replaced_in_its_pool(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_allocations[0].pooled = true;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU, 512);
	get(GPU, 8 * MIB);
	allocate(0, GPU, 8 * MIB, 2);
	mock_allocations[0].pooled = true;
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU, 512);
	assert_int_equal(mock_allocations[0].synced, 1);
}

static void refused(uint64_t addr, uint64_t length, uint32_t reason)
{
	const struct pp_cache_entry *e;
	struct pp_why why;

	assert_int_equal(pp_cache_get(cache, (void *)(uintptr_t)addr, length,
				      &e, &why), -EINVAL);
	assert_int_equal(why.reason, reason);
}

static void managed_memory_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_allocations[0].managed = true;
	refused(GPU, 100, PEERPIN_REASON_MANAGED);
	assert_int_equal(mock_allocations[0].synced, 0);
}

static void non_rdma_memory_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_allocations[0].no_rdma = true;
	refused(GPU, 100, PEERPIN_REASON_NOT_RDMA);
	assert_int_equal(mock_allocations[0].synced, 0);
}

static void range_past_allocation_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	allocate(1, GPU + 8 * MIB, 8 * MIB, 2);
	refused(GPU + 7 * MIB, 2 * MIB, PEERPIN_REASON_SPANS);
	refused(GPU + 15 * MIB, 2 * MIB, PEERPIN_REASON_VENDOR_REFUSED);
}

/* ---- persistent pins ---------------------------------------------------------------- */

static void persistent(uint32_t watch)
{
	const struct pp_cache_attr attr = { .pin_flags = PEERPIN_PIN_PERSISTENT, .watch = watch };

	pp_cache_destroy(cache);
	assert_int_equal(pp_cache_create_ctx(ctx, &attr, &cache), 0);
}

/* @watch without a hook, so the id alone shows the free: the allocation has whole blocks, and its epoch stays. */
static void freed_persistent_pin_ends(uint32_t watch)
{
	const struct pp_region *r;

	persistent(watch);
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	r = get(GPU, MIB);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT);
	assert_ptr_equal(get(GPU, 8 * MIB), r);
	allocate(0, GPU, 8 * MIB, 2);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU, MIB);
	allocate(0, 0, 0, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	assert_int_equal(get_error(GPU, MIB), -ESTALE);
}

static void persistent_pin_of_freed_memory_ends(void **state)
{
	(void)state;
	freed_persistent_pin_ends(PP_WATCH_BEST);
	freed_persistent_pin_ends(PP_WATCH_TAG);
}

/* The removal of the GPU revokes persistent pins, too. */
static void persistent_pin_is_revoked(void **state)
{
	const struct pp_region *r;

	(void)state;
	persistent(PP_WATCH_BEST);
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	r = get(GPU, 1);
	mock_epochs[r->slot]++;
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	get(GPU, 1);
}

static void persistent_pin_replaced_meanwhile(void **state)
{
	(void)state;
	persistent(PP_WATCH_BEST);
	allocate(0, GPU, 2 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_of_what_came_after);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	assert_int_equal(get_error(GPU, 2 * MIB), -ESTALE);
}

/* If CUDA answers nothing at the moment, the memory has no id that a hit could compare. */
static void persistent_pin_needs_an_id(void **state)
{
	(void)state;
	persistent(PP_WATCH_BEST);
	refused(HOST, 4096, PEERPIN_REASON_NOT_GPU);
	allocate(0, GPU, 2 * MIB, 1);
	mock_cuda_error = 700;
	refused(GPU, 4096, PEERPIN_REASON_NOT_GPU);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(miss_pins_whole_gpu_allocation),
		TEST(a_hit_asks_cuda_nothing),
		TEST(a_miss_asks_about_no_other_memory),
		TEST(host_memory_pins_whole_pages),
		TEST(without_cuda_kernel_picks_provider),
		TEST(revoked_region_is_pinned_again),
		TEST(freed_memory_is_stale),
		TEST(small_allocations_get_own_entries),
		TEST(small_allocation_replaced_in_its_block),
		TEST(small_allocation_freed_in_its_block),
		TEST(replaced_between_query_and_pin),
		TEST(gpu_memory_without_cuda_is_refused),
		TEST(pool_memory_replaced_in_its_pool),
		TEST(managed_memory_is_refused),
		TEST(non_rdma_memory_is_refused),
		TEST(range_past_allocation_is_refused),
		TEST(persistent_pin_of_freed_memory_ends),
		TEST(persistent_pin_is_revoked),
		TEST(persistent_pin_replaced_meanwhile),
		TEST(persistent_pin_needs_an_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
