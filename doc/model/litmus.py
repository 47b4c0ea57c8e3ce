#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks litmus tests in the memory model of AArch64, and that each order in them is needed.

    doc/model/litmus.py [--known] FILE [NAME...]

A litmus test is a few accesses by a few threads, and an outcome. The checker makes every execution with this
outcome: each load reads from each store of the value, in each coherence order. The outcome is allowed if one
execution satisfies the three axioms of the Arm Architecture Reference Manual (B2.3): per location the order is
sequential, read-modify-writes are atomic, and "ordered-before" has no cycle.

Why a forbidden outcome is impossible on the hardware:
 - Loops are absent from the tests, and values are constants. So the number of executions is finite, and all are made.
 - Edges are left out of ordered-before where this makes the checker simpler: local write successors, and
   dependencies of addresses but those of RCU ("dep"), because C gives no such order. Fewer edges allow more executions.
 - An access has the weakest instruction that a compiler may choose: acquire is LDAPR, a read-modify-write is a pair of
   exclusives (LDAXR, STLXR), never one instruction of LSE.
 - The compiler may exchange a store and a following load of another location unless a "light" fence is between.
   It exchanges no other accesses of these tests: the others are release stores, acquire loads, or pass no such access.
 - membarrier() ("heavy") sends an interrupt to each processor that runs a thread of the process. The handler has a full
   barrier, and so has each change of threads. The calling thread has a full barrier before and after. So for each
   other thread there is a point in its program: all before the point comes before all after membarrier(), and all before
   membarrier() comes before all after the point. Every point is tried. The point is not inside a pair of exclusives,
   because an interrupt makes the pair start again.
 - A grace period of RCU ("grace") is the same, but no point is inside a read-side section ("lock" to "unlock").
A grace period and a heavy fence also wait: a thread that has ended has its point at its end.

Form of a file; a line that begins with # is a comment:

    code ID FILE TEXT           FILE has TEXT, which has the order of all accesses with @ID
    stronger ID FILE TEXT       as code, but TEXT has more order than the tests need; a comment says why
    covers FILE...              FILE has no order but relaxed, except in the TEXTs; FILE may be a shell pattern
    litmus NAME forbidden       or allowed; then lines of this test
    init x=1                    other locations begin with 0
    thread
    W x 1 rel @ID               store: rlx, rel
    R x r0 acq @ID              load: rlx, dep, acq, sc; dep: the addresses of all later accesses depend on the value
    U x 0 1 r0 sc @ID           read-modify-write from 0 to 1, or a load if x is not 0: rlx, acq, rel, acq_rel, sc
    if r0=1                     the thread ends here unless r0 is 1
    full | load | light | heavy | grace | lock | unlock [@ID]
                                full: DMB ISH; load: DMB ISHLD, which orders loads before all that follows
    exists r0=1 r1=0            the outcome: registers, which have unique names

