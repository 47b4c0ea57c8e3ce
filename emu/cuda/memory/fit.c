// SPDX-License-Identifier: MIT
#include "fit.h"

#include <assert.h>
#include <stdlib.h>

enum { WORD = 64 };

/**
 * struct fit - one bit per unit, 1: taken
 * @nr: number of units
 * @used: number of units taken
 */
struct fit {
	unsigned int nr;
	unsigned int used;
	uint64_t words[];
};

struct fit *fit_new(unsigned int nr)
{
	struct fit *fit = calloc(1, sizeof(*fit) + nr / WORD * sizeof(fit->words[0]));

	assert(nr % WORD == 0);
	if (fit)
		fit->nr = nr;
	return fit;
}

void fit_delete(struct fit *fit)
{
	free(fit);
}

static bool taken(const struct fit *fit, unsigned int at)
{
	return fit->words[at / WORD] >> at % WORD & 1;
}

static void flip(struct fit *fit, unsigned int at, unsigned int n)
{
	for (; n; n--, at++)
		fit->words[at / WORD] ^= UINT64_C(1) << at % WORD;
}

/* The first unit from @at on that is taken, or free if not @want_taken; @fit->nr if not found. */
static unsigned int next(const struct fit *fit, unsigned int at, bool want_taken)
{
	uint64_t word;

	while (at < fit->nr) {
		word = fit->words[at / WORD];
		word = (want_taken ? word : ~word) >> at % WORD;
		if (word)
			return at + __builtin_ctzll(word);
		at += WORD - at % WORD;
	}
	return fit->nr;
}

long fit_take(struct fit *fit, unsigned int n)
{
	unsigned int at, end;

	if (!n || n > fit->nr - fit->used)
		return -1;
	for (at = next(fit, 0, false); at < fit->nr; at = next(fit, end, false)) {
		end = next(fit, at, true);
		if (end - at < n)
			continue;
		flip(fit, at, n);
		fit->used += n;
		return at;
	}
	return -1;
}

bool fit_take_at(struct fit *fit, unsigned int at, unsigned int n)
{
	if (!n || at >= fit->nr || n > fit->nr - at || taken(fit, at) || next(fit, at, true) < at + n)
		return false;
	flip(fit, at, n);
	fit->used += n;
	return true;
}

void fit_give(struct fit *fit, unsigned int at, unsigned int n)
{
	assert(n && at < fit->nr && n <= fit->nr - at);
	assert(taken(fit, at) && next(fit, at, false) >= at + n);
	flip(fit, at, n);
	fit->used -= n;
}
