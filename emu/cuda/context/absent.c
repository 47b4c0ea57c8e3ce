// SPDX-License-Identifier: MIT
#include "absent.h"

#include "init.h"

static CUresult absent(void)
{
	CUresult err = lib_ready();

	return err ? err : CUDA_ERROR_NOT_SUPPORTED;
}

/*
 * Arguments are not looked at, so one form serves for all prototypes. Not one
 * function for all: who intercepts calls by patching the entries of functions,
 * as UCX does, would patch the same one twice.
 */
#define EXPORT_ABSENT(name, suffix, since) \
	CUresult name##suffix(void) \
	{ \
		return absent(); \
	}
ABSENT_FUNCTIONS(EXPORT_ABSENT)
