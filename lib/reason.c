// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include "libpeerpin.h"
#include "sys.h"

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
		"too many regions are pinned through one open file",
	[PEERPIN_REASON_NO_MEMORY] =
		"the kernel has no memory for its records",
	[PEERPIN_REASON_REVOKED] =
		"the memory was freed while it was being pinned",
	[PEERPIN_REASON_VENDOR_ERROR] =
		"the GPU driver failed",
};

PP_PUBLIC const char *pp_strreason(uint32_t reason)
{
	if (reason < sizeof(text) / sizeof(text[0]) && text[reason])
		return text[reason];
	return "unknown reason: the kernel module is newer than this library";
}
