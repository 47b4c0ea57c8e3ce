// SPDX-License-Identifier: MIT
#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool/machine/bar1.h"
#include "tool/tool.h"
#include "tool/util/colour.h"
#include "layout.h"
#include "screen.h"
#include "view.h"
#include "tool/util/units.h"

enum {
	KEY_ESC = 27,
	KEY_DELETE = 127,
	MAX_WIDTH = 512,
	LOOK_MS = 500,		/* longest wait for a key; a signal is noticed after this time at the latest */
};

enum colour {
	PLAIN,
	LOW,
	HIGH,
	FULL,
};

/**
 * struct screen - the state that keys change
 * @scroll: index of the first process on the screen
 * @page: number of processes on the screen
 */
struct screen {
	struct top_view view;
	size_t scroll;
	size_t page;
	bool typing;
	bool help;
	bool quit;
};

static volatile sig_atomic_t ended;

static bool coloured;

/* ---- drawing ---------------------------------------------------------------------- */

static void draw(int y, const char *text, attr_t how)
{
	attrset(how);
	mvaddnstr(y, 0, text, COLS);
	attrset(A_NORMAL);
}

static attr_t attribute_of(enum colour colour)
{
	return coloured ? COLOR_PAIR(colour) : A_NORMAL;
}

static attr_t gpu_attribute(const struct pp_bar1 *gpu, uint64_t reserve)
{
	uint64_t fits = bar1_fits(gpu, reserve);

	if (!fits)
		return attribute_of(FULL) | A_BOLD;
	return attribute_of(fits < gpu->total / 4 ? HIGH : LOW);
}

/* Draws a GPU's line: text, and a gauge if there is room. */
static void draw_gpu(int y, const struct top_sample *s, unsigned int index)
{
	const struct pp_bar1 *gpu = &s->gpus[index];
	char before[64], behind[96], gauge[MAX_WIDTH], line[MAX_WIDTH + sizeof(before) + sizeof(behind)];
	int width;

	snprintf(before, sizeof(before), "GPU %u %s [", s->gpu_index[index], gpu->pci);
	snprintf(behind, sizeof(behind), "] %s of %s, %s fit", text_bytes(gpu->used).at, text_bytes(gpu->total).at,
		 text_bytes(bar1_fits(gpu, s->reserve)).at);
	width = COLS - (int)strlen(before) - (int)strlen(behind);
	if (width < 8) {
		draw(y, top_row_gpu(s, index).at, gpu_attribute(gpu, s->reserve));
		return;
	}
	top_gauge(gpu, s->reserve, gauge, width < MAX_WIDTH ? width : MAX_WIDTH - 1);
	snprintf(line, sizeof(line), "%s%s%s", before, gauge, behind);
	draw(y, line, gpu_attribute(gpu, s->reserve));
}

static int draw_gpus(int y, const struct top_sample *s, int lines)
{
	int i;

	for (i = 0; i < lines; i++)
		draw_gpu(y + i, s, (unsigned int)i);
	return y + lines;
}

static int draw_peers(int y, const struct top_sample *s, int lines)
{
	int i;

	if (lines)
		draw(y, top_row_peer_names().at, A_BOLD);
	for (i = 1; i < lines; i++)
		draw(y + i, top_row_peer(&s->peers[i - 1]).at, A_NORMAL);
	return y + lines;
}

/* Draws the line of column names in reverse video, as in top(1). */
static void draw_names(int y)
{
	attrset(A_REVERSE);
	mvhline(y, 0, ' ' | A_REVERSE, COLS);
	mvaddnstr(y, 0, top_row_process_names().at, COLS);
	attrset(A_NORMAL);
}

static int draw_processes(int y, const struct top_sample *s, struct screen *screen, int lines)
{
	const struct top_process **rows;
	size_t count, i;

	rows = top_rows(s, &screen->view, &count);
	screen->page = (size_t)lines;
	screen->scroll = top_scroll(screen->scroll, count, lines);
	draw_names(y++);
	for (i = 0; i < (size_t)lines && screen->scroll + i < count; i++)
		draw(y + (int)i, top_row_process(rows[screen->scroll + i]).at, A_NORMAL);
	free(rows);
	return y + lines;
}

static void draw_notes(int y, const struct top_sample *s, int lines)
{
	int i;

	for (i = 0; i < lines; i++)
		draw(y + i, s->notes[i], attribute_of(HIGH));
}

static void draw_keys(const struct screen *screen)
{
	char text[128];

	if (screen->typing)
		snprintf(text, sizeof(text), "filter: %s_", screen->view.filter);
	else
		snprintf(text, sizeof(text), "q quit  s sort: %s  / filter: %s  ? help", top_sort_name(screen->view.sort),
			 screen->view.filter[0] ? screen->view.filter : "none");
	attrset(A_BOLD);
	mvaddnstr(LINES - 1, 0, text, COLS - 1);	/* a character in the last column would scroll the screen */
	attrset(A_NORMAL);
}

