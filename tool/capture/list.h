/* SPDX-License-Identifier: MIT */
/* The files of a machine that a capture has: all that doctor and topo read, and no others. */
#ifndef CAPTURE_LIST_H
#define CAPTURE_LIST_H

#include <stddef.h>

/**
 * struct capture_rule - files of directories
 * @dirs: a path whose components may be patterns as of fnmatch(); links in it are followed, and captured
 * @names: of files, directories and links there, with blanks between them, patterns as well
 * @scrub: removes from a file's text what tells whose machine it is; NULL: nothing does
 */
struct capture_rule {
	const char *dirs;
	const char *names;
	size_t (*scrub)(char *text, size_t length);
};

extern const struct capture_rule capture_rules[];
extern const size_t capture_nr_rules;

#endif
