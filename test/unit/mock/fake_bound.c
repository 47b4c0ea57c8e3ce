// SPDX-License-Identifier: MIT
/*
 * ibv_reg_mr() and ibv_reg_mr_iova() as in a libibverbs that is linked with -Bsymbolic: they call libibverbs' own
 * ibv_reg_mr_iova2(), and never a preloaded one. fake_bound.map gives them the versions of libibverbs.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct ibv_mr *(*own)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access);
	void *verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);

	*(void **)&own = verbs ? dlvsym(verbs, "ibv_reg_mr_iova2", "IBVERBS_1.8") : NULL;
	if (!own)
		abort();
	dlclose(verbs);		/* the program keeps libibverbs loaded */
	return own(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg(pd, addr, length, (uintptr_t)addr, access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return reg(pd, addr, length, iova, access);
}
