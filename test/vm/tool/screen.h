/* SPDX-License-Identifier: MIT */
/*
 * A program on its own terminal, and the contents of its screen. The terminal is a VT52, which has
 * few escape sequences. This parser handles the sequences that terminfo programs use.
 */
#ifndef TEST_SCREEN_H
#define TEST_SCREEN_H

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

enum {
	SCREEN_ROWS = 60,
	SCREEN_COLS = 200,
	SCREEN_WAIT_MS = 15000,
	SCREEN_QUIET_MS = 80,
};

/**
 * struct screen - a program and its screen
 * @order: state of the parser. 0: text; ESC: after ESC; 'Y': a row follows; 'y': a column follows
 * @raw: the first output of the program, @length bytes
 * @came: number of all bytes of output
 */
struct screen {
	pid_t pid;
	int terminal;
	struct termios before;
	int rows, cols, y, x;
	int order;
	char at[SCREEN_ROWS][SCREEN_COLS + 1];
	char raw[1 << 16];
	size_t length;
	unsigned long came;
};

static inline void screen_clear(struct screen *s, int from_y, int from_x)
{
	int y;

	for (y = from_y; y < SCREEN_ROWS; y++) {
		int x = y == from_y ? from_x : 0;

		memset(s->at[y] + x, ' ', SCREEN_COLS - x);
	}
}

static inline void screen_escape(struct screen *s, char c)
{
	s->order = 0;
	switch (c) {
	case 'Y':
		s->order = 'Y';
		break;
	case 'A':
		s->y -= s->y > 0;
		break;
	case 'B':
		s->y += s->y < SCREEN_ROWS - 1;
		break;
	case 'C':
		s->x += s->x < SCREEN_COLS - 1;
		break;
	case 'D':
		s->x -= s->x > 0;
		break;
	case 'H':
		s->y = s->x = 0;
		break;
	case 'J':
		screen_clear(s, s->y, s->x);
		break;
	case 'K':
		memset(s->at[s->y] + s->x, ' ', SCREEN_COLS - s->x);
		break;
	}
}

static inline void screen_text(struct screen *s, char c)
{
	switch (c) {
	case '\033':
		s->order = '\033';
		break;
	case '\r':
		s->x = 0;
		break;
	case '\n':
		s->y += s->y < SCREEN_ROWS - 1;
		break;
	case '\b':
		s->x -= s->x > 0;
		break;
	case '\t':
		s->x = (s->x / 8 + 1) * 8 % SCREEN_COLS;
		break;
	default:
		if (c >= ' ')
			s->at[s->y][s->x] = c;
		s->x += c >= ' ' && s->x < SCREEN_COLS - 1;
	}
}

static inline void screen_put(struct screen *s, char c)
{
	if (s->order == '\033') {
		screen_escape(s, c);
	} else if (s->order == 'Y') {
		s->y = (c - ' ') % SCREEN_ROWS;
		s->order = 'y';
	} else if (s->order == 'y') {
		s->x = (c - ' ') % SCREEN_COLS;
		s->order = 0;
	} else {
		screen_text(s, c);
	}
	if (s->length < sizeof(s->raw) - 1)
		s->raw[s->length++] = c;
}

/* Read output for up to @ms. False: the output has ended. */
static inline bool screen_read(struct screen *s, int ms)
{
	struct pollfd p = { .fd = s->terminal, .events = POLLIN };
	char text[4096];
	ssize_t n, i;

	if (poll(&p, 1, ms) <= 0)
		return true;
	n = read(s->terminal, text, sizeof(text));
	for (i = 0; i < n; i++)
		screen_put(s, text[i]);
	s->came += n > 0 ? n : 0;
	return n > 0;
}

/* Read until no output comes for a while, so that the screen is complete. */
static inline void screen_settle(struct screen *s)
{
	unsigned long before;

	do {
		before = s->came;
		screen_read(s, SCREEN_QUIET_MS);
	} while (s->came != before);
}

/* The row with @text; -1: no row has it. */
static inline int screen_row(const struct screen *s, const char *text)
{
	int y;

	for (y = 0; y < SCREEN_ROWS; y++)
		if (strstr(s->at[y], text))
			return y;
	return -1;
}

static inline long screen_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Wait until a row has @text; @there false: until no row has it. */
static inline bool screen_wait(struct screen *s, const char *text, bool there)
{
	long end = screen_ms() + SCREEN_WAIT_MS;

	do {
		if ((screen_row(s, text) >= 0) == there)
			screen_settle(s);
		if ((screen_row(s, text) >= 0) == there)
			return true;
	} while (screen_read(s, 100) && screen_ms() < end);
	return (screen_row(s, text) >= 0) == there;
}

static inline bool screen_shows(struct screen *s, const char *text)
{
	return screen_wait(s, text, true);
}

/* Wait for @text in the raw output, for terminals other than a VT52. */
static inline void screen_printed(struct screen *s, const char *text)
{
	long end = screen_ms() + SCREEN_WAIT_MS;

	while (!strstr(s->raw, text) && screen_read(s, 100) && screen_ms() < end)
		;
}

static inline void screen_start(struct screen *s, const char *terminal, int rows, int cols, char **argv)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };
	int slave;

	memset(s, 0, sizeof(*s));
	screen_clear(s, 0, 0);
	if (openpty(&s->terminal, &slave, NULL, NULL, &size))
		return;
	tcgetattr(s->terminal, &s->before);
	s->pid = fork();
	if (!s->pid) {
		close(s->terminal);
		login_tty(slave);
		setenv("TERM", terminal, 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(slave);
}

static inline void screen_type(struct screen *s, const char *keys)
{
	if (write(s->terminal, keys, strlen(keys)) < 0)
		s->order = 0;
}

/* Wait for the program; returns the wait status. Kills a program that does not end in time. */
static inline int screen_end(struct screen *s)
{
	long end = screen_ms() + SCREEN_WAIT_MS;
	int status = -1;

	while (!waitpid(s->pid, &status, WNOHANG)) {
		screen_read(s, 50);
		if (screen_ms() > end)
			kill(s->pid, SIGKILL);
	}
	screen_read(s, 100);
	return status;
}

/* True if the terminal has its old settings. */
static inline bool screen_is_restored(const struct screen *s)
{
	struct termios now;

	return !tcgetattr(s->terminal, &now) && now.c_lflag == s->before.c_lflag && now.c_iflag == s->before.c_iflag &&
	       now.c_oflag == s->before.c_oflag && now.c_cflag == s->before.c_cflag;
}

#endif
