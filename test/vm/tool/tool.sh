# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Sourced by the tests of the tool, after test/case.sh: runs peerpin and judges its
# output. Starting a program costs 50 ms on an emulated CPU, so bash itself matches
# the text.

# Sets $out, $err and $status. $with may hold a command that runs peerpin with fewer
# rights or files.
with=()
pp() { # ARG...
	status=0
	"${with[@]}" peerpin "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	read_file out "$work/out"
	read_file err "$work/err"
}

must() { # ARG...: status 0, and nothing on stderr
	pp "$@"
	[ "$status" -eq 0 ] || wrong "peerpin $*: status $status: $err"
	[ -z "$err" ] || wrong "peerpin $*: succeeded, but printed $err"
}

# peerpin must exit with STATUS and print one line: the error (PATTERN), then the advice.
must_not() { # STATUS PATTERN ARG...
	pp "${@:3}"
	[ "$status" -eq "$1" ] || wrong "peerpin ${*:3}: status $status, not $1: $err"
	[ -z "$out" ] || wrong "peerpin ${*:3}: prints $out"
	complains "$2" || wrong "peerpin ${*:3}: prints: $err"
}

complains() { # PATTERN
	local line=${err%$'\n'} advice='(type:|give|install|see|redirect) |, such as '

	is_one_line "$err" && [[ $line =~ ^'peerpin: '.*($1) && $line =~ $advice ]]
}

lines_like() { # PATTERN: number of such lines in $out
	local line count=0

	while IFS= read -r line; do
		[[ ! $line =~ ^($1)$ ]] || count=$((count + 1))
	done <<<"$out"
	echo "$count"
}

must_print() { # COUNT PATTERN
	is "$(lines_like "$2")" "$1" "lines '$2' in $out"
}

# Reduces JSON to its skeleton: strings become "", other values 0, and from the
# inside out every array and object becomes 0. Valid text ends as one 0.
is_json() { # TEXT
	[[ $1 = '{'* ]] && [ "$(tr '\n' ' ' <<<"$1" | sed -E '
		s/"([^"\\]|\\.)*"/""/g
		s/-?\b[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?\b|\b(true|false|null)\b/0/g
		s/[ \t]+//g
		s/""([^:]|$)/0\1/g
		:again
		s/\[(0(,0)*)?\]|\{("":0(,"":0)*)?\}/0/g
		t again')" = 0 ]
}

json_keys() { # each key of $out once, all in one line
	grep -oE '"[a-z0-9_]+" *:' <<<"$out" | tr -d '": ' | LC_ALL=C sort -u | tr '\n' ' '
}

json_values() { # KEY: its values in $out, one a line
	local line

	while IFS= read -r line; do
		[[ ! $line =~ \"$1\"\ *:\ *\"?([^][\",{}]+) ]] || echo "${BASH_REMATCH[1]}"
	done <<<"$out"
}

# A number of GPU 0 in the text of `peerpin bar`, in MiB.
bar1() { # Total|Used|Free
	[[ ! $out =~ $1\ +:\ ([0-9]+)\ MiB ]] || echo "${BASH_REMATCH[1]}"
}

nothing_pinned() { # AFTER-WHAT
	must bar
	is "$(bar1 Used)" 0 "MiB of BAR1 in use after $*"
	must_print 1 'No process has /dev/peerpin open\.'
}
