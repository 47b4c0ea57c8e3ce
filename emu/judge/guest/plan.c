// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/include/emugpu.h"
#include "plan.h"
#include "emu/judge/share.h"

struct word {
	const char *name;
	uint32_t value;
};

static const struct word kernel_actions[] = {
	{ "revoke", EMUGPU_ACT_REVOKE },
	{ "kill", EMUGPU_ACT_KILL },
	{ "revoke-later", EMUGPU_ACT_REVOKE_LATER },
	{}
};

static const struct word user_actions[] = {
	{ "revoke", SHARE_REVOKE },
	{ "kill", SHARE_KILL },
	{ "fork", SHARE_FORK },
	{ "foreign", SHARE_FOREIGN },
	{ "inherit", SHARE_INHERIT },
	{ "exit", SHARE_EXIT },
	{ "late-close", SHARE_LATE_CLOSE },
	{ "rmmod", SHARE_RMMOD },
	{ "unbind", SHARE_UNBIND },
	{ "close", SHARE_CLOSE },
	{ "dup", SHARE_DUP },
	{}
};

static const struct word calls[] = {
	{ "get_pages", PLAN_FAIL_GET_PAGES },
	{ "dma_map", PLAN_FAIL_DMA_MAP },
	{ "far_peer", PLAN_FAIL_FAR_PEER },
	{}
};

static int number64(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*out = strtoull(text, &end, 0);
	return *end || errno ? -1 : 0;
}

static int number(const char *text, uint32_t *out)
{
	uint64_t value;

	if (number64(text, &value) || value > UINT32_MAX)
		return -1;
	*out = (uint32_t)value;
	return 0;
}

static int look_up(const struct word *words, const char *text, uint32_t *out)
{
	for (; words->name; words++) {
		if (strcmp(words->name, text))
			continue;
		*out = words->value;
		return 0;
	}
	return -1;
}

