# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Before the block of doc/ci.md: the sources of a driver and its test, which
# knows of nothing but NVIDIA's calls. The clone is this tree, and one scenario
# is enough.
mkdir ci
cd ci || exit
# shellcheck disable=SC2154 # test/host/docs sets it
cp "$root"/test/mutants/{direct,script}/*.[ch] "$root/test/docs/driver_of_ci/Kbuild" .
PEERPIN_URL=$root

git() {
	ln -s "$PEERPIN_URL" peerpin
}

make() {
	if [ "$1" = mytest ]; then
		gcc -D_GNU_SOURCE -I. -I"$root/emu/include" -I"$root/test/mutants" -o mytest "$root/test/mutants/direct_test.c" \
			-L"$root/build/emu" -lcuda
	else
		command make "$@"
	fi
}

peerpin/build/bin/peerpin() {
	command peerpin/build/bin/peerpin "$@" --only plain
}
