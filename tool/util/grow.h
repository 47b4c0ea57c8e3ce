/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one element at a time. */
#ifndef GROW_H
#define GROW_H

#include <stddef.h>

/**
 * grow - make room for one more element
 * @array: an array that grow() returned; NULL if @count is 0
 * @count: number of elements
 * @size: bytes of an element
 *
 * Returns the new address of the array. The new element is zero. Exits if there is no memory.
 */
void *grow(void *array, size_t count, size_t size);

#endif
