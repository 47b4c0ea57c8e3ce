# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Before blocks whose commands take minutes or write into the tree: they are not
# run. `make help` must list the target, and the script must be there.
make() {
	grep -q "^#: make $1 " Makefile || { echo "make help lists no target $1"; return 1; }
}

test/abi/record() {
	[ -x test/abi/record ]
}
