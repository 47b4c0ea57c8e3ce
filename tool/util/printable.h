/* SPDX-License-Identifier: MIT */
/* Makes untrusted names safe for a terminal. */
#ifndef PRINTABLE_H
#define PRINTABLE_H

/* Replaces bytes that are not printable ASCII by '?', so that no escape sequence remains. */
void make_printable(char *text);

#endif
