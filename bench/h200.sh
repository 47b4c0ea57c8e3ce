#!/bin/sh
# SPDX-License-Identifier: MIT
# Measurements on a real GPU: costs, and other programs under the hook. Needs no kernel
# module. scripts/h200 must have built the programs.
#
#   sh bench/h200.sh [REPORT.md [DIRECTORY]]      (doc/h200.md, build/h200)
#
# If a part fails or hangs, the report says so, the other parts continue, and the
# exit status is 1.
cd "$(dirname "$0")/.." || exit 1
report=${1:-doc/h200.md}
bin=$(cd "${2:-build/h200}" 2>/dev/null && pwd)
[ -x "$bin/h200" ] || { echo "$0: ${2:-build/h200} has no programs; type: scripts/h200" >&2; exit 1; }
export PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH="$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
hook=$bin/libpeerpin-hook.so.1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0 fence=''
exec 3>"$scratch/report"

say() {
	printf '%s\n' "$@" >&3
}

failed() { # STATUS SECONDS
	status=1
	say '' "**This part failed with status $1$([ "$1" -ne 124 ] || echo ", after $2 s").**"
	[ ! -s "$scratch/err" ] || { say '' '```'; tail -5 "$scratch/err" >&3; say '```'; }
}

# Run COMMAND, and write its output to the report, inside $fence
part() { # SECONDS COMMAND...
	seconds=$1
	shift
	[ -z "$fence" ] || say "$fence"
	timeout -k 2 "$seconds" "$@" >"$scratch/out" 2>"$scratch/err"
	ret=$?
	cat "$scratch/out" >&3
	[ -z "$fence" ] || say "$fence"
	[ $ret -eq 0 ] || failed $ret "$seconds"
	say ''
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print "?" }'
}

# Collect the figure of one process; its other output goes to the report
sample() { # FILE [VARIABLE=VALUE]
	timeout -k 2 15 env ${2:+"$2"} "$bin/h200" free_nothing >"$scratch/out" 2>"$scratch/err"
	ret=$?
	[ $ret -ne 0 ] || { cat "$scratch/out" >>"$scratch/$1"; return 0; }
	cat "$scratch/out" >&3
	failed $ret 15
	say ''
	return 1
}

# cuMemFree(0) in processes with and without the hook, in turns
inert() {
	for _ in 1 2 3 4 5; do
		sample bare || return
		sample hooked "LD_PRELOAD=$hook" || return
	done
	say "\`cuMemFree(0)\`, the fastest call of CUDA, median of 5 processes each:" \
		"$(median <"$scratch/bare") ns without the hook," \
		"$(median <"$scratch/hooked") ns with the hook and no subscriber." ''
}

say '# On a real GPU' ''
say "Written by \`bench/h200.sh\` on $(date -u '+%Y-%m-%d %H:%M UTC'). No kernel module of peerpin is loaded," \
	"and no device imports the exported dma-bufs." ''
part 30 "$bin/h200" about
say '## Query' ''
part 30 "$bin/h200" query
say '## Hit' ''
part 30 env LD_PRELOAD="$hook" "$bin/h200" hit
say '## Hook' ''
inert
part 60 env LD_PRELOAD="$hook" "$bin/h200" free_told
say '## Pin and unpin: dma-bufs' ''
part 60 "$bin/h200" pin
say '## SYNC_MEMOPS' ''
part 30 "$bin/h200" sync_memops
say '## BAR1' ''
part 30 "$bin/h200" bar1
say '## Flush' ''
part 30 "$bin/h200" flush
say '## Freed and allocated again at the same address by another thread' '' \
	"\`t_watch_dmabuf\`: a watched cache gives no stale hit. A cache without a watch gives some, so the test can fail." ''
fence='```' part 60 "$bin/t_watch_dmabuf"
say '## PyTorch' ''
if python3 -c 'import torch; torch.zeros(1, device="cuda")' 2>"$scratch/err"; then
	part 440 python3 bench/h200_torch.py "$bin"
else
	status=1
	say "**Not run**: $(tail -1 "$scratch/err")"
fi
say '## Allocators of other programs' '' \
	"Each client offers its arrays to a thread that registers them, under the hook. A refusal counts if CUDA's buffer" \
	"id of the array was the same before and after it. Otherwise the array was freed meanwhile, or its memory has no id." \
	"\`stale\`: the memory has another id than when it was registered." ''
part 400 python3 bench/h200_clients.py "$bin"
exec 3>&-
cp "$scratch/report" "$report" || exit 1
echo "$0: wrote $report$([ $status -eq 0 ] || echo ', with parts that failed')"
exit $status
