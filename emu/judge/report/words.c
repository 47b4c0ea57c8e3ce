// SPDX-License-Identifier: MIT
#include <string.h>
#include "source.h"
#include "words.h"

struct words {
	const char *key;
	const char *words;
};

/* If a key ends with "=" or ":", the report appends the key's number to the text. */
static const struct words keys[] = {
	{ "scatter=0", "neighbouring pages of GPU memory have neighbouring bus addresses" },
	{ "version=", "page tables have version " },
	{ "copies=2", "two processes run the test at once" },
	{ "delay=", "free callbacks begin late, by this many ms: " },
	{ "bar1=", "BAR1 has room for only this many bytes of pins: " },
	{ "alloc=", "this allocation of the driver fails: number " },
	{ "fail=get_pages:", "this call of get_pages fails: number " },
	{ "fail=far_peer:", "the chipset is unknown to NVIDIA's driver, so this call of dma_map_pages or dma_buf_attach fails: number " },
	{ "fail=dma_map:", "this call of dma_map_pages fails: number " },
	{ "move=", "the contents of a dma-buf arrive after it was mapped, late by this many ms: " },
};

static const struct words actions[] = {
	{ "revoke", "the GPU memory is revoked" },
	{ "during", "the GPU memory is revoked some time after the call began" },
	{ "kill", "the test is killed" },
	{ "fork", "a child is forked that keeps all files open for longer" },
	{ "foreign", "another process opens the node and makes the same calls" },
	{ "inherit", "a forked child makes this call first" },
	{ "exit", "the test exits" },
	{ "late-close", "the GPU's files are closed before the driver's" },
	{ "rmmod", "another process tries to remove the module" },
	{ "unbind", "the device is unbound from the driver" },
	{ "close", "the test closes the driver's device and lives on" },
	{ "dup", "a duplicate of the file is closed" },
};

static void put_action(FILE *file, const char *action)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strncmp(action, actions[i].key, strlen(actions[i].key)))
			fputs(actions[i].words, file);
}

static void put_event(FILE *file, const struct event *event)
{
	if (event)
		fprintf(file, " (%s)", event->text);
}

/* Describes a key such as "kernel-event=3:revoke" or "user-event=2:during:300". */
static bool put_event_words(FILE *file, const char *key, const struct recording *recording)
{
	enum event_side side = *key == 'k' ? EVENT_KERNEL : EVENT_USER;
	unsigned int number;
	char action[16];

	if (sscanf(key, "%*[a-z]-event=%u:%15[a-z-]", &number, action) != 2)
		return false;
	fprintf(file, "at %s %u", side == EVENT_KERNEL ? "the driver's event" : "the test's call", number);
	put_event(file, recording_find(recording, side, number));
	fputs(" ", file);
	put_action(file, action);
	return true;
}

void words_of_scenario(FILE *file, const struct scenario *scenario, const struct recording *recording)
{
	const char *key = scenario->keys;
	size_t i, length;

	if (put_event_words(file, key, recording))
		return;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		length = strlen(keys[i].key);
		if (!strncmp(key, keys[i].key, length)) {
			fprintf(file, "%s%s", keys[i].words, key + length);
			return;
		}
	}
	fputs("no fault is injected", file);
}

void words_of_left(FILE *file, const struct summary *summary)
{
	const struct left *left = summary->left;
	char kind[ROW_KIND_MAX];

	fprintf(file, "%zu of %zu scenarios were not tried:", summary_left(summary), summary->run->plan.count);
	for (; left < summary->left + summary->nr_left; left++) {
		fputs(left == summary->left ? " " : ", ", file);
		row_kind(left->row, kind);
		fprintf(file, "%s %zu%s", kind, left->left, left->never ? " (all)" : "");
	}
}

void words_of_note(FILE *file, const struct summary *summary, unsigned int i)
{
	if (summary->same_bytes && !i--)
		fputs("the test copies the same bytes to the GPU in each process, so stale data may look right; use a random seed",
		      file);
	else
		fprintf(file, "the kernel does not load the driver beside NVIDIA's %s driver: %s",
			strcmp(summary->run->args->nvidia, "open") ? "open" : "proprietary", summary->refused);
}

static size_t length_of_place(const char *text)
{
	const char *end = strstr(text, " age=");

	return end ? (size_t)(end - text) : strlen(text);
}

/*
 * Returns the first line that names a function of a module: line @i, or a line of the stack below it. If there is none,
 * returns @i. Line @i may name a kernel function between module and allocator, or the trampoline of the judge's probe.
 */
static size_t line_of_module(const struct result *result, size_t i)
{
	const char *text = result->log[i].text;
	size_t line;

	if (memchr(text, '[', length_of_place(text)))
		return i;
	for (line = i + 1; line < result->nr_log && result->log[line].text[0] == ' '; line++)
		if (strchr(result->log[line].text, '['))
			return line;
	return i;
}

static bool is_of(const struct result *result, size_t i, const char *module)
{
	char in[SOURCE_NAME_MAX + 2];

	snprintf(in, sizeof(in), "[%s]", module);
	return strstr(result->log[i].text, in);
}

/*
 * The instruction of line @i may be in a kernel function that the driver called. Returns the line of the driver's
 * innermost function: line @i, or a line of the call trace below it. If there is none, returns @i. The trace marks
 * addresses that are no part of it with a question mark.
 */
static size_t line_of_user(const struct result *result, size_t i, const char *driver)
{
	char module[SOURCE_NAME_MAX];
	size_t line = i + 1;

	source_module(driver, module);
	if (is_of(result, i, module))
		return i;
	while (line < result->nr_log && !strstr(result->log[line].text, "Call Trace:"))
		line++;
	for (line++; line < result->nr_log && result->log[line].text[0] == ' '; line++)
		if (strncmp(result->log[line].text, " ? ", 3) && is_of(result, line, module))
			return line;
	return i;
}

static const char use_key[] = "RIP: 0010:";

/* Returns whether the kernel log has a line with @key. */
static bool put_owner(FILE *file, const char *driver, const struct result *result, const char *key, const char *label)
{
	char text[SOURCE_MAX];
	const char *at;
	size_t i, line;

	for (i = 0; i < result->nr_log; i++) {
		if (!strstr(result->log[i].text, key))
			continue;
		line = key == use_key ? line_of_user(result, i, driver) : line_of_module(result, i);
		at = source_text(driver, result->log[line].text, text);
		at = line == i ? strstr(at, key) + strlen(key) : at + 1;
		fprintf(file, "%s%.*s\n", label, (int)length_of_place(at), at);
		return true;
	}
	return false;
}

void words_of_memory(FILE *file, const struct summary *summary, const struct judgement *judgement)
{
	static const char *const rules[] = { "use-after-free", "uninitialised-memory", "double-free", "overflow" };
	const char *driver = summary->run->args->driver;
	size_t i = 0;
	bool owned;

	while (i < sizeof(rules) / sizeof(rules[0]) && strcmp(judgement->rule->name, rules[i]))
		i++;
	if (i == sizeof(rules) / sizeof(rules[0]))
		return;
	owned = put_owner(file, driver, judgement->result, "Allocated in ", "  allocated: ");
	owned |= put_owner(file, driver, judgement->result, "Freed in ", "  freed:    ");
	put_owner(file, driver, judgement->result, use_key, "  used:     ");
	if (!owned && !summary->run->args->only)
		fputs("  memory:   a run of the --only command below may also show which functions allocated and freed "
		      "this memory\n", file);
}
