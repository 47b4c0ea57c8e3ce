/* SPDX-License-Identifier: MIT */
/*
 * GPU or host memory for copies, with a red zone before and after it. Functions
 * return 0, or EXIT_FAILED after printing the error.
 */
#ifndef SURFACE_H
#define SURFACE_H

#include <stdint.h>
#include "tool/util/args.h"

/**
 * struct surface - one allocation: red zone, data, red zone
 * @base: address of the first red zone
 * @zone: bytes of each red zone
 * @size: bytes of data between the red zones
 * @name: name of the surface in messages
 */
struct surface {
	enum side side;
	uint64_t base;
	uint64_t zone;
	uint64_t size;
	const char *name;
};

/* MemAvailable, in bytes: memory that the kernel can allocate without swapping; 0: unknown. */
uint64_t host_room(void);

/* Fails if the free memory cannot hold both surfaces of a copy. */
int surfaces_fit(const struct copy_args *args);

int surface_alloc(struct surface *s, enum side side, uint64_t size,
		  uint64_t zone, const char *name);
void surface_free(struct surface *s);

void *surface_data(const struct surface *s);

/* Fills data and red zones with the patterns of the seeds. */
int surface_fill(const struct surface *s, uint64_t data_seed,
		 uint64_t zone_seed);

/* Compares data and red zones with the patterns of the seeds. */
int surface_check(const struct surface *s, uint64_t data_seed,
		  uint64_t zone_seed);

/* Compares only the red zones. */
int surface_check_zones(const struct surface *s, uint64_t zone_seed);

/* Compares @length bytes of data with @data; @length is at most 1 MiB. */
int surface_compare(const struct surface *s, uint64_t offset, const void *data, size_t length);

#endif
