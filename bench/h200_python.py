#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package with the tensors of a library on a real GPU: bench/h200_python.sh runs it.

    python3 bench/h200_python.py            all libraries, each in its own process; prints a table
    python3 bench/h200_python.py torch      one; prints a line of JSON for each check
"""
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 180
MIB = 1 << 20


# ---- libraries --------------------------------------------------------------------------------

class Torch:
    read_only = False

    def __init__(self):
        import torch
        self.torch, self.version = torch, torch.__version__

    def make(self, count):
        return self.torch.arange(count, dtype=self.torch.int32, device="cuda")

    def address(self, x):
        return x.data_ptr()

    def holes(self):
        return self.make(64).reshape(8, 8)[:, 1]

    def bfloat16(self):
        return self.torch.ones(100, dtype=self.torch.bfloat16, device="cuda")

    def gradient(self):
        return self.torch.ones(100, device="cuda", requires_grad=True)

    def host(self):
        return self.torch.arange(100, dtype=self.torch.int32)

    def numpy(self, x):
        return x.cpu().numpy()

    def give_back(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()


class CuPy:
    read_only = False

    def __init__(self):
        import cupy
        self.cupy, self.version = cupy, cupy.__version__

    def make(self, count):
        return self.cupy.arange(count, dtype=self.cupy.int32)

    def address(self, x):
        return x.data.ptr

    def holes(self):
        return self.make(64).reshape(8, 8)[:, 1]

    bfloat16 = gradient = None

    def host(self):
        import numpy
        return numpy.arange(100, dtype=numpy.int32)

    def numpy(self, x):
        return self.cupy.asnumpy(x)

    def give_back(self):
        self.cupy.cuda.runtime.deviceSynchronize()
        self.cupy.get_default_memory_pool().free_all_blocks()


class Jax:
    read_only = True

    def __init__(self):
        import jax
        self.jax, self.version = jax, jax.__version__
        if jax.devices()[0].platform not in ("gpu", "cuda"):
            raise ImportError("jax has no GPU backend")

    def make(self, count):
        return self.jax.block_until_ready(self.jax.numpy.arange(count, dtype="int32"))

    def address(self, x):
        return x.unsafe_buffer_pointer()

    holes = gradient = None

    def bfloat16(self):
        return self.jax.block_until_ready(self.jax.numpy.ones(100, dtype="bfloat16"))

    def host(self):
        return self.jax.device_put(self.jax.numpy.arange(100, dtype="int32"), self.jax.devices("cpu")[0])

    def numpy(self, x):
        import numpy
        return numpy.asarray(x)

    def give_back(self):
        gc.collect()


LIBRARIES = {"torch": Torch, "cupy": CuPy, "jax": Jax}


# ---- checks: each returns what it saw, or None if the library has no such tensor -----------------------

def query(peerpin, lib):
    x = lib.make(MIB)
    found = peerpin.query(x)
    assert found.kind == peerpin.Kind.GPU and found.device >= 0 and found.rdma, found
    assert found.base <= lib.address(x) and lib.address(x) + 4 * MIB <= found.base + found.size, found
    return f"GPU {found.device}, {found.size / MIB:.0f} MiB"


def addresses(peerpin, lib):
    x = lib.make(1000)
    assert peerpin.span(x)[:2] == (lib.address(x), 4000), peerpin.span(x)
    return "address and length"


class OnlyDLPack:
    def __init__(self, x):
        self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__


def dlpack(peerpin, lib):
    x = lib.make(1000)
    assert peerpin.span(OnlyDLPack(x))[:2] == (lib.address(x), 4000)
    return "address and length"


def bfloat16(peerpin, lib):
    if lib.bfloat16 is None:
        return None
    x = lib.bfloat16()
    assert peerpin.span(x)[:2] == (lib.address(x), 200), peerpin.span(x)
    return "200 bytes"


def gradient(peerpin, lib):
    if lib.gradient is None:
        return None
    x = lib.gradient()
    assert peerpin.span(x)[:2] == (lib.address(x), 400)
    return "400 bytes"


def holes(peerpin, lib):
    if lib.holes is None:
        return None
    try:
        peerpin.span(lib.holes())
    except ValueError:
        return "refused"
    raise AssertionError("accepted")


def host(peerpin, lib):
    x = lib.host()
    assert peerpin.query(x).kind == peerpin.Kind.HOST and peerpin.span(x).length == 400
    return "host memory"


def export(peerpin, lib):
    x = lib.make(MIB)
    with peerpin.export_dmabuf(x) as dmabuf:
        size = os.lseek(dmabuf.fileno(), 0, os.SEEK_END)
        assert dmabuf.addr + dmabuf.offset == lib.address(x) and dmabuf.length >= 4 * MIB
        assert size == dmabuf.length, (size, dmabuf.length)
    return f"{size / MIB:.1f} MiB"


def cache(peerpin, lib):
    x = lib.make(MIB)
    with peerpin.DmabufCache() as dmabufs:
        with dmabufs.get(x) as first, dmabufs.get(x) as second:
            assert first.fileno() == second.fileno() and dmabufs.stats().hits == 1
        start = time.perf_counter()
        for _ in range(2000):
            dmabufs.get(x).close()
        each = (time.perf_counter() - start) / 2000
        assert dmabufs.stats().misses == 1
    return f"hit {each * 1e6:.1f} us"


def watch(peerpin, lib):
    """Freed and allocated again: a hit must be of the memory that is there now, by CUDA's buffer ids."""
    again = stale = 0
    seen = {}
    with peerpin.DmabufCache() as dmabufs:
        for i in range(60):
            x = lib.make((2 + i % 3) * MIB)
            address, number = lib.address(x), peerpin.query(x).buffer_id
            hits = dmabufs.stats().hits
            with dmabufs.get(x):
                hit = dmabufs.stats().hits > hits
            base = peerpin.query(x).base
            again += seen.get(base, number) != number
            stale += hit and seen.get(base) != number
            seen[base] = number
            del x, address
            lib.give_back()
    assert not stale, f"{stale} stale hits"
    return f"{again} reused addresses, 0 stale hits"


