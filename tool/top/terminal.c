// SPDX-License-Identifier: MIT
/* This code is in a separate file, because <term.h> defines macros with common names. */
#include <unistd.h>
#include "screen.h"
#include <curses.h>
#include <term.h>

static bool moves_cursor(void)
{
	const char *address = tigetstr("cup");

	return address && address != (const char *)-1;
}

/* Loads a terminal description and frees it again; initscr() will load its own description. */
static bool terminal_moves_cursor(void)
{
	bool moves;
	int error;

	if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	moves = moves_cursor();
	del_curterm(cur_term);
	return moves;
}

bool top_screen_works(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal_moves_cursor();
}
