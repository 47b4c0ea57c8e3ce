# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of emu/vm/run
#
# Sourced by emu/vm/run, after splats.sh: the exit status that the end of a machine and its
# log give. $log is the kernel's log, or the part of it that belongs to one command.

show_log() { # what follows the first line that matches $1
	complaints "$log" | grep -a -m 1 -A 60 -E "$1" | tr -d '\r' | cut -c -200 | sed 's/^/    /' >&2
}

# Only pid 1 writes the verdict line, and only at an orderly end. An incomplete line does not count.
has_verdict() {
	tr '\r\n' '  ' <"$log" | grep -aqE 'vm: verdict [0-9]+, tainted [0-9]+ '
}

explain_death() {
	has_verdict && return
	[ -s "$log" ] || { say "QEMU did not start the machine"; return; }
	say "the machine ended before COMMAND did; its last words:"
	tail -n 15 "$log" | tr -d '\r' | sed 's/^/    /' >&2
}

explain_timeout() {
	if [ "$timeout" -gt "$boot_timeout" ] && [ -e "$work/booting" ]; then
		say "the kernel has not booted in $boot_timeout s; more: BOOT_TIMEOUT=S in the environment"
	else
		say "time-out after $timeout s; more: --timeout S"
	fi
}

# Succeeds if the kernel is tainted by a bad page, an oops, a warning or a lockup.
is_tainted() {
	local taints

	taints=$(sed -n 's/.*vm: verdict [0-9]*, tainted \([0-9]*\).*/\1/p' "$log" | tail -n 1)
	[ $((${taints:-0} & (1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))) -ne 0 ]
}

without_that() { # STATUS
	[ "$1" -eq 0 ] || echo ", and without that the status would be $1"
}

judge() { # STATUS
	if complaints "$log" | grep -aqE "$splats"; then
		say "the kernel complained$(without_that "$1"):"
		show_log "$splats"
		return 70
	fi
	if is_tainted; then
		say "the kernel complained where its log does not show it (it is tainted)$(without_that "$1")"
		return 70
	fi
	case $1 in
	124) has_verdict || explain_timeout ;;
	70) explain_death ;;
	0) has_verdict || { say "the kernel's log is lost, and what it may have complained of"; return 70; } ;;
	esac
	return "$1"
}

# Pid 1 says that it is running before it loads the first module of ours.
died_in_boot() { # STATUS
	case $1 in
	70 | 124) [ -s "$log" ] && [ -e "$work/booting" ] ;;
	*) return 1 ;;
	esac
}

# Gives each command the log from its start to the start of the next command. The first command
# gets the log of the boot, too.
split_log() { # LOG
	awk -v dir="$results" -v name="${names[0]}" '
		match($0, /vm: running [A-Za-z0-9_.-]+/) { name = substr($0, RSTART + 12, RLENGTH - 12) }
		{ print >(dir "/" name ".log") }' "$1"
}

has_begun() { # NAME. A machine that ends in its boot is the failure of the first command.
	[ -f "$results/$1.err" ] || [ "$1" = "${names[0]}" ]
}

# A command without a status was running when the machine ended. The status of a machine that
# died or exceeded its time is the status of the last command, too.
judge_sequence() { # STATUS of the machine
	local name whole=$log status last=${names[0]} left=0

	split_log "$whole"
	for name in "${names[@]}"; do
		if has_begun "$name"; then last=$name; else left=1; fi
	done
	for name in "${names[@]}"; do
		has_begun "$name" || continue
		log=$results/$name.log
		: >>"$log"
		status=$(cat "$results/$name.status" 2>/dev/null) || true
		[[ $status =~ ^[0-9]+$ ]] || status=$1
		[ "$name" != "$last" ] || [[ $1 != 70 && $1 != 124 ]] || status=$1
		judge "$status" 2>>"$results/$name.err" || status=$?
		echo "$status" >"$results/$name.status"
	done
	return "$left"
}
