# SPDX-License-Identifier: MIT
"""The Python package on an emulated GPU, with peerpin.ko and a peer device."""
import errno
import gc
import mmap
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import peerpin
import pytest

import gpu

MIB = 1 << 20


def regions():
    """Return the number of regions in the kernel."""
    with open("/sys/kernel/debug/peerpin/regions", encoding="ascii") as f:
        return sum(1 for line in f if line[:1].isdigit())


@pytest.fixture(autouse=True, scope="session")
def started():
    gpu.start()


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    assert regions() == 0
    assert gc.garbage == []


@pytest.fixture(name="ctx")
def open_context():
    with peerpin.Context() as ctx:
        yield ctx


# ---- what memory --------------------------------------------------------------------------

def test_gpu_arrays_are_gpu_memory():
    x = gpu.CudaArray((512, 1024))
    found = peerpin.query(x)
    assert (found.kind, found.device, found.base, found.rdma) == (peerpin.Kind.GPU, 0, x.address, True)
    assert found == peerpin.query(x.address)
    assert peerpin.span(x)[:2] == (x.address, 2 * MIB)


def test_dlpack_needs_no_stream():
    x = gpu.DLPackArray((256, 1024), offset=4096)
    assert peerpin.span(x)[:2] == (x.address + 4096, MIB)
    assert x.streams == [-1]
    x = gpu.DLPackArray((256, 1024), refused_streams=[-1])
    assert peerpin.span(x)[:2] == (x.address, MIB)
    assert x.streams == [-1, None]
    assert peerpin.span(gpu.DLPackArray((4, 1024), strides=(1, 4))).length == 16384
    with pytest.raises(ValueError):
        peerpin.span(gpu.DLPackArray((4, 512), strides=(1024, 1)))


def test_strided_cuda_arrays_are_refused():
    with pytest.raises(ValueError):
        peerpin.span(gpu.CudaArray((4, 4), strides=(64, 4)))
    assert peerpin.span(gpu.CudaArray((4, 4), strides=(4, 16))).length == 64


def test_freed_memory_is_host_memory():
    x = gpu.CudaArray((MIB,))
    address = x.address
    x.free()
    assert peerpin.query(address).kind == peerpin.Kind.HOST


def test_bar1_is_reported(ctx):
    before = peerpin.bar1()
    with ctx.pin(gpu.CudaArray((MIB,))):
        assert peerpin.bar1().used >= before.used + 4 * MIB
    with pytest.raises(peerpin.Error) as failed:
        peerpin.bar1(17)
    assert failed.value.errno == errno.ENODEV


# ---- regions ----------------------------------------------------------------------------------

def test_pin_and_unpin(ctx):
    x = gpu.CudaArray((MIB,))
    with ctx.pin(x) as region:
        assert region.valid and regions() == 1
        assert (region.addr, region.length, region.offset, region.page_size) == (x.address, 4 * MIB, 0, 65536)
    assert not region.valid and region.closed and regions() == 0
    part = ctx.pin(x.address + 70000, 10)
    assert (part.offset, part.length) == (70000 - 65536, 65536)


def test_host_arrays_can_be_pinned(ctx):
    x = np.zeros(100000, dtype=np.uint8)
    with ctx.pin(x) as region:
        assert region.addr + region.offset == x.ctypes.data and region.page_size == 4096


def test_free_revokes(ctx):
    x = gpu.CudaArray((MIB,))
    region = ctx.pin(x)
    x.free()
    assert not region.valid
    with pytest.raises(peerpin.Error) as failed:
        region.export_dmabuf()
    assert failed.value.errno == errno.ESTALE


def test_persistent_pin_outlives_its_memory(ctx):
    for how in ({"persistent": True}, {"pin_flags": peerpin.PinFlags.PERSISTENT}):
        x = gpu.CudaArray((MIB,))
        with ctx.pin(x, **how) as region:
            x.free()
            assert region.valid
    for bad in ({"pin_flags": 1 << 20}, {"pin_flags": peerpin.PinFlags.PCIE}):
        with pytest.raises(peerpin.Error) as failed:
            ctx.pin(gpu.CudaArray((MIB,)), **bad)
        assert failed.value.errno == errno.EOPNOTSUPP
    with pytest.raises(peerpin.Error) as failed:
        ctx.pin(np.zeros(MIB, dtype=np.uint8), persistent=True)
    assert failed.value.errno == errno.EINVAL


def test_region_keeps_its_array(ctx):
    x = gpu.CudaArray((MIB,))
    region = ctx.pin(x)
    address = x.address
    del x
    gc.collect()
    assert region.valid
    region.close()
    gc.collect()
    assert peerpin.query(address).kind == peerpin.Kind.HOST


