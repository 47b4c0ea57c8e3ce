// SPDX-License-Identifier: MIT
#include "absent.h"

#include "init.h"

static CUresult absent(void)
{
	CUresult err = lib_ready();

	return err ? err : CUDA_ERROR_NOT_SUPPORTED;
}

/*
 * Arguments are ignored, so one form suits all prototypes. Each name has a function of its own,
 * because UCX and other libraries intercept calls by patching the first bytes of a function. Such
 * a library would patch a shared function twice.
 */
#define EXPORT_ABSENT(name, suffix, since) \
	CUresult name##suffix(void) \
	{ \
		return absent(); \
	}
ABSENT_FUNCTIONS(EXPORT_ABSENT)
