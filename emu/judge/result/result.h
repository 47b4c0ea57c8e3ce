/* SPDX-License-Identifier: MIT */
/* What came of the scenarios. */
#ifndef VERIFY_RESULT_H
#define VERIFY_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include "scenarios.h"

/* struct finding - a rule that was broken; @rule: as verify_rules.h has them */
struct finding {
	char rule[32];
	char text[256];
};

struct log_line {
	char text[200];
};

/**
 * struct trial - what the test has done where nothing was to be done to it; where BAR1 is
 * full, what it has asked for counts
 * @told: the guest has come so far as to say so
 * @pins: of GPU memory
 * @own: those of them that the driver made itself, not peerpin in its name
 * @calls: of the driver's devices, that were seen
 * @devices: that came with the driver
 */
struct trial {
	bool told;
	unsigned int pins;
	unsigned int own;
	unsigned int calls;
	unsigned int devices;
};

/**
 * struct result - of a scenario that has begun
 * @ended: the guest said so, or its death was the result
 * @clean: what came after it could be believed
 * @armed: something was to happen at some event
 * @fired: and did
 * @trial: unless it was armed
 * @test: how the test program ended
 * @untold: why something that may have been wrong was not seen; "": all was
 */
struct result {
	struct scenario scenario;
	bool ended;
	bool clean;
	bool armed;
	bool fired;
	struct trial trial;
	char test[48];
	char untold[160];
	struct finding *findings;
	size_t nr_findings;
	struct log_line *log;
	size_t nr_log;
};

/* struct results - in the order in which they were begun */
struct results {
	struct result *at;
	size_t count;
};

struct result *results_begin(struct results *results, const struct scenario *scenario);
void results_free(struct results *results);

/* As if it had just begun. */
void result_forget(struct result *result);

/* At most @size bytes with the 0; what could steer a terminal, a control character, becomes a blank. */
void copy_plain(char *to, size_t size, const char *from);

/* What is said of a scenario is made plain. */
void result_find(struct result *result, const char *rule, const char *text);
void result_log(struct result *result, const char *text);

bool result_has(const struct result *result, const char *rule);

/* Memory was taken away in it, for what the test can tell. */
bool result_revoked(const struct result *result);

#endif
