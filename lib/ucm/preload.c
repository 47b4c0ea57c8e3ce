// SPDX-License-Identifier: MIT
/*
 * Functions of libibverbs that register memory. UCX registers host memory by them, so the library learns the
 * ranges of UCX's caches.
 *
 * The functions have libibverbs' symbol versions, because the dynamic loader binds a reference with a version only to
 * a symbol of this version.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdio.h>
#include "lib/sys/cancel.h"
#include "lib/sys/sys.h"
#include "ranges.h"
#include "ucm.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* Functions of libibverbs */
enum function { REG_MR, REG_MR_IOVA, REG_MR_IOVA2, REREG_MR, DEREG_MR, FUNCTIONS };

static const struct {
	const char *name, *version;
} functions[FUNCTIONS] = {
	[REG_MR] = { "ibv_reg_mr", "IBVERBS_1.1" },
	[REG_MR_IOVA] = { "ibv_reg_mr_iova", "IBVERBS_1.7" },
	[REG_MR_IOVA2] = { "ibv_reg_mr_iova2", "IBVERBS_1.8" },
	[REREG_MR] = { "ibv_rereg_mr", "IBVERBS_1.1" },
	[DEREG_MR] = { "ibv_dereg_mr", "IBVERBS_1.1" },
};

static _Atomic(void *) known[FUNCTIONS];

/* The library of @function is never unloaded, because the address is kept. */
static void keep(void *function)
{
	Dl_info info;

	if (function && dladdr(function, &info))
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/*
 * The next function in the search order: libibverbs', or another preloaded library's. RTLD_NEXT does not find
 * libibverbs if a plugin has loaded it without RTLD_GLOBAL.
 */
static void *find(const char *name, const char *version)
{
	void *found = dlvsym(RTLD_NEXT, name, version), *verbs;

	if (!found) {
		verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		found = verbs ? dlvsym(verbs, name, version) : NULL;
	}
	keep(found);
	return found;
}

/*
 * The first call finds all functions, so that a deregistration after a registration does not call the dynamic loader. A
 * cache may deregister under its lock. A constructor or destructor of a library runs under the loader's lock, and may wait
 * for the deregistration. The function that deregisters is found first: once a thread can register, it can deregister.
 * Returns NULL and sets errno if libibverbs lacks @function.
 */
static void *next(enum function function)
{
	void *found = atomic_load(&known[function]);
	int i;

	for (i = FUNCTIONS - 1; !found && i >= 0; i--)
		atomic_store(&known[i], find(functions[i].name, functions[i].version));
	found = atomic_load(&known[function]);
	if (!found)
		errno = ENOSYS;
	return found;
}

/* For memory that ibv_reg_dmabuf_mr() or another function registers, which this library does not replace. */
static void __attribute__((constructor)) find_early(void)
{
	PP_KEEP_ERRNO;

	next(DEREG_MR);
}

/* One line for each process: a program may register at each transfer. */
static void say_unwatched(int error, const struct pp_why *why)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	static atomic_bool said;
	char text[256];

	if (atomic_exchange(&said, true))
		return;
	pp_explain(text, sizeof(text), error, why);
	fprintf(stderr, "libpeerpin-ucm: registered host memory is not watched, so UCX can miss its free: %s\n", text);
}

/*
 * Returns whether *@watched is a watch. Does not warn for memory without pages of the CPU: the free of NVIDIA's GPU
 * memory is reported by libpeerpin-hook, that of other devices' memory is not, and other addresses cannot be registered.
 */
static bool begin(const void *addr, size_t length, struct pp_watched *watched)
{
	struct pp_why why;
	int ret;

	if (!pp_ucm_watches())
		return false;
	ret = pp_ranges_watch(addr, length, watched, &why);
	if (ret && ret != -EOPNOTSUPP && ret != -EINVAL)
		say_unwatched(ret, &why);
	return !ret;
}

