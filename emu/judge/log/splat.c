// SPDX-License-Identifier: MIT
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "emu/include/emugpu.h"
#include "splat.h"

enum { SPLAT_LINES_MAX = 80 };

#define UNINITIALISED "uninitialised-memory"

/* A red zone has 0xcc while its object is allocated, and 0xbb while it is free: the driver frees a free object. */
#define FREE_REDZONE "First byte 0xbb instead of 0xcc"

/*
 * For each line the first matching pattern counts.
 * strong: a matching line opens a new splat even inside another splat, because the
 * pattern is more specific.
 */
static const struct pattern {
	const char *regex;
	const char *rule;	/* NULL: part of a splat that is reported already */
	bool strong;
} patterns[] = {
	{ "WARNING: .* at lib/refcount\\.c|Kernel panic - not syncing: Fatal|end Kernel panic"
	  "|BUG .*: Slab disabled since ", NULL, false },
	{ "refcount_t: ", "refcount", true },
	{ "DMAR: .*fault addr|AMD-Vi: Event logged", SPLAT_IOMMU, true },
	{ "peerpin: .* (still has DMA in flight|still uses a dma-buf)", "overstayed", true },
	{ "BUG .*: .*(already free|Invalid object pointer|outside of slab)|no slab for object"
	  "|KASAN: (double-free|invalid-free)|Trying to vfree\\(\\)", "double-free", true },
	{ "BUG .*: .*(Poison overwritten|[Ff]reepointer corrupt|Freechain corrupt|Freelist)"
	  "|KASAN: [a-z-]*use-after-free", "use-after-free", true },
	{ "BUG .*: .*([Rr]edzone|[Pp]adding) overwritten|KASAN: [a-z-]*out-of-bounds", "overflow", true },
	{ "Objects remaining in ", "memory-leaked", true },
	{ "(general protection fault|unable to handle).*(6b6b6b6b|6b6c6b6b)", "use-after-free", false },
	{ "(general protection fault|unable to handle).*(5a5a5a5a|5a5b5a5a)", UNINITIALISED, false },
	{ "soft lockup|hard LOCKUP|rcu: INFO: |blocked( in I/O wait)? for more than", "hang", false },
	{ "^WARNING: |^BUG: |BUG [^ ]+ \\(|Oops: |: [0-9a-f]{4} \\[#[0-9]+\\]|kernel BUG at|Kernel panic|KASAN: |KCSAN: "
	  "|UBSAN: |nobody cared|DMA-API: [^ ]+ [^ ]+: |general protection fault|list_(add|del) corruption"
	  "|INFO: trying to register non-static key|bad unlock balance|suspicious RCU usage"
	  "|inconsistent lock state|possible (circular|recursive) locking|sysfs: cannot create duplicate"
	  "|Trying to free nonexistent resource", "kernel-splat", false },
};

enum { PATTERNS = sizeof(patterns) / sizeof(*patterns) };

static const regex_t *compiled(size_t i)
{
	static regex_t regexes[PATTERNS];
	static bool done[PATTERNS];

	if (!done[i])
		done[i] = !regcomp(&regexes[i], patterns[i].regex, REG_EXTENDED | REG_NOSUB);
	return done[i] ? &regexes[i] : NULL;
}

static const struct pattern *pattern_of(const char *line)
{
	const regex_t *regex;
	size_t i;

	for (i = 0; i < PATTERNS; i++) {
		regex = compiled(i);
		if (regex && !regexec(regex, line, 0, NULL, 0))
			return patterns[i].rule ? &patterns[i] : NULL;
	}
	return NULL;
}

/* A DMA that exceeded drain_timeout_ms, or an IOMMU fault, does not affect later scenarios. */
bool splat_disturbs(const struct splat *s)
{
	return strcmp(s->rule, SPLAT_IOMMU) && strcmp(s->rule, SPLAT_IOMMU_LATE) && strcmp(s->rule, "overstayed");
}

static bool has_registers(const char *rule, const char *line)
{
	return !strcmp(rule, "hang") || strstr(line, "unable to handle") || strstr(line, "general protection fault") ||
	       strstr(line, "kernel BUG at") || strstr(line, "list_");
}

/* WARN() logs "cut here", then its message, then the line "WARNING:". */
static void note_message(struct splat *s, const char *line)
{
	s->message[0] = '\0';
	if (s->cut)
		snprintf(s->message, sizeof(s->message), "%s", line);
	s->cut = strstr(line, "[ cut here ]");
}

static void open_splat(struct splat *s, const struct pattern *p, const char *line)
{
	s->rule = s->revoked && !strcmp(p->rule, SPLAT_IOMMU) ? SPLAT_IOMMU_LATE : p->rule;
	s->inside = splat_disturbs(s) ? SPLAT_LINES_MAX : 1;
	s->registers = strcmp(p->rule, UNINITIALISED) && has_registers(p->rule, line);
	if (*s->message && strcmp(s->message, line))
		snprintf(s->text, sizeof(s->text), "%.120s (%.120s)", s->message, line);
	else
		snprintf(s->text, sizeof(s->text), "%s", line);
	s->message[0] = '\0';
}

/*
 * The allocator fills freed memory with 0x6b, and judge.ko writes 0x5a to memory that the driver allocates. If a
 * register has such a value, the CPU has read such memory. The faulting address in the first line says more. A test may
 * use 0x5a as data, too, so a hang stays a hang.
 */
static void look_closer(struct splat *s, const char *line)
{
	if (!strcmp(s->rule, "overflow") && strstr(line, FREE_REDZONE))
		s->rule = "double-free";
	if (s->registers && strstr(line, "6b6b6b6b"))
		s->rule = "use-after-free";
	else if (s->registers && strstr(line, "5a5a5a5a") && strcmp(s->rule, "use-after-free") && strcmp(s->rule, "hang"))
		s->rule = UNINITIALISED;
	if (!--s->inside || strstr(line, "---[ end trace"))
		s->inside = 0;
}

bool splat_is_open(const struct splat *s)
{
	return s->inside;
}

bool splat_end(struct splat *s, struct splat *out)
{
	bool open = s->rule;

	*out = *s;
	s->rule = NULL;
	s->inside = 0;
	return open;
}

bool splat_feed(struct splat *s, const char *line, struct splat *out)
{
	const struct pattern *p = pattern_of(line);
	bool ended = false;

	s->revoked |= strstr(line, "emugpu: " EMUGPU_REVOKED) != NULL;
	if (p && (p->strong || !s->inside || !splat_disturbs(s))) {
		ended = splat_end(s, out);
		open_splat(s, p, line);
	} else if (s->inside) {
		look_closer(s, line);
	} else {
		note_message(s, line);
	}
	return ended;
}
