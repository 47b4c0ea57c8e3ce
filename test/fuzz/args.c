// SPDX-License-Identifier: MIT
/*
 * Arbitrary command lines. Each line is a word, and the first words may set environment variables.
 * peerpin parses the words for any command. rules.mk replaces the functions that would act. The
 * replacements below check the parsed arguments.
 */
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/copy/file_copy.h"
#include "libpeerpin.h"
#include "output.h"
#include "tool/machine/root.h"
#include "tool/metrics/args.h"
#include "tool/perf/args.h"
#include "target.h"
#include "tool/tool.h"
#include "tool/top/lines.h"
#include "tool/top/screen.h"
#include "valid.h"
#include "emu/judge/run/run.h"

enum {
	MAX_WORDS = 100,
	MORE_WORDS = 20,	/* room for words that print_repeat() adds */
};

/** struct words - each word has its own allocation, so that sanitizers see reads beyond its end */
struct words {
	char *at[MAX_WORDS + MORE_WORDS + 1];
	int count;
};

const unsigned int target_forms = 1;
static bool understood;		/* true: the command line was accepted, so an error message is optional */

int peerpin_main(int argc, char **argv);	/* in tool/main.c */

static void add_word(struct words *w, const char *text, size_t length)
{
	char *word = strndup(text, length);

	if (!word)
		abort();
	must(w->count < MAX_WORDS + MORE_WORDS, "there is room", text);
	w->at[w->count++] = word;
}

static void free_words(struct words *w)
{
	while (w->count)
		free(w->at[--w->count]);
}

/* ---- checks of the parsed arguments ---------------------------------------------------------- */

