/* SPDX-License-Identifier: MIT */
/* The plan: one scenario per line, `ID KEY[=VALUE]...`; struct scenario documents the keys. */
#ifndef JUDGE_PLAN_H
#define JUDGE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PLAN_ID_MAX = 128,
	PLAN_ENV_MAX = 8,
	PLAN_LINE_MAX = 4096,
	PLAN_WHY_MAX = 256,
	PLAN_COPIES_MAX = 8,
	PLAN_GUARD_MS = 20,
};

enum plan_fail { PLAN_FAIL_NONE, PLAN_FAIL_GET_PAGES, PLAN_FAIL_DMA_MAP };

/**
 * struct scenario - a line of the plan
 * @record: print the events of both sides
 * @scatter: scatter=0|1; -1: as set when the emulator was loaded
 * @bar1: bar1=BYTES available to pins; 0: all
 * @version: version=TEXT, for the emulator's parameter table_version; "": as loaded
 * @delay_ms: delay=MS before each free callback
 * @kernel_nth: kernel-event=N:ACTION
 * @kernel_action: enum emugpu_event_action
 * @user_nth: user-event=N:ACTION
 * @user_action: enum share_action
 * @user_usec: USEC of the action during:USEC
 * @fail: fail=get_pages:N or fail=dma_map:N
 * @alloc: alloc=N: fail the driver's n-th allocation
 * @copies: copies=N processes of the test at the same time
 * @guard_ms: guard=MS; by default PLAN_GUARD_MS if memory is revoked, else 0
 * @env: env=NAME=VALUE for the test
 * @line: the buffer of the strings
 */
struct scenario {
	char id[PLAN_ID_MAX];
	bool record;
	int scatter;
	uint64_t bar1;
	const char *version;
	uint32_t delay_ms;
	uint32_t kernel_nth;
	uint32_t kernel_action;
	uint32_t user_nth;
	uint32_t user_action;
	uint32_t user_usec;
	enum plan_fail fail;
	uint32_t fail_nth;
	uint32_t alloc;
	uint32_t copies;
	uint32_t guard_ms;
	const char *env[PLAN_ENV_MAX];
	size_t nr_env;
	char line[PLAN_LINE_MAX];
};

/**
 * plan_parse - parse one line, given without newline; @why has PLAN_WHY_MAX bytes
 *
 * Returns 0, 1 for an empty line or a comment (#), or -1 with the reason in @why.
 * Do not copy the scenario: it points into itself.
 */
int plan_parse(const char *line, struct scenario *out, char *why);

#endif
