/* SPDX-License-Identifier: MIT */
/* Source lines of the driver under test: needs debug information in its file, and addr2line(1). */
#ifndef VERIFY_SOURCE_H
#define VERIFY_SOURCE_H

enum {
	SOURCE_MAX = 512,
	SOURCE_NAME_MAX = 128,
};

/**
 * source_text - copy @text to @out, of SOURCE_MAX bytes, with " (FILE:LINE)" after each place in the driver
 *
 * @driver: "FILE.ko K=V...". A place is "FUNCTION+0xOFFSET/0xSIZE [MODULE]", as the kernel prints it. Returns @out.
 */
const char *source_text(const char *driver, const char *text, char *out);

/** source_module - copy the driver's name in the kernel to @module, of SOURCE_NAME_MAX bytes; @driver: as above */
void source_module(const char *driver, char *module);

#endif
