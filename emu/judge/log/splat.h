/* SPDX-License-Identifier: MIT */
/* Finds splats in the kernel log, line by line, and the rule that each splat breaks. */
#ifndef JUDGE_SPLAT_H
#define JUDGE_SPLAT_H

#include <stdbool.h>

enum { SPLAT_TEXT_MAX = 256 };

/**
 * struct splat - a splat, and the state of the parser; zero it before the first line
 * @rule: rule that the splat breaks, as known so far; NULL: no splat is open
 * @text: first line of the splat
 * @inside: number of further lines that may belong to the splat
 * @registers: the splat dumps the registers of a fault or a hang, so search the dump for 0x6b and 0x5a
 * @cut: the previous line was "cut here", which begins a warning
 * @revoked: the emulator has logged EMUGPU_REVOKED
 * @message: line between "cut here" and the first line of the splat, or ""
 */
struct splat {
	const char *rule;
	char text[SPLAT_TEXT_MAX];
	int inside;
	bool registers;
	bool cut;
	bool revoked;
	char message[SPLAT_TEXT_MAX];
};

/**
 * Rules of IOMMU faults before and after the first revocation of memory. emu/judge/run translates them into
 * bus-addresses or dma-after-callback.
 */
#define SPLAT_IOMMU "iommu-fault"
#define SPLAT_IOMMU_LATE "late-iommu-fault"

/**
 * splat_feed - parse one line of the kernel log
 *
 * Returns true if this line ends an earlier splat. That splat is then in @out.
 */
bool splat_feed(struct splat *splat, const char *line, struct splat *out);

/** splat_end - end the open splat, at the end of the log; returns false if none is open; @out: the ended splat */
bool splat_end(struct splat *splat, struct splat *out);

/** splat_disturbs - whether the splat may cause later findings, so that this VM cannot judge further scenarios */
bool splat_disturbs(const struct splat *splat);

/** splat_is_open - whether the last line belongs to a splat */
bool splat_is_open(const struct splat *splat);

#endif