@pytest.mark.parametrize("size, reason", [((4096, 10), peerpin.NotMapped), ((0, 10), peerpin.NotMapped)],
                         ids=["page_one", "null"])
def test_reasons_are_exceptions(ctx, size, reason):
    with pytest.raises(reason) as failed:
        ctx.pin(*size)
    assert failed.value.errno == errno.EINVAL
    assert failed.value.reason == peerpin.Reason.NOT_MAPPED and len(failed.value.strerror.split()) > 4


def test_full_bar1_has_numbers(ctx):
    held = [ctx.pin(gpu.CudaArray((8 * MIB,))) for _ in range(6)]
    rest = gpu.CudaArray((9 * MIB,))
    with pytest.raises(peerpin.NoBar1) as failed:
        ctx.pin(rest)
    assert failed.value.errno == errno.ENOMEM and failed.value.needed == 36 * MIB
    assert "MiB" in failed.value.strerror
    held.clear()
    ctx.pin(rest).close()


# ---- mappings --------------------------------------------------------------------------------

def test_mapping_reaches_the_gpu(ctx):
    x = gpu.CudaArray((MIB,))
    with ctx.pin(x) as region, region.map() as mapping:
        np.frombuffer(mapping.view, dtype=np.uint8)[:5] = list(b"hello")
        assert x.read(5) == b"hello"
        x.write(b"world")
        assert bytes(mapping.view[:5]) == b"world"
        reader = region.map(65536, 4096, writable=False)
        assert len(reader.view) == 4096 and reader.view.readonly


def test_views_outlive_their_handles():
    ctx = peerpin.Context()
    region = ctx.pin(gpu.CudaArray((MIB,)))
    mapping = region.map()
    array = np.frombuffer(mapping.view, dtype=np.uint8)[4096:8192]
    mapping.close()
    region.close()
    ctx.close()
    assert mapping.closed and region.closed and ctx.closed and regions() == 1
    del ctx, region, mapping
    gc.collect()
    array[:] = 7
    assert int(array.sum()) == 7 * 4096
    del array
    gc.collect()
    assert regions() == 0


# ---- caches ------------------------------------------------------------------------------------

def test_gets_of_one_array_share_a_pin(ctx):
    x = gpu.CudaArray((MIB,))
    with peerpin.Cache(ctx, watch=peerpin.Watch.EPOCH) as cache:
        with cache.get(x) as reg:
            with cache.get(x.address + 10, 100) as other:
                assert other.id == reg.id and other.offset == 10
            assert (reg.addr, reg.length, reg.offset) == (x.address, 4 * MIB, 0)
        with pytest.raises(ValueError):
            reg.id
        stats = cache.stats()
        assert (stats.hits, stats.misses, stats.pins, stats.entries, stats.bytes) == (1, 1, 1, 1, 4 * MIB)
        cache.flush()
        assert cache.stats().entries == 0
        cache.get(x).close()
        cache.invalidate(x)
        assert cache.stats().entries == 0


def test_new_memory_is_no_hit(ctx):
    with peerpin.Cache(ctx, watch=peerpin.Watch.EPOCH) as cache:
        x = gpu.CudaArray((MIB,))
        address = x.address
        cache.get(x).close()
        x.free()
        x = gpu.CudaArray((MIB,))
        assert x.address == address
        cache.get(x).close()
        assert cache.stats().revocations == 1 and cache.stats().hits == 0


def test_budget_evicts(ctx):
    arrays = [gpu.CudaArray((MIB,)) for _ in range(4)]
    with peerpin.Cache(ctx, max_bytes=8 * MIB) as cache:
        for x in arrays:
            cache.get(x).close()
        assert cache.stats().evictions == 2 and regions() == 2


def test_cache_makes_persistent_pins(ctx):
    persistent = peerpin.PinFlags.PERSISTENT
    with peerpin.Cache(ctx, watch=peerpin.Watch.TAG, pin_flags=persistent) as cache:
        x = gpu.CudaArray((MIB,))
        address = x.address
        cache.get(x).close()
        x.free()
        assert regions() == 1 and peerpin.query(address).kind == peerpin.Kind.HOST
        with pytest.raises(peerpin.Error) as failed:
            cache.get(np.zeros(MIB, dtype=np.uint8))
        assert failed.value.errno == errno.EINVAL
    best, epoch = peerpin.Watch.BEST, peerpin.Watch.EPOCH
    for watch, flags in ((epoch, persistent), (best, 1 << 20), (best, peerpin.PinFlags.PCIE)):
        with pytest.raises(peerpin.Error) as failed:
            peerpin.Cache(ctx, watch=watch, pin_flags=flags)
        assert failed.value.errno == errno.EOPNOTSUPP


