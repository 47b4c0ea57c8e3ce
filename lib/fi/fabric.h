/* SPDX-License-Identifier: MIT */
/* The libfabric of this process. libpeerpin-fi does not link it. */
#ifndef PP_FI_FABRIC_H
#define PP_FI_FABRIC_H

#include <stdint.h>

struct fid;

/** struct pp_fabric - functions of libfabric that the import calls */
struct pp_fabric {
	uint32_t (*version)(void);
	int (*open)(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags,
		    struct fid **fid, void *context);
};

/* 0; -ENOENT libfabric.so.1 is not loaded; -EOPNOTSUPP it is too old. After the first success libfabric stays loaded. */
int pp_fabric_find(struct pp_fabric *out);

/* libfabric's own @function of the symbol version @version, or NULL */
void *pp_fabric_symbol(const char *function, const char *version);

#endif
