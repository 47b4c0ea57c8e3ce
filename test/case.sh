# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by tests written in shell. A case is a function; wrong() ends the case. The
# files of a case go to $work.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 ran=0
only=("$@")

# The stdout of a case is the reason of its failure, so a case prints nothing else.
wrong() { # MESSAGE
	printf '%s\n' "$*"
	exit 1
}

is() { # FOUND WANTED WHAT
	[ "$1" = "$2" ] || wrong "$3: ${1//$'\n'/,}, not ${2//$'\n'/,}"
}

is_wanted() { # NAME: succeeds if the command line has NAME or no name at all
	[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " = *" $1 "* ]]
}

report() { # NAME STATUS WHY
	if [ "$2" -eq 0 ]; then
		echo "ok $1"
	else
		failed=1
		echo "not ok $1: ${3//$'\n'/ | }"
	fi
}

run_case() { # NAME FUNCTION [ARG...]
	local why status=0

	is_wanted "$1" || return 0
	ran=$((ran + 1))
	why=$("${@:2}") || status=$?
	report "$1" "$status" "${why:-ended with status $status}"
}

skip_case() { # NAME WHY
	is_wanted "$1" || return 0
	ran=$((ran + 1))
	echo "skip $1: $2"
}

end_cases() {
	[ "$ran" -gt 0 ] || { echo "$0: no case ${only[*]}" >&2; exit 2; }
	exit "$failed"
}

# Reads a whole file with its last newline, which $(<FILE) would drop.
read_file() { # VARIABLE FILE
	IFS= read -r -d '' "$1" <"$2" || true
}

is_one_line() { # TEXT
	[[ $1 = *$'\n' && ${1%$'\n'} != *$'\n'* ]]
}
