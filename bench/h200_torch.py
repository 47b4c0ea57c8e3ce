#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A PyTorch program: alone, under libpeerpin-hook.so, and with a thread that also registers its tensors.

    python3 bench/h200_torch.py DIRECTORY      prints a section of the report of bench/h200.sh

scripts/h200 fills DIRECTORY. Each run is a process; the kinds of runs take turns. All runs of a size do the same work:
threads allocate, compute in integers, free, and now and then empty PyTorch's cache. Times are of runs with one thread,
because several threads wait for Python's lock at random. The hook is loaded with the process, so its cost is a
difference between processes. The thread that registers comes and goes in a process, so its cost is the difference of
neighbouring rounds of one process, which varies less. The runs of several threads are not timed: there the thread that
registers also checks each hit and each callback, which takes longer than to register.
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
PAIRS = 20          # of rounds in a run of the kind "pairs"
RUNS = 15           # of each timed kind
CHECKED_RUNS = 4
RUN_LIMIT_S = 60
BUDGET_S = 190      # for each setting of the allocator
SIZES = [1 << 10, 40 << 10, 300 << 10, 1 << 20, 3 << 20, 12 << 20, 40 << 20]
SLOWER = 0.01
TIMED = ["bare", "hooked", "pairs"]


class Counts(ctypes.Structure):
    """struct tensors_counts of bench/h200/tensors.c"""

    _fields_ = [(name, ctypes.c_int64) for name in (
        "offered", "dropped", "registered", "refused", "beyond", "refusal", "hits", "misses", "judged", "stale",
        "told", "told_all", "told_gone", "vanished", "untold", "busy_ns", "offer_ns", "told_ns")]


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


def thread_work(torch, seed, steps, offer, sums, emptying):
    rng, live, total = random.Random(seed), [], 0
    with torch.cuda.stream(torch.cuda.Stream()):
        for i in range(steps):
            total += step(torch, rng, live, offer)
            if i % 150 == 149:
                del live[::2]
                start = time.perf_counter()
                torch.cuda.empty_cache()
                emptying[seed] += time.perf_counter() - start
        total += sum(int(tensor.sum(dtype=torch.int64)) for tensor in live)
    sums[seed] = total


