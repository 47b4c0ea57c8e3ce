// SPDX-License-Identifier: MIT
/*
 * Reads of write-combined memory bypass the caches: each ordinary load is a separate
 * bus transaction. A streaming load (MOVNTDQA) fetches the whole line into a buffer,
 * and the buffer serves the other loads of that line. All stores collect in a buffer of
 * one line. Non-temporal stores that fill the buffer at once leave the CPU as one
 * transaction, and do not disturb the caches. An AVX-512 variant is missing on purpose:
 * gdrcopy's authors removed theirs, because SSE4.1 was faster on many CPUs.
 */
#include "stream.h"

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET(isa) __attribute__((target(isa)))

/* ---- a whole line at once ------------------------------------------------------ */

static bool direct_usable(void)
{
	return __builtin_cpu_supports("movdir64b") && __builtin_cpu_supports("avx2");
}

TARGET("movdir64b") static void direct_store(void *map, const void *from, size_t lines)
{
	const char *at = from;
	char *line = map;

#pragma GCC unroll 4
	for (; lines; lines--, line += STREAM_LINE, at += STREAM_LINE)
		_movdir64b(line, at);
}

/* ---- in halves ------------------------------------------------------------------ */

static bool avx2_usable(void)
{
	return __builtin_cpu_supports("avx2");
}

TARGET("avx2") static void avx2_store(void *map, const void *from, size_t lines)
{
	const __m256i *at = from;
	__m256i *half = map;
	__m256i a, b;

#pragma GCC unroll 4
	for (; lines; lines--, half += 2, at += 2) {
		a = _mm256_loadu_si256(at);
		b = _mm256_loadu_si256(at + 1);
		_mm256_stream_si256(half, a);
		_mm256_stream_si256(half + 1, b);
	}
}

TARGET("avx2") static void avx2_load(void *to, const void *map, size_t lines)
{
	const __m256i *half = map;
	__m256i *at = to;
	__m256i a, b;

#pragma GCC unroll 4
	for (; lines; lines--, half += 2, at += 2) {
		a = _mm256_stream_load_si256(half);
		b = _mm256_stream_load_si256(half + 1);
		_mm256_storeu_si256(at, a);
		_mm256_storeu_si256(at + 1, b);
	}
}

/* ---- in quarters ---------------------------------------------------------------- */

static bool sse41_usable(void)
{
	return __builtin_cpu_supports("sse4.1");
}

TARGET("sse4.1") static void sse41_store(void *map, const void *from, size_t lines)
{
	const __m128i *at = from;
	__m128i *block = map;
	__m128i a, b, c, d;

#pragma GCC unroll 4
	for (; lines; lines--, block += 4, at += 4) {
		a = _mm_loadu_si128(at);
		b = _mm_loadu_si128(at + 1);
		c = _mm_loadu_si128(at + 2);
		d = _mm_loadu_si128(at + 3);
		_mm_stream_si128(block, a);
		_mm_stream_si128(block + 1, b);
		_mm_stream_si128(block + 2, c);
		_mm_stream_si128(block + 3, d);
	}
}

TARGET("sse4.1") static void sse41_load(void *to, const void *map, size_t lines)
{
	const __m128i *block = map;
	__m128i *at = to;
	__m128i a, b, c, d;

	/* load the whole line before storing: the CPU may soon reuse the buffer for another line */
#pragma GCC unroll 4
	for (; lines; lines--, block += 4, at += 4) {
		a = _mm_stream_load_si128((void *)block);
		b = _mm_stream_load_si128((void *)(block + 1));
		c = _mm_stream_load_si128((void *)(block + 2));
		d = _mm_stream_load_si128((void *)(block + 3));
		_mm_storeu_si128(at, a);
		_mm_storeu_si128(at + 1, b);
		_mm_storeu_si128(at + 2, c);
		_mm_storeu_si128(at + 3, d);
	}
}

TARGET("sse4.1") static void sse41_load_blocks(void *to, const void *map, size_t blocks)
{
	const __m128i *block = map;
	__m128i *at = to;

	for (; blocks; blocks--)
		_mm_storeu_si128(at++, _mm_stream_load_si128((void *)block++));
}
#endif

/* ---- any CPU -------------------------------------------------------------------- */

static bool words_usable(void)
{
	return true;
}

static void words_store(void *map, const void *from, size_t lines)
{
	size_t i, bytes = lines * STREAM_LINE;

	for (i = 0; i < bytes; i += 8)
		stream_store_word((char *)map + i, (const char *)from + i, 8);
}

static void words_load(void *to, const void *map, size_t lines)
{
	size_t i, bytes = lines * STREAM_LINE;

	for (i = 0; i < bytes; i += 8)
		stream_load_word((char *)to + i, (const char *)map + i);
}

static void words_load_blocks(void *to, const void *map, size_t blocks)
{
	size_t i, bytes = blocks * STREAM_BLOCK;

	for (i = 0; i < bytes; i += 8)
		stream_load_word((char *)to + i, (const char *)map + i);
}

const struct stream gdr_streams[] = {
#ifdef __x86_64__
	{ "movdir64b", direct_usable, direct_store, avx2_load, sse41_load_blocks },
	{ "avx2", avx2_usable, avx2_store, avx2_load, sse41_load_blocks },
	{ "sse4.1", sse41_usable, sse41_store, sse41_load, sse41_load_blocks },
#endif
	{ "words", words_usable, words_store, words_load, words_load_blocks },
	{},
};
