/* SPDX-License-Identifier: MIT */
/* The files in a capture: all files that doctor and topo read, and no others. */
#ifndef CAPTURE_LIST_H
#define CAPTURE_LIST_H

#include <stddef.h>

/**
 * struct capture_rule - the files to capture from a set of directories
 * @dirs: path; its components may be fnmatch() patterns. Links in it are followed and captured
 * @names: names of files, directories and links in @dirs, separated by blanks; may be patterns
 * @scrub: removes data that identifies the owner from a file's text; NULL: nothing to remove
 */
struct capture_rule {
	const char *dirs;
	const char *names;
	size_t (*scrub)(char *text, size_t length);
};

extern const struct capture_rule capture_rules[];
extern const size_t capture_nr_rules;

#endif
