/* SPDX-License-Identifier: MIT */
/* Changes of one table of the index (index.h), by one thread at a time */
#ifndef PP_TABLE_H
#define PP_TABLE_H

#include "index.h"

/* An empty table, or NULL: no memory */
struct pp_table *pp_table_new(const struct pp_shape *shape);
void pp_table_free(struct pp_table *t);

/* Frees the table's memory but not its addresses; readers that still use it find nothing. */
void pp_table_empty(struct pp_table *t);

/* Add an entry of class @k to the buckets, or remove the entry. Before pp_table_add() the buckets have room for two keys. */
void pp_table_add(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k,
		  uint32_t index);
void pp_table_remove(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k,
		     uint32_t index);

#endif
