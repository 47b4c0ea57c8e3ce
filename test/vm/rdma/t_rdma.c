// SPDX-License-Identifier: MIT
/* RDMA of GPU memory by the emulated adapter: each operation, each way to register, freed memory. */
#include <stdio.h>
#include <unistd.h>

#include "rdma.h"

enum { PAGE = 4096, OFFSET = 3 * 65536 + 24, LENGTH = 300001 };

SETUP(adapter_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	loop_start();
}

CASE(adapter_hangs_on_a_pci_function)
{
	char path[128], id[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/device", ibv_get_device_name(loop.near.ctx->device));
	f = fopen(path, "re");
	EXPECT(f && fgets(id, sizeof(id), f), "%s: %d", path, errno);
	fclose(f);
	EXPECT(!strcmp(id, "0x0001\n"), "%s", id);
}

static void set_bytes(unsigned int seed)
{
	size_t i;

	for (i = 0; i < BLOCK; i++)
		bytes[i] = (unsigned char)(seed + i * 7 + i / 251);
}

/* A write and a read of an odd part of the memory, whose neighbours keep their bytes */
static void write_and_read(enum way way)
{
	struct memory m;
	uint64_t at;
	int err = memory_open(&m, loop.near.pd, way);

	EXPECT(!err, "registration: %d", err);
	at = m.at + OFFSET;
	set_bytes(way);
	OK(cuMemsetD8(m.at, 0xee, BLOCK) ?: cuCtxSynchronize());
	EXPECT(!rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, host, (uintptr_t)bytes, at, m.mr->rkey, LENGTH), "write");
	OK(cuMemcpyDtoH(back, m.at, BLOCK));
	EXPECT(!memcmp(back + OFFSET, bytes, LENGTH), "the GPU has other bytes");
	EXPECT(back[OFFSET - 1] == 0xee && back[OFFSET + LENGTH] == 0xee, "a neighbour has changed");
	memset(bytes, 0, sizeof(bytes));
	EXPECT(!rc_transfer(&loop.near, IBV_WR_RDMA_READ, host, (uintptr_t)bytes, at, m.mr->rkey, LENGTH), "read");
	EXPECT(!memcmp(back + OFFSET, bytes, LENGTH) && !bytes[LENGTH], "the host has other bytes");
	EXPECT(!memory_close(&m), "close");
}

CASE(gpu_memory_is_written_and_read)
{
	int way;

	for (way = 0; way < WAYS; way++) {
		write_and_read(way);
		EXPECT(vmtest_result == VMTEST_OK, "way %d", way);
	}
}

CASE(gpu_memory_is_both_ends)
{
	struct memory from, to;
	int way;

	for (way = 0; way < WAYS; way++) {
		EXPECT(!memory_open(&from, loop.near.pd, way) && !memory_open(&to, loop.near.pd, way), "way %d", way);
		set_bytes(way + 40);
		OK(cuMemcpyHtoD(from.at, bytes, BLOCK));
		EXPECT(!rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, from.mr, from.at, to.at, to.mr->rkey, BLOCK), "way %d", way);
		OK(cuMemcpyDtoH(back, to.at, BLOCK));
		EXPECT(!memcmp(back, bytes, BLOCK), "way %d: other bytes", way);
		EXPECT(!memory_close(&from) && !memory_close(&to), "close");
	}
}

/* The adapter maps whole pages, but the MR is what was asked for. */
CASE(part_is_registered_exactly)
{
	struct memory m = { 0 };
	int way, status;

	for (way = 0; way < WAYS; way++) {
		OK(cuMemAlloc(&m.at, BLOCK));
		EXPECT(!memory_register(&m, loop.near.pd, way, 65536, 65536), "way %d: %d", way, errno);
		EXPECT(!rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, host, (uintptr_t)bytes, m.at + 65536, m.mr->rkey, 65536),
		       "way %d", way);
		status = rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, host, (uintptr_t)bytes, m.at + 65536, m.mr->rkey, 65537);
		EXPECT(status == IBV_WC_REM_ACCESS_ERR, "way %d: a byte too many: %d", way, status);
		EXPECT(!loop_connect(&loop) && !memory_close(&m), "way %d", way);
	}
}

CASE(atomics_change_gpu_memory)
{
	uint64_t *old = (uint64_t *)bytes, now;
	struct memory m;
	int way;

	for (way = 0; way < WAYS; way++) {
		EXPECT(!memory_open(&m, loop.near.pd, way), "way %d", way);
		OK(cuMemsetD8(m.at, 0, BLOCK) ?: cuCtxSynchronize());
		EXPECT(!loop_atomic(&loop, host, m.at + 8, m.mr->rkey, IBV_WR_ATOMIC_FETCH_AND_ADD, 1ULL << 40, 0), "add");
		EXPECT(!*old, "old %llx", (unsigned long long)*old);
		EXPECT(!loop_atomic(&loop, host, m.at + 8, m.mr->rkey, IBV_WR_ATOMIC_CMP_AND_SWP, 1ULL << 40, 77), "swap");
		EXPECT(*old == 1ULL << 40, "old %llx", (unsigned long long)*old);
		EXPECT(!loop_atomic(&loop, host, m.at + 8, m.mr->rkey, IBV_WR_ATOMIC_CMP_AND_SWP, 5, 99), "no swap");
		OK(cuMemcpyDtoH(&now, m.at + 8, 8));
		EXPECT(now == 77 && *old == 77, "%llx", (unsigned long long)now);
		EXPECT(!memory_close(&m), "way %d", way);
	}
}