static void draw_sample(const struct top_sample *s, struct screen *screen)
{
	struct top_layout l = top_layout(s, LINES);
	int y = 0;

	draw(y++, top_row_title(s).at, A_BOLD);
	y = draw_gpus(y, s, l.gpus);
	y = draw_peers(y, s, l.peers);
	y = draw_processes(y, s, screen, l.processes);
	draw_notes(y, s, l.notes);
	draw_keys(screen);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"q          quit",
		"s          sort by bytes, regions, pins/s, name",
		"/          show only matching names or pids",
		"Esc        show all again",
		"Up, Down   scroll; PgUp, PgDn by a page",
		"?          this help; any key closes it",
		"BAR1: | in use  : kept by the driver  . free",
		"-  not known: see peerpin-top(1)",
	};
	unsigned int i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]) && (int)i < LINES; i++)
		draw((int)i, lines[i], A_NORMAL);
}

static void draw_all(const struct top_sample *s, struct screen *screen)
{
	erase();
	if (screen->help)
		draw_help();
	else
		draw_sample(s, screen);
	refresh();
}

/* ---- keys -------------------------------------------------------------------------- */

static void type(struct screen *screen, int key)
{
	char *filter = screen->view.filter;
	size_t length = strlen(filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER)
		screen->typing = false;
	else if ((key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') && length)
		filter[length - 1] = '\0';
	else if (key >= ' ' && key <= '~' && length < sizeof(screen->view.filter) - 1)
		filter[length] = (char)key;
}

static void clear_filter(struct screen *screen)
{
	memset(screen->view.filter, 0, sizeof(screen->view.filter));
	screen->typing = false;
}

/* @screen->scroll may become too large; draw_processes() corrects it. */
static void scroll_by(struct screen *screen, size_t rows, bool up)
{
	if (!up)
		screen->scroll += rows;
	else
		screen->scroll -= rows < screen->scroll ? rows : screen->scroll;
}

static void command(struct screen *screen, int key)
{
	switch (key) {
	case 'q':
		screen->quit = true;
		break;
	case 's':
		screen->view.sort = (screen->view.sort + 1) % TOP_SORTS;
		break;
	case '/':
		clear_filter(screen);
		screen->typing = true;
		break;
	case '?':
		screen->help = true;
		break;
	case KEY_UP:
	case KEY_DOWN:
		scroll_by(screen, 1, key == KEY_UP);
		break;
	case KEY_PPAGE:
	case KEY_NPAGE:
		scroll_by(screen, screen->page, key == KEY_PPAGE);
		break;
	}
}

static void handle(struct screen *screen, int key)
{
	if (key == KEY_RESIZE)
		return;
	if (screen->help)
		screen->help = false;
	else if (key == KEY_ESC)
		clear_filter(screen);
	else if (screen->typing)
		type(screen, key);
	else
		command(screen, key);
}

/* ---- the terminal ------------------------------------------------------------------ */

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = end };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void leave(void)
{
	if (!isendwin())
		endwin();
}

static void begin_colours(void)
{
	coloured = has_colors() && colour_is_on(stdout);
	if (!coloured)
		return;
	start_color();
	use_default_colors();
	init_pair(LOW, COLOR_GREEN, -1);
	init_pair(HIGH, COLOR_YELLOW, -1);
	init_pair(FULL, COLOR_RED, -1);
}

static void begin(void)
{
	setlocale(LC_CTYPE, "");
	initscr();
	atexit(leave);		/* because no_memory() calls exit() */
	catch_signals();
	cbreak();
	noecho();
	curs_set(0);
	set_escdelay(25);
	keypad(stdscr, TRUE);
	begin_colours();
}

static int wait_ms(uint64_t until_ns)
{
	uint64_t now = top_clock_ns(), ms;

	if (now >= until_ns)
		return 0;
	ms = (until_ns - now) / 1000000 + 1;
	return ms < LOOK_MS ? (int)ms : LOOK_MS;
}

/* If the terminal has hung up, getch() fails at once each time: then end the program. */
static void look_at_keys(struct screen *screen, uint64_t until_ns)
{
	int key;

	timeout(wait_ms(until_ns));
	key = getch();
	if (key != ERR)
		handle(screen, key);
	else if (!isatty(STDIN_FILENO))
		ended = 1;
}

static void show(struct top *t, struct screen *screen, uint64_t until_ns)
{
	do {
		draw_all(&t->now, screen);
		look_at_keys(screen, until_ns);
	} while (!screen->quit && !ended && top_clock_ns() < until_ns);
}

int top_screen(struct top *t, const struct top_args *args)
{
	struct screen screen = { .view = { .sort = TOP_BY_BYTES } };
	uint64_t n;

	begin();
	for (n = 0; !screen.quit && !ended && (!args->count || n < args->count); n++) {
		top_next(t);
		show(t, &screen, top_due_ns(t, args->interval_ns));
	}
	leave();
	return EXIT_OK;
}
