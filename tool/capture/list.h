/* SPDX-License-Identifier: MIT */
/* The files in a capture: all files that doctor and topo read, and no others. */
#ifndef CAPTURE_LIST_H
#define CAPTURE_LIST_H

#include <stddef.h>

/**
 * struct capture_rule - the files to capture from a set of directories
 * @dirs: path of the directories; a component may be an fnmatch() pattern. Links in the path are followed and captured
 * @names: names or patterns of files, directories and links in @dirs, separated by blanks
 * @scrub: function that removes data that identifies the owner; NULL: there is no such data
 */
struct capture_rule {
	const char *dirs;
	const char *names;
	size_t (*scrub)(char *text, size_t length);
};

extern const struct capture_rule capture_rules[];
extern const size_t capture_nr_rules;

#endif
