# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by what runs virtual machines side by side. $jobs is how many at most: what
# JOBS says, or three for two processors, since a machine waits for a quarter of its
# time, and no more than there is memory for, 4 GiB each. Kernels that are built here
# wait for nothing else: a third machine of theirs takes a quarter more time of all.

count_jobs() {
	local memory processors most

	memory=$(($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) / 4194304))
	processors=$(nproc)
	most=$processors
	[ -f "emu/vm/kernel/${KERNEL:-}" ] || most=$((processors + processors / 2))
	echo $((memory < 1 ? 1 : memory < most ? memory : most))
}

jobs=${JOBS:-$(count_jobs)}
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "$0: JOBS is a number from 1, not '$jobs'" >&2; exit 2; }

# A job is a process group, which a signal to this one does not reach.
start_job() { # COMMAND...
	set -m
	"$@" &
	set +m
}

wait_until_fewer_than() { # N
	while [ "$(jobs -pr | wc -l)" -ge "$1" ]; do wait -n || true; done
}

# What measures is slower beside others.
start_machine() { # LINE COMMAND...: of the machine's suite
	local most=$jobs

	[[ $1 != bench_* ]] || most=1
	wait_until_fewer_than "$most"
	start_job "${@:2}"
	[ "$most" -gt 1 ] || wait_until_fewer_than 1
}

stop_jobs() { # STATUS
	local group

	trap '' INT TERM HUP
	for group in $(jobs -p); do kill -TERM -- "-$group" 2>/dev/null || true; done
	wait
	exit "$1"
}

trap 'stop_jobs 130' INT
trap 'stop_jobs 143' TERM
trap 'stop_jobs 129' HUP
