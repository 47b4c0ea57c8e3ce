# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by scripts that run VMs in parallel. $jobs is the largest number of VMs at a
# time. It is JOBS in the environment, or depends on processors and memory:
# - two VMs for each processor, because most VMs have one thread, which idles a third of its time;
# - one VM for each processor with a debug kernel, because such a VM does not idle;
# - 4 GiB of free memory for each VM.

count_jobs() {
	local memory processors most

	memory=$(($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) / 4194304))
	processors=$(nproc)
	most=$processors
	[ -f "emu/vm/kernel/${KERNEL:-}" ] || most=$((2 * processors))
	echo $((memory < 1 ? 1 : memory < most ? memory : most))
}

jobs=${JOBS:-$(count_jobs)}
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "$0: JOBS is a number from 1, not '$jobs'" >&2; exit 2; }

# Starts a job in its own process group: a signal to this script's group does not reach the job.
start_job() { # COMMAND...
	set -m
	"$@" &
	set +m
}

wait_until_fewer_than() { # N
	while [ "$(jobs -pr | wc -l)" -ge "$1" ]; do wait -n || true; done
}

# A benchmark runs alone: other VMs would slow it down.
start_machine() { # SUITE-LINE COMMAND...
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