def test_dmabufs_are_cached():
    x = gpu.CudaArray((MIB,))
    with peerpin.DmabufCache() as cache, cache.get(x.address + 5000, 100) as entry:
        assert os.fstat(entry.fileno()) and entry.offset == 5000 and entry.length == 4 * MIB
        with cache.get(x) as other:
            assert other.fileno() == entry.fileno()


def test_tensor_is_exported(ctx):
    x = gpu.CudaArray((MIB,))
    with peerpin.export_dmabuf(x.address + 100, 5000) as dmabuf:
        assert (dmabuf.addr, dmabuf.length, dmabuf.offset) == (x.address, 8192, 100)
        with ctx.pin_dmabuf(dmabuf, 0, dmabuf.length) as region:
            assert region.length == 8192
    with pytest.raises(ValueError):
        dmabuf.fileno()
    fd = peerpin.export_dmabuf(x).detach()
    os.close(fd)
    with pytest.raises(peerpin.NotGpu):
        peerpin.export_dmabuf(bytearray(10))


def test_region_is_exported(ctx):
    with ctx.pin(gpu.CudaArray((MIB,))) as region, region.export_dmabuf(65536, 4096) as dmabuf:
        assert os.lseek(dmabuf.fileno(), 0, os.SEEK_END) == 4096


def test_peer_copies(ctx):
    x, host = gpu.CudaArray((MIB,)), np.zeros(4 * MIB, dtype=np.uint8)
    x.write(os.urandom(4 * MIB))
    with peerpin.Cache(ctx) as cache, peerpin.Peer("lsi0", cache) as peer:
        done = peer.copy(host, x)
        assert done.bytes == 4 * MIB and done.pins == 2 and host.tobytes() == x.read(4 * MIB)
        assert peer.copy(host, x).pins == 0
        for bad, error in ((bytes(4 * MIB), TypeError), (bytearray(10), ValueError)):
            with pytest.raises(error):
                peer.copy(bad, x)
        with pytest.raises(peerpin.NotMapped):
            peer.copy(4096, x, 4096)


# ---- files ------------------------------------------------------------------------------------

