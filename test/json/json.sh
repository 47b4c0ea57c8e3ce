# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Sourced by tests of JSON output, after test/case.sh.

can_validate() {
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null
}

# Fails if a JSON object in the files does not have the form of its schema.
is_valid() { # FILE...
	test/json/validate "$@" >"$work/said" 2>&1 || wrong "$(<"$work/said")"
}

# Runs a case that calls is_valid(), or skips it.
json_case() { # NAME FUNCTION [ARG...]
	if can_validate; then
		run_case "$@"
	else
		skip_case "$1" 'no jsonschema; type: apt-get install python3-jsonschema'
	fi
}