/* @mr: NULL if the registration failed or has ended */
static void end(const struct ibv_mr *mr, bool is_watched, const struct pp_watched *watched)
{
	PP_KEEP_ERRNO;
	int ret;

	if (!is_watched)
		return;
	if (!mr) {
		pp_ranges_drop(watched);
		return;
	}
	ret = pp_ranges_keep(mr, watched);
	if (ret)
		say_unwatched(ret, NULL);
}

/* Only other libraries call the functions below, by the names at the end of this file. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

PP_PUBLIC struct ibv_mr *pp_ucm_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *pd, void *addr, size_t length, int access), *mr;
	struct pp_watched watched;
	bool is_watched;

	*(void **)&reg = next(REG_MR);
	if (!reg)
		return NULL;
	is_watched = begin(addr, length, &watched);
	mr = reg(pd, addr, length, access);
	end(mr, is_watched, &watched);
	return mr;
}

typedef struct ibv_mr *reg_iova_fn(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access);

static struct ibv_mr *reg_iova(reg_iova_fn *reg, struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       unsigned int access)
{
	struct pp_watched watched;
	struct ibv_mr *mr;
	bool is_watched;

	if (!reg)
		return NULL;
	is_watched = begin(addr, length, &watched);
	mr = reg(pd, addr, length, iova, access);
	end(mr, is_watched, &watched);
	return mr;
}

/* @access is an int in libibverbs, which is passed alike. */
PP_PUBLIC struct ibv_mr *pp_ucm_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					    unsigned int access)
{
	return reg_iova((reg_iova_fn *)next(REG_MR_IOVA), pd, addr, length, iova, access);
}

PP_PUBLIC struct ibv_mr *pp_ucm_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					     unsigned int access)
{
	return reg_iova((reg_iova_fn *)next(REG_MR_IOVA2), pd, addr, length, iova, access);
}

/*
 * With IBV_REREG_MR_CHANGE_TRANSLATION, @mr gets the memory at @addr in place of its old memory. The watch of the new
 * memory begins before the call, so that it misses no free. If @mr has the new memory after the call, the old watch
 * ends. After other errors @mr has its old memory or none, so the new watch ends and the old watch continues.
 */
PP_PUBLIC int pp_ucm_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	int (*rereg)(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access);
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION, old_is_watched, new_is_watched, moved;
	struct pp_watched old, new;
	int ret;

	*(void **)&rereg = next(REREG_MR);
	if (!rereg)
		return IBV_REREG_MR_ERR_INPUT;
	new_is_watched = moves && begin(addr, length, &new);
	old_is_watched = moves && pp_ucm_is_watching() && pp_ranges_take(mr, &old);
	ret = rereg(mr, flags, pd, addr, length, access);
	moved = !ret || ret == IBV_REREG_MR_ERR_DO_FORK_OLD;
	end(moved ? mr : NULL, new_is_watched, &new);
	end(moved ? NULL : mr, old_is_watched, &old);
	return ret;
}

PP_PUBLIC int pp_ucm_dereg_mr(struct ibv_mr *mr)
{
	int (*dereg)(struct ibv_mr *mr);
	struct pp_watched watched;
	bool is_watched;
	int ret;

	*(void **)&dereg = next(DEREG_MR);
	if (!dereg)
		return ENOSYS;
	is_watched = pp_ucm_is_watching() && pp_ranges_take(mr, &watched);
	ret = dereg(mr);
	end(ret ? mr : NULL, is_watched, &watched);
	return ret;
}

__asm__(".symver pp_ucm_reg_mr, ibv_reg_mr@@IBVERBS_1.1");
__asm__(".symver pp_ucm_rereg_mr, ibv_rereg_mr@@IBVERBS_1.1");
__asm__(".symver pp_ucm_reg_mr_iova, ibv_reg_mr_iova@@IBVERBS_1.7");
__asm__(".symver pp_ucm_reg_mr_iova2, ibv_reg_mr_iova2@@IBVERBS_1.8");
__asm__(".symver pp_ucm_dereg_mr, ibv_dereg_mr@@IBVERBS_1.1");
