// SPDX-License-Identifier: MIT
#include "markup.h"

void put_markup(FILE *file, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", file);
			break;
		case '>':	/* XML does not allow "]]>" in text */
			fputs("&gt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		default:
			putc(*text, file);
		}
}
