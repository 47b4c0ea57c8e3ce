/* SPDX-License-Identifier: MIT */
/*
 * Memory to copy from or to, on either side, with a red zone before and after
 * it. Functions return 0 or EXIT_FAILED after the complaint has been printed.
 */
#ifndef SURFACE_H
#define SURFACE_H

#include <stdint.h>
#include "tool/util/args.h"

/**
 * struct surface
 * @base: where the red zone in front begins
 * @zone: bytes of each red zone
 * @size: bytes between them
 * @name: for messages
 */
struct surface {
	enum side side;
	uint64_t base;
	uint64_t zone;
	uint64_t size;
	const char *name;
};

/* Complains when both surfaces are more than there is memory. */
int surfaces_fit(const struct copy_args *args);

int surface_alloc(struct surface *s, enum side side, uint64_t size,
		  uint64_t zone, const char *name);
void surface_free(struct surface *s);

void *surface_data(const struct surface *s);

/* Fill data and red zones; surface_check() with the same seeds finds no change. */
int surface_fill(const struct surface *s, uint64_t data_seed,
		 uint64_t zone_seed);
int surface_check(const struct surface *s, uint64_t data_seed,
		  uint64_t zone_seed);
int surface_check_zones(const struct surface *s, uint64_t zone_seed);

/* No more than 1 MiB */
int surface_compare(const struct surface *s, uint64_t offset, const void *data, size_t length);

#endif
