// SPDX-License-Identifier: MIT
/* Memory regions of GPU memory, with a mock adapter. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin-hook.h"
#include "verbs_case.h"

static void driver_dmabuf_is_registered(void **state)
{
	const struct pp_mr *mr;

	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mr = once(GPU + 5 * MIB + 77, 3);
	assert_int_equal(mr->way, PP_MR_VENDOR_DMABUF);
	assert_int_equal(mr->addr, GPU);
	assert_int_equal(mr->length, 8 * MIB);
	assert_int_equal(mock_verbs.last.fd, MOCK_DMABUF_FD);
	assert_int_equal(mock_verbs.last.offset, 0);
	assert_int_equal(mock_verbs.closed, 1);
	assert_true(mock_allocations[0].synced > 0);
	assert_ptr_equal(once(GPU, 1), mr);
	assert_int_equal(mock_verbs.calls, 1);
}

static void small_allocations_get_own_regions(void **state)
{
	const struct pp_mr *a, *b;

	(void)state;
	allocate(0, GPU + 512, 512, 1);
	allocate(1, GPU + 1024, 4096, 2);
	a = once(GPU + 512, 512);
	assert_int_equal(mock_verbs.last.offset, 512);
	b = once(GPU + 1024, 1);
	assert_int_equal(mock_verbs.last.offset, 1024);
	assert_int_equal(mock_verbs.last.length, 4096);
	assert_ptr_not_equal(a, b);
	allocate(0, GPU + 512, 512, 3);
	once(GPU + 512, 512);
	assert_int_equal(mock_verbs.calls, 3);
	assert_ptr_equal(once(GPU + 1024, 1), b);
	assert_int_equal(mock_verbs.calls, 3);
}

static void reallocated_memory_is_registered_again(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	once(GPU, MIB);
	allocate(0, GPU, 8 * MIB, 2);
	once(GPU, MIB);
	assert_int_equal(mock_verbs.calls, 2);
	assert_int_equal(mock_verbs.live, 1);
	assert_true(mock_allocations[0].synced > 0);
}

static void freed_memory_is_deregistered(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	once(GPU, MIB);
	allocate(0, 0, 0, 0);
	mock_verbs.pointer_error = EFAULT;
	assert_int_equal(error_of(GPU, MIB), -EFAULT);
	assert_int_equal(mock_verbs.live, 0);
}

static void reallocate(void)
{
	mock_allocations[0].id++;
}

static void memory_replaced_during_registration_fails(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_verbs.on_reg = reallocate;
	assert_int_equal(error_of(GPU, MIB), -ESTALE);
	assert_int_equal(mock_verbs.live, 0);
}

/* GPU pages have 64 KiB. The allocation begins in the middle of a page. */
static void peerpin_dmabuf_is_the_fallback(void **state)
{
	const struct pp_mr *mr;

	(void)state;
	mock_cuda_export_error = 801;
	allocate(0, GPU + 20480 + 512, 512, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	mr = once(GPU + 20480 + 512, 512);
	assert_int_equal(mr->way, PP_MR_PEERPIN_DMABUF);
	assert_int_equal(pinned.provider, PEERPIN_PROVIDER_NV);
	assert_int_equal(exported.region, 1);
	assert_int_equal(exported.offset, 20480);
	assert_int_equal(exported.length, 4096);
	assert_int_equal(mock_verbs.last.offset, 512);
	assert_int_equal(mock_verbs.closed, 1);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	live_at_unpin = -1;
	pp_cache_flush(pp_verbs_cache(verbs));
	assert_int_equal(live_at_unpin, 0);
}

static void reopen(uint32_t pin_flags)
{
	const struct pp_cache_attr attr = { .pin_flags = pin_flags };

	pp_verbs_close(verbs);
	assert_int_equal(pp_verbs_open(&mock_pd, ACCESS, &attr, &verbs), 0);
}

/* The free changes no word of the revocation page, so only the buffer id shows it. */
static void persistent_pin_of_freed_memory_ends(void **state)
{
	const struct pp_mr *mr;

	(void)state;
	reopen(PEERPIN_PIN_PERSISTENT);
	mock_cuda_export_error = 801;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	mr = once(GPU, MIB);
	assert_int_equal(mr->way, PP_MR_PEERPIN_DMABUF);
	assert_int_equal(pinned.flags, PEERPIN_PIN_PERSISTENT);
	assert_ptr_equal(once(GPU, 8 * MIB), mr);
	allocate(0, GPU, 8 * MIB, 2);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	once(GPU, MIB);
	assert_int_equal(mock_verbs.calls, 2);
	assert_int_equal(mock_verbs.live, 1);
}

static void revoked_region_is_registered_again(void **state)
{
	(void)state;
	mock_cuda_fd = -1;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	once(GPU, MIB);
	mock_epochs[1]++;
	allocate(0, GPU, 8 * MIB, 2);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	once(GPU, MIB);
	assert_int_equal(mock_verbs.calls, 2);
}

static void peer_memory_is_last_fallback(void **state)
{
	const struct pp_mr *mr;

	(void)state;
	mock_verbs.dmabuf_error = EOPNOTSUPP;
	allocate(0, GPU, 8 * MIB, 1);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mr = once(GPU, MIB);
	assert_int_equal(mr->way, PP_MR_PEER_MEMORY);
	assert_int_equal(mock_verbs.last.fd, -1);
	assert_int_equal(mock_verbs.closed, 2);
	assert_ptr_equal(once(GPU, MIB), mr);
	allocate(0, GPU, 8 * MIB, 2);
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	mock_expect(PEERPIN_IOC_EXPORT, export_ok);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	once(GPU, MIB);
	assert_int_equal(mock_verbs.live, 1);
}

/* The library tries the whole allocation first, then only the requested range. */
static void failure_explains_every_attempt(void **state)
{
	int i;

	(void)state;
	mock_verbs.dmabuf_error = EOPNOTSUPP;
	mock_verbs.pointer_error = EFAULT;
	allocate(0, GPU, 8 * MIB, 1);
	for (i = 0; i < 2; i++) {
		mock_expect(PEERPIN_IOC_PIN, pin_ok);
		mock_expect(PEERPIN_IOC_EXPORT, export_ok);
		mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	}
	assert_int_equal(error_of(GPU, MIB), -EOPNOTSUPP);
	assert_int_equal(mock_verbs.calls, 6);
	assert_int_equal(mock_verbs.last.length, MIB);
	assert_int_equal(mock_verbs.live, 0);
	assert_int_equal(mock_verbs.closed, 4);
	explains(-EOPNOTSUPP, "a dma-buf of the GPU's driver: ibv_reg_dmabuf_mr: Operation not supported "
		 "(the adapter's driver imports no dma-bufs); "
		 "a dma-buf of /dev/peerpin: ibv_reg_dmabuf_mr: Operation not supported "
		 "(the adapter's driver imports no dma-bufs); peer memory: ibv_reg_mr: Bad address "
		 "(no peer-memory client knows the address; if the kernel supports clients, type: modprobe peerpin_ibpeer)");
}

static void missing_module_is_explained(void **state)
{
	(void)state;
	mock_cuda_export_error = OTHER_ERROR;
	mock_verbs.pointer_error = EINVAL;
	allocate(0, GPU, 8 * MIB, 1);
	assert_int_equal(error_of(GPU, MIB), -EIO);
	explains(-EIO, "a dma-buf of the GPU's driver: cuMemGetHandleForAddressRange: "
		 "the driver that owns the memory reported an error: Input/output error; "
		 "a dma-buf of /dev/peerpin: pp_open: No such file or directory (type: modprobe peerpin); "
		 "peer memory: ibv_reg_mr: Invalid argument");
}

static void full_adapter_evicts_idle_region(void **state)
{
	(void)state;
	mock_verbs.room = 1;
	allocate(0, GPU, 2 * MIB, 1);
	allocate(1, GPU + 2 * MIB, 2 * MIB, 2);
	once(GPU, MIB);
	once(GPU + 2 * MIB, MIB);
	assert_int_equal(mock_verbs.live, 1);
	assert_int_equal(mock_verbs.last.addr, GPU + 2 * MIB);
}

/* No registration holds a descriptor, so an eviction would free no descriptor. */
static void descriptor_limit_evicts_nothing(void **state)
{
	struct pp_cache_stats stats;
	const struct pp_mr *mr;

	(void)state;
	allocate(0, GPU, 2 * MIB, 1);
	allocate(1, GPU + 2 * MIB, 2 * MIB, 2);
	mr = once(GPU, MIB);
	mock_verbs.dmabuf_error = EMFILE;
	mock_verbs.pointer_error = EFAULT;
	assert_int_equal(error_of(GPU + 2 * MIB, MIB), -EMFILE);
	assert_int_equal(why.attempt[0].error, -EMFILE);
	assert_ptr_equal(once(GPU, MIB), mr);
	pp_cache_stats(pp_verbs_cache(verbs), &stats);
	assert_int_equal(stats.evictions, 0);
	mock_verbs.dmabuf_error = ENFILE;
	assert_int_equal(error_of(GPU + 2 * MIB, MIB), -ENFILE);
}

static void managed_memory_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_allocations[0].managed = true;
	assert_int_equal(error_of(GPU, MIB), -EINVAL);
	assert_int_equal(mock_verbs.calls, 0);
	explains(-EINVAL, "managed memory moves and cannot be pinned");
}

