// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include <stdio.h>
#include <string.h>
#include "libpeerpin.h"
#include "lib/sys/sys.h"

static const char *const text[] = {
	[PEERPIN_REASON_NONE] =
		"no reason was given",
	[PEERPIN_REASON_NOT_MAPPED] =
		"the address is neither GPU memory nor writable memory of this process",
	[PEERPIN_REASON_VENDOR_REFUSED] =
		"the GPU driver refused the range: freed, managed, another process's or past the end of one allocation",
	[PEERPIN_REASON_NO_BAR1] =
		"the GPU's BAR1 aperture has no room for it",
	[PEERPIN_REASON_NO_PROVIDER] =
		"the module that pins this kind of memory is not loaded",
	[PEERPIN_REASON_MEMLOCK] =
		"the limit of locked memory (ulimit -l) does not allow it",
	[PEERPIN_REASON_LIMIT] =
		"too many regions or watches, through one open file or in one process (max_process_regions)",
	[PEERPIN_REASON_NO_MEMORY] =
		"the kernel has no memory for its records",
	[PEERPIN_REASON_REVOKED] =
		"the memory was freed, or a huge page of it was split, while it was being pinned",
	[PEERPIN_REASON_VENDOR_ERROR] =
		"the driver that owns the memory reported an error",
	[PEERPIN_REASON_PROCESS_BYTES] =
		"the process would pin too much memory (max_process_bytes)",
	[PEERPIN_REASON_TOTAL_BYTES] =
		"all processes together would pin too much memory (max_total_bytes)",
	[PEERPIN_REASON_NO_API] =
		"the running GPU driver does not support this kind of pin",
	[PEERPIN_REASON_UNALIGNED] =
		"a range of a dma-buf has to begin and end on page boundaries",
	[PEERPIN_REASON_NOT_DMABUF] =
		"the file descriptor is not a dma-buf",
	[PEERPIN_REASON_NOT_OWNED] =
		"/dev/peerpin was opened by another process: a child of fork() must open it itself",
	[PEERPIN_REASON_MANAGED] =
		"managed memory moves and cannot be pinned",
	[PEERPIN_REASON_NOT_GPU] =
		"CUDA knows no GPU memory of this process at the address",
	[PEERPIN_REASON_NOT_RDMA] =
		"devices cannot use this memory: set gpuDirectRDMACapable for cuMemCreate(), or on an integrated GPU use "
		"cuMemHostAlloc()",
	[PEERPIN_REASON_POOL] =
		"the memory is of a pool that devices cannot use (cuMemAllocAsync): allocate it with cuMemAlloc()",
	[PEERPIN_REASON_SPANS] =
		"the range contains two allocations, or two mappings of cuMemMap(): register each one by itself",
	[PEERPIN_REASON_WATCHED_BYTES] =
		"the process would watch too much memory (max_process_watched_bytes)",
};

PP_PUBLIC const char *pp_strreason(uint32_t reason)
{
	if (reason < sizeof(text) / sizeof(text[0]) && text[reason])
		return text[reason];
	return "unknown reason: the kernel module is newer than this library";
}

/* ---- with numbers -------------------------------------------------------------- */

/** struct amount - a number of bytes, as text */
struct amount {
	char at[24];
};

static struct amount amount(uint64_t bytes)
{
	struct amount a;

	if (bytes < 1 << 20)
		snprintf(a.at, sizeof(a.at), "%.1f KiB", (double)bytes / (1 << 10));
	else
		snprintf(a.at, sizeof(a.at), "%.1f MiB", (double)bytes / (1 << 20));
	return a;
}

/** struct addition - text after a number of bytes, or none */
struct addition {
	char at[80];
};

/* Tools show the driver's reserve as free, too. */
static struct addition reserve_of(const struct pp_why *why)
{
	struct addition a = { "" };

	if (why->reason == PEERPIN_REASON_NO_BAR1)
		snprintf(a.at, sizeof(a.at), " (without the %s that the GPU driver reserves)",
			 amount(pp_bar1_reserve()).at);
	return a;
}

/* If @available is 0, the number is unknown. Exception: for a limit of the kernel module, nothing is left. */
static int is_known(const struct pp_why *why)
{
	return why->available || why->reason == PEERPIN_REASON_PROCESS_BYTES ||
	       why->reason == PEERPIN_REASON_TOTAL_BYTES || why->reason == PEERPIN_REASON_WATCHED_BYTES;
}

/* Without a reason, or with an unspecific reason: add the text of the error. */
static int explain_error(char *out, size_t room, int error,
			 const struct pp_why *why)
{
	char buffer[128];
	const char *what = strerror_r(-error, buffer, sizeof(buffer));

	if (!why || !why->reason)
		return snprintf(out, room, "%s", what);
	return snprintf(out, room, "%s: %s", pp_strreason(why->reason), what);
}

PP_PUBLIC int pp_explain(char *out, size_t room, int error,
			 const struct pp_why *why)
{
	PP_KEEP_ERRNO;
	const char *said;

	if (!why || !why->reason || why->reason == PEERPIN_REASON_VENDOR_ERROR)
		return explain_error(out, room, error, why);
	said = pp_strreason(why->reason);
	if (why->reason == PEERPIN_REASON_SPANS && why->available)
		return snprintf(out, room, "%s; the second begins at 0x%llx", said, (unsigned long long)why->available);
	if (!why->needed)
		return snprintf(out, room, "%s", said);
	if (!is_known(why))
		return snprintf(out, room, "%s: %s needed", said, amount(why->needed).at);
	return snprintf(out, room, "%s: %s needed, %s free%s", said, amount(why->needed).at,
			amount(why->available).at, reserve_of(why).at);
}
