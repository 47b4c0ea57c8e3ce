// SPDX-License-Identifier: MIT
/*
 * Host memory that the kernel would bounce: above 4 GiB, where the adapter's function does not reach, in a
 * VM of 6 GiB. Without an IOMMU it is refused: a bounce buffer would be a copy. Behind an IOMMU it works.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "rdma.h"

/* The kernel bounces at most 256 KiB in one piece. */
enum { SMALL = 16 << 10 };

static struct rc rc;

SETUP(adapter_is_there)
{
	EXPECT(!rc_open(&rc), "no adapter");
}

static bool iommu_is_there(void)
{
	DIR *dir = opendir("/sys/class/iommu");
	struct dirent *e;
	bool is = false;

	while (dir && (e = readdir(dir)))
		is = is || e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return is;
}

static uint64_t physical(const void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (pread(fd, &entry, 8, (uintptr_t)at / 4096 * 8) != 8)
		entry = 0;
	close(fd);
	return (entry & ((1ull << 55) - 1)) * 4096;
}

/* Host memory above 4 GiB; NULL if there is none */
static unsigned char *far_memory(void)
{
	unsigned char *at = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at != MAP_FAILED && physical(at) >> 32 ? at : NULL;
}

CASE(far_memory_is_refused_or_mapped)
{
	unsigned char *at = far_memory();
	struct ibv_mr *mr;

	EXPECT(at, "the memory is below 4 GiB");
	mr = ibv_reg_mr(rc.pd, at, SMALL, ACCESS);
	if (!iommu_is_there()) {
		EXPECT(!mr && errno == EIO, "errno %d", errno);
		return;
	}
	EXPECT(mr && !ibv_dereg_mr(mr) && !loop_open(&loop), "errno %d", errno);
	mr = ibv_reg_mr(loop.near.pd, at, SMALL, ACCESS);
	at[0] = 77;
	EXPECT(mr && !rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, mr, (uintptr_t)at, (uintptr_t)at + 4096, mr->rkey, 4096), "write");
	EXPECT(at[4096] == 77, "other bytes");
}

/* swiotlb=force: the kernel bounces memory within reach, too, but not behind an IOMMU. */
CASE_BY_NAME(forced_bounce_is_refused)
{
	unsigned char *at = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(rc.pd, at, SMALL, ACCESS);

	if (iommu_is_there())
		EXPECT(mr && !ibv_dereg_mr(mr), "errno %d", errno);
	else
		EXPECT(!mr && errno == EIO, "errno %d", errno);
}

/* Memory that the process may only read is mapped so: a DMA write to it would fault in an IOMMU. */
CASE(read_only_memory_is_read)
{
	unsigned char *at = mmap(NULL, SMALL, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = far_memory();
	struct ibv_mr *mr, *to_mr;
	int status;

	if (!iommu_is_there())
		SKIP("no IOMMU");
	EXPECT(to && !loop_open(&loop), "no memory, or no connection");
	mr = ibv_reg_mr(loop.near.pd, at, SMALL, IBV_ACCESS_REMOTE_READ);
	to_mr = ibv_reg_mr(loop.near.pd, to, SMALL, ACCESS);
	EXPECT(mr && to_mr, "errno %d", errno);
	*to = 1;
	EXPECT(!rc_transfer(&loop.near, IBV_WR_RDMA_READ, to_mr, (uintptr_t)to, (uintptr_t)at, mr->rkey, 4096) && !*to, "read");
	status = rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, to_mr, (uintptr_t)to, (uintptr_t)at, mr->rkey, 4096);
	EXPECT(status == IBV_WC_REM_ACCESS_ERR, "write: %d", status);
}

VMTEST_MAIN