@pytest.fixture(name="path")
def a_file(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(os.urandom(MIB + 10))
    return path


def test_file_is_read_into_gpu_memory(path):
    x = gpu.CudaArray((MIB,))
    data = path.read_bytes()
    with peerpin.File(path) as file:
        done = file.read_into(x)
        assert done.bytes == len(data) == done.direct + done.bounced and x.read(len(data)) == data
        assert done.bounced == 0 or len(done.reason.split()) > 3
        assert file.read_into(x, 100, 50).bytes == 50 and x.read(50) == data[100:150]
        assert file.read_into(x, 10 * MIB).bytes == 0
        with pytest.raises(TypeError):
            file.read_into(bytes(100))
        with pytest.raises(peerpin.Error) as failed:
            file.write_from(x)
        assert failed.value.errno == errno.EBADF


def test_gpu_memory_is_written_to_a_file(tmp_path):
    x = gpu.CudaArray((1024,))
    x.write(os.urandom(4096))
    with peerpin.ViewCache() as views, peerpin.File(tmp_path / "new", writable=True, views=views) as file:
        assert file.write_from(x, 10).bytes == 4096
    assert (tmp_path / "new").read_bytes() == bytes(10) + x.read(4096)


def test_descriptor_stays_the_callers(path):
    with open(path, "rb") as f, peerpin.File(f) as file:
        file.read_into(bytearray(10))
        file.close()
        assert f.read(1)
    with pytest.raises(FileNotFoundError):
        peerpin.File(path.parent / "none")


# ---- lifetimes -------------------------------------------------------------------------------------

def test_any_order_of_closing_is_right():
    for order in ("crce", "ecrc", "rcec", "ceec", "cccc", "eerr"):
        ctx = peerpin.Context()
        x = gpu.CudaArray((MIB,))
        region, cache = ctx.pin(x), peerpin.Cache(ctx)
        entry = cache.get(x)
        for step in order:
            {"c": ctx, "r": region, "e": entry}[step].close()
        entry.close()
        ctx.close()
        assert regions() == 0
        with pytest.raises(ValueError):
            ctx.pin(x)
        with pytest.raises(ValueError):
            cache.get(x)


def test_entry_in_use_keeps_its_cache():
    x = gpu.CudaArray((MIB,))
    ctx = peerpin.Context()
    cache = peerpin.Cache(ctx)
    with cache.get(x) as reg:
        ctx.close()
        assert cache.closed and regions() == 1 and reg.id >= 0
    assert regions() == 0


def test_collected_handles_are_closed():
    x = gpu.CudaArray((MIB,))
    for _ in range(20):
        ctx = peerpin.Context()
        holder = [ctx, ctx.pin(x), peerpin.Cache(ctx)]
        holder += [holder[2].get(x), peerpin.Peer("lsi0", holder[2]), holder[1].map(), holder]
        del ctx, holder
        gc.collect()
        assert regions() == 0


def test_collection_inside_any_line_is_harmless(ctx):
    x = gpu.CudaArray((MIB,))
    old = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with peerpin.Cache(ctx) as cache:
            for _ in range(100):
                cycle = [cache.get(x), ctx.pin(x), ctx.pin(x).map(0, 4096)]
                cycle.append(cycle)
    finally:
        gc.set_threshold(*old)


def run(program):
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-W", "error", "-c", program], capture_output=True,
                          text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_exit_with_open_handles_is_silent():
    run("import gpu, numpy, peerpin\n"
        "gpu.start(); x = gpu.CudaArray((1 << 20,)); ctx = peerpin.Context(); region = ctx.pin(x)\n"
        "cache = peerpin.Cache(ctx); entry = cache.get(x); mapping = region.map()\n"
        "array = numpy.frombuffer(mapping.view, dtype='u1'); cycle = [entry, ctx]; cycle.append(cycle)\n"
        "peer = peerpin.Peer('lsi0', cache); views = peerpin.ViewCache(); peerpin.keep = [cycle, views, peer]\n")


# ---- threads and processes ------------------------------------------------------------------------------

def test_threads_share_everything(ctx):
    arrays = [gpu.CudaArray((MIB,)) for _ in range(6)]
    wrong = []

    def work(seed, cache):
        try:
            for i in range(150):
                with cache.get(arrays[(i * seed) % len(arrays)]) as reg:
                    assert reg.length == 4 * MIB
                if i % 50 == seed:
                    ctx.pin(arrays[seed]).close()
        except BaseException as error:
            wrong.append(error)

    with peerpin.Cache(ctx, max_entries=3) as cache:
        threads = [threading.Thread(target=work, args=(seed, cache)) for seed in range(1, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stats = cache.stats()
    assert wrong == [] and stats.hits + stats.misses >= 750


def test_close_during_calls_is_safe():
    x = gpu.CudaArray((MIB,))
    for _ in range(10):
        ctx = peerpin.Context()
        cache = peerpin.Cache(ctx)
        ends = []

        def work():
            try:
                while True:
                    cache.get(x).close()
                    ctx.pin(x).close()
            except BaseException as error:
                ends.append(type(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        ctx.close()
        for thread in threads:
            thread.join()
        assert ends == [ValueError] * 3 and regions() == 0


def test_calls_release_the_interpreter(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(bytes(32 * MIB))
    x, ticks, over = gpu.CudaArray((8 * MIB,)), [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    with peerpin.File(path) as file:
        start = time.monotonic()
        file.read_into(x)
        end = time.monotonic()
    over.set()
    thread.join()
    assert sum(start < at < end for at in ticks) > 1


def in_child(work):
    pid = os.fork()
    if not pid:
        signal.alarm(30)
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"child: {error!r}\n".encode())
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_child_of_fork_is_refused(ctx):
    x = mmap.mmap(-1, MIB)
    x.madvise(mmap.MADV_NOHUGEPAGE)  # fork() splits a pinned huge page, which revokes the pin
    region, cache = ctx.pin(x), peerpin.Cache(ctx)
    entry = cache.get(x)

    def child():
        for call in (lambda: ctx.pin(x), lambda: cache.get(x), lambda: region.map(), region.export_dmabuf, cache.stats):
            with pytest.raises(peerpin.NotOwned) as failed:
                call()
            assert failed.value.errno == errno.EACCES
        assert not region.valid
        entry.close()
        region.close()
        cache.close()
        ctx.close()
        with peerpin.Context() as own, own.pin(x) as pinned:
            assert pinned.valid

    in_child(child)
    assert region.valid and regions() == 2
    assert cache.get(x).id == entry.id
    entry.close()


def test_fork_during_calls_is_harmless(ctx):
    x, over = np.zeros(MIB, dtype=np.uint8), threading.Event()
    with peerpin.Cache(ctx, max_entries=1) as cache:
        def work():
            while not over.is_set():
                cache.get(x).close()
                ctx.pin(x).close()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()

        def child():
            cache.close()
            ctx.close()
            gc.collect()

        for _ in range(10):
            in_child(child)
        over.set()
        for thread in threads:
            thread.join()
