// SPDX-License-Identifier: MIT
/*
 * Functions of libibverbs that register memory. UCX registers host memory by them, so the library learns the
 * ranges of UCX's caches.
 *
 * They have libibverbs' symbol versions: the dynamic loader takes no other for a reference with a version.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include "lib/sys/sys.h"
#include "ranges.h"
#include "ucm.h"

#undef ibv_reg_mr

/*
 * The next function in the search order: libibverbs', or another preloaded library's. RTLD_NEXT does not find
 * libibverbs if a plugin has loaded it without RTLD_GLOBAL.
 */
static void *next(const char *function, const char *version)
{
	void *found = dlvsym(RTLD_NEXT, function, version), *verbs;

	if (!found) {
		verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
		found = verbs ? dlvsym(verbs, function, version) : NULL;
		if (verbs)
			dlclose(verbs);		/* the caller's library keeps libibverbs loaded */
	}
	if (!found)
		errno = ENOSYS;
	return found;
}

/* Returns whether *@watched is a watch. GPU memory cannot be watched; libpeerpin-hook tells of its free. */
static bool begin(const void *addr, size_t length, struct pp_watched *watched)
{
	return pp_ucm_watches() && !pp_ranges_watch(addr, length, watched);
}

static struct ibv_mr *end(struct ibv_mr *mr, bool is_watched, const struct pp_watched *watched)
{
	PP_KEEP_ERRNO;

	if (is_watched)
		pp_ranges_keep(mr, watched);
	return mr;
}

/* Only other libraries call the functions below, by the names at the end of this file. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

PP_PUBLIC struct ibv_mr *pp_ucm_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *pd, void *addr, size_t length, int access);
	struct pp_watched watched;
	bool is_watched;

	*(void **)&reg = next("ibv_reg_mr", "IBVERBS_1.1");
	if (!reg)
		return NULL;
	is_watched = begin(addr, length, &watched);
	return end(reg(pd, addr, length, access), is_watched, &watched);
}

PP_PUBLIC struct ibv_mr *pp_ucm_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					     unsigned int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access);
	struct pp_watched watched;
	bool is_watched;

	*(void **)&reg = next("ibv_reg_mr_iova2", "IBVERBS_1.8");
	if (!reg)
		return NULL;
	is_watched = begin(addr, length, &watched);
	return end(reg(pd, addr, length, iova, access), is_watched, &watched);
}

PP_PUBLIC int pp_ucm_dereg_mr(struct ibv_mr *mr)
{
	int (*dereg)(struct ibv_mr *mr);
	struct pp_watched watched;
	bool is_watched;
	int ret;

	*(void **)&dereg = next("ibv_dereg_mr", "IBVERBS_1.1");
	if (!dereg)
		return ENOSYS;
	is_watched = pp_ucm_watches() && pp_ranges_take(mr, &watched);
	ret = dereg(mr);
	end(ret ? mr : NULL, is_watched, &watched);
	return ret;
}

__asm__(".symver pp_ucm_reg_mr, ibv_reg_mr@@IBVERBS_1.1");
__asm__(".symver pp_ucm_reg_mr_iova2, ibv_reg_mr_iova2@@IBVERBS_1.8");
__asm__(".symver pp_ucm_dereg_mr, ibv_dereg_mr@@IBVERBS_1.1");
