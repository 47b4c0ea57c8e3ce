/* SPDX-License-Identifier: MIT */
/* Labels of an axis; @out holds LABEL_MAX bytes. */
#ifndef LABEL_H
#define LABEL_H

enum { LABEL_MAX = 32 };

/* "1.5 us" */
void label_ns(char *out, double ns);

/* "64 KiB" */
void label_bytes(char *out, double bytes);

/* "100,000" */
void label_count(char *out, double count);

#endif
