/* SPDX-License-Identifier: MIT */
/* udev names RDMA devices by GUID, which identifies the card: a capture has a number instead. */
#ifndef CAPTURE_NAMES_H
#define CAPTURE_NAMES_H

#include "entries.h"

/* Edits all paths and links: "rocex506b4b0300c1f3ac" becomes "rocex0". Call entries_sort() afterwards. */
void entries_hide_guids(struct entries *e);

#endif
