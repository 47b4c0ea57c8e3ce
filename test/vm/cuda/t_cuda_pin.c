// SPDX-License-Identifier: MIT
/* Pins of CUDA memory by a peer: the kinds of memory, the process that pins, and VMM calls that revoke a pin. */
#include "cu.h"
#include "test/vm/emu/p2p.h"

enum { SIZE = 4 << 20, ANY_BYTES = 1 << 20 };

static const CUmemAccessDesc readwrite = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static const CUmemAccessDesc none = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE };

SETUP(gpu_and_peer_are_there)
{
	EXPECT_NODES();
	EXPECT(cu_start(0), "no GPU");
}

/* Pin a page in the middle of memory. */
static int pin(unsigned int slot, CUdeviceptr va)
{
	return get(slot, (va + PAGE - 1) / PAGE * PAGE, PAGE);
}

static int revocations(unsigned int slot)
{
	return callback(slot).out_count;
}

/* ---- memory that no peer may pin -------------------------------------------------- */

CASE(cpu_memory_is_refused)
{
	static char memory[ANY_BYTES];

	EXPECT(pin(0, (uintptr_t)memory) == -EINVAL, "static memory");
}

CASE(host_memory_is_refused)
{
	void *p;

	OK(cuMemHostAlloc(&p, ANY_BYTES, 0));
	EXPECT(pin(0, (uintptr_t)p) == -EINVAL, "pinned");
	OK(cuMemFreeHost(p));
}

CASE(managed_memory_is_refused)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, ANY_BYTES, CU_MEM_ATTACH_GLOBAL));
	EXPECT(pin(0, p) == -EINVAL, "pinned");
	OK(cuMemFree(p));
}

CASE(pool_memory_is_refused)
{
	CUdeviceptr p;

	OK(cuMemAllocAsync(&p, SIZE, NULL));
	OK(cuCtxSynchronize());
	EXPECT(pin(0, p) == -EINVAL, "pinned");
	OK(cuMemFree(p));
}

CASE(freed_memory_is_refused)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, SIZE));
	EXPECT(!pin(0, p) && !put(0), "pin or put of the whole memory failed");
	OK(cuMemFree(p));
	EXPECT(pin(0, p) == -EINVAL, "pinned");
}

/* ---- tokens ----------------------------------------------------------------------- */

struct attempt {
	CUdeviceptr va;
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
};

/* Runs in another process. The exit status is the number of the failed step. */
static int pin_as_a_stranger(void *arg)
{
	const struct attempt *a = arg;
	uint64_t token = a->tokens.p2pToken;
	uint32_t space = a->tokens.vaSpaceToken;

	if (get(1, a->va, PAGE) != -EINVAL)
		return 1;
	if (get_token(1, token + 1, space, a->va, PAGE) != -EINVAL)
		return 2;
	if (get_token(1, token, space + 1, a->va, PAGE) != -EINVAL)
		return 3;
	if (get_token(1, token, space, a->va, PAGE))
		return 4;
	return put_token(1, token, space) ? 5 : 0;
}

CASE(pin_by_another_process_needs_tokens)
{
	struct attempt a;
	int status;

	OK(cuMemAlloc(&a.va, SIZE));
	OK(cuPointerGetAttribute(&a.tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, a.va));
	status = cu_in_child(pin_as_a_stranger, &a);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
	EXPECT(!pin(0, a.va) && !put(0), "the owner cannot pin without tokens");
	OK(cuMemFree(a.va));
}

CASE(tokens_are_of_one_context)
{
	struct attempt a;
	CUcontext first, second;
	CUdeviceptr there;

	OK(cuCtxGetCurrent(&first));
	OK(cuMemAlloc(&a.va, SIZE));
	OK(cuPointerGetAttribute(&a.tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, a.va));
	OK(cuCtxCreate(&second, NULL, 0, 0));
	OK(cuMemAlloc(&there, SIZE));
	EXPECT(get_token(0, a.tokens.p2pToken, a.tokens.vaSpaceToken, there, PAGE) == -EINVAL,
	       "the tokens pin memory of another context");
	OK(cuCtxDestroy(second));
	OK(cuCtxSetCurrent(first));
	EXPECT(!get_token(0, a.tokens.p2pToken, a.tokens.vaSpaceToken, a.va, PAGE),
	       "the tokens do not pin memory of their context");
	EXPECT(!put_token(0, a.tokens.p2pToken, a.tokens.vaSpaceToken), "not unpinned");
	OK(cuMemFree(a.va));
}

CASE(the_end_of_a_context_revokes)
{
	CUcontext first, second;
	CUdeviceptr p;

	OK(cuCtxGetCurrent(&first));
	OK(cuCtxCreate(&second, NULL, 0, 0));
	OK(cuMemAlloc(&p, SIZE));
	EXPECT(!pin(0, p), "not pinned");
	OK(cuCtxDestroy(second));
	EXPECT(revocations(0) == 1, "%d callbacks", revocations(0));
	OK(cuCtxSetCurrent(first));
}