def one_round(torch, nr, offer):
    """
    Return the seconds, the sum of each thread, and the seconds in which the threads emptied PyTorch's cache; at the end
    all memory is back at the driver
    """
    sums, emptying = {}, [0] * nr
    threads = [threading.Thread(target=thread_work, args=(torch, seed, STEPS * THREADS // nr, offer, sums, emptying))
               for seed in range(nr)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return time.perf_counter() - start, [sums.get(seed) for seed in range(nr)], sum(emptying)


def load(directory):
    library = ctypes.CDLL(os.path.join(directory, "tensors.so"))
    library.tensors_offer.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    library.tensors_start.argtypes = [ctypes.c_bool]
    return library


def start_thread(library, check):
    error = library.tensors_start(check)
    if error:
        raise RuntimeError(f"no thread that registers: {os.strerror(-error)}")


def stop_thread(library):
    counts = Counts()
    library.tensors_drain()
    library.tensors_stop(ctypes.byref(counts))
    return counts


def pairs(torch, library):
    """Return rounds without and with the thread that registers, in the order ABBA, and the counts of the latter"""
    rounds, total = {False: [], True: []}, Counts()
    for registering in (True, False, False, True) * (PAIRS // 2):
        if registering:
            start_thread(library, False)
        rounds[registering].append(one_round(torch, 1, library.tensors_offer))
        counts = stop_thread(library)
        for name, _ in Counts._fields_:
            setattr(total, name, getattr(total, name) + getattr(counts, name))
    return rounds[False], rounds[True], total


def run(directory, kind):
    import torch
    torch.zeros(1, device="cuda")
    library = load(directory)
    nr = 1 if kind in TIMED else THREADS
    first = one_round(torch, nr, library.tensors_offer)
    rounds, registering, counts = [], [], Counts()
    if kind == "pairs":
        rounds, registering, counts = pairs(torch, library)
    else:
        if kind == "checking":
            start_thread(library, True)
        rounds = [one_round(torch, nr, library.tensors_offer) for _ in range(ROUNDS - 1)]
        counts = stop_thread(library)
    print(json.dumps({
        "torch": torch.__version__, "seconds": [r[0] for r in rounds], "registering": [r[0] for r in registering],
        "emptying": [r[2] for r in rounds], "registering_emptying": [r[2] for r in registering],
        "sums": first[1], "steady": all(r[1] == first[1] for r in rounds + registering),
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
    return json.loads(done.stdout.strip().splitlines()[-1])


def all_runs(directory, expandable):
    end = time.monotonic() + BUDGET_S
    runs = {kind: [start(directory, kind, expandable) for _ in range(CHECKED_RUNS)]
            for kind in ("unwatched", "checking")}
    runs.update({kind: [] for kind in TIMED})
    while len(runs["bare"]) < RUNS and (not runs["bare"] or time.monotonic() < end):
        for kind in TIMED:
            runs[kind].append(start(directory, kind, expandable))
    return runs


def seconds(runs, which="seconds"):
    return [s for r in runs for s in r[which]]


def quartiles(values):
    q = statistics.quantiles(values, n=4)
    return f"{q[1] * 1000:.1f} ms (quartiles {q[0] * 1000:.1f} and {q[2] * 1000:.1f})"


def interval(values):
    """The 95 % confidence interval of the median, without the assumption of a normal distribution"""
    n, dropped, outside = len(values), 0, 2
    while outside + 2 * math.comb(n, dropped + 1) <= 2 ** n / 20:
        dropped += 1
        outside += 2 * math.comb(n, dropped)
    return sorted(values)[dropped], sorted(values)[n - 1 - dropped]


def spread(ratios):
    low, high = interval(ratios)
    return f"{statistics.median(ratios) * 100:+.2f}% (95 % interval: {low * 100:+.2f} to {high * 100:+.2f})"


def verdict(holds, claim, seen):
    print(f"- {'yes' if holds else '**NO**'}: {claim}: {seen}")
    return holds


def hook_is_cheap(runs):
    """Compare each run under the hook with the bare run before it; if noise hides the difference, do not decide"""
    ratios = [statistics.median(h["seconds"]) / statistics.median(b["seconds"]) - 1
              for h, b in zip(runs["hooked"], runs["bare"])]
    low, high = interval(ratios)
    claim = "the hook makes the program slower by less than 1%"
    if low < SLOWER <= high:
        print(f"- not decided: {claim}: {spread(ratios)}")
        return True
    return verdict(high < SLOWER, claim, spread(ratios))


def profile(runs):
    """Print what the thread that registers costs, and where, in percent of the rounds without it"""
    c = {name: sum(r["counts"][name] for r in runs) for name in runs[0]["counts"]}
    ratios = [on / off - 1 for r in runs for on, off in zip(r["registering"], r["seconds"])]
    off = sum(seconds(runs))
    part = {name: 100 * sum(seconds(runs, name)) / off for name in ("emptying", "registering_emptying")}
    part.update({name: c[name] / 1e7 / off for name in ("busy_ns", "offer_ns", "told_ns")})
    print(f"The thread that registers every tensor makes a round slower by {spread(ratios)}: median of {len(ratios)} "
          f"pairs of neighbouring rounds. Where the time goes, in percent of the time without this thread: the program's "
          f"thread spent {part['offer_ns']:.2f} in {c['offered']} offers to the other thread. It spent "
          f"{part['told_ns']:.2f} in {c['told']} callbacks of the cache ({c['told_ns'] / max(c['told'], 1):.0f} ns each), "
          f"which close the dma-bufs of memory before it is freed. Its calls of empty_cache(), in which most of these "
          f"callbacks are, took {part['emptying']:.2f} without the other thread and {part['registering_emptying']:.2f} "
          f"beside it. The thread that registers was busy for {part['busy_ns']:.2f}: {c['registered']} gets and puts, "
          f"{c['busy_ns'] / max(c['registered'], 1):.0f} ns each. A get that misses calls CUDA's driver, which may keep "
          f"the program's calls waiting.\n")


def unchanged(runs):
    return verdict(all(r["steady"] and r["sums"] == runs[0]["sums"] for r in runs), "results are unchanged",
                   f"{' or '.join(sorted({str(r['sums']) for r in runs}))} in {len(runs)} runs")


def report(runs):
    bare, paired, checking = runs["bare"], runs["pairs"], runs["checking"]
    c = {name: sum(r["counts"][name] for r in checking) for name in checking[0]["counts"]}
    print(f"PyTorch {bare[0]['torch']}; timed: {len(bare)} runs of each kind, of rounds of one thread with "
          f"{STEPS * THREADS} tensors. Median of {len(seconds(bare))} rounds: {quartiles(seconds(bare))}, under the "
          f"hook {quartiles(seconds(runs['hooked']))}. In other processes, in turns: {quartiles(seconds(paired))} under the "
          f"hook, {quartiles(seconds(paired, 'registering'))} with the thread that registers, {len(seconds(paired))} "
          f"rounds each. The counts of registrations, frees and hits are from {len(checking)} more runs, of {THREADS} "
          f"threads each.\n")
    profile(paired)
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
        unchanged([*bare, *runs["hooked"], *paired]),
        unchanged([*runs["unwatched"], *checking]),
        hook_is_cheap(runs),
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
