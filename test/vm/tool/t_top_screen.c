// SPDX-License-Identifier: MIT
/* peerpin top on terminals of several kinds: drawing, keys, and the restored terminal. */
#include <stdlib.h>

#include "screen.h"
#include "top.h"

static struct screen screen;

static void open_screen(const char *terminal, int rows, int cols)
{
	char *argv[] = { peerpin, "top", "--interval", "0.3", NULL };

	screen_start(&screen, terminal, rows, cols, argv);
}

static void quits(const char *key)
{
	int status;

	screen_type(&screen, key);
	status = screen_end(&screen);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
	EXPECT(screen_is_restored(&screen), "the terminal is not restored");
	close(screen.terminal);
}

SETUP(everything_is_there)
{
	EXPECT(find_peerpin(), "%s: %d", peerpin, errno);
	EXPECT(start("alpha", pin_host, 3, false), "alpha");
	EXPECT(start("beta", pin_host, 20, false), "beta");
	EXPECT(start("gamma", pin_host, 1, false), "gamma");
}

CASE(top_draws_gpus_processes_and_peers)
{
	int gpu, names, alpha, beta, gamma;

	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "peerpin top  96.0 KiB in 24 regions of 3 processes"), "%.80s", screen.at[0]);
	EXPECT(screen_shows(&screen, "q quit  s sort: bytes"), "%.80s", screen.at[23]);
	gpu = screen_row(&screen, "GPU 0 0000:");
	names = screen_row(&screen, "PID COMMAND");
	alpha = screen_row(&screen, "alpha");
	beta = screen_row(&screen, "beta");
	gamma = screen_row(&screen, "gamma");
	EXPECT(gpu == 1 && strstr(screen.at[gpu], "[.") && strstr(screen.at[gpu], ":] 0 bytes of 256.0 MiB, 220.0 MiB fit"),
	       "%.80s", screen.at[1]);
	EXPECT(names > gpu && beta == names + 1 && alpha == names + 2 && gamma == names + 3, "%d %d %d %d", names, beta,
	       alpha, gamma);
	EXPECT(screen_row(&screen, "0000:00:") >= 0 && screen_shows(&screen, "0.0 MB/s"), "peers");
	quits("q");
}

CASE(key_s_changes_the_order)
{
	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "alpha"), "start");
	EXPECT(screen_row(&screen, "beta") < screen_row(&screen, "alpha"), "by bytes");
	screen_type(&screen, "sss");
	EXPECT(screen_shows(&screen, "sort: name"), "%.80s", screen.at[23]);
	EXPECT(screen_row(&screen, "alpha") + 1 == screen_row(&screen, "beta") &&
	       screen_row(&screen, "beta") + 1 == screen_row(&screen, "gamma"), "%d %d %d", screen_row(&screen, "alpha"),
	       screen_row(&screen, "beta"), screen_row(&screen, "gamma"));
	screen_type(&screen, "s");
	EXPECT(screen_shows(&screen, "sort: bytes"), "%.80s", screen.at[23]);
	quits("q");
}

CASE(slash_filters_by_name_or_pid)
{
	char pid[16];

	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "gamma"), "start");
	screen_type(&screen, "/ALPX\b\r");
	EXPECT(screen_shows(&screen, "filter: ALP  ?"), "%.80s", screen.at[23]);
	EXPECT(screen_wait(&screen, "gamma", false) && screen_row(&screen, "alpha") > 0, "by name");
	snprintf(pid, sizeof(pid), "/%d\r", holders[2]);
	screen_type(&screen, pid);
	EXPECT(screen_shows(&screen, "gamma") && screen_wait(&screen, "alpha", false), "by pid");
	screen_type(&screen, "\033");
	EXPECT(screen_shows(&screen, "filter: none") && screen_row(&screen, "alpha") > 0, "none");
	screen_type(&screen, "/q");
	EXPECT(screen_shows(&screen, "filter: q_"), "a typed q is no command: %.80s", screen.at[23]);
	screen_type(&screen, "\r");
	quits("q");
}

CASE(question_mark_shows_help)
{
	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "alpha"), "start");
	screen_type(&screen, "?");
	EXPECT(screen_shows(&screen, "sort by bytes, regions, pins/s, name"), "help");
	EXPECT(screen_row(&screen, "alpha") < 0, "the table is still shown");
	screen_type(&screen, "x");
	EXPECT(screen_shows(&screen, "alpha"), "back");
	quits("q");
}

/* Wait for the list of keys in the last row. */
static bool wait_for_keys(int row)
{
	int i;

	for (i = 0; i < 100 && screen_row(&screen, "q quit") != row; i++)
		screen_read(&screen, 100);
	screen_settle(&screen);
	return screen_row(&screen, "q quit") == row;
}