/* ---- memory that the program maps ------------------------------------------------- */

static CUdeviceptr va;
static CUmemGenericAllocationHandle memory;

static CUresult map_memory(bool rdma)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = readwrite.location };

	prop.allocFlags.gpuDirectRDMACapable = rdma;
	if (cuMemCreate(&memory, SIZE, &prop, 0) || cuMemAddressReserve(&va, 2 * SIZE, 0, 0, 0))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return cuMemMap(va, SIZE, 0, memory, 0);
}

static CUresult unmap_memory(void)
{
	CUresult err = cuMemUnmap(va, SIZE);

	return err || cuMemRelease(memory) ? CUDA_ERROR_UNKNOWN : cuMemAddressFree(va, 2 * SIZE);
}

CASE(memory_without_rdma_flag_is_refused)
{
	OK(map_memory(false));
	OK(cuMemSetAccess(va, SIZE, &readwrite, 1));
	EXPECT(pin(0, va) == -EINVAL, "pinned");
	OK(unmap_memory());
}

/* The p2pToken of VMM memory is 0 in every process. */
CASE(vmm_tokens_work_in_their_process)
{
	struct attempt a;
	uint32_t space;

	OK(map_memory(true));
	OK(cuMemSetAccess(va, SIZE, &readwrite, 1));
	a.va = va;
	OK(cuPointerGetAttribute(&a.tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, va));
	space = a.tokens.vaSpaceToken;
	EXPECT(a.tokens.p2pToken == 0, "%#llx", a.tokens.p2pToken);
	EXPECT(!get_token(0, 0, space, va, PAGE) && !put_token(0, 0, space), "the owner cannot pin with the tokens");
	EXPECT(get_token(0, 0, space + 1, va, PAGE) == -EINVAL, "a wrong vaSpaceToken pins");
	EXPECT(WEXITSTATUS(cu_in_child(pin_as_a_stranger, &a)) == 4, "another process can pin the memory");
	OK(unmap_memory());
}

CASE(memory_without_access_is_refused)
{
	OK(map_memory(true));
	EXPECT(pin(0, va) == -EINVAL, "pinned");
	OK(cuMemSetAccess(va, SIZE, &readwrite, 1));
	EXPECT(!pin(0, va) && !put(0), "not pinned");
	OK(unmap_memory());
}

CASE(unmapping_revokes)
{
	OK(map_memory(true));
	OK(cuMemSetAccess(va, SIZE, &readwrite, 1));
	EXPECT(!pin(0, va), "not pinned");
	OK(cuMemRelease(memory));
	EXPECT(revocations(0) == 0, "cuMemRelease() revoked the pin");
	OK(cuMemUnmap(va, SIZE));
	EXPECT(revocations(0) == 1, "%d callbacks", revocations(0));
	OK(cuMemAddressFree(va, 2 * SIZE));
}

CASE(taking_access_away_revokes)
{
	OK(map_memory(true));
	OK(cuMemSetAccess(va, SIZE, &readwrite, 1));
	EXPECT(!pin(0, va), "not pinned");
	OK(cuMemSetAccess(va, SIZE, &none, 1));
	EXPECT(revocations(0) == 1, "%d callbacks", revocations(0));
	OK(unmap_memory());
}

static uint64_t vram_page(CUdeviceptr at)
{
	struct emugpu_test test;

	return emu_translate(fd, at, &test) ? 0 : test.translate.out_vram_page;
}

CASE(each_mapping_has_its_own_pins)
{
	OK(map_memory(true));
	OK(cuMemMap(va + SIZE, SIZE, 0, memory, 0));
	OK(cuMemSetAccess(va, 2 * SIZE, &readwrite, 1));
	EXPECT(vram_page(va) && vram_page(va) == vram_page(va + SIZE), "not the same memory");
	EXPECT(!pin(0, va) && !pin(1, va + SIZE), "not pinned");
	OK(cuMemUnmap(va + SIZE, SIZE));
	EXPECT(revocations(0) == 0 && revocations(1) == 1, "%d and %d callbacks", revocations(0), revocations(1));
	OK(unmap_memory());
	EXPECT(revocations(0) == 1, "%d callbacks", revocations(0));
}

CASE(nothing_is_left)
{
	struct emugpu_test now = counts();

	EXPECT(!now.counts.out_pins && !now.counts.out_dma_maps, "%u pins, %u mappings", now.counts.out_pins,
	       now.counts.out_dma_maps);
	OK(cuDevicePrimaryCtxReset(0));
	now = counts();
	EXPECT(!now.counts.out_blocks, "%u blocks", now.counts.out_blocks);
}

VMTEST_MAIN
