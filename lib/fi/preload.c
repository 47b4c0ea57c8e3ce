// SPDX-License-Identifier: MIT
/*
 * Functions of libfabric that a program calls before its first cache exists. The import must come after
 * fi_getinfo(), which initializes libfabric, and before fi_domain(), which makes a cache. fi_open() is among
 * these functions, because a program that imports a monitor of its own begins with fi_open("mr_cache").
 *
 * The functions have libfabric's symbol versions, because the dynamic loader binds a reference with a version
 * only to a symbol of this version.
 */
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "lib/sys/cancel.h"
#include "lib/sys/sys.h"
#include "libpeerpin-fi.h"
#include "fabric.h"
#include "module.h"

/* What to do about @error of pp_fi_import() */
static const char *advice(int error)
{
	switch (error) {
	case -EBUSY:
		return "another monitor is imported already, in use, or selected by FI_MR_CACHE_MONITOR";
	case -EOPNOTSUPP:
		return "libfabric is older than 1.14, or needs a newer libpeerpin-fi; or peerpin.ko is older than this library";
	case -ENODEV:
	case -ENOENT:
		return "there is no /dev/peerpin; type: modprobe peerpin";
	case -EACCES:
		return "no permission for /dev/peerpin; type: peerpin doctor";
	default:
		return strerror(-error);
	}
}

static void say(int error)
{
	struct pp_module module;

	if (error == -EOPNOTSUPP && pp_module_find(&module))
		fprintf(stderr, "libpeerpin-fi: the cache of %s has its own memory monitor and may miss frees; start the program without "
			"libpeerpin-fi: FI_MR_CACHE_MONITOR=userfaultfd COMMAND\n", module.name);
	else
		fprintf(stderr, "libpeerpin-fi: libfabric keeps its own memory monitor: %s\n", advice(error));
}

/*
 * The first call imports. Later calls find provider modules, because fi_open() may come before fi_getinfo(), which loads
 * the modules. After an error no later call tries again.
 */
static void import(void)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	static atomic_bool refused;
	int ret;

	if (refused)
		return;
	ret = pp_fi_import();
	if (ret && !atomic_exchange(&refused, true))
		say(ret);
}

typedef int fabric_fn(void *attr, void *fabric, void *context);

static int fabric(const char *version, void *attr, void *out, void *context)
{
	fabric_fn *next = (fabric_fn *)pp_fabric_symbol("fi_fabric", version);

	if (!next)
		return -FI_ENOSYS;
	import();
	return next(attr, out, context);
}

/* Only other libraries call the functions below, by the names at the end of this file. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

PP_PUBLIC int pp_fi_fabric_1_0(void *attr, void *out, void *context)
{
	return fabric("FABRIC_1.0", attr, out, context);
}

PP_PUBLIC int pp_fi_fabric_1_1(void *attr, void *out, void *context)
{
	return fabric("FABRIC_1.1", attr, out, context);
}

PP_PUBLIC int pp_fi_fabric2(void *info, void *out, uint64_t flags, void *context)
{
	int (*next)(void *info, void *out, uint64_t flags, void *context);

	*(void **)&next = pp_fabric_symbol("fi_fabric2", "FABRIC_1.8");
	if (!next)
		return -FI_ENOSYS;
	import();
	return next(info, out, flags, context);
}

PP_PUBLIC int pp_fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags,
			 struct fid **out, void *context)
{
	struct pp_fabric next;

	if (pp_fabric_find(&next))
		return -FI_ENOSYS;
	if (name && !strcasecmp(name, "mr_cache"))
		import();
	return next.open(version, name, attr, attr_len, flags, out, context);
}

__asm__(".symver pp_fi_fabric_1_0, fi_fabric@FABRIC_1.0");
__asm__(".symver pp_fi_fabric_1_1, fi_fabric@@FABRIC_1.1");
__asm__(".symver pp_fi_open, fi_open@@FABRIC_1.5");
__asm__(".symver pp_fi_fabric2, fi_fabric2@@FABRIC_1.8");