static void non_rdma_memory_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mock_allocations[0].no_rdma = true;
	assert_int_equal(error_of(GPU, MIB), -EINVAL);
	assert_int_equal(why.why.reason, PEERPIN_REASON_VENDOR_REFUSED);
	assert_int_equal(mock_verbs.calls, 0);
}

static void range_past_allocation_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	assert_int_equal(error_of(GPU + 7 * MIB, 2 * MIB), -EINVAL);
	assert_int_equal(why.why.reason, PEERPIN_REASON_VENDOR_REFUSED);
	assert_int_equal(mock_verbs.calls, 0);
}

/*
 * Without CUDA the cache can neither detect the free of GPU memory nor set SYNC_MEMOPS. The CPU has no pages there, but
 * the adapter registers the memory.
 */
static void gpu_memory_without_cuda_is_refused(void **state)
{
	(void)state;
	allocate(0, GPU + 512, 4096, 7);
	mock_cuda_error = 700;
	mock_expect(PEERPIN_IOC_WATCH, watch_not_mapped);
	assert_int_equal(error_of(GPU + 512, 4096), -EINVAL);
	assert_int_equal(mock_verbs.live, 0);
	explains(-EINVAL, "host memory: pp_watch: CUDA knows no GPU memory of this process at the address");
}

