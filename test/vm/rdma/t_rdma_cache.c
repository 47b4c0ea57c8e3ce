// SPDX-License-Identifier: MIT
/* Registrations of GPU memory on the emulated adapter are cached: a second transfer makes no MR. */
#include <libpeerpin-verbs.h>

#include "rdma.h"

static struct loop loop;
static struct pp_verbs *verbs;

SETUP(adapter_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!loop_open(&loop), "no adapter, or no connection");
	EXPECT(!pp_verbs_open(loop.near.pd, ACCESS, NULL, &verbs), "pp_verbs_open");
}

/* All MRs, with their numbers: the adapter uses no number twice. */
static void list_mrs(char *out, size_t room)
{
	FILE *f = popen("rdma resource show mr", "re");
	size_t length = f ? fread(out, 1, room - 1, f) : 0;

	out[length] = '\0';
	EXPECT(f && !pclose(f), "rdma resource show mr");
}

/* Registers both ends, as programs do for each transfer. */
static int transfer(CUdeviceptr from, CUdeviceptr to, uint32_t length)
{
	const struct pp_mr *near, *far;
	int status;

	if (pp_verbs_reg(verbs, (void *)from, length, &near, NULL) || pp_verbs_reg(verbs, (void *)to, length, &far, NULL))
		return -1;
	status = rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, near->mr, from, to, far->mr->rkey, length);
	pp_verbs_unreg(verbs, near);
	pp_verbs_unreg(verbs, far);
	return status;
}

CASE(second_transfer_makes_no_mr)
{
	static char before[4096], after[4096];
	CUdeviceptr from, to;

	OK(cuMemAlloc(&from, BLOCK) ?: cuMemAlloc(&to, BLOCK));
	EXPECT(!transfer(from, to, BLOCK), "first transfer");
	list_mrs(before, sizeof(before));
	CHECK_CASE();
	EXPECT(strstr(before, "mrn"), "no MR: %s", before);
	EXPECT(!transfer(from, to, BLOCK) && !transfer(to + 4096, from + 77, 65536), "second transfer");
	list_mrs(after, sizeof(after));
	CHECK_CASE();
	EXPECT(!strcmp(before, after), "first: %s second: %s", before, after);
	OK(cuMemFree(from) ?: cuMemFree(to));
}

CASE(new_owner_gets_a_new_mr)
{
	const struct pp_mr *mr;
	CUdeviceptr at, again;
	uint32_t rkey;

	OK(cuMemAlloc(&at, BLOCK));
	EXPECT(!pp_verbs_reg(verbs, (void *)at, BLOCK, &mr, NULL), "pp_verbs_reg");
	rkey = mr->mr->rkey;
	pp_verbs_unreg(verbs, mr);
	OK(cuMemFree(at) ?: cuMemAlloc(&again, BLOCK));
	EXPECT(again == at, "the next owner has another address");
	EXPECT(!pp_verbs_reg(verbs, (void *)again, BLOCK, &mr, NULL), "pp_verbs_reg");
	EXPECT(mr->mr->rkey != rkey, "the old MR");
	pp_verbs_unreg(verbs, mr);
	OK(cuMemFree(again));
}

VMTEST_MAIN
