// SPDX-License-Identifier: MIT
/* Ranges, access flags and bus addresses of registrations; users of an MR beside its owner */
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <signal.h>
#include <sys/mman.h>

#include "rdma.h"
#include "test/kmod/raw_dmabuf.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"

enum { GPU_PAGE = 65536 };

static int gpu = -1;

SETUP(adapter_is_there)
{
	gpu = emu_open();
	EXPECT(gpu >= 0 && cu_start(0), "no GPU");
	loop_start();
}

static int transfer(enum ibv_wr_opcode op, uint64_t remote, uint32_t rkey, uint32_t length)
{
	return rc_transfer(&loop.near, op, host, (uintptr_t)bytes, remote, rkey, length);
}

/* The bytes of an MR can be written and read; the bytes beside it cannot. */
static void expect_exactly(const struct ibv_mr *mr, uint64_t at, uint32_t length)
{
	EXPECT(!transfer(IBV_WR_RDMA_WRITE, at, mr->rkey, length) && !transfer(IBV_WR_RDMA_READ, at, mr->rkey, length), "inside");
	EXPECT(transfer(IBV_WR_RDMA_WRITE, at - 1, mr->rkey, 1) == IBV_WC_REM_ACCESS_ERR && !loop_restart(), "the byte before");
	EXPECT(transfer(IBV_WR_RDMA_READ, at + length, mr->rkey, 1) == IBV_WC_REM_ACCESS_ERR && !loop_restart(), "the byte after");
}

/* ---- ranges ---------------------------------------------------------------------------- */

CASE(odd_ranges_are_exact)
{
	static const uint32_t lengths[] = { 1, 4095, GPU_PAGE - 1, GPU_PAGE, GPU_PAGE + 1, 3 * GPU_PAGE + 77 };
	static const uint32_t offsets[] = { 0, 24, GPU_PAGE - 1 };	/* only of pointers: a dma-buf has whole pages */
	struct memory m = { 0 };
	size_t l, o;

	OK(cuMemAlloc(&m.at, BLOCK));
	for (l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
		for (o = 0; o < sizeof(offsets) / sizeof(*offsets); o++) {
			EXPECT(!memory_register(&m, loop.near.pd, BY_POINTER, GPU_PAGE + offsets[o], lengths[l]), "%d", errno);
			expect_exactly(m.mr, m.at + GPU_PAGE + offsets[o], lengths[l]);
			EXPECT(vmtest_result == VMTEST_OK && !ibv_dereg_mr(m.mr), "offset %u, length %u", offsets[o], lengths[l]);
		}
	}
	m.mr = NULL;
	EXPECT(!memory_close(&m), "close");
}

static struct ibv_mr *of_dmabuf(int fd, uint64_t offset, size_t length, uint64_t iova)
{
	return ibv_reg_dmabuf_mr(loop.near.pd, offset, length, iova, fd, ACCESS);
}

CASE(impossible_ranges_are_refused)
{
	struct memory m = { 0 };
	int fd;

	OK(cuMemAlloc(&m.at, BLOCK));
	fd = memory_dmabuf(&m, BY_REGION_DMABUF, 0, BLOCK);
	EXPECT(fd >= 0, "%d", fd);
	EXPECT(!ibv_reg_mr(loop.near.pd, (void *)m.at, 0, ACCESS) && errno == EINVAL, "no byte of the GPU: %d", errno);
	EXPECT(!of_dmabuf(fd, 0, 0, m.at) && errno == EINVAL, "no byte of a dma-buf: %d", errno);
	EXPECT(!of_dmabuf(fd, BLOCK, 0, m.at) && errno == EINVAL, "no byte at its end: %d", errno);
	EXPECT(!of_dmabuf(fd, 0, BLOCK + 1, m.at) && errno == EINVAL, "a byte too many: %d", errno);
	EXPECT(!of_dmabuf(fd, -4096ull, 8192, 0) && errno == EINVAL, "the offset wraps: %d", errno);
	EXPECT(!of_dmabuf(fd, 4096, -4096ull, 0) && errno == EINVAL, "the length wraps: %d", errno);
	EXPECT(!ibv_reg_mr(loop.near.pd, (void *)m.at, BLOCK + 1, ACCESS) && errno == EFAULT, "more than the block: %d", errno);
	EXPECT(!ibv_reg_mr(loop.near.pd, (void *)m.at, 1ull << 40, ACCESS), "a terabyte");
	EXPECT(!ibv_reg_mr(loop.near.pd, (void *)m.at, -(size_t)m.at, ACCESS), "up to the end of addresses");
	EXPECT(!ibv_reg_mr(loop.near.pd, (void *)m.at, -4096ull, ACCESS), "beyond the end of addresses");
	close(fd);
	EXPECT(!memory_close(&m), "close");
}

