# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of emu/vm/run
#
# Sourced by emu/vm/run, after splats.sh: derives the exit status from the end of the VM and from
# the kernel log. $log is the whole kernel log, or the part of the log that belongs to one command.

show_log() { # PATTERN: print the first line that matches, and the next 60 lines
	complaints "$log" | grep -a -m 1 -A 60 -E "$1" | tr -d '\r' | cut -c -200 | sed 's/^/    /' >&2
}

# Pid 1 writes the verdict line after each command. An incomplete line does not count.
has_verdict() {
	tr '\r\n' '  ' <"$log" | grep -aqE 'vm: verdict [0-9]+, tainted [0-9]+ '
}

explain_death() {
	has_verdict && return
	[ -s "$log" ] || { say "QEMU did not start the VM"; return; }
	say "the VM ended before COMMAND did; the end of the kernel log:"
	tail -n 15 "$log" | tr -d '\r' | sed 's/^/    /' >&2
}

explain_timeout() {
	if [ "$timeout" -gt "$boot_timeout" ] && [ -e "$work/booting" ]; then
		say "the kernel did not boot within $boot_timeout s; to wait longer, set BOOT_TIMEOUT=S in the environment"
	else
		say "timed out after $timeout s; to wait longer, pass --timeout S"
	fi
}

# Succeeds if a bad page, an oops, a warning or a lockup has tainted the kernel.
is_tainted() {
	local taints

	taints=$(sed -n 's/.*vm: verdict [0-9]*, tainted \([0-9]*\).*/\1/p' "$log" | tail -n 1)
	[ $((${taints:-0} & (1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))) -ne 0 ]
}

without_that() { # STATUS
	[ "$1" -eq 0 ] || echo " (without the splat, the exit status would be $1)"
}

judge() { # STATUS
	if complaints "$log" | grep -aqE "$splats"; then
		say "the kernel log contains a splat$(without_that "$1"):"
		show_log "$splats"
		return 70
	fi
	if is_tainted; then
		say "the kernel is tainted, but its log shows no splat$(without_that "$1")"
		return 70
	fi
	case $1 in
	124) has_verdict || explain_timeout ;;
	70) explain_death ;;
	0) has_verdict || { say "the kernel log has no verdict line, so splats may be lost with the rest of it"; return 70; } ;;
	esac
	return "$1"
}

# Succeeds if the VM died or hung in the boot. watch removes $work/booting when pid 1 reports the end of the boot,
# before pid 1 loads any module of peerpin.
died_in_boot() { # STATUS
	case $1 in
	70 | 124) [ -s "$log" ] && [ -e "$work/booting" ] ;;
	*) return 1 ;;
	esac
}

# Gives each command its part of the log, up to the start of the next command. The first command
# also gets the boot log.
split_log() { # LOG
	awk -v dir="$results" -v name="${names[0]}" '
		match($0, /vm: running [A-Za-z0-9_.-]+/) { name = substr($0, RSTART + 12, RLENGTH - 12) }
		{ print >(dir "/" name ".log") }' "$1"
}

has_begun() { # NAME: also true for the first command, which fails if the VM ends in its boot
	[ -f "$results/$1.err" ] || [ "$1" = "${names[0]}" ]
}

# Writes the status of each command that began. A command without a status was running when the VM ended, and gets
# the VM's status. The last command also gets the VM's status if the VM died or timed out. Returns 1 if a command
# did not begin.
judge_sequence() { # STATUS of the VM
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
