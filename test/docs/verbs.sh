# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Before a block of doc/verbs.md: a program, and the libraries as if installed.
export CPATH=lib/include LIBRARY_PATH=build/lib
cat >prog.c <<'END'
#include <libpeerpin-verbs.h>

int main(void)
{
	return !pp_verbs_open;
}
END
