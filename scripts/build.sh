# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts that need targets of the Makefile, in the root of the tree.

# Runs make. If an outer make runs the script, the outer make's flags and job server must not reach this make.
make_goal() { # KERNEL GOAL
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j"$(nproc)" --no-print-directory "$2" KERNEL="$1"
}

# Install the missing packages, then build.
build_all() { # KERNEL
	scripts/deps "$1"
	make_goal "$1" all
}
