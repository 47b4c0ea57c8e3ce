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

enum plan_fail { PLAN_FAIL_NONE, PLAN_FAIL_GET_PAGES, PLAN_FAIL_DMA_MAP, PLAN_FAIL_FAR_PEER };

/**
 * struct scenario - a line of the plan
 * @record: print the driver's events and the test's events
 * @scatter: scatter=0|1; -1: as set when the emulator was loaded
 * @bar1: bar1=BYTES of BAR1 available to pins; 0: all of BAR1
 * @version: version=TEXT, the emulator's parameter table_version; "": as set when the emulator was loaded
 * @delay_ms: delay=MS before each free callback
 * @kernel_nth: N of kernel-event=N:ACTION: number of the driver's event at which ACTION happens; 0: no such key
 * @kernel_action: ACTION of kernel-event, enum emugpu_event_action
 * @user_nth: N of user-event=N:ACTION: number of the test's call at which ACTION happens; 0: no such key
 * @user_action: ACTION of user-event, enum share_action
 * @user_usec: delay of the revocation, from user-event=N:during:USEC
 * @fail: the call that fails, from fail=get_pages:N, fail=dma_map:N or fail=far_peer:N
 * @fail_nth: N of @fail: the N-th such call fails
 * @alloc: alloc=N: fail the driver's n-th allocation
 * @copies: copies=N: number of processes that run the test at the same time
 * @guard_ms: guard=MS for EMUGPU_TEST_GUARD; default: PLAN_GUARD_MS if memory is revoked, else 0
 * @register_ms: register=MS: the RDMA adapter needs MS milliseconds for each registration of peer memory
 * @move_ms: move=MS: a dma-buf's memory arrives MS milliseconds after a dynamic importer has mapped it
 * @may_refuse: may-refuse=1: the kernel may refuse to load the driver
 * @env: env=NAME=VALUE for the test
 * @line: copy of the line; @version and @env point into @line
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
	uint32_t register_ms;
	uint32_t move_ms;
	bool may_refuse;
	const char *env[PLAN_ENV_MAX];
	size_t nr_env;
	char line[PLAN_LINE_MAX];
};

/**
 * plan_parse - parse one line, without its newline; @why has PLAN_WHY_MAX bytes
 *
 * Returns 0, 1 for an empty line or a comment (#), or -1 with the reason in @why.
 * Do not copy the scenario: its members point into @line.
 */
int plan_parse(const char *line, struct scenario *out, char *why);

#endif
