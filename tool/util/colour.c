// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "colour.h"
#include "tool/tool.h"

enum when {
	WHEN_AUTO,
	WHEN_ALWAYS,
	WHEN_NEVER,
	NR_WHEN,
};

static enum when chosen;

int colour_choose(const char *when)
{
	static const char *const names[] = {
		[WHEN_AUTO] = "auto",
		[WHEN_ALWAYS] = "always",
		[WHEN_NEVER] = "never",
	};
	int i;

	for (i = 0; when && i < NR_WHEN; i++)
		if (!strcmp(when, names[i])) {
			chosen = (enum when)i;
			return 0;
		}
	return when ? usage_error("--color is auto, always or never, not %s", when) :
		      usage_error("--color needs a value");
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !strcmp(term, "dumb");
}

bool colour_is_on(FILE *file)
{
	if (chosen != WHEN_AUTO)
		return chosen == WHEN_ALWAYS;
	return isatty(fileno(file)) && !is_set("NO_COLOR") && !is_dumb();
}

const char *colour_on(FILE *file, enum text_colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_NONE] = "",
		[COLOUR_BOLD] = "\033[1m",
		[COLOUR_GREEN] = "\033[32m",
		[COLOUR_YELLOW] = "\033[33m",
		[COLOUR_RED] = "\033[1;31m",
		[COLOUR_DIM] = "\033[2m",
	};

	return colour_is_on(file) ? sequences[colour] : "";
}

const char *colour_off(FILE *file, enum text_colour colour)
{
	return colour != COLOUR_NONE && colour_is_on(file) ? "\033[0m" : "";
}
