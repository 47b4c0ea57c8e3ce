# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by scripts that run unit tests under a tool: addresses (AddressSanitizer and
# UndefinedBehaviorSanitizer), threads (ThreadSanitizer) or valgrind. The script must
# run in the source directory and set $work.
#
# shellcheck disable=SC2154 # test/case.sh sets it

# an allocation that is too large returns NULL, as without the sanitizers
export ASAN_OPTIONS='detect_stack_use_after_return=1 allocator_may_return_null=1'
export UBSAN_OPTIONS='halt_on_error=1 print_stacktrace=1'
export TSAN_OPTIONS="halt_on_error=1 allocator_may_return_null=1 die_after_fork=0 atexit_sleep_ms=0 suppressions=$PWD/test/sanitize/tsan.supp"

declare -A tool_dir=([addresses]=build/san-address [threads]=build/san-thread [valgrind]=build/san-none)
declare -A tool_flags=(
	[addresses]='-fsanitize=address,undefined -fno-sanitize-recover=all'
	[threads]='-fsanitize=thread -fno-sanitize-recover=all'
	[valgrind]=''
)

# valgrind also checks programs that a test starts.
memcheck=(valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=none
	"--show-leak-kinds=definite,indirect" --num-callers=30 --suppressions=test/sanitize/valgrind.supp
	--trace-children=yes "--trace-children-skip=/bin/*,/usr/bin/*,*/fake_vm_run")

tool_make() { # TOOL TARGET...
	make -s -j"$(nproc)" B="${tool_dir[$1]}" CFLAGS="-O1 -g -fno-omit-frame-pointer ${tool_flags[$1]}" \
		LDFLAGS=-Wl,--disable-new-dtags \
		"${@:2}" >"$work/log" 2>&1
}

# Fails only on leaks of the test's own process: a child of fork() ends without freeing its copy of the test's memory.
memcheck_run() { # SECONDS PROGRAM [ARGUMENT...]
	# shellcheck disable=SC2016 # the inner shell expands it
	timeout "$1" bash -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "${memcheck[@]}" "${@:2}" || return
	! grep -qa "^==$(<"$work/pid")== .* lost in loss record" "$work/log"
}

# Runs a test under the tool; writes the output to $work/log.
tool_run() { # TOOL SECONDS TEST [ARGUMENT...]
	local run=(timeout)

	[ "$1" != valgrind ] || run=(memcheck_run)
	"${run[@]}" "$2" "${tool_dir[$1]}/bin/test/$3" "${@:4}" >"$work/log" 2>&1 </dev/null
}

# Prints the first lines of a report.
tool_finding() {
	grep -A 12 -m 1 -aE '^(WARNING|==[0-9]+==)|runtime error|check failed|not ok [0-9]' "$work/log" || tail -n 5 "$work/log"
}
