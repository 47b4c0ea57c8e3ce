# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by scripts with steps that take minutes: on a terminal, a line on stderr shows
# how far the step is. In a log there is nothing.

shows_progress() {
	[ -t 2 ] && [ "${TERM:-dumb}" != dumb ]
}

# Overwrites the line each second. Ends with the script, even if a signal ended the script.
show_progress() { # TITLE STATE-COMMAND...
	local start=$SECONDS time columns

	columns=$(tput cols 2>/dev/null) || columns=80
	while sleep 1 && kill -0 $$; do
		time=$((SECONDS - start))
		printf '\r\e[K%.*s' "$((columns - 1))" "$(printf '%s, %d:%02d: %s' "$1" $((time / 60)) $((time % 60)) "$("${@:2}")")"
	done >&2 2>/dev/null
}

# Runs COMMAND, which must write its output to a file. STATE prints the state of the work. errexit does not hold
# inside COMMAND.
progress() { # TITLE STATE COMMAND...
	local watcher status=0
	local -a state

	shows_progress || { "${@:3}"; return; }
	read -ra state <<<"$2"
	show_progress "$1" "${state[@]}" &
	watcher=$!
	"${@:3}" || status=$?
	kill "$watcher" 2>/dev/null
	wait "$watcher" 2>/dev/null || true
	printf '\r\e[K' >&2
	return "$status"
}

last_line() { # FILE
	tail -n 1 "$1" 2>/dev/null | tr -cd '[:print:]'
}

objects_below() { # DIR
	echo "$(find "$1" -name '*.o' 2>/dev/null | wc -l) objects"
}
