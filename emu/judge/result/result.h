/* SPDX-License-Identifier: MIT */
/* The results of the scenarios. */
#ifndef VERIFY_RESULT_H
#define VERIFY_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "scenarios.h"

/* struct finding - a broken rule; @rule: its name in rules.c, or another name, which counts as rule "other" */
struct finding {
	char rule[32];
	char text[256];
};

struct log_line {
	char text[200];
};

/**
 * struct trial - activity of the test in a scenario without a fault
 * @told: the guest has reported the numbers below
 * @pins: pins of GPU memory; in a scenario with little BAR1 also the failed attempts to pin
 * @own: pins that the driver made itself, not through peerpin
 * @calls: observed calls on the driver's devices
 * @devices: devices that appeared with the driver
 * @bytes: a sum of the bytes that the test copied to the GPU; 0: none or unknown
 */
struct trial {
	bool told;
	unsigned int pins;
	unsigned int own;
	unsigned int calls;
	unsigned int devices;
	uint64_t bytes;
};

/**
 * struct revoked - what a revocation reached; all 0: nothing, or the guest did not say
 * @callbacks: free callbacks that ran
 * @notified: importers of dma-bufs that were notified
 * @mapped: a CPU mapping of the driver's device existed
 */
struct revoked {
	unsigned int callbacks;
	unsigned int notified;
	unsigned int mapped;
};

/**
 * struct result - the result of a scenario that has begun
 * @ended: the guest reported the end of the scenario, or the VM died
 * @clean: the VM is in a good state, so that later scenarios can run in it
 * @armed: the scenario had a fault to inject at some event
 * @fired: the fault was injected
 * @trial: the test's activity; valid if @armed is false
 * @test: how the test program ended
 * @refused: why the kernel refused to load the driver in BOOT_OTHER_NVIDIA; "": it did not
 * @untold: why a violation may have been missed; "": nothing was missed
 */
struct result {
	struct scenario scenario;
	bool ended;
	bool clean;
	bool armed;
	bool fired;
	struct trial trial;
	struct revoked revoked;
	char test[48];
	char refused[160];
	char untold[160];
	struct finding *findings;
	size_t nr_findings;
	struct log_line *log;
	size_t nr_log;
};

/* struct results - the results in the order in which their scenarios began */
struct results {
	struct result *at;
	size_t count;
};

struct result *results_begin(struct results *results, const struct scenario *scenario);
void results_free(struct results *results);

/* Resets @result to the start of its scenario. */
void result_forget(struct result *result);

/* Copies at most @size bytes, including the NUL. Replaces control characters by blanks: they could steer a terminal. */
void copy_plain(char *to, size_t size, const char *from);

/* Add a finding or a log line; both use copy_plain(). */
void result_find(struct result *result, const char *rule, const char *text);
void result_log(struct result *result, const char *text);

bool result_has(const struct result *result, const char *rule);

#endif