Each ID is weakened in turn by one step, in all tests: sc to acq, acq_rel to acq and to rel, the others to rlx; a fence is
removed. Some forbidden outcome must then be allowed, else the order is stronger than necessary. A read-modify-write with sc
has two halves, acq and rel, and must need one of them: C has no order that keeps one half and a place in the order of all
sc accesses. With acq_rel it must need both. An ID without an order (such as a lock of the kernel, or an access of the
user's program) has TEXT "-" and is not weakened.
"""
import glob
import itertools
import re
import sys

WEAKER = {"W": {"rel": ["rlx"]}, "R": {"sc": ["acq"], "acq": ["rlx"], "dep": ["rlx"]},
          "U": {"sc": ["acq", "rel"], "acq_rel": ["acq", "rel"], "acq": ["rlx"], "rel": ["rlx"]}}
FENCES = ("full", "load", "light", "heavy", "grace", "lock", "unlock")
# what an order is called in the code; an access of the tests may be relaxed where the code has a plain access
NAMES = {"memory_order_relaxed": "rlx", "memory_order_acquire": "acq", "memory_order_release": "rel",
         "memory_order_acq_rel": "acq_rel", "memory_order_seq_cst": "sc",
         "atomic_compare_exchange_strong(": "sc", "atomic_compare_exchange_weak(": "sc",
         "atomic_exchange(": "sc", "atomic_load(": "sc", "atomic_store(": "rel",
         "smp_store_release(": "rel", "smp_load_acquire(": "acq", "READ_ONCE(": "rlx", "WRITE_ONCE(": "rlx",
         "refcount_dec_and_test(": "rel", "refcount_read(": "rlx", "rcu_assign_pointer(": "rel",
         "rcu_dereference(": "dep", "list_add_rcu(": "rel", "list_del_rcu(": "rlx", "list_for_each_entry_rcu(": "dep",
         "RCU_INIT_POINTER(": "rlx", "atomic_read_acquire(": "acq"}
# a compare-and-swap that fails is a load
LOAD_HALF = {"relaxed": "relaxed", "release": "relaxed", "acquire": "acquire", "acq_rel": "acquire",
             "seq_cst": "seq_cst"}
# each order and barrier of the C library and of the kernel that the check finds; not relaxed ones, and not the fully
# ordered atomics of the kernel, such as cmpxchg() and test_and_clear_bit()
ORDER = (r"memory_order_(?:acquire|release|acq_rel|seq_cst|consume)|"
         r"\batomic_(?:load|store|exchange|fetch_[a-z]+|compare_exchange_[a-z]+|flag_\w+)\(|"
         r"\bsmp_(?!processor_id)\w+\(|\b(?:dma_)?[rw]?mb\(|"
         r"\b(?:rcu_assign_pointer|rcu_dereference\w*|\w*list_\w+_rcu)\(|"
         r"\batomic\w*_(?:acquire|release)\(|\w+_bit_(?:lock|unlock)\(")


class Wrong(Exception):
    pass


class Litmus:
    def __init__(self, name, verdict):
        self.name, self.verdict = name, verdict
        self.init, self.threads, self.outcome = {}, [], {}


class Event:
    """kind R or W; pair: the store of a read-modify-write has its load here"""

    def __init__(self, thread, place, kind, at, value, order):
        self.thread, self.place, self.kind, self.at, self.value, self.order = thread, place, kind, at, value, order
        self.pair = None


def pairs(words):
    return {k: int(v) for k, v in (w.split("=") for w in words)}


def parse(path):
    codes, tests, covered, stronger = {}, [], [], set()
    with open(path, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] in ("code", "stronger"):
                if words[0] == "stronger":
                    stronger.add(words[1])
                codes[words[1]] = (words[2], line.split(None, 3)[3].strip())
            elif words[0] == "covers":
                covered += words[1:]
            elif words[0] == "litmus":
                tests.append(Litmus(words[1], words[2]))
            elif words[0] == "init":
                tests[-1].init = pairs(words[1:])
            elif words[0] == "thread":
                tests[-1].threads.append([])
            elif words[0] == "exists":
                tests[-1].outcome = pairs(words[1:])
            else:
                code = words.pop()[1:] if words[-1].startswith("@") else None
                if words[0] not in ("W", "R", "U", "if") + FENCES or (code and code not in codes):
                    raise Wrong("%s: %s" % (path, line.strip()))
                tests[-1].threads[-1].append((words[0], tuple(words[1:]), code))
    return codes, tests, covered, stronger


# ---- executions ------------------------------------------------------------------------

def swapped(thread):
    """The program, and each program with one store and the next load exchanged, if no light fence is between."""
    yield thread
    for i, (a, b) in enumerate(zip(thread, thread[1:])):
        if a[0] == "W" and b[0] == "R" and a[1][0] != b[1][0]:
            yield thread[:i] + [b, a] + thread[i + 2:]


def runs(number, thread, values):
    """Each run of a thread: events, registers, positions of fences, sources of control dependencies."""
    def step(i, events, regs, fences, controls):
        if i == len(thread):
            yield events, regs, fences, controls
            return
        op, args, _ = thread[i]
        if op in FENCES:
            yield from step(i + 1, events, regs, fences + [(op, len(events))], controls)
        elif op == "if":
            reg, value = args[0].split("=")
            if regs[reg] == int(value):
                yield from step(i + 1, events, regs, fences, controls + [(reg, len(events))])
            else:
                yield events, regs, fences, controls
        elif op == "W":
            event = Event(number, len(events), "W", args[0], int(args[1]), args[2])
            yield from step(i + 1, events + [event], regs, fences, controls)
        elif op == "R":
            for value in values[args[0]]:
                event = Event(number, len(events), "R", args[0], value, args[2])
                event.reg = args[1]
                yield from step(i + 1, events + [event], {**regs, args[1]: value}, fences, controls)
        else:
            for value in values[args[0]]:
                load = Event(number, len(events), "R", args[0], value,
                             "sc" if args[4] in ("sc", "acq", "acq_rel") else "rlx")  # LDAXR, not LDAPR
                load.reg = args[3]
                more = [load]
                if value == int(args[1]):
                    store = Event(number, len(events) + 1, "W", args[0], int(args[2]),
                                  "rel" if args[4] in ("sc", "rel", "acq_rel") else "rlx")
                    store.pair = load
                    more.append(store)
                yield from step(i + 1, events + more, {**regs, args[3]: value}, fences, controls)

    yield from step(0, [], {}, [], [])


def values_of(test, threads):
    values = {}
    for thread in threads:
        for op, args, _ in thread:
            if op in "WRU":
                new = {"W": args[1:2], "R": (), "U": args[2:3]}[op]
                values.setdefault(args[0], {test.init.get(args[0], 0)}).update(int(v) for v in new)
    return values


def is_acyclic(edges):
    after = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    state = {}

    def visit(node):
        state[node] = 1
        for other in after.get(node, ()):
            if state.get(other) == 1 or (other not in state and not visit(other)):
                return False
        state[node] = 2
        return True

    return all(node in state or visit(node) for node in list(after))


def points(run):
    """Where an interrupt can come: not inside a pair of exclusives. And where a grace period can."""
    events, _, fences, _ = run
    free = [p for p in range(len(events) + 1) if p == 0 or p == len(events) or events[p].pair is not events[p - 1]]
    sections, begin = [], None
    for op, at in fences:
        if op == "lock":
            begin = at
        elif op == "unlock":
            sections.append((begin, at))
    return {"heavy": free, "grace": [p for p in free if not any(a < p < b for a, b in sections)]}


def local_order(run):
    """The part of ordered-before inside a thread, without what needs a reads-from."""
    events, _, fences, controls = run
    for a, b in itertools.combinations(events, 2):
        if a.order in ("acq", "sc", "dep") and a.kind == "R" or b.order == "rel":
            yield a, b
        if a.order == "rel" and b.order == "sc" and b.kind == "R":
            yield a, b
        if b.pair is a:
            yield a, b
        if any(op in ("full", "heavy", "grace") and a.place < at <= b.place for op, at in fences):
            yield a, b
        if a.kind == "R" and any(op == "load" and a.place < at <= b.place for op, at in fences):
            yield a, b
        if a.kind == "R" and b.kind == "W" and any(a.reg == reg and b.place >= at for reg, at in controls):
            yield a, b


def barrier_order(all_runs):
    """Each way to place the points of the heavy fences and grace periods: a list of edges."""
    choices = []
    for t, run in enumerate(all_runs):
        for op, at in run[2]:
            if op in ("heavy", "grace"):
                for other, run2 in enumerate(all_runs):
                    if other != t:
                        choices.append([(run[0], at, run2[0], p) for p in points(run2)[op]])
    for chosen in itertools.product(*choices):
        edges = []
        for mine, at, theirs, p in chosen:
            edges += [(a, b) for a in mine[:at] for b in theirs[p:]]
            edges += [(b, a) for b in theirs[:p] for a in mine[at:]]
            edges += [(a, b) for a in theirs[:p] for b in theirs[p:]]
        yield edges


def is_possible(test, all_runs):
    events = [e for run in all_runs for e in run[0]]
    stores = {}
    for e in events:
        if e.kind == "W":
            stores.setdefault(e.at, []).append(e)
    loads = [e for e in events if e.kind == "R"]
    local = [edge for run in all_runs for edge in local_order(run)]
    same = [(a, b) for run in all_runs for a, b in itertools.combinations(run[0], 2) if a.at == b.at]
    sources = [[w for w in stores.get(e.at, []) if w.value == e.value] +
               ([None] if test.init.get(e.at, 0) == e.value else []) for e in loads]
    barriers = list(barrier_order(all_runs))
    for reads in itertools.product(*sources):
        read_from = [(w, r) for w, r in zip(reads, loads) if w]
        for orders in itertools.product(*(itertools.permutations(s) for s in stores.values())):
            co = [pair for order in orders for pair in itertools.combinations(order, 2)]
            fr = []
            for w, r in zip(reads, loads):
                order = next((o for o in orders if o and o[0].at == r.at), ())
                fr += [(r, later) for later in (order[order.index(w) + 1:] if w else order)]
            if not is_acyclic(same + read_from + co + fr):
                continue
            if any(w.pair and any(r is w.pair and x is not w and x.thread != w.thread and (x, w) in co for r, x in fr)
                   for s in stores.values() for w in s):
                continue
            outside = [(a, b) for a, b in read_from + co + fr if a.thread != b.thread]
            inside = [(w, r) for w, r in read_from if w.thread == r.thread and w.pair and r.order in ("acq", "sc")]
            if any(is_acyclic(local + outside + inside + b) for b in barriers):
                return True
    return False


def is_allowed(test, threads):
    values = values_of(test, threads)
    for program in itertools.product(*(swapped(t) for t in threads)):
        each = [list(runs(i, t, values)) for i, t in enumerate(program)]
        for all_runs in itertools.product(*each):
            regs = {k: v for run in all_runs for k, v in run[1].items()}
            if all(regs.get(k) == v for k, v in test.outcome.items()) and is_possible(test, all_runs):
                return True
    return False


# ---- verdicts --------------------------------------------------------------------------

def weakened(threads, code, order):
    """All accesses of @code get @order; fences of @code go away."""
    out = []
    for thread in threads:
        out.append([])
        for op, args, mine in thread:
            if mine == code and op in FENCES:
                continue
            out[-1].append((op, args[:-1] + (order,), mine) if mine == code else (op, args, mine))
    return out


def weaker_orders(tests, code):
    for test in tests:
        for thread in test.threads:
            for op, args, mine in thread:
                if mine == code:
                    return [None] if op in FENCES else WEAKER[op].get(args[-1], [])
    return []


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return " ".join(file.read().split())


def check_covered(path, codes):
    text = text_of(path)
    for file, part in codes.values():
        if file == path:
            text = text.replace(part, "")
    other = re.search(".{0,60}(" + ORDER + ").{0,20}", text)
    return other and "no test has this order of %s: %s" % (path, other.group())


def check_all_covered(pattern, codes):
    paths = sorted(glob.glob(pattern))
    found = [why for why in (check_covered(path, codes) for path in paths) if why]
    return "; ".join(found) if paths else "no file has this name"


def orders_of(text):
    """The orders that the text has, without the order of a failed compare-and-swap."""
    failure = re.search(r"_explicit\(.*memory_order_([a-z_]+), memory_order_([a-z_]+)\)", text)
    if failure and LOAD_HALF[failure.group(1)] != failure.group(2):
        raise Wrong("the order of a failure is not the acquire half of the order of a success: " + text)
    if failure:
        text = text[:failure.start(2) - len("memory_order_")]
    return [order for name, order in NAMES.items() if re.search(r"\b" + re.escape(name), text)]


def check_code(code, where, tests, is_stronger):
    """The file has the text, and the text has the order of the tests, or another order if the text is stronger."""
    path, text = where
    if text == "-":
        return None
    if text not in text_of(path):
        return "%s does not have: %s" % (path, text)
    named = orders_of(text)
    for test in tests:
        for thread in test.threads:
            for op, args, mine in thread:
                if mine == code and op in ("W", "R", "U") and (named != [args[-1]]) != is_stronger:
                    return "%s in %s, and %s in the test %s" % (named, path, args[-1], test.name)
    return None


def check_needed(code, where, tests):
    if where[1] == "-":
        return None
    orders = weaker_orders(tests, code)
    too_strong = [order for order in orders
                  if not any(is_allowed(t, weakened(t.threads, code, order)) for t in tests)]
    if too_strong and (too_strong == orders or "acq_rel" in orders_of(where[1])):
        return "no outcome is allowed with %s" % " or ".join(order or "no fence" for order in too_strong)
    return None


def main(args):
    known = args[:1] == ["--known"]
    codes, tests, covered, stronger = parse(args[known])
    only, failed = args[known + 1:], False

    def say(name, why, ok):
        nonlocal failed
        if not only or name in only:
            failed |= bool(why)
            print("not ok %s: %s" % (name, why) if why else "ok %s: %s" % (name, ok))

    held = []
    for test in tests:
        found = "allowed" if is_allowed(test, test.threads) else "forbidden"
        say(test.name, found != test.verdict and "the outcome is " + found, found)
        if found == "forbidden":
            held.append(test)
    for code, where in codes.items() if not known else ():
        if not only or code in only:
            why = check_code(code, where, tests, code in stronger) or check_needed(code, where, held)
            if where[1] != "-":
                say(code, why, "the code has more order than needed" if code in stronger else
                    "the code has this order, and no weaker order suffices")
    for pattern in covered:
        say(pattern, check_all_covered(pattern, codes), "each order is in a test")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