/* ---- a mock of libpeerpin-hook ------------------------------------------- */

static void (*told)(void *arg, uint64_t addr, uint64_t length);
static void *told_arg;

int pp_hook_add(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg)
{
	told = gone;
	told_arg = arg;
	return 0;
}

int pp_hook_remove(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg)
{
	if (told == gone && told_arg == arg)
		told = NULL;
	return 0;
}

/* The hook must deregister at the free: the dma-buf would keep the memory until the next get of its address. */
static void hook_deregisters_freed_memory(void **state)
{
	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	once(GPU, MIB);
	told(told_arg, GPU, 8 * MIB);
	assert_int_equal(mock_verbs.live, 0);
	once(GPU, MIB);
	pp_verbs_close(verbs);
	assert_null(told);
	assert_int_equal(open_verbs(), 0);
}

/* ---- threads ------------------------------------------------------------------------------- */

enum {
	THREADS = 4,
	ROUNDS = 3000,
};

/* The cache holds half of the allocations, so threads evict each other's idle entries. */
static void *use(void *arg)
{
	uintptr_t wrong = 0;
	unsigned int i, seed = (unsigned int)(uintptr_t)arg;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t addr = GPU + 2 * MIB * (rand_r(&seed) % MOCK_ALLOCATIONS) + 1;
		const struct pp_mr *mr;

		if (pp_verbs_reg(verbs, (void *)(uintptr_t)addr, 5, &mr, NULL)) {
			wrong++;
			continue;
		}
		wrong += mr->addr != addr - 1 || (uintptr_t)mr->mr->addr != mr->addr;
		pp_verbs_unreg(verbs, mr);
	}
	return (void *)wrong;
}

static void threads_share_one_cache(void **state)
{
	struct pp_cache_attr limits = { .max_entries = MOCK_ALLOCATIONS / 2 };
	struct pp_cache_stats stats;
	pthread_t thread[THREADS];
	uintptr_t i;
	void *wrong;

	(void)state;
	pp_verbs_close(verbs);
	assert_int_equal(pp_verbs_open(&mock_pd, ACCESS, &limits, &verbs), 0);
	for (i = 0; i < MOCK_ALLOCATIONS; i++)
		allocate((int)i, GPU + 2 * MIB * i, 2 * MIB, i + 1);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use, (void *)i), 0);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &wrong), 0);
		assert_null(wrong);
	}
	pp_cache_stats(pp_verbs_cache(verbs), &stats);
	assert_true(stats.hits && stats.evictions);
	assert_in_range(mock_verbs.live, 1, MOCK_ALLOCATIONS / 2);
}

