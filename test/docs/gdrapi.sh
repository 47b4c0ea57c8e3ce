# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Before a block of doc/gdrapi.md: the smallest program there is.
cat >program.c <<'END'
#include <gdrapi.h>

int main(void)
{
	return !gdr_open();
}
END
