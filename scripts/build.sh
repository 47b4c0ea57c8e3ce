# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts that need what the Makefile builds, in the root of the tree.

# A make that runs the script must not pass its flags and its job server on.
make_goal() { # KERNEL GOAL
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j"$(nproc)" --no-print-directory "$2" KERNEL="$1"
}

# Install the packages that are missing, then build.
build_all() { # KERNEL
	scripts/deps "$1"
	make_goal "$1" all
}
