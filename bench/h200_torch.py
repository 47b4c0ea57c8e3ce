#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A PyTorch program: alone, under libpeerpin-hook.so, and with a thread that also registers its tensors.

    python3 bench/h200_torch.py DIRECTORY      prints a section of the report of bench/h200.sh

scripts/h200 fills DIRECTORY. Each run is a process; the kinds of runs take turns. All runs of a size do the same work:
threads allocate, compute in integers, free, and now and then empty PyTorch's cache. Times are of runs with one thread,
because several threads wait for Python's lock at random. The runs of several threads are not timed: there the thread
that registers also checks each hit and each callback, which takes longer than to register.
"""
import ctypes
import json
import math
import os
import random
import statistics
import subprocess
import sys
import threading
import time

THREADS = 4         # of a run that is checked; a timed run has one
STEPS = 600         # for each thread in a round; a timed run's thread has all
LIVE = 24           # tensors that a thread keeps
ROUNDS = 8          # in a run; the first is a warm-up
RUNS = 15           # of each timed kind
CHECKED_RUNS = 4
RUN_LIMIT_S = 60
BUDGET_S = 190      # for each setting of the allocator
SIZES = [1 << 10, 40 << 10, 300 << 10, 1 << 20, 3 << 20, 12 << 20, 40 << 20]
SLOWER = 0.01
TIMED = ["bare", "hooked", "registering"]


class Counts(ctypes.Structure):
    """struct tensors_counts of bench/h200/tensors.c"""

    _fields_ = [(name, ctypes.c_int64) for name in (
        "offered", "dropped", "registered", "refused", "beyond", "refusal", "hits", "misses", "judged", "stale",
        "told", "told_all", "told_gone", "vanished", "untold", "busy_ns")]


# ---- one run ---------------------------------------------------------------------------------

def step(torch, rng, live, offer):
    """Allocate a tensor, compute with it and an older one, free another; return the summand"""
    tensor = torch.full((rng.choice(SIZES) // 4,), rng.randrange(1000), dtype=torch.int32, device="cuda")
    if live:
        other = rng.choice(live)
        n = min(other.numel(), tensor.numel())
        tensor[:n].add_(other[:n]).remainder_(1000003)
    offer(tensor.data_ptr(), tensor.nbytes)
    live.append(tensor)
    if len(live) > LIVE:
        live.pop(rng.randrange(len(live)))
    return int(live[-1].sum(dtype=torch.int64)) if rng.random() < 0.1 else 0


def thread_work(torch, seed, steps, offer, sums):
    rng, live, total = random.Random(seed), [], 0
    with torch.cuda.stream(torch.cuda.Stream()):
        for i in range(steps):
            total += step(torch, rng, live, offer)
            if i % 150 == 149:
                del live[::2]
                torch.cuda.empty_cache()
        total += sum(int(tensor.sum(dtype=torch.int64)) for tensor in live)
    sums[seed] = total


def one_round(torch, nr, offer):
    """Return the seconds, and the sum of each thread; at the end all memory is back at the driver"""
    sums = {}
    threads = [threading.Thread(target=thread_work, args=(torch, seed, STEPS * THREADS // nr, offer, sums))
               for seed in range(nr)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return time.perf_counter() - start, [sums.get(seed) for seed in range(nr)]


def run(directory, kind):
    import torch
    torch.zeros(1, device="cuda")
    library = ctypes.CDLL(os.path.join(directory, "tensors.so"))
    library.tensors_offer.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    library.tensors_start.argtypes = [ctypes.c_bool]
    nr = 1 if kind in TIMED else THREADS
    rounds = [one_round(torch, nr, library.tensors_offer)]
    started = library.tensors_start(kind == "checking") if kind in ("registering", "checking") else 0
    rounds += [one_round(torch, nr, library.tensors_offer) for _ in range(ROUNDS - 1)]
    library.tensors_drain()
    counts = Counts()
    library.tensors_stop(ctypes.byref(counts))
    print(json.dumps({
        "torch": torch.__version__, "started": started, "seconds": [r[0] for r in rounds[1:]],
        "sums": rounds[0][1], "steady": all(r[1] == rounds[0][1] for r in rounds),
        "counts": {name: getattr(counts, name) for name, _ in Counts._fields_},
    }))


# ---- all runs, and the report ----------------------------------------------------------------------

def environment(directory, kind, expandable):
    env = dict(os.environ)
    setting = f"expandable_segments:{expandable}"
    env.update(PYTORCH_CUDA_ALLOC_CONF=setting, PYTORCH_ALLOC_CONF=setting)
    env["LD_LIBRARY_PATH"] = ":".join(filter(None, [directory, env.get("LD_LIBRARY_PATH")]))
    if kind not in ("bare", "unwatched"):
        env["LD_PRELOAD"] = os.path.join(directory, "libpeerpin-hook.so.1")
    return env


def start(directory, kind, expandable):
    """Return the output of a run; raise an exception if it failed"""
    command = [sys.executable, os.path.abspath(__file__), directory, kind]
    done = subprocess.run(command, env=environment(directory, kind, expandable), timeout=RUN_LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[-600:]}")
    result = json.loads(done.stdout.strip().splitlines()[-1])
    if result["started"]:
        raise RuntimeError(f"no thread that registers: {result['started']}")
    return result


def all_runs(directory, expandable):
    end = time.monotonic() + BUDGET_S
    runs = {kind: [start(directory, kind, expandable) for _ in range(CHECKED_RUNS)]
            for kind in ("unwatched", "checking")}
    runs.update({kind: [] for kind in TIMED})
    while len(runs["bare"]) < RUNS and (not runs["bare"] or time.monotonic() < end):
        for kind in TIMED:
            runs[kind].append(start(directory, kind, expandable))
    return runs


def seconds(runs):
    return [s for r in runs for s in r["seconds"]]


def quartiles(runs):
    q = statistics.quantiles(seconds(runs), n=4)
    return f"{q[1] * 1000:.1f} ms (quartiles {q[0] * 1000:.1f} and {q[2] * 1000:.1f})"


def verdict(holds, claim, seen):
    print(f"- {'yes' if holds else '**NO**'}: {claim}: {seen}")
    return holds


def interval(values):
    """The 95 % confidence interval of the median, without the assumption of a normal distribution"""
    n, dropped, outside = len(values), 0, 2
    while outside + 2 * math.comb(n, dropped + 1) <= 2 ** n / 20:
        dropped += 1
        outside += 2 * math.comb(n, dropped)
    return sorted(values)[dropped], sorted(values)[n - 1 - dropped]


def slower(what, runs, kind):
    """Compare each run with the bare run before it; if noise hides the difference, do not decide"""
    ratios = [statistics.median(r["seconds"]) / statistics.median(b["seconds"]) - 1
              for r, b in zip(runs[kind], runs["bare"])]
    low, high = interval(ratios)
    claim = f"{what} makes the program slower by less than 1%"
    seen = f"{statistics.median(ratios) * 100:+.2f}% (95 % interval: {low * 100:+.2f} to {high * 100:+.2f})"
    if low < SLOWER <= high:
        print(f"- not decided: {claim}: {seen}")
        return True
    return verdict(high < SLOWER, claim, seen)


def unchanged(runs):
    return verdict(all(r["steady"] and r["sums"] == runs[0]["sums"] for r in runs), "results are unchanged",
                   f"{' or '.join(sorted({str(r['sums']) for r in runs}))} in {len(runs)} runs")


def report(runs):
    bare, registering, checking = runs["bare"], runs["registering"], runs["checking"]
    c = {name: sum(r["counts"][name] for r in checking) for name in checking[0]["counts"]}
    busy = sum(r["counts"]["busy_ns"] for r in registering) / 1e9
    print(f"PyTorch {bare[0]['torch']}; timed: {len(bare)} runs of each kind, {len(seconds(bare))} rounds of one thread, "
          f"{STEPS * THREADS} tensors in a round. Median of a round: {quartiles(bare)}, "
          f"under the hook {quartiles(runs['hooked'])}, with the thread that registers {quartiles(registering)}. "
          f"The gets and puts of this thread took {100 * busy / sum(sum(r['seconds']) for r in registering):.2f}% of that time. "
          f"The counts of registrations, frees and hits are from {len(checking)} more runs, of {THREADS} threads each.\n")
    right = [
        verdict(c["registered"] and not c["refused"], "tensors are registered",
                f"{c['registered']} of {c['offered']}: {c['hits']} hits and {c['misses']} misses; {c['refused']} "
                f"refused although the memory was allocated (last error: "
                f"{min(r['counts']['refusal'] for r in checking)}), "
                f"{c['beyond']} refused because the range was not within one allocation, "
                f"{c['dropped']} dropped by a full queue"),
        verdict(c["vanished"] and not c["untold"] and not c["told_gone"],
                "the hook reports every free before it happens",
                f"{c['vanished']} watched allocations ended, {c['untold']} without a callback before; "
                f"{c['told']} callbacks ({c['told_all']} for all memory), "
                f"{c['told_gone']} for memory that was freed before"),
        verdict(c["judged"] and not c["stale"], "no stale registration, by buffer ids",
                f"{c['stale']} of {c['judged']} hits"),
        unchanged([*bare, *runs["hooked"], *registering]),
        unchanged([*runs["unwatched"], *checking]),
        slower("the hook", runs, "hooked"),
        slower("the hook, with a thread that registers every tensor,", runs, "registering"),
    ]
    return all(right)


def section(directory, expandable):
    print(f"\n### Expandable segments {'on' if expandable else 'off'}\n")
    try:
        return report(all_runs(directory, expandable))
    except (RuntimeError, subprocess.TimeoutExpired, ValueError, OSError, IndexError) as error:
        print(f"This setting failed:\n\n```\n{error}\n```")
        return False


def main():
    directory = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        run(directory, sys.argv[2])
        return 0
    sys.stdout.reconfigure(line_buffering=True)
    return 0 if all([section(directory, False), section(directory, True)]) else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("type: python3 bench/h200_torch.py build/h200")
    sys.exit(main())
