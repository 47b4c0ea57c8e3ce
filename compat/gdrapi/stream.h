/* SPDX-License-Identifier: MIT */
/* Ways of the CPU to copy whole cache lines to and from uncached memory. */
#ifndef GDR_STREAM_H
#define GDR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STREAM_LINE = 64,
	STREAM_BLOCK = 16,	/* smallest read */
};

/**
 * struct stream - one way to copy
 * @usable: does this CPU support it?
 * @store: write @lines lines at @map
 * @load: read @lines lines at @map
 * @load_blocks: read some blocks of one line
 *
 * @map is aligned to a line or block. @from and @to have any alignment.
 */
struct stream {
	const char *name;
	bool (*usable)(void);
	void (*store)(void *map, const void *from, size_t lines);
	void (*load)(void *to, const void *map, size_t lines);
	void (*load_blocks)(void *to, const void *map, size_t blocks);
};

/* From best to worst. The last is usable on every CPU; an element without a name ends the array. */
extern const struct stream gdr_streams[] __attribute__((visibility("hidden")));

/* Earlier stores leave the CPU before any later store. */
static inline void stream_stored(void)
{
#if defined(__x86_64__)
	__asm__ volatile("sfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshst" : : : "memory");
#else
	__sync_synchronize();
#endif
}

/* Later loads read memory, not stale data in a buffer of the CPU. */
static inline void stream_loads(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb osh" : : : "memory");
#else
	__sync_synchronize();
#endif
}

/* One aligned store of 8, 4, 2 or 1 bytes to @map, which the compiler neither splits nor merges */
static inline void stream_store_word(void *map, const void *from, size_t bytes)
{
#define STORE_WORD(type) \
	do { \
		type value_; \
		__builtin_memcpy(&value_, from, sizeof(value_)); \
		*(volatile type __attribute__((may_alias)) *)map = value_; \
	} while (0)
	switch (bytes) {
	case 8:
		STORE_WORD(uint64_t);
		break;
	case 4:
		STORE_WORD(uint32_t);
		break;
	case 2:
		STORE_WORD(uint16_t);
		break;
	default:
		STORE_WORD(uint8_t);
	}
#undef STORE_WORD
}

static inline void stream_load_word(void *to, const void *map)
{
	uint64_t value = *(const volatile uint64_t __attribute__((may_alias)) *)map;

	__builtin_memcpy(to, &value, sizeof(value));
}

#endif
