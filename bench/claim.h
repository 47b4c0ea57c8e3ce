/* SPDX-License-Identifier: MIT */
/*
 * Claims: measured figures with a bound. Each claim is a line of fields separated by tabs. bench/run
 * collects the lines, and bench/report makes a table.
 */
#ifndef BENCH_CLAIM_H
#define BENCH_CLAIM_H

#include <stdbool.h>
#include "test/vm/harness/vmtest.h"

/**
 * struct claim - a figure of peerpin, and its bound
 * @what: the measured operation
 * @of: variant of the operation, or NULL
 * @unit: unit of both figures; NULL: ns. Less is better.
 * @beside: name of the compared figure @theirs; NULL: none
 * @times, @more, @most: the bound: @ours <= @times * @theirs, @ours <= @theirs + @more, or @ours <= @most. All 0: no
 *	bound
 */
struct claim {
	const char *what;
	const char *of;
	const char *unit;
	double ours;
	const char *beside;
	double theirs;
	double times;
	double more;
	double most;
};

static inline const char *claim_kind(const struct claim *c)
{
	return c->times ? "times" : c->more ? "more" : c->most ? "most" : "-";
}

static inline bool claim_holds(const struct claim *c)
{
	if (c->times)
		return c->ours <= c->times * c->theirs;
	if (c->more)
		return c->ours <= c->theirs + c->more;
	return !c->most || c->ours <= c->most;
}

static inline const char *claim_verdict(const struct claim *c)
{
	if (!c->times && !c->more && !c->most)
		return "-";
	return claim_holds(c) ? "kept" : "BROKEN";
}

static inline void claim_write(FILE *out, const struct claim *c)
{
	fprintf(out, "claim\t%s%s%s\t%.3f\t%s\t%.3f\t%s\t%s\t%g\t%s\n", c->what, c->of ? ", " : "", c->of ?: "", c->ours,
		c->beside ?: "-", c->theirs, c->unit ?: "ns", claim_kind(c), c->times + c->more + c->most,
		claim_verdict(c));
}

/* Print a claim. A broken claim fails the case but does not end it, so that all claims are printed. */
static inline void claim(const struct claim *c)
{
	claim_write(stdout, c);
	if (!claim_holds(c))
		vmtest_end(VMTEST_FAILED, "%s: %.1f, %s %.1f: more than promised (%s: %g)", c->what, c->ours,
			   c->beside ?: "-", c->theirs, claim_kind(c), c->times + c->more + c->most);
}

#define CLAIM(...) claim(&(const struct claim){ __VA_ARGS__ })

#endif
