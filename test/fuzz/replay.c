// SPDX-License-Identifier: MIT
/* Runs each given file as one input, in all forms. For builds without clang, and to reproduce findings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mutation.h"
#include "target.h"

enum {
	MAX_INPUT = 1 << 16,
};

/* Copy exactly @size bytes, so that sanitizers see reads beyond the input. */
static void replay_form(const uint8_t *bytes, size_t size, unsigned int form)
{
	uint8_t *copy = malloc(size);

	if (!copy)
		abort();
	memcpy(copy, bytes, size);
	if (target_forms > 1)
		copy[0] = (uint8_t)((copy[0] & ((1 << FORM_SHIFT) - 1)) | form << FORM_SHIFT);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void replay(const char *name)
{
	static uint8_t bytes[MAX_INPUT];
	FILE *f = fopen(name, "re");
	unsigned int form;
	size_t size;

	if (!f) {
		perror(name);
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	fprintf(stderr, "%s\n", name);
	for (form = 0; size && form < target_forms; form++)
		replay_form(bytes, size, form);
}

int main(int argc, char **argv)
{
	int i;

	LLVMFuzzerInitialize(&argc, &argv);
	for (i = 1; i < argc; i++)
		replay(argv[i]);
	return argc < 2;
}
