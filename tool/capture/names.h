/* SPDX-License-Identifier: MIT */
/* Replaces the GUIDs by which udev names RDMA devices: a GUID identifies the card. */
#ifndef CAPTURE_NAMES_H
#define CAPTURE_NAMES_H

#include "entries.h"

/* Replaces GUIDs by numbers in all paths and links: "rocex506b..." becomes "rocex0". Call entries_sort() afterwards. */
void entries_hide_guids(struct entries *e);

#endif
