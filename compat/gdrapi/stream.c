// SPDX-License-Identifier: MIT
/*
 * Reads of write-combined memory bypass the caches: each ordinary load is a separate
 * bus transaction. A streaming load (MOVNTDQA) fetches the whole line into a buffer,
 * and the buffer serves the other loads of that line. All stores collect in a buffer of
 * one line. Non-temporal stores that fill the buffer at once leave the CPU as one
 * transaction, and do not disturb the caches. In the list AVX-512 comes after SSE4.1, which each CPU with
 * AVX-512 has. So no CPU uses AVX-512: gdrcopy's authors found SSE4.1 faster on many CPUs. bench/gdrapi
 * measures all variants.
 */
#include "stream.h"

#ifdef __aarch64__
#include <arm_neon.h>
#include <sys/auxv.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

#define TARGET(isa) __attribute__((target(isa)))

/* ---- a whole line at once ------------------------------------------------------ */

enum {
	LEAF_7_ECX_MOVDIR64B = 1 << 28,
};

/* clang 14 knows the instruction, but not its name in __builtin_cpu_supports(). */
static bool has_movdir64b(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & LEAF_7_ECX_MOVDIR64B;
}

static bool direct_usable(void)
{
	return has_movdir64b() && __builtin_cpu_supports("avx2");
}

TARGET("movdir64b") static void direct_store(void *map, const void *from, size_t lines)
{
	const char *at = from;
	char *line = map;

#pragma GCC unroll 4
	for (; lines; lines--, line += STREAM_LINE, at += STREAM_LINE)
		_movdir64b(line, at);
}

static bool avx512_usable(void)
{
	return __builtin_cpu_supports("avx512f");
}

TARGET("avx512f") static void avx512_store(void *map, const void *from, size_t lines)
{
	const __m512i *at = from;
	__m512i *line = map;

#pragma GCC unroll 4
	for (; lines; lines--)
		_mm512_stream_si512(line++, _mm512_loadu_si512(at++));
}

TARGET("avx512f") static void avx512_load(void *to, const void *map, size_t lines)
{
	const __m512i *line = map;
	__m512i *at = to;

#pragma GCC unroll 4
	for (; lines; lines--)
		_mm512_storeu_si512(at++, _mm512_stream_load_si512((void *)line++));
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

#ifdef __aarch64__
/* ---- a line by one instruction, of CPUs with FEAT_LS64 ---------------------------- */

enum {
	AUX_HWCAP3 = 29,
	HWCAP3_LS64 = 1 << 3,	/* of Linux */
};

static bool ls64_usable(void)
{
	return getauxval(AUX_HWCAP3) & HWCAP3_LS64;
}

/* Assemblers know these instructions by options only: st64b x8, [x16] and ld64b x8, [x16], which move x8 to x15 */
#define ST64B ".inst 0xf83f9208\n"
#define LD64B ".inst 0xf83fd208\n"
#define LS64_REGISTERS "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15"

static void ls64_store(void *map, const void *from, size_t lines)
{
	register char *line __asm__("x16") = map;
	const char *at = from;

	for (; lines; lines--, line += STREAM_LINE, at += STREAM_LINE)
		__asm__ volatile("ldp x8, x9, [%1]\n"
				 "ldp x10, x11, [%1, 16]\n"
				 "ldp x12, x13, [%1, 32]\n"
				 "ldp x14, x15, [%1, 48]\n"
				 ST64B : : "r"(line), "r"(at) : LS64_REGISTERS, "memory");
}

static void ls64_load(void *to, const void *map, size_t lines)
{
	register const char *line __asm__("x16") = map;
	char *at = to;

	for (; lines; lines--, line += STREAM_LINE, at += STREAM_LINE)
		__asm__ volatile(LD64B
				 "stp x8, x9, [%0]\n"
				 "stp x10, x11, [%0, 16]\n"
				 "stp x12, x13, [%0, 32]\n"
				 "stp x14, x15, [%0, 48]\n" : : "r"(at), "r"(line) : LS64_REGISTERS, "memory");
}

/* ---- in quarters, of every arm64 CPU ------------------------------------------------ */

static bool neon_usable(void)
{
	return true;
}

static void neon_copy(void *to, const void *from, size_t lines)
{
	const uint8_t *in = from;
	uint8_t *out = to;
	uint8x16_t a, b, c, d;

	/* load the whole line before storing, so that neighbouring accesses merge */
	for (; lines; lines--, in += STREAM_LINE, out += STREAM_LINE) {
		a = vld1q_u8(in);
		b = vld1q_u8(in + 16);
		c = vld1q_u8(in + 32);
		d = vld1q_u8(in + 48);
		__asm__ volatile("" : : : "memory");
		vst1q_u8(out, a);
		vst1q_u8(out + 16, b);
		vst1q_u8(out + 32, c);
		vst1q_u8(out + 48, d);
		__asm__ volatile("" : : : "memory");
	}
}

static void neon_load_blocks(void *to, const void *map, size_t blocks)
{
	const uint8_t *block = map;
	uint8_t *at = to;

	for (; blocks; blocks--, block += STREAM_BLOCK, at += STREAM_BLOCK) {
		vst1q_u8(at, vld1q_u8(block));
		__asm__ volatile("" : : : "memory");
	}
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
	{ "avx512", avx512_usable, avx512_store, avx512_load, sse41_load_blocks },
#endif
#ifdef __aarch64__
	{ "ls64", ls64_usable, ls64_store, ls64_load, neon_load_blocks },
	{ "neon", neon_usable, neon_copy, neon_copy, neon_load_blocks },
#endif
	{ "words", words_usable, words_store, words_load, words_load_blocks },
	{},
};
