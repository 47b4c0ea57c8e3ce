#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The allocators of PyTorch, CuPy and JAX as clients of a registration cache: is a registration ever stale?

    python3 bench/h200_clients.py DIRECTORY      prints a section of the report of bench/h200.sh

scripts/h200 fills DIRECTORY. Each client is a process under libpeerpin-hook.so (DDP: a process for each of two GPUs). A
thread of bench/h200/tensors.c registers each array that the client offers, compares CUDA's buffer ids at each hit, and
counts the allocations that ended without a callback before. This thread calls CUDA during the capture of a graph, too.
"""
import ctypes
import gc
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
import h200_torch  # noqa: E402 pylint: disable=wrong-import-position

LIMIT_S = 60
STEPS = 1500
LIVE = 24
COUNTS = ("offered", "registered", "refused", "beyond", "hits", "judged", "stale", "vanished", "untold", "told_gone")
HEAD = ("client", "version", "arrays offered", "registered", "refused", "gone or without an id", "hits", "hits judged",
        "stale", "allocations ended", "of these untold")


# ---- clients: each imports its library, calls start() when CUDA is ready, and then offers arrays ------------------

def use_torch(start, offer):
    import torch
    torch.zeros(1, device="cuda")
    start()
    for seed in range(4):
        h200_torch.thread_work(torch, seed, STEPS // 4, offer, {}, [0] * 4)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.__version__


def use_graphs(start, offer):
    """Graphs have private pools. When a graph is deleted and the cache emptied, its memory goes back to the driver"""
    import torch
    torch.zeros(1, device="cuda")
    start()
    rng = random.Random(0)
    for _ in range(STEPS // 25):
        count, graph = rng.choice([1 << 10, 1 << 18, 1 << 22]), torch.cuda.CUDAGraph()
        given = torch.ones(count, device="cuda")
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            middle = given * 2
            result = middle + given
        for i in range(25):
            given.fill_(i)
            graph.replay()
            for tensor in (given, middle, result):
                offer(tensor.data_ptr(), tensor.nbytes)
            assert int(result[-1]) == 3 * i
        del graph, given, middle, result
        torch.cuda.empty_cache()
    return torch.__version__


def use_ddp(start, offer):
    """Gradients are reduced by NCCL. Each model lives for some iterations, with batches of random size"""
    import torch
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
    torch.zeros(1, device="cuda")
    start()
    rng = random.Random(0)      # the same in both processes
    for _ in range(STEPS // 100):
        width = rng.choice([256, 1024, 2048])
        model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(4)]).cuda()
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(100):
            batch = torch.randn(rng.randrange(1, 512), width, device="cuda")
            offer(batch.data_ptr(), batch.nbytes)
            model(batch).square().mean().backward()
            for parameter in model.parameters():
                offer(parameter.grad.data_ptr(), parameter.grad.nbytes)
            optimizer.step()
            optimizer.zero_grad()
        weights = next(model.parameters()).detach()
        both = [torch.empty_like(weights) for _ in range(2)]
        torch.distributed.all_gather(both, weights)
        assert torch.equal(*both), "the processes have different weights"
        del model, optimizer, batch, parameter, weights, both
        gc.collect()
        torch.cuda.empty_cache()
    torch.distributed.destroy_process_group()
    return f"{torch.__version__}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}"


def churn(make, offer_one, give_back):
    """Make arrays of random sizes, keep some, and now and then give memory back to the driver"""
    rng, live = random.Random(0), []
    for i in range(STEPS):
        live.append(make(rng.choice(h200_torch.SIZES) // 4))
        offer_one(live[-1])
        offer_one(rng.choice(live))
        if len(live) > LIVE:
            live.pop(rng.randrange(len(live)))
        if i % 150 == 149:
            del live[::2]
            give_back()
    live.clear()
    give_back()


def use_cupy(start, offer, asynchronous=False):
    import cupy
    pool = cupy.cuda.MemoryAsyncPool() if asynchronous else cupy.get_default_memory_pool()
    cupy.cuda.set_allocator(pool.malloc)
    cupy.zeros(1)
    start()

    def give_back():
        cupy.cuda.runtime.deviceSynchronize()
        pool.free_all_blocks()

    churn(lambda count: cupy.ones(count, dtype=cupy.int32), lambda x: offer(x.data.ptr, x.nbytes), give_back)
    return cupy.__version__


def use_cupy_async(start, offer):
    return use_cupy(start, offer, True)


def use_jax(start, offer):
    import jax
    jax.block_until_ready(jax.numpy.ones(1))
    start()
    churn(lambda count: jax.block_until_ready(jax.numpy.ones(count, dtype="int32")),
          lambda x: offer(x.unsafe_buffer_pointer(), x.nbytes), gc.collect)
    return jax.__version__


# ---- one process -----------------------------------------------------------------------------------------------

def make_context_current():
    """JAX calls CUDA in threads of its own, so the main thread may have no context"""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    cuda.cuCtxGetCurrent(ctypes.byref(context))
    if not context and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        cuda.cuCtxSetCurrent(context)


def run(directory, function):
    library = h200_torch.load(directory)

    def start():
        make_context_current()
        h200_torch.start_thread(library, True)

    version = globals()[function](start, library.tensors_offer)
    counts = h200_torch.stop_thread(library)
    print(json.dumps({"version": version, **{name: getattr(counts, name) for name in COUNTS},
                      "refusal": counts.refusal if counts.refused else 0}))


# ---- all clients, and the table ------------------------------------------------------------------------------------

TORCH = "PYTORCH_CUDA_ALLOC_CONF"
CLIENTS = [
    ("PyTorch", "use_torch", {}),
    ("PyTorch, expandable segments", "use_torch", {TORCH: "expandable_segments:True"}),
    ("PyTorch, `cudaMallocAsync()`", "use_torch", {TORCH: "backend:cudaMallocAsync"}),
    ("PyTorch, CUDA graphs", "use_graphs", {}),
    ("PyTorch, DDP over two GPUs", "use_ddp", {}),
    ("CuPy", "use_cupy", {}),
    ("CuPy, `cudaMallocAsync()`", "use_cupy_async", {}),
    ("JAX, its pool", "use_jax", {}),
    ("JAX, `cudaMalloc()` for each array", "use_jax", {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}),
]


def start_process(directory, function, settings):
    env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", **settings)
    env["LD_LIBRARY_PATH"] = ":".join(filter(None, [directory, env.get("LD_LIBRARY_PATH")]))
    env["LD_PRELOAD"] = os.path.join(directory, "libpeerpin-hook.so.1")
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), directory, function], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def settings_of(function, settings):
    """One dictionary for each process"""
    if function != "use_ddp":
        return [settings]
    common = dict(settings, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29411", NCCL_NVLS_ENABLE="0")
    return [dict(common, RANK=str(rank)) for rank in range(2)]


def result_of(processes):
    """Return the version and the sums of the counts; raise an exception if a process failed"""
    results = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=LIMIT_S)
            if process.returncode:
                raise RuntimeError((err.strip().splitlines() or [f"status {process.returncode}"])[-1])
            results.append(json.loads(out.strip().splitlines()[-1]))
    finally:
        for process in processes:
            process.kill()
    return results[0]["version"], {name: sum(r[name] for r in results) for name in COUNTS}, results[0]["refusal"]


def is_right(c):
    return c["registered"] + c["refused"] + c["beyond"] and not (c["stale"] or c["untold"] or c["told_gone"])


def print_row(*cells):
    print("|", " | ".join(map(str, cells + ("",) * (len(HEAD) - len(cells)))), "|")


def row(directory, name, function, settings):
    """Print a row of the table; return False if a registration was stale, a free was untold, or a process failed"""
    processes = [start_process(directory, function, s) for s in settings_of(function, settings)]
    try:
        version, c, refusal = result_of(processes)
    except (RuntimeError, subprocess.TimeoutExpired, ValueError, OSError, IndexError) as error:
        print_row(name, f"**failed**: {str(error)[:200].replace('|', '/')}")
        return False
    refused = c["refused"] + c["beyond"]
    print_row(name, version, c["offered"], c["registered"], f"{refused} ({os.strerror(-refusal)})" if refusal else refused,
              c["offered"] - c["registered"] - refused, c["hits"], c["judged"], c["stale"], c["vanished"],
              c["untold"] + c["told_gone"])
    return is_right(c)


def gpus():
    cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    return count.value if not cuda.cuInit(0) and not cuda.cuDeviceGetCount(ctypes.byref(count)) else 0


def main():
    directory = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        run(directory, sys.argv[2])
        return 0
    sys.stdout.reconfigure(line_buffering=True)
    print_row(*HEAD)
    print_row("---", "---", *["---:"] * (len(HEAD) - 2))
    ok = True
    for name, function, settings in CLIENTS:
        if function == "use_ddp" and gpus() < 2:
            print_row(name, "not run: one GPU")
        else:
            ok = row(directory, name, function, settings) and ok
    return 0 if ok else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("type: python3 bench/h200_clients.py build/h200")
    sys.exit(main())
