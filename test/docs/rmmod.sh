# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Before a block of doc/operators.md: other blocks in this machine, and its own
# end, want the modules back.
put_back() {
	for m in peerpin peerpin_nv peerpin_lsi; do
		insmod "build/$(uname -r)/kmod/$m.ko"
	done
}
trap put_back EXIT
