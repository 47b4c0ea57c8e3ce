/* SPDX-License-Identifier: MIT */
#ifndef GDR_REFUSE_H
#define GDR_REFUSE_H

#include <errno.h>

/* If GDRCOPY_ENABLE_LOGGING is set, prints the reason of a refusal on stderr. Returns @error. */
__attribute__((format(printf, 2, 3))) int gdr_refuse(int error, const char *format, ...);

/* A pointer to a result is NULL. */
static inline int gdr_null(const char *name)
{
	return gdr_refuse(-EINVAL, "%s is NULL", name);
}

#endif
