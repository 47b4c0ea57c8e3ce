# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Sourced by test/run: prints results as TAP or text, and the progress line. A test is a program, or
# a suite line in one mode. The records of a test (cases.sh) are in $results/TEST.cases.

passed=0 failed=0 skipped=0 points=0
tests_done=0 tests_all=0
running=()	# tests, in the order of their start

again() { # TEST [CASE]: prints the command that runs only this test or case
	local name=${1% --iommu} mode=''

	if [ "$name" != "$1" ]; then mode=' --iommu'; elif is_line "$name"; then mode=' --plain'; fi
	! is_line "$name" || ! is_host "$name" || mode=" --machines$mode"
	[ "${KERNEL:-6.1}" = 6.1 ] || printf 'KERNEL=%s ' "$KERNEL"
	[ "${2:-$name}" != "$name" ] || set -- "$1"	# the program itself failed
	printf 'test/run%s %s%s' "$mode" "$name" "${2:+ $2}"
}

file_of() { # TEST
	local name=${1// /}

	printf '%s/%s' "$results" "${name//\//-}"
}

# ---- TAP 14 --------------------------------------------------------------------

# shellcheck disable=SC2001 # an expansion has no "&"
escaped() { # TEXT: "#" begins a directive
	sed 's/[\\#]/\\&/g' <<<"$1"
}

show_tap() { # TEST
	local verdict name why

	while IFS=$'\t' read -r verdict name why; do
		points=$((points + 1))
		name=$(escaped "$1: $name")
		case $verdict in
		ok) echo "ok $points - $name" ;;
		skip) echo "ok $points - $name # SKIP $why" ;;
		not)
			echo "not ok $points - $name"
			# shellcheck disable=SC2001 # an expansion has no "&"
			printf '  ---\n  message: "%s"\n  again: "%s"\n  ...\n' "$(sed 's/[\\"]/\\&/g' <<<"$why")" \
				"$(again "$1" "${name#*: }")"
			;;
		esac
	done <"$(file_of "$1").cases"
}

# ---- text ------------------------------------------------------------

say_counts() { # OK NOT SKIP SECONDS
	local text="$1 passed"

	[ "$2" -eq 0 ] || text+=", $2 failed"
	[ "$3" -eq 0 ] || text+=", $3 skipped"
	printf '%s, %s s' "$text" "$4"
}

show_failures() { # TEST
	local verdict name why file

	file=$(file_of "$1")
	while IFS=$'\t' read -r verdict name why; do
		[ "$verdict" = not ] || continue
		echo "    not ok $name${why:+: $why}"
		echo "    again: $(again "$1" "$name")"
	done <"$file.cases"
	[ ! -s "$file.err" ] || tail -n 60 "$file.err" | sed 's/^/    | /'
	[ ! -f "$file.log" ] || echo "    kernel log: $file.log"
	echo "    output: $file.out"
}

show_line() { # TEST OK NOT SKIP SECONDS
	local verdict=ok

	[ "$3" -eq 0 ] || verdict='not ok'
	echo "$verdict $1: $(say_counts "${@:2}")"
	[ "$3" -eq 0 ] || show_failures "$1"
}

show_test() { # TEST SECONDS
	local file ok not skip

	file=$(file_of "$1").cases
	ok=$(grep -c $'^ok\t' "$file" || true)
	not=$(grep -c $'^not\t' "$file" || true)
	skip=$(grep -c $'^skip\t' "$file" || true)
	passed=$((passed + ok)) failed=$((failed + not)) skipped=$((skipped + skip))
	awk -v OFS='\t' -v test="$1" -F '\t' '$1 == "skip" { print $3, test ": " $2 }' "$file" >>"$work/skips"
	clear_progress
	if [ -n "$tap" ]; then
		show_tap "$1"
	else
		[ -z "$verbose" ] || cat "${file%.cases}.out"
		show_line "$1" "$ok" "$not" "$skip" "$2"
	fi
}

# Prints each reason for skipping once, with up to three cases that have this reason
show_skips() {
	[ -s "$work/skips" ] || return 0
	sort "$work/skips" | awk -F '\t' '
		function flush() { if (n) print "skip " n ": " reason " (" (n > 3 ? first ", ..." : first) ")" }
		$1 != reason { flush(); reason = $1; n = 0; first = "" }
		{ n++; if (n <= 3) first = first (first == "" ? "" : ", ") $2 }
		END { flush() }'
}

show_end() {
	clear_progress
	if [ -n "$tap" ]; then
		echo "1..$points"
		echo "# $passed passed, $failed failed, $skipped skipped"
	else
		show_skips
		echo "$passed passed, $failed failed, $skipped skipped"
	fi
}

# ---- progress, on a terminal -------------------------------------------------------

progress='' columns=80
[ ! -t 1 ] || progress=yes
[ -z "$progress" ] || read -r _ columns < <(stty size 2>/dev/null </dev/tty) || true
declare -A seconds_of=()	# duration of each test in its last run

read_times() {
	local test seconds

	[ -f "$times" ] || return 0
	while IFS=$'\t' read -r test seconds; do seconds_of[$test]=$seconds; done <"$times"
}

# Writes the times of all tests, also the old times of tests that did not run this time.
write_times() {
	local test

	for test in "${!seconds_of[@]}"; do printf '%s\t%s\n' "$test" "${seconds_of[$test]}"; done | sort >"$times.new"
	mv "$times.new" "$times"
}

time_left() {
	local seconds=$(((seconds_left + jobs - 1) / jobs))

	[ -s "$times" ] || return 0
	if [ "$seconds" -lt 90 ]; then echo ", about $seconds s left"; else echo ", about $(((seconds + 30) / 60)) min left"; fi
}

show_progress() {
	local text

	[ -n "$progress" ] && [ -z "$tap" ] || return 0
	text="$tests_done of $tests_all done$(time_left); running: ${running[*]}"
	printf '\r\033[K%s' "${text:0:columns - 1}"
}

clear_progress() {
	[ -z "$progress" ] || [ -n "$tap" ] || printf '\r\033[K'
}
