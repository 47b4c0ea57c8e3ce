/* SPDX-License-Identifier: MIT */
/* Describes a scenario in words. */
#ifndef VERIFY_WORDS_H
#define VERIFY_WORDS_H

#include <stdio.h>
#include "summary.h"

/* "N of M scenarios were not tried: KIND N, KIND N", for scenarios that were planned */
void words_of_left(FILE *file, const struct summary *summary);

/* Prints note @i of summary_notes(): what breaks no rule, but the author should know. */
void words_of_note(FILE *file, const struct summary *summary, unsigned int i);

/*
 * For damaged memory: lines with the functions that allocated, freed and used it, as far as the kernel log has them. The
 * kernel logs the first two only in a run with --only. If the log has neither, and the run had no --only, a line refers
 * to the --only command that follows.
 */
void words_of_memory(FILE *file, const struct summary *summary, const struct judgement *judgement);

void words_of_scenario(FILE *file, const struct scenario *scenario, const struct recording *recording);

#endif
