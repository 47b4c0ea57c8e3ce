// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "grow.h"
#include "tool/tool.h"

/* The capacity is always @count rounded up to a power of two. So the array is full if @count is a power of two. */
void *grow(void *array, size_t count, size_t size)
{
	if (!(count & (count - 1))) {
		array = reallocarray(array, count ? 2 * count : 1, size);
		if (!array)
			no_memory();
	}
	memset((char *)array + count * size, 0, size);
	return array;
}
