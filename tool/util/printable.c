// SPDX-License-Identifier: MIT
#include "printable.h"

void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}
