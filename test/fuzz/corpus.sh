# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced in the root of the tree. test/fuzz/corpus/TARGET.tar.gz has the inputs that the
# fuzzer kept for TARGET.

unpack_corpus() { # TARGET DIRECTORY
	mkdir -p "$2"
	[ ! -f "test/fuzz/corpus/$1.tar.gz" ] || tar -xzf "test/fuzz/corpus/$1.tar.gz" -C "$2"
}

# The same inputs always give the same archive.
pack_corpus() { # TARGET DIRECTORY
	find "$2" -type f -printf '%P\n' | LC_ALL=C sort |
		tar -cf - -C "$2" --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -T - |
		gzip -n9 >"test/fuzz/corpus/$1.tar.gz"
}
