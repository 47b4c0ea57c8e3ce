/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one element at a time. */
#ifndef GROW_H
#define GROW_H

#include <stddef.h>

/**
 * grow - room for one more element
 * @array: of @count elements of @size bytes, from here; NULL when @count is 0
 *
 * Returns where the array is now; its new element is zero. Ends the program
 * when there is no memory.
 */
void *grow(void *array, size_t count, size_t size);

#endif