def refuses_to_write(source, x):
    try:
        source.read_into(x)
    except TypeError:
        return "read-only: refused"
    raise AssertionError("a read-only array was written")


def file(peerpin, lib):
    import numpy
    data = numpy.random.default_rng(1).integers(0, 1 << 31, MIB, dtype=numpy.int32)
    x = lib.make(MIB)
    with tempfile.NamedTemporaryFile() as f:
        f.write(data.tobytes())
        f.flush()
        with peerpin.File(f.name) as source:
            if lib.read_only:
                return refuses_to_write(source, x)
            done = source.read_into(x)
    assert done.bytes == 4 * MIB and (lib.numpy(x) == data).all()
    return f"{done.direct / MIB:.0f} MiB direct, {done.bounced / MIB:.0f} bounced"


def threads(peerpin, lib):
    tensors, wrong = [lib.make(MIB) for _ in range(8)], []

    def work(seed):
        try:
            for i in range(300):
                x = tensors[(i * seed) % 8]
                with dmabufs.get(x) as entry:
                    assert entry.addr + entry.offset == lib.address(x)
        except BaseException as error:
            wrong.append(error)

    with peerpin.DmabufCache(max_entries=4) as dmabufs:
        running = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 5, 7)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        stats = dmabufs.stats()
    assert not wrong, wrong[0]
    return f"{stats.hits + stats.misses} gets by 4 threads"


def fork(peerpin, lib):
    x = lib.make(MIB)
    dmabufs = peerpin.DmabufCache()
    dmabufs.get(x).close()
    pid = os.fork()
    if not pid:
        try:
            dmabufs.get(x)
            os._exit(1)
        except peerpin.NotOwned:
            dmabufs.close()
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    dmabufs.get(x).close()
    dmabufs.close()
    return "child refused"


def lifetimes(peerpin, lib):
    dmabufs = peerpin.DmabufCache()
    entry = dmabufs.get(lib.make(MIB))
    dmabufs.close()
    assert os.fstat(entry.fileno())
    cycle = [entry, dmabufs]
    cycle.append(cycle)
    del entry, dmabufs, cycle
    gc.collect()
    return "closed in order"


CHECKS = [query, addresses, dlpack, bfloat16, gradient, holes, host, export, cache, watch, file, threads, fork, lifetimes]


# ---- running ---------------------------------------------------------------------------------------

def say(check, seen, holds=True):
    print(json.dumps([check, seen, holds]), flush=True)


def one(name):
    import peerpin
    lib = LIBRARIES[name]()
    say("version", lib.version)
    for check in CHECKS:
        try:
            say(check.__name__, check(peerpin, lib) or "-")
        except Exception as error:
            say(check.__name__, f"NO: {type(error).__name__}: {error}", False)


def run(name):
    """Return {check: (seen, holds)}, or the reason why the library is not there."""
    if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False).returncode:
        return "not installed"
    try:
        done = subprocess.run([sys.executable, "-X", "faulthandler", os.path.abspath(__file__), name], timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        out, end = done.stdout, f"status {done.returncode}: {' '.join(done.stderr.split()[-40:])}"
        bad = done.returncode != 0
    except subprocess.TimeoutExpired as error:
        out, end, bad = (error.stdout or b"").decode(), f"no end after {LIMIT_S} s", True
    found = {check: (seen, holds) for check, seen, holds in map(json.loads, out.splitlines()) if check}
    if bad:
        found["process"] = (f"NO: {end}", False)
    return found


def main():
    results = {name: run(name) for name in LIBRARIES}
    print("| check | " + " | ".join(results) + " |\n| --- |" + " --- |" * len(results))
    for check in ["version"] + [c.__name__ for c in CHECKS] + ["process"]:
        cells = [result if isinstance(result, str) else result.get(check, ("ended" if check == "process" else "not run",))[0]
                 for result in results.values()]
        print(f"| {check} | " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |")
    there = [result for result in results.values() if not isinstance(result, str)]
    good = bool(there) and all(holds for result in there for _, holds in result.values()) and \
        all(len(result) == len(CHECKS) + 1 for result in there)
    print(f"\n{'all checks hold' if good else 'NOT all checks hold'}: {len(there)} of {len(results)} libraries are installed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(one(sys.argv[1]) if len(sys.argv) > 1 else main())