CASE(send_is_received_in_gpu_memory)
{
	struct memory m;
	int way, received;

	for (way = 0; way < WAYS; way++) {
		EXPECT(!memory_open(&m, loop.near.pd, way), "way %d", way);
		set_bytes(way + 9);
		EXPECT(!loop_send(&loop, host, (uintptr_t)bytes, m.mr, m.at + 5, 50000, &received), "send");
		EXPECT(!received, "receive: %d", received);
		OK(cuMemcpyDtoH(back, m.at + 5, 50000));
		EXPECT(!memcmp(back, bytes, 50000), "way %d: other bytes", way);
		EXPECT(!memory_close(&m), "close");
	}
}

/* ---- freed memory ------------------------------------------------------------------- */

/* The next owner of the memory keeps its bytes. */
static void freed_is_refused(enum way way, enum ibv_wr_opcode op)
{
	CUdeviceptr next;
	struct memory m;
	int status;

	EXPECT(!memory_open(&m, loop.near.pd, way), "registration");
	status = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 0 : rc_transfer(&loop.near, op, host, (uintptr_t)bytes, m.at, m.mr->rkey, BLOCK);
	EXPECT(!status, "before: %d", status);
	EXPECT(!memory_free(&m) && (next = owner_new()), "free");
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		status = loop_atomic(&loop, host, (uintptr_t)m.mr->addr, m.mr->rkey, op, 1, 0);
	else
		status = rc_transfer(&loop.near, op, host, (uintptr_t)bytes, (uintptr_t)m.mr->addr, m.mr->rkey, BLOCK);
	EXPECT(status == IBV_WC_REM_ACCESS_ERR, "way %d, operation %d: %d", way, op, status);
	EXPECT(owner_keeps(next), "way %d: the next owner's bytes have changed", way);
	EXPECT(!loop_connect(&loop) && !memory_close(&m), "close");
}

static void freed_is_always_refused(enum ibv_wr_opcode op)
{
	int way;

	for (way = 0; way < ENDING_WAYS; way++) {
		freed_is_refused(way, op);
		CHECK_CASE();
	}
}

CASE(freed_memory_is_not_written)
{
	freed_is_always_refused(IBV_WR_RDMA_WRITE);
}

CASE(freed_memory_is_not_read)
{
	freed_is_always_refused(IBV_WR_RDMA_READ);
}

CASE(freed_memory_takes_no_atomic)
{
	freed_is_always_refused(IBV_WR_ATOMIC_FETCH_AND_ADD);
}

CASE(freed_memory_receives_nothing)
{
	int way, received = -1;
	struct memory m;

	for (way = 0; way < ENDING_WAYS; way++) {
		EXPECT(!memory_open(&m, loop.near.pd, way) && !memory_free(&m), "way %d", way);
		EXPECT(loop_send(&loop, host, (uintptr_t)bytes, m.mr, (uintptr_t)m.mr->addr, 4096, &received), "sent");
		EXPECT(received > 0, "way %d: received: %d", way, received);
		EXPECT(!loop_connect(&loop) && !memory_close(&m), "close");
	}
}

/* A dma-buf of CUDA keeps the memory: it has no next owner. */
CASE(cuda_dmabuf_keeps_freed_memory)
{
	CUdeviceptr next;
	struct memory m;

	EXPECT(!memory_open(&m, loop.near.pd, BY_CUDA_DMABUF), "registration");
	EXPECT(!memory_free(&m) && (next = owner_new()), "free");
	EXPECT(!rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, host, (uintptr_t)bytes, (uintptr_t)m.mr->addr, m.mr->rkey, BLOCK), "write");
	EXPECT(owner_keeps(next), "the next owner's bytes have changed");
	EXPECT(!memory_close(&m), "close");
}

/* ---- errors ------------------------------------------------------------------------- */

CASE(unknown_memory_is_efault)
{
	void *nothing = (void *)0x7000000000;

	EXPECT(!ibv_reg_mr(loop.near.pd, nothing, PAGE, ACCESS) && errno == EFAULT, "%d", errno);
}

CASE(dmabuf_range_is_checked)
{
	struct memory m = { 0 };
	int fd;

	OK(cuMemAlloc(&m.at, BLOCK));
	fd = memory_dmabuf(&m, BY_CUDA_DMABUF, 0, BLOCK);
	EXPECT(fd >= 0, "%d", fd);
	EXPECT(!ibv_reg_dmabuf_mr(loop.near.pd, PAGE, BLOCK, m.at, fd, ACCESS) && errno == EINVAL, "%d", errno);
	EXPECT(!ibv_reg_dmabuf_mr(loop.near.pd, 0, BLOCK, m.at, -1, ACCESS) && errno == EBADF, "%d", errno);
	EXPECT(!ibv_reg_dmabuf_mr(loop.near.pd, 0, BLOCK, m.at, 0, ACCESS) && errno == EINVAL, "%d", errno);
	close(fd);
	OK(cuMemFree(m.at));
}

/* The region of revocable memory ends when the memory is freed, whoever has pinned its dma-buf. */
CASE(region_refuses_pinning_adapter)
{
	struct memory m = { 0 };
	int fd;

	OK(cuMemAlloc(&m.at, BLOCK));
	fd = memory_dmabuf(&m, BY_REGION_DMABUF, 0, BLOCK);
	EXPECT(fd >= 0, "%d", fd);
	EXPECT(!dmabuf_register(loop.near.pd, fd, BLOCK, m.at, true) && errno == EOPNOTSUPP, "errno %d", errno);
	close(fd);
	EXPECT(!memory_close(&m), "close");
}

VMTEST_MAIN
