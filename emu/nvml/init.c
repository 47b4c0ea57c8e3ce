// SPDX-License-Identifier: MIT
#include "init.h"

#include "export.h"
#include "node.h"

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

/*
 * Upper half: the process that called nvmlInit(). Lower half: number of its nvmlInit() calls
 * without nvmlShutdown(). A child of fork() must call nvmlInit() itself. An atomic word replaces a
 * lock, because a child could inherit a lock that a thread of its parent holds.
 */
static _Atomic uint64_t users;

static uint32_t count(uint64_t word)
{
	return word >> 32 == (uint64_t)getpid() ? (uint32_t)word : 0;
}

nvmlReturn_t lib_ready(void)
{
	return count(atomic_load(&users)) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

static uint64_t with_count(uint32_t n)
{
	return (uint64_t)getpid() << 32 | n;
}

nvmlReturn_t nvmlInit(void)
{
	uint64_t old = atomic_load(&users);

	if (!node_present())
		return NVML_ERROR_DRIVER_NOT_LOADED;
	while (!atomic_compare_exchange_weak(&users, &old, with_count(count(old) + 1)))
		;
	return NVML_SUCCESS;
}

/*
 * The flags request two things that this library always does: succeed without a GPU, and attach no
 * GPU. NVIDIA's library also accepts unknown flags.
 */
nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return nvmlInit();
}

nvmlReturn_t nvmlShutdown(void)
{
	uint64_t old = atomic_load(&users);

	do
		if (!count(old))
			return NVML_ERROR_UNINITIALIZED;
	while (!atomic_compare_exchange_weak(&users, &old, with_count(count(old) - 1)));
	return NVML_SUCCESS;
}

#undef nvmlInit
ALIAS(nvmlInit, nvmlInit_v2);
