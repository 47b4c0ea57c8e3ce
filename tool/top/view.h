/* SPDX-License-Identifier: MIT */
/* Filters, sorts and formats the rows of peerpin top. */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "top.h"

enum top_sort {
	TOP_BY_BYTES,
	TOP_BY_REGIONS,
	TOP_BY_PINS,
	TOP_BY_NAME,
	TOP_SORTS,
};

/** struct top_view - @filter: show processes with this in the name, or whose pid begins with it; "": show all */
struct top_view {
	enum top_sort sort;
	char filter[32];
};

/** struct top_row - text of a line, returned by value */
struct top_row {
	char at[160];
};

const char *top_sort_name(enum top_sort sort);

/* Returns an array of pointers into @s, or NULL if there are no rows. The caller frees the array. */
const struct top_process **top_rows(const struct top_sample *s, const struct top_view *view, size_t *count);

struct top_row top_row_title(const struct top_sample *s);
struct top_row top_row_gpu(const struct top_sample *s, unsigned int index);
struct top_row top_row_peer_names(void);
struct top_row top_row_peer(const struct top_peer *p);
struct top_row top_row_process_names(void);
struct top_row top_row_process(const struct top_process *p);

#endif