/* ---- other calls -------------------------------------------------------------------------------- */

static void empty_range_is_refused(void **state)
{
	(void)state;
	assert_int_equal(error_of(HOST, 0), -EINVAL);
	assert_int_equal(error_of(UINT64_MAX - 100, 200), -EINVAL);
	explains(-EINVAL, "Invalid argument");
	assert_int_equal(pp_verbs_explain(NULL, 0, -EINVAL, NULL), strlen("Invalid argument"));
}

static void short_buffer_cuts_explanation(void **state)
{
	char text[20], all[256];
	int length;

	(void)state;
	mock_verbs.pointer_error = EFAULT;
	assert_int_equal(error_of(HOST, 4096), -EFAULT);
	length = pp_verbs_explain(all, sizeof(all), -EFAULT, &why);
	assert_int_equal(length, strlen(all));
	assert_int_equal(pp_verbs_explain(NULL, 0, -EFAULT, &why), length);
	assert_int_equal(pp_verbs_explain(text, sizeof(text), -EFAULT, &why), length);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_memory_equal(text, all, sizeof(text) - 1);
}

static void bad_open_arguments_are_refused(void **state)
{
	struct pp_cache_attr watch = { .watch = PP_WATCH_TAG }, flags = { .pin_flags = 5 }, pcie = { .pin_flags = 2 };
	struct pp_verbs *none = NULL;

	(void)state;
	assert_int_equal(pp_verbs_open(NULL, ACCESS, NULL, &none), -EINVAL);
	assert_int_equal(pp_verbs_open(&mock_pd, ACCESS, NULL, NULL), -EINVAL);
	assert_int_equal(pp_verbs_open(&mock_pd, ACCESS, &watch, &none), -EINVAL);
	assert_int_equal(pp_verbs_open(&mock_pd, ACCESS, &flags, &none), -EOPNOTSUPP);
	assert_int_equal(pp_verbs_open(&mock_pd, ACCESS, &pcie, &none), -EOPNOTSUPP);
	assert_null(none);
	pp_verbs_close(NULL);
}

static int child(const struct pp_mr *mr)
{
	const struct pp_mr *out;
	int live = mock_verbs.live;

	if (pp_verbs_reg(verbs, (void *)(uintptr_t)mr->addr, 1, &out, NULL) != -EACCES)
		return 1;
	pp_verbs_close(verbs);
	return mock_verbs.live == live ? 0 : 2;
}

static void child_cannot_register(void **state)
{
	const struct pp_mr *mr;
	int status;
	pid_t pid;

	(void)state;
	allocate(0, GPU, 8 * MIB, 1);
	mr = once(GPU, MIB);
	pid = fork();
	if (!pid)
		_exit(child(mr));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ptr_equal(once(GPU, MIB), mr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(driver_dmabuf_is_registered),
		TEST(small_allocations_get_own_regions),
		TEST(reallocated_memory_is_registered_again),
		TEST_BARE(freed_memory_is_deregistered),
		TEST(memory_replaced_during_registration_fails),
		TEST(peerpin_dmabuf_is_the_fallback),
		TEST_PINNED(persistent_pin_of_freed_memory_ends),
		TEST_PINNED(revoked_region_is_registered_again),
		TEST(peer_memory_is_last_fallback),
		TEST(failure_explains_every_attempt),
		TEST_BARE(missing_module_is_explained),
		TEST_BARE(full_adapter_evicts_idle_region),
		TEST_BARE(descriptor_limit_evicts_nothing),
		TEST(managed_memory_is_refused),
		TEST(non_rdma_memory_is_refused),
		TEST(range_past_allocation_is_refused),
		TEST_HOST(gpu_memory_without_cuda_is_refused),
		TEST(empty_range_is_refused),
		TEST_BARE(short_buffer_cuts_explanation),
		TEST(bad_open_arguments_are_refused),
		TEST(child_cannot_register),
		TEST(hook_deregisters_freed_memory),
		TEST_BARE(threads_share_one_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
