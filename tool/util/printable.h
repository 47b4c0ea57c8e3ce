/* SPDX-License-Identifier: MIT */
/* Names that others have chosen, on the way to a terminal. */
#ifndef PRINTABLE_H
#define PRINTABLE_H

/* What is not printable ASCII becomes '?': no order to the terminal is left. */
void make_printable(char *text);

#endif
