// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include "utf8.h"

/*
 * struct form - the range of the first byte (@first to @last) and of the second byte (@second to @most). A narrow range
 * of the second byte excludes overlong forms and surrogates.
 */
struct form {
	unsigned char first, last;
	unsigned char second, most;
	size_t length;
};

static const struct form forms[] = {
	{ 0x01, 0x7f, 0x00, 0x00, 1 },
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 },	/* without surrogates */
	{ 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },	/* at most U+10FFFF */
};

static bool has_form(const struct form *f, const unsigned char *c)
{
	size_t i;

	if (c[0] < f->first || c[0] > f->last)
		return false;
	if (f->length > 1 && (c[1] < f->second || c[1] > f->most))
		return false;
	for (i = 2; i < f->length; i++)
		if ((c[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t utf8_length(const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (has_form(&forms[i], (const unsigned char *)text))
			return forms[i].length;
	return 0;
}