/* Split the output of print_repeat() like a shell: quotes, blanks, and a backslash before a quote. */
static void split(const char *line, struct words *w)
{
	char *word = malloc(strlen(line) + 1), *end = word;
	bool quoted = false;

	if (!word)
		abort();
	for (; *line; line++)
		if (*line == '\'')
			quoted = !quoted;
		else if (!quoted && *line == '\\')
			*end++ = *++line;
		else if (!quoted && *line == ' ') {
			add_word(w, word, (size_t)(end - word));
			end = word;
		} else {
			*end++ = *line;
		}
	must(!quoted, "each quote ends", word);
	add_word(w, word, (size_t)(end - word));
	free(word);
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void must_be_same(const struct verify_args *a, const struct verify_args *b, const char *line)
{
	size_t i = 0;

	must(same(a->driver, b->driver) && same(a->test, b->test) && same(a->device, b->device) &&
	     same(a->nvidia, b->nvidia) && same(a->kernel, b->kernel) && same(b->only, "iommu/alloc-1"), "what is to be typed is what was typed", line);
	while (a->test_args[i] && same(a->test_args[i], b->test_args[i]))
		i++;
	must(same(a->test_args[i], b->test_args[i]), "what is to be typed has the test's arguments", line);
}

/* The report prints a command line that repeats a scenario. The line must parse to the same arguments. */
static void must_repeat(const struct verify_args *args)
{
	struct words words = { 0 };
	struct verify_args again;
	char *line = NULL;
	size_t size;
	FILE *file = open_memstream(&line, &size);

	print_repeat(file, args, "iommu/alloc-1");
	fclose(file);
	split(line, &words);
	must(words.count > 2 && same(words.at[0], program_invocation_name) && same(words.at[1], "verify"), "a command",
	     line);
	must(!parse_verify_args(words.count - 1, words.at + 1, &again), "what is to be typed is understood", line);
	must_be_same(args, &again, line);
	free_words(&words);
	free(line);
}

static void must_be_sides(const struct copy_args *a)
{
	bool file = a->from == SIDE_FILE || a->to == SIDE_FILE;

	must(file == !!a->path, "a file has a path", "copy");
	must(!file || a->path == (a->to == SIDE_FILE ? a->to_path : a->from_path), "its own", "copy");
	must(!file || a->from == SIDE_GPU || a->to == SIDE_GPU, "a file is copied from or to a GPU", "copy");
	must(a->peer && *a->peer, "a peer has a name", "copy");
	must(a->size || a->from == SIDE_FILE, "there is something to copy", "copy");
	must(a->repeat >= 1 && a->repeat <= 1000000, "how often has its limits", "copy");
	must(!a->overwrite || a->to == SIDE_FILE, "what is overwritten is a file", "copy");
}

/* ---- replacements of functions of the tool, and of libc for verify_place.c ---- */

int __wrap_pp_open(struct pp_ctx **out);
int __wrap_pp_bar1(unsigned int index, struct pp_bar1 *out);
int __wrap_root_open(const char *arg, struct root *out);
int __wrap_file_copy(const struct copy_args *args);
int __wrap_top_lines(struct top *t, const struct top_args *args);
bool __wrap_top_screen_works(void);
void __wrap_top_end(struct top *t);
void __wrap_run_all(struct run *run, const struct verify_args *args, struct place *place);
int __real_parse_copy_args(int argc, char **argv, struct copy_args *out);
int __wrap_parse_copy_args(int argc, char **argv, struct copy_args *out);
int __real_parse_perf_args(int argc, char **argv, struct perf_args *out);
int __wrap_parse_perf_args(int argc, char **argv, struct perf_args *out);
int __real_parse_metrics_args(int argc, char **argv, struct metrics_args *out);
int __wrap_parse_metrics_args(int argc, char **argv, struct metrics_args *out);
int fuzz_access(const char *path, int mode);
char *fuzz_mkdtemp(char *name);
int fuzz_nftw(const char *dir, __nftw_func_t fn, int fds, int flags);

int __wrap_pp_open(struct pp_ctx **out)
{
	(void)out;
	understood = true;
	return -ENODEV;
}

int __wrap_pp_bar1(unsigned int index, struct pp_bar1 *out)
{
	(void)index;
	(void)out;
	understood = true;
	return -ENODEV;
}

int __wrap_root_open(const char *arg, struct root *out)
{
	(void)arg;
	(void)out;
	understood = true;
	return EXIT_FAILED;
}

int __wrap_parse_copy_args(int argc, char **argv, struct copy_args *out)
{
	int ret = __real_parse_copy_args(argc, argv, out);

	if (!ret)
		must_be_sides(out);
	/* A higher count would need much memory and time. */
	if (!ret && out->repeat > 1000)
		out->repeat = 1000;
	return ret;
}

/* A run would measure this machine, serve, or write files. */
int __wrap_parse_perf_args(int argc, char **argv, struct perf_args *out)
{
	int ret = __real_parse_perf_args(argc, argv, out);
	size_t i;

	if (ret)
		return ret;
	understood = true;
	must(out->nr_sizes && out->nr_sizes <= PERF_SIZES, "there are sizes", "perf");
	for (i = 1; i < out->nr_sizes; i++)
		must(out->sizes[i - 1] < out->sizes[i], "sizes grow", "perf");
	return EXIT_FAILED;
}

int __wrap_parse_metrics_args(int argc, char **argv, struct metrics_args *out)
{
	int ret = __real_parse_metrics_args(argc, argv, out);

	if (ret)
		return ret;
	understood = true;
	must(out->processes <= 1000, "a number of processes has its limit", "metrics");
	return EXIT_FAILED;
}

int __wrap_file_copy(const struct copy_args *args)
{
	(void)args;
	understood = true;
	return EXIT_OK;
}

int __wrap_top_lines(struct top *t, const struct top_args *args)
{
	(void)t;
	understood = true;
	must(args->interval_ns >= 100000000 && args->interval_ns <= 3600000000000, "an interval has its limits", "top");
	return EXIT_OK;
}

bool __wrap_top_screen_works(void)
{
	return false;
}

void __wrap_top_end(struct top *t)
{
	(void)t;
}

void __wrap_run_all(struct run *run, const struct verify_args *args, struct place *place)
{
	*run = (struct run){ .args = args, .place = place, .stop = STOP_FAILED };
	understood = true;
	must(*place->driver == '/' && *place->test == '/', "paths are whole", place->driver);
	must_repeat(args);
}

int fuzz_access(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return 0;
}

char *fuzz_mkdtemp(char *name)
{
	return name;
}

/* Replaces nftw(), which would remove the directory. */
int fuzz_nftw(const char *dir, __nftw_func_t fn, int fds, int flags)
{
	(void)dir;
	(void)fn;
	(void)fds;
	(void)flags;
	return 0;
}

/* ---- an input ---------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static bool is_variable(const char *word)
{
	static const char *const names[] = { "PEERPIN_ROOT=", "TMPDIR=", "POSIXLY_CORRECT=" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(word, names[i], strlen(names[i])))
			return true;
	return false;
}

static void read_words(const uint8_t *bytes, size_t size, struct words *w)
{
	char *text = strndup((const char *)bytes, size), *rest = text, *word;

	if (!text)
		abort();
	add_word(w, "peerpin", strlen("peerpin"));
	while (rest && *rest && w->count < MAX_WORDS) {
		word = strsep(&rest, "\n");
		if (w->count == 1 && is_variable(word))
			setenv(strsep(&word, "="), word, 1);
		else
			add_word(w, word, strlen(word));
	}
	free(text);
}

static void must_be_one_line(const char *text)
{
	must(!strncmp(text, "peerpin: ", strlen("peerpin: ")), "an error message names the program", text);
	must(strchr(text, '\n') == text + strlen(text) - 1, "a complaint is a line", text);
}

static void run(struct words *w)
{
	struct output out, err;
	int status;

	understood = false;
	output_begin(&out, &stdout);
	output_begin(&err, &stderr);
	status = peerpin_main(w->count, w->at);
	output_end(&err);
	output_end(&out);
	must(status >= EXIT_OK && status <= EXIT_USAGE, "the status is one of three", err.text);
	must(understood || !status == !err.size, "a refusal has its reason, and nothing else has one", err.text);
	if (err.size)
		must_be_one_line(err.text);
	free(err.text);
	free(out.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct words words = { 0 };
	char *given[MAX_WORDS + MORE_WORDS + 1];

	unsetenv("PEERPIN_ROOT");
	unsetenv("TMPDIR");
	unsetenv("POSIXLY_CORRECT");
	read_words(bytes, size, &words);
	memcpy(given, words.at, sizeof(given));	/* copy for free(): getopt_long() reorders the words */
	run(&words);
	memcpy(words.at, given, sizeof(given));
	free_words(&words);
	return 0;
}