/* Parses "N:TEXT" and returns TEXT; NULL if N is 0 or no number. */
static char *after_number(char *text, uint32_t *out)
{
	char *colon = strchr(text, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	return number(text, out) || !*out ? NULL : colon + 1;
}

static int set_record(struct scenario *s, char *value)
{
	s->record = !strcmp(value, "1");
	return s->record ? 0 : -1;
}

static int set_scatter(struct scenario *s, char *value)
{
	s->scatter = *value - '0';
	return strlen(value) == 1 && (s->scatter == 0 || s->scatter == 1) ? 0 : -1;
}

static int set_bar1(struct scenario *s, char *value)
{
	return number64(value, &s->bar1);
}

static int set_version(struct scenario *s, char *value)
{
	s->version = value;
	return *value ? 0 : -1;
}

static int set_delay(struct scenario *s, char *value)
{
	return number(value, &s->delay_ms);
}

static int set_kernel_event(struct scenario *s, char *value)
{
	const char *action = after_number(value, &s->kernel_nth);

	return action ? look_up(kernel_actions, action, &s->kernel_action) : -1;
}

static int set_user_event(struct scenario *s, char *value)
{
	const char *action = after_number(value, &s->user_nth);

	if (!action)
		return -1;
	if (strncmp(action, "during:", strlen("during:")))
		return look_up(user_actions, action, &s->user_action);
	s->user_action = SHARE_DURING;
	return number(action + strlen("during:"), &s->user_usec);
}

static int set_fail(struct scenario *s, char *value)
{
	char *nth = strchr(value, ':');
	uint32_t call;

	if (!nth)
		return -1;
	*nth++ = '\0';
	if (look_up(calls, value, &call))
		return -1;
	s->fail = call;
	return number(nth, &s->fail_nth) || !s->fail_nth ? -1 : 0;
}

static int set_alloc(struct scenario *s, char *value)
{
	return number(value, &s->alloc);
}

static int set_copies(struct scenario *s, char *value)
{
	return number(value, &s->copies) || !s->copies || s->copies > PLAN_COPIES_MAX ? -1 : 0;
}

static int set_guard(struct scenario *s, char *value)
{
	return number(value, &s->guard_ms);
}

static int set_register_ms(struct scenario *s, char *value)
{
	return number(value, &s->register_ms);
}

static int set_move(struct scenario *s, char *value)
{
	return number(value, &s->move_ms);
}

static int set_may_refuse(struct scenario *s, char *value)
{
	s->may_refuse = !strcmp(value, "1");
	return s->may_refuse ? 0 : -1;
}

static int set_env(struct scenario *s, char *value)
{
	if (s->nr_env == PLAN_ENV_MAX || !strchr(value, '=') || *value == '=')
		return -1;
	s->env[s->nr_env++] = value;
	return 0;
}

static const struct key {
	const char *name;
	int (*set)(struct scenario *s, char *value);
} keys[] = {
	{ "record", set_record },
	{ "scatter", set_scatter },
	{ "bar1", set_bar1 },
	{ "version", set_version },
	{ "delay", set_delay },
	{ "kernel-event", set_kernel_event },
	{ "user-event", set_user_event },
	{ "fail", set_fail },
	{ "alloc", set_alloc },
	{ "copies", set_copies },
	{ "guard", set_guard },
	{ "register", set_register_ms },
	{ "move", set_move },
	{ "may-refuse", set_may_refuse },
	{ "env", set_env },
	{}
};

static const struct key *key_of(const char *name)
{
	const struct key *key;

	for (key = keys; key->name; key++)
		if (!strcmp(key->name, name))
			return key;
	return NULL;
}

/* A key without a value has the value 1. */
static int set(struct scenario *s, char *word, char *why)
{
	static char one[] = "1";
	char *value = strchr(word, '=');
	const struct key *key;

	if (value)
		*value++ = '\0';
	key = key_of(word);
	if (!key) {
		snprintf(why, PLAN_WHY_MAX, "%s: unknown key '%.40s'", s->id, word);
		return -1;
	}
	if (!key->set(s, value ? value : one))
		return 0;
	snprintf(why, PLAN_WHY_MAX, "%s: bad value of %s", s->id, word);
	return -1;
}

/* The actions of rows with TRIES_REVOKE (emu/judge/result/rows.c): free callbacks run, some at the end of the process. */
static bool revokes(const struct scenario *s)
{
	switch (s->user_action) {
	case SHARE_REVOKE:
	case SHARE_DURING:
	case SHARE_KILL:
	case SHARE_EXIT:
	case SHARE_LATE_CLOSE:
		return true;
	}
	return s->kernel_action != EMUGPU_ACT_NONE;
}

static int set_all(struct scenario *s, char *rest, char *why)
{
	char *word;

	while ((word = strsep(&rest, " \t")))
		if (*word && set(s, word, why))
			return -1;
	if (s->guard_ms == UINT32_MAX)
		s->guard_ms = revokes(s) ? PLAN_GUARD_MS : 0;
	return 0;
}

int plan_parse(const char *line, struct scenario *out, char *why)
{
	char *rest = out->line, *id;

	*out = (struct scenario){ .scatter = -1, .version = "", .copies = 1, .guard_ms = UINT32_MAX };
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 1;
	if (strlen(line) >= sizeof(out->line)) {
		snprintf(why, PLAN_WHY_MAX, "a line longer than %d bytes", PLAN_LINE_MAX - 1);
		return -1;
	}
	snprintf(out->line, sizeof(out->line), "%s", line);
	id = strsep(&rest, " \t");
	if (strlen(id) >= sizeof(out->id)) {
		snprintf(why, PLAN_WHY_MAX, "an ID longer than %d bytes", PLAN_ID_MAX - 1);
		return -1;
	}
	snprintf(out->id, sizeof(out->id), "%s", id);
	return set_all(out, rest, why);
}
