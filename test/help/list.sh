# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced in the root of the tree. Lists the commands; test/help/NAME.txt records the help of each.

commands_of_peerpin() {
	build/bin/peerpin help | sed -nE 's/^  ([a-z]+) .*/\1/p'
}

# Prints NAME and the command line that shows its help, one a line
helps() {
	local command

	echo 'peerpin build/bin/peerpin'
	for command in $(commands_of_peerpin); do echo "peerpin-$command build/bin/peerpin $command"; done
	echo 'peerpin-emu emu/peerpin-emu'
	for command in demo build layout; do echo "peerpin-emu-$command emu/peerpin-emu $command"; done
	echo 'peerpin-emu-run emu/vm/run'
	echo 'peerpin-emu-cluster emu/vm/cluster'
}
