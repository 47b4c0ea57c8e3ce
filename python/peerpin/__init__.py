# SPDX-License-Identifier: MIT
"""GPU and host memory for PCIe devices: libpeerpin for Python.

query(x) says what memory an array has. Context.pin(x) pins it, Cache.get(x) keeps pins, export_dmabuf(x) makes a dma-buf
for other drivers, File.read_into(x) reads a file into it. peerpin.verbs registers it with an RDMA adapter. x is anything
with ``__cuda_array_interface__``, ``__dlpack__`` or the buffer protocol (PyTorch, CuPy, JAX, NumPy, ...), or an address.

An example, which runs without a GPU, with host memory::

    import numpy, peerpin

    x = numpy.zeros(1 << 20, "u1")
    print(peerpin.query(x))
    with peerpin.File("model.bin") as file:             # a path, or any object with fileno()
        print(file.read_into(x))                        # bytes by the disk's DMA and through host memory, and why
    with peerpin.Context() as ctx, peerpin.Cache(ctx) as cache:     # needs the module: peerpin-emu run -- python3 my.py
        with cache.get(x) as reg:                       # pins x; a second get is a hit
            print(reg.id, reg.offset, cache.stats())    # a driver takes ctx.fileno(), id and offset

All handles are context managers. Any thread may call anything; calls release the interpreter's lock. Closing frees an
object when nothing made from it is in use any more, in the right order. A child of fork() gets NotOwned from handles of
its parent. The man pages of the C functions have the details: pp_region(3), pp_cache(3), pp_file(3), pp_verbs(3).
"""
from . import errors
from .cache import Cache, CacheStats, CachedDmabuf, CachedRegion, CachedView, DmabufCache, ViewCache, Watch
from .errors import (Error, ManagedMemory, MemlockLimit, NoApi, NoBar1, NoMemory, NoProvider, NotDmabuf, NotGpu, NotMapped,
                     NotOwned, NotRdma, PoolMemory, ProcessLimit, Reason, RegionLimit, Revoked, SpansAllocations,
                     TotalLimit, Unaligned, VendorError, VendorRefused, WatchLimit)
from .memory import Bar1, Kind, Memory, Span, bar1, query, span, sync_memops
from .region import Context, Dmabuf, Mapping, PinFlags, Region, export_dmabuf
from .transfer import Copy, File, Peer, Transfer

__version__ = "1.0.0"

__all__ = [
    "Bar1", "Cache", "CacheStats", "CachedDmabuf", "CachedRegion", "CachedView", "Context", "Copy", "Dmabuf",
    "DmabufCache", "Error", "File", "Kind", "ManagedMemory", "Mapping", "MemlockLimit", "Memory", "NoApi", "NoBar1",
    "NoMemory", "NoProvider", "NotDmabuf", "NotGpu", "NotMapped", "NotOwned", "NotRdma", "Peer", "PinFlags", "PoolMemory",
    "ProcessLimit", "Reason", "Region", "RegionLimit", "Revoked", "Span", "SpansAllocations", "TotalLimit", "Transfer",
    "Unaligned", "VendorError", "VendorRefused", "ViewCache", "Watch", "WatchLimit", "bar1", "errors",
    "export_dmabuf", "query", "span", "sync_memops",
]
