# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Sourced by test/run: suite lines (test/vm/suite), and the VMs that run them.
#
# A boot takes as long as most lines, so up to $most lines with equal VM options share a VM:
# - A line that expects a splat is the last of its VM.
# - Lines with the option ALONE, and lines that measure, have their own VM.
# - A VM ends when a module cannot be removed or a splat appears. The remaining lines then run in
#   another VM.

most=8

is_own_kernel() {
	[[ $release = *-debug || $release = *-kcsan ]]
}

# Arrays, each indexed by the name of a line
declare -A line_options=() line_command=() line_status=() line_splat=() line_alone=()
line_names=()

read_lines() { # RELEASE
	local name options command status

	while IFS='|' read -r name options command status; do
		name=${name// /}
		line_names+=("$name")
		read -r options <<<"$options"
		line_alone[$name]=''
		[[ $options != ALONE* ]] || { line_alone[$name]=yes; options=${options#ALONE}; }
		line_options[$name]=$options
		line_command[$name]=$command
		read -r "line_status[$name]" "line_splat[$name]" <<<"${status:-0}"
	done < <(test/vm/lines "$1")
}

is_line() { # NAME
	[ -n "${line_command[$1]+there}" ]
}

# Prints the lines that have an emulated RDMA adapter.
adapter_lines() {
	local name

	for name in "${line_names[@]}"; do
		[[ ${line_options[$name]} != *'--adapters '* ]] || echo "$name"
	done
}

# Succeeds if the line is a benchmark. A benchmark runs only while no other test runs.
measures() { # LINE
	[[ $1 = bench_* ]]
}

# Splits the options of a line into module options and VM options
split_options() { # OPTIONS: sets $module_options, $machine_options and $seconds
	local words word

	module_options='' machine_options='' seconds=300
	read -ra words <<<"$1"
	set -- "${words[@]}"
	while [ $# -gt 0 ]; do
		word=$1
		case $word in
		--no-default-modules) module_options+=" $word" ;;
		--insmod | --module-param | --modules) module_options+=" $word $2"; shift ;;
		--timeout) seconds=$2; shift ;;
		--iommu | --tegra | --hotplug | --one-thread | --icount) machine_options+=" $word" ;;
		*) machine_options+=" $word $2"; shift ;;
		esac
		shift
	done
}

# Prints the command with the user's cases instead of the cases in the suite
with_cases() { # COMMAND CASE...
	local words word found='' rest=("${@:2}")

	read -ra words <<<"$1"
	[ ${#rest[@]} -gt 0 ] || { echo "${words[*]}"; return; }
	case " ${words[*]}" in
	*' test/vm/each '*) echo "${words[*]} -- ${rest[*]}" ;;
	*' test/vm/examples '*) echo "${words[*]:0:2} ${rest[*]}" ;;
	*)
		for word in "${words[@]}"; do
			[ -z "$found" ] || break
			printf '%s ' "$word"
			[[ $word != */bin/vm/t_* ]] || found=yes
		done
		echo "${rest[*]}"
		;;
	esac
}

is_alone() { # LINE
	[ -n "${line_alone[$1]}" ] || measures "$1"
}

# Groups the lines of one mode by VM: prints a row "SUM|SECONDS|OPTIONS|LINE LINE..." for each VM. SUM is the sum of the
# lines' timeouts, SECONDS the largest.
group_lines() { # MODE LINE...
	local name module_options machine_options seconds shares

	for name in "${@:2}"; do
		split_options "${line_options[$name]}"
		shares=all
		[ "${line_status[$name]}" -eq 0 ] || shares=before
		! is_alone "$name" || shares=none
		printf '%s|%s|%s|%s\n' "$seconds" "$1$machine_options" "$shares" "$name"
	done | awk -F '|' -v OFS='|' -v most="$most" '
		function flush(key) {
			if (n[key])
				print sum[key], seconds[key], key, lines[key]
			n[key] = sum[key] = seconds[key] = 0
			lines[key] = ""
		}
		{ key = $2 ($3 == "none" ? " " : "") }
		!(key in n) { order[++keys] = key }
		{ lines[key] = lines[key] (n[key]++ ? " " : "") $4 }
		{ sum[key] += $1 }
		$1 > seconds[key] { seconds[key] = $1 }
		$3 != "all" || n[key] == most { flush(key) }
		END { for (i = 1; i <= keys; i++) flush(order[i]) }'
}

