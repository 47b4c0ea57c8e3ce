// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "output.h"

void output_begin(struct output *o, FILE **stream)
{
	*o = (struct output){ .stream = stream, .before = *stream };
	*stream = open_memstream(&o->text, &o->size);
	if (!*stream)
		abort();
}

void output_end(struct output *o)
{
	fclose(*o->stream);
	*o->stream = o->before;
}
