/* SPDX-License-Identifier: MIT */
/* RDMA devices that udev has named by GUID, which tells whose card it is: a number stands for it in a capture. */
#ifndef CAPTURE_NAMES_H
#define CAPTURE_NAMES_H

#include "entries.h"

/* In all paths and links; "rocex506b4b0300c1f3ac" becomes "rocex0". To be followed by entries_sort(). */
void entries_hide_guids(struct entries *e);

#endif
