// SPDX-License-Identifier: MIT
/* Alone: the last of these headers takes common words for its macros. */
#include <unistd.h>
#include "top_screen.h"
#include <curses.h>
#include <term.h>

static bool moves_cursor(void)
{
	const char *address = tigetstr("cup");

	return address && address != (const char *)-1;
}

bool top_screen_works(void)
{
	int error;

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && setupterm(NULL, STDOUT_FILENO, &error) == OK &&
	       moves_cursor();
}