CASE(top_follows_the_window_size)
{
	struct winsize size = { .ws_row = 8, .ws_col = 40 };

	open_screen("vt52", 10, 40);
	EXPECT(screen_shows(&screen, "gamma"), "start");
	EXPECT(screen_row(&screen, "q quit") == 9, "%d", screen_row(&screen, "q quit"));
	ioctl(screen.terminal, TIOCSWINSZ, &size);
	EXPECT(wait_for_keys(7) && screen_shows(&screen, "gamma"), "smaller: %d", screen_row(&screen, "q quit"));
	size = (struct winsize){ .ws_row = 3, .ws_col = 10 };
	ioctl(screen.terminal, TIOCSWINSZ, &size);
	EXPECT(screen_wait(&screen, "gamma", false), "tiny");
	size = (struct winsize){ .ws_row = 50, .ws_col = 150 };
	ioctl(screen.terminal, TIOCSWINSZ, &size);
	EXPECT(screen_shows(&screen, "gamma") && screen_shows(&screen, "MISSES/S"), "large");
	EXPECT(wait_for_keys(49), "%d", screen_row(&screen, "q quit"));
	quits("q");
}

CASE(arrow_keys_scroll)
{
	open_screen("vt52", 6, 80);	/* has room for one process */
	EXPECT(screen_shows(&screen, "beta"), "start");
	EXPECT(screen_row(&screen, "gamma") < 0, "all processes fit");
	screen_type(&screen, "\033B\033B\033B\033B\033B");
	EXPECT(screen_shows(&screen, "gamma"), "down");
	EXPECT(screen_wait(&screen, "beta", false), "the first process is still shown");
	screen_type(&screen, "\033A\033A\033A\033A\033A");
	EXPECT(screen_shows(&screen, "beta"), "up");
	quits("q");
}

CASE(xterm_gets_colours_and_alternate_screen)
{
	open_screen("xterm-256color", 24, 80);
	screen_printed(&screen, "beta");
	EXPECT(strstr(screen.raw, "\033[?1049h"), "the alternate screen is not used");
	EXPECT(strstr(screen.raw, "\033[32m"), "no green");
	EXPECT(strstr(screen.raw, "beta"), "no process");
	screen_type(&screen, "\033[6~\033[5~");
	quits("q");
	EXPECT(strstr(screen.raw, "\033[?1049l"), "the old screen is not restored");
	EXPECT(strstr(screen.raw,
	       "\033[?12l\033[?25h") || strstr(screen.raw, "\033[34h\033[?25h"), "the cursor is not restored");
}

CASE(terminal_without_colours_gets_none)
{
	open_screen("vt100", 24, 80);
	screen_printed(&screen, "beta");
	EXPECT(strstr(screen.raw, "beta") && !strstr(screen.raw, "\033[32m"), "colours on a terminal without colours");
	quits("q");
}

static void ends_by(int signal)
{
	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "alpha"), "start");
	kill(screen.pid, signal);
	quits("");
}

CASE(signals_restore_the_terminal)
{
	ends_by(SIGTERM);
	CHECK_CASE();
	ends_by(SIGINT);
	CHECK_CASE();
	ends_by(SIGQUIT);
	CHECK_CASE();
	ends_by(SIGHUP);
}

/* The terminal is closed, so top must end by itself. */
CASE(top_ends_with_its_terminal)
{
	int status;

	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "alpha"), "start");
	close(screen.terminal);
	screen.terminal = open("/dev/null", O_RDWR | O_CLOEXEC);
	status = screen_end(&screen);
	EXPECT(WIFEXITED(status), "status %x", status);
	close(screen.terminal);
}

CASE(dumb_terminal_gets_lines)
{
	char *argv[] = { peerpin, "top", "--interval", "0.3", "--count", "2", NULL };
	int status;

	screen_start(&screen, "dumb", 24, 80, argv);
	status = screen_end(&screen);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
	EXPECT(!strchr(screen.raw, '\033') && strstr(screen.raw, "beta"), "%.200s", screen.raw);
	close(screen.terminal);
	screen_start(&screen, "no-such-terminal", 24, 80, argv);
	status = screen_end(&screen);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
	EXPECT(strstr(screen.raw, "beta"), "%.200s", screen.raw);
	close(screen.terminal);
}

CASE(nothing_is_left)
{
	end_holders();
	open_screen("vt52", 24, 80);
	EXPECT(screen_shows(&screen, "peerpin top  0 bytes in 0 regions of 0 processes"), "%.80s", screen.at[0]);
	quits("q");
}

VMTEST_MAIN
