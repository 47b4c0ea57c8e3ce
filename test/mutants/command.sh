# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# Sourced by scripts that run `peerpin verify` on what test/mutants/build has built.

kernel=${KERNEL:-6.1}
modules=build/$(scripts/kernel "$kernel")/mutants

# Sets command. In test_* mutants the driver is correct, and the program is the mutant.
command_of() { # DRIVER NAME
	local mutant=$2 program=$1_test module options=()

	case $2 in
	test_*) mutant=correct program=$1_$2 ;;
	esac
	module=$(echo "$modules/$1/$mutant"/*.ko)
	# with persistent pins, freed memory would stay
	[ "$1" != ibpeer ] || { module+=' persistent=0' options=(--device rdma); }
	command=(build/bin/peerpin verify --kernel "$kernel" "${options[@]}" --driver "$module"
		--test "build/bin/mutants/$program")
}
