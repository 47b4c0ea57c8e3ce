// SPDX-License-Identifier: MIT
#include "corpus.h"
#include "random.h"

static void pick(const struct corpus *corpus, uint32_t count, struct program *out, uint64_t *seed)
{
	*out = corpus->programs[random_below(seed, count)];
	if (out->length > PROGRAM_BYTES || !out->length)
		program_make(out, seed);
}

void corpus_next(const struct corpus *corpus, struct program *out, uint64_t *seed)
{
	uint32_t count = __atomic_load_n(&corpus->count, __ATOMIC_RELAXED);
	struct program other;

	if (count > CORPUS_MAX)
		count = CORPUS_MAX;
	if (!count || !random_below(seed, 4)) {
		program_make(out, seed);
		return;
	}
	pick(corpus, count, out, seed);
	pick(corpus, count, &other, seed);
	program_mutate(out, &other, seed);
}

void corpus_add(struct corpus *corpus, const struct program *program)
{
	uint32_t at = __atomic_fetch_add(&corpus->count, 1, __ATOMIC_RELAXED);

	corpus->programs[at % CORPUS_MAX] = *program;
}

bool corpus_reached(struct corpus *corpus, uint64_t edge)
{
	uint8_t *seen = &corpus->seen[edge * 0x9e3779b97f4a7c15 >> 48];

	if (__atomic_load_n(seen, __ATOMIC_RELAXED) || __atomic_exchange_n(seen, 1, __ATOMIC_RELAXED))
		return false;
	__atomic_add_fetch(&corpus->edges, 1, __ATOMIC_RELAXED);
	return true;
}