/* The MR's own addresses need not be those of the memory, but must not wrap. */
CASE(iova_must_not_wrap)
{
	const uint64_t high = 1ull << 63, last = -4096ull;
	struct memory m = { 0 };
	struct ibv_mr *mr;
	int fd;

	OK(cuMemAlloc(&m.at, BLOCK));
	mr = ibv_reg_mr_iova(loop.near.pd, (void *)m.at, BLOCK, high, ACCESS);
	EXPECT(mr, "%d", errno);
	expect_exactly(mr, high, BLOCK);
	CHECK_CASE();
	EXPECT(!ibv_dereg_mr(mr), "deregistration");
	EXPECT(!ibv_reg_mr_iova(loop.near.pd, (void *)m.at, BLOCK, last, ACCESS) && errno == EINVAL, "pointer: %d", errno);
	fd = memory_dmabuf(&m, BY_REGION_DMABUF, 0, BLOCK);
	EXPECT(!of_dmabuf(fd, 0, BLOCK, last) && errno == EINVAL, "dma-buf: %d", errno);
	close(fd);
	EXPECT(!memory_close(&m), "close");
}

/* Neither the kernel nor a client has all of it. */
CASE(half_host_memory_is_refused)
{
	const uint64_t at = 0x3000000000;	/* no address of CUDA */
	void *const below = (void *)(at - 4096), *const above = (void *)(at + BLOCK);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE;

	EXPECT(!emu_alloc(gpu, at, BLOCK), "alloc");
	EXPECT(mmap(below, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == below, "%d", errno);
	EXPECT(mmap(above, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == above, "%d", errno);
	EXPECT(!ibv_reg_mr(loop.near.pd, below, 8192, ACCESS) && errno == EFAULT, "host, then GPU: %d", errno);
	EXPECT(!ibv_reg_mr(loop.near.pd, (char *)above - 4096, 8192, ACCESS) && errno == EFAULT, "GPU, then host: %d", errno);
	munmap(below, 4096);
	munmap(above, 4096);
	EXPECT(!emu_free(gpu, at), "free");
}

/* ---- access ------------------------------------------------------------------------------ */

CASE(access_flags_are_kept)
{
	struct memory m = { 0 };
	struct ibv_mr *mr;

	OK(cuMemAlloc(&m.at, BLOCK));
	mr = ibv_reg_mr(loop.near.pd, (void *)m.at, BLOCK, IBV_ACCESS_REMOTE_READ);
	EXPECT(mr, "%d", errno);
	EXPECT(!transfer(IBV_WR_RDMA_READ, m.at, mr->rkey, 64), "read");
	EXPECT(transfer(IBV_WR_RDMA_WRITE, m.at, mr->rkey, 64) == IBV_WC_REM_ACCESS_ERR && !loop_restart(), "write");
	EXPECT(!ibv_dereg_mr(mr), "deregistration");
	EXPECT(!ibv_reg_mr(loop.near.pd, (void *)m.at, BLOCK, ACCESS | IBV_ACCESS_ON_DEMAND), "on demand");
	EXPECT(!ibv_reg_mr(loop.near.pd, bytes, BLOCK, ACCESS | IBV_ACCESS_ON_DEMAND), "host memory on demand");
	EXPECT(!memory_close(&m), "close");
}

static void add(struct ib_uverbs_attr *a, uint16_t id, uint16_t length, uint64_t data)
{
	*a = (struct ib_uverbs_attr){ .attr_id = id, .len = length, .flags = UVERBS_ATTR_F_MANDATORY, .data = data };
}

/* libibverbs has the call, but Soft-RoCE's userspace driver has not. */
static int advise(const struct ibv_mr *mr, uint64_t advice, uint64_t flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = 4096, .lkey = mr->lkey };
	struct {
		struct ib_uverbs_ioctl_hdr header;
		struct ib_uverbs_attr attributes[4];
	} r = {
		.header = { .length = sizeof(r), .object_id = UVERBS_OBJECT_MR, .method_id = UVERBS_METHOD_ADVISE_MR,
			    .driver_id = RDMA_DRIVER_RXE, .num_attrs = 4 },
	};

	add(&r.attributes[0], UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 0, mr->pd->handle);
	add(&r.attributes[1], UVERBS_ATTR_ADVISE_MR_ADVICE, sizeof(advice), advice);
	add(&r.attributes[2], UVERBS_ATTR_ADVISE_MR_FLAGS, sizeof(flags), flags);
	add(&r.attributes[3], UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(sge), (uintptr_t)&sge);
	return ioctl(mr->context->cmd_fd, RDMA_VERBS_IOCTL, &r) ? -errno : 0;
}

static int change_access(const struct ibv_mr *mr, int access)
{
	struct ib_uverbs_rereg_mr_resp answer;
	struct {
		struct ib_uverbs_cmd_hdr header;
		struct ib_uverbs_rereg_mr rereg;
	} command = {
		.header = { .command = IB_USER_VERBS_CMD_REREG_MR, .in_words = sizeof(command) / 4, .out_words = sizeof(answer) / 4 },
		.rereg = { .response = (uintptr_t)&answer, .mr_handle = mr->handle, .flags = IBV_REREG_MR_CHANGE_ACCESS,
			   .pd_handle = mr->pd->handle, .access_flags = (uint32_t)access },
	};

	return write(mr->context->cmd_fd, &command, sizeof(command)) == sizeof(command) ? 0 : -errno;
}

CASE(mr_is_not_changed_later)
{
	struct memory m;
	int way, ret;

	for (way = 0; way < WAYS; way++) {
		EXPECT(!memory_open(&m, loop.near.pd, way), "way %d", way);
		ret = advise(m.mr, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
		EXPECT(ret == -EOPNOTSUPP, "prefetch: %d", ret);
		ret = advise(m.mr, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0);
		EXPECT(ret == -EOPNOTSUPP, "prefetch later: %d", ret);
		ret = change_access(m.mr, IBV_ACCESS_REMOTE_READ);
		EXPECT(ret == -EOPNOTSUPP, "other access: %d", ret);
		EXPECT(!transfer(IBV_WR_RDMA_WRITE, m.at, m.mr->rkey, 4096) && !memory_close(&m), "way %d: write", way);
	}
	EXPECT(advise(host, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, IB_UVERBS_ADVISE_MR_FLAG_FLUSH) == -EOPNOTSUPP, "host memory");
}

/* ---- memory windows -------------------------------------------------------------------------- */

static struct ibv_mw *window_bind(struct ibv_mr *mr, uint64_t at)
{
	struct ibv_mw *mw = ibv_alloc_mw(loop.near.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr, .addr = at, .length = 4096, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	if (!mw || ibv_bind_mw(loop.far.qp, mw, &bind))
		return NULL;
	while (!ibv_poll_cq(loop.far.cq, 1, &wc))
		;
	return wc.status ? NULL : mw;
}

CASE(window_ends_with_memory)
{
	struct memory m = { 0 };
	CUdeviceptr next;
	struct ibv_mw *mw;
	uint64_t at;

	OK(cuMemAlloc(&m.at, BLOCK));
	at = m.at + 4096;
	m.mr = ibv_reg_mr(loop.near.pd, (void *)m.at, BLOCK, ACCESS | IBV_ACCESS_MW_BIND);
	EXPECT(m.mr, "%d", errno);
	mw = window_bind(m.mr, at);
	EXPECT(mw, "bind: %d", errno);
	EXPECT(!transfer(IBV_WR_RDMA_WRITE, at, mw->rkey, 4096), "write");
	EXPECT(ibv_dereg_mr(m.mr), "the MR ended before its window");
	EXPECT(!memory_free(&m) && (next = owner_new()), "free");
	EXPECT(transfer(IBV_WR_RDMA_WRITE, at, mw->rkey, 4096) == IBV_WC_REM_ACCESS_ERR && !loop_restart(), "freed memory");
	EXPECT(owner_keeps(next), "the next owner's bytes have changed");
	EXPECT(!ibv_dealloc_mw(mw) && !memory_close(&m), "close");
}

/* ---- other processes ------------------------------------------------------------------------- */

/** struct known - what another process knows of an MR */
struct known {
	uint64_t at;
	uint32_t rkey;
};

/* By a connection of its own with itself, as every program can make it */
static int use_foreign_mr(void *arg)
{
	const struct known *k = arg;
	struct loop own;
	struct ibv_mr *mr;

	if (loop_open(&own))
		return 2;
	mr = ibv_reg_mr(own.near.pd, bytes, BLOCK, ACCESS);
	return !mr ? 3 : rc_transfer(&own.near, IBV_WR_RDMA_WRITE, mr, (uintptr_t)bytes, k->at, k->rkey, 4096) != IBV_WC_REM_ACCESS_ERR;
}

static int register_parents_memory(void *arg)
{
	const struct known *k = arg;
	struct rc own;

	return rc_open(&own) ? 2 : !!ibv_reg_mr(own.pd, (void *)k->at, 4096, ACCESS);
}

/* The children are forks, with copies of all descriptors; their ends do not end the MR. */
CASE(other_processes_have_no_mr)
{
	struct known k;
	struct memory m;
	int way, status;

	for (way = 0; way < WAYS; way++) {
		EXPECT(!memory_open(&m, loop.near.pd, way), "way %d", way);
		k = (struct known){ .at = m.at, .rkey = m.mr->rkey };
		status = cu_in_child(use_foreign_mr, &k);
		EXPECT(!status, "a child used the MR: %d", status);
		status = cu_in_child(register_parents_memory, &k);
		EXPECT(!status, "a child registered the memory: %d", status);
		EXPECT(!transfer(IBV_WR_RDMA_WRITE, m.at, m.mr->rkey, 4096) && !memory_close(&m), "way %d: write", way);
	}
}

/* ---- an exporter that gives any bus address, and moves ------------------------------------------ */

struct registration {
	int fd;
	struct ibv_mr *mr;
	uint64_t end_ns;
};

static void *registration_run(void *arg)
{
	struct registration *r = arg;

	r->mr = of_dmabuf(r->fd, 0, 4096, 0);
	r->end_ns = now_ns();
	return NULL;
}

CASE(moving_dmabuf_is_waited_for)
{
	int node, exporter = module_load("test/raw_dmabuf.ko", "");
	struct registration r = { 0 };
	uint64_t moved_ns;
	pthread_t thread;

	EXPECT(!exporter, "test/raw_dmabuf.ko: %d", exporter);
	node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	r.fd = ioctl(node, RAW_DMABUF_NEW);
	EXPECT(r.fd >= 0 && !ioctl(node, RAW_DMABUF_MOVE, r.fd), "move: %d", errno);
	EXPECT(!pthread_create(&thread, NULL, registration_run, &r), "thread");
	usleep(200000);
	moved_ns = now_ns();
	EXPECT(!ioctl(node, RAW_DMABUF_MOVED), "moved: %d", errno);
	pthread_join(thread, NULL);
	EXPECT(r.mr && r.end_ns > moved_ns, "the MR is of memory that has not come yet");
	EXPECT(!transfer(IBV_WR_RDMA_WRITE, 0, r.mr->rkey, 4096) && !ibv_dereg_mr(r.mr), "write");
	close(r.fd);
	close(node);
}

CASE(address_beyond_adapter_is_refused)
{
	static const char *const buses[] = { "0xfffff800", "0x100000000", "0xfffffffffffff000", "0xfffffffffffff800" };
	int fd, node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	size_t i;

	for (i = 0; i < sizeof(buses) / sizeof(*buses); i++) {
		EXPECT(!module_set("raw_dmabuf/parameters/bus", buses[i]), "bus");
		fd = ioctl(node, RAW_DMABUF_NEW);
		EXPECT(fd >= 0, "%d", errno);
		EXPECT(!of_dmabuf(fd, 0, 4096, 0) && errno == EIO, "%s: %d", buses[i], errno);
		close(fd);
	}
	close(node);
	EXPECT(!module_remove("raw_dmabuf"), "%d", errno);
}

VMTEST_MAIN