# Prints options for the VM. On a debug kernel, which is slow, a line gets four times its timeout.
# A debug kernel panics at the first splat, except if one of the lines expects a splat. kmemleak takes more than half of
# the time of a VM with short lines. So if each line runs twice, the run behind an IOMMU has kmemleak=off.
own_kernel_options() { # MODE SECONDS OPTIONS LINE...
	local line panic=yes

	is_own_kernel || { echo "--timeout $2"; return; }
	echo "--timeout $(($2 * 4))"
	[[ -n $short$only_mode || $release$1 != *'-debug --iommu' || $3 = *kmemleak=* ]] || echo '--append kmemleak=off'
	for line in "${@:4}"; do
		[ "${line_status[$line]}" -eq 0 ] || panic=''
	done
	[ -z "$panic" ] || echo '--append panic_on_warn=1'
}

# Succeeds if the log has a splat that matches, the log has no other splat, and emu/vm/run reports
# no failure besides the splat.
is_that_splat() { # PATTERN FILE: FILE.log and FILE.err belong to the line
	grep -aqE "$1" "$2.log" && grep -qx 'emu/vm/run: the kernel log contains a splat:' "$2.err" || return
	! complaints "$2.log" | grep -aE "$mistakes" | grep -vqE "$1"
}

judge_line() { # LINE FILE
	local status expected=${line_status[$1]} splat=${line_splat[$1]}

	status=$(cat "$2.status")
	if [ -n "$splat" ] && [ "$status" -eq "$expected" ] && ! is_that_splat "$splat" "$2"; then
		echo "$1: the kernel log lacks '$splat' or has another splat, or the VM did not end in order" >>"$2.err"
		status=1
	fi
	[ "$status" -ne "$expected" ] || : >"$2.err"
	# a program that is one case, such as demo, prints "NAME: OK"
	sed -i "s/^$1: OK$/ok &/" "$2.out"
	judge_program "$2.out" "$1" "$status" "$expected" >"$2.cases"
}

# Prints the seconds between the first and the last line of a kernel log
line_seconds() { # LOG
	awk -F '[][]' '$2 + 0 > 0 { if (!n++) first = $2; last = $2 } END { printf "%d", last - first + 0.5 }' "$1"
}

# Takes the result of a line whose command was started
take_result() { # LINE TEST DIR
	local file suffix

	file=$(file_of "$2")
	for suffix in out err log; do
		[ -f "$3/$1.$suffix" ] || : >"$3/$1.$suffix"
		mv "$3/$1.$suffix" "$file.$suffix"
	done
	mv "$3/$1.status" "$file.status"
	judge_line "$1" "$file"
	tell end "$2" "$(line_seconds "$file.log")"
}

write_sequence() { # LINE...
	local name module_options machine_options seconds

	for name; do
		split_options "${line_options[$name]}"
		# shellcheck disable=SC2086 # cases are words
		echo "$name | $module_options | ${short:+env SHORT=yes }$(with_cases "${line_command[$name]}" ${cases_of[$name]-})"
	done
}

# Reports a failure of emu/vm/run before any command ran, as a failure of the first line.
take_failure() { # STATUS TEST DIR
	local file

	file=$(file_of "$2")
	: >"$file.out"
	rm -f "$file.log"
	cp "$3/run" "$file.err"
	printf 'not\t%s\temu/vm/run ended with status %s\n' "$2" "$1" >"$file.cases"
	tell end "$2" 0
}

# Runs lines in VMs until each line has a result. Each VM gives at least one result, so the loop ends.
run_machine() { # MODE MACHINE-OPTIONS SECONDS LINE...
	local mode=$1 options=$2 seconds=$3 lines=("${@:4}") left line status dir=$here/machine

	while [ ${#lines[@]} -gt 0 ]; do
		rm -rf "$dir"
		mkdir -p "$dir"
		write_sequence "${lines[@]}" >"$dir/sequence"
		status=0
		# shellcheck disable=SC2046,SC2086 # lists of words
		emu/vm/run --kernel "$release" $options $(own_kernel_options "$mode" "$seconds" "$options" "${lines[@]}") \
			--sequence "$dir/sequence:$dir" >"$dir/run" 2>&1 </dev/null || status=$?
		left=()
		for line in "${lines[@]}"; do
			if [ -f "$dir/$line.status" ]; then take_result "$line" "$line$mode" "$dir"; else left+=("$line"); fi
		done
		if [ ${#left[@]} -eq ${#lines[@]} ]; then
			take_failure "$status" "${left[0]}$mode" "$dir"
			left=("${left[@]:1}")
		fi
		lines=("${left[@]}")
	done
}
