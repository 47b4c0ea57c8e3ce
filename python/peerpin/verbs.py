# SPDX-License-Identifier: MIT
"""Memory regions of RDMA adapters.

register() makes a memory region in one call, from a PD of pyverbs (python3-pyverbs). Registrar caches memory regions, as
pp_verbs(3) does, for a program that has the address of a struct ibv_pd.
"""
import enum
import errno
from typing import Any, Callable, List, Optional, Tuple

from . import errors
from ._ffi import ffi, load
from ._ffi import lib as _lib
from ._handle import Core, Handle
from .cache import CacheStats
from .memory import Kind, Span, pointer, query, span
from .region import Context, Dmabuf, export_dmabuf

__all__ = ["MemoryRegion", "RegisteredMemory", "Registrar", "Way", "register"]

_LOCAL_WRITE = 1


class Way(enum.IntEnum):
    """How memory was registered: enum pp_mr_way"""

    HOST = 0
    VENDOR_DMABUF = 1
    PEERPIN_DMABUF = 2
    PEER_MEMORY = 3


# ---- one call, with pyverbs -----------------------------------------------------------------

class RegisteredMemory(Handle):
    """A memory region of pyverbs (``mr``), and what it needs until close().

    addr: the address for work requests: ``SGE(m.addr, m.length, m.lkey)``. For a dma-buf, pyverbs counts addresses from the
    begin of the dma-buf; else the address is the program's own. length: bytes. way: how the memory was registered.
    """

    def __init__(self, mr: Any, addr: int, length: int, way: Way, held: List[Handle], keep: object) -> None:
        self.mr, self.addr, self.length, self.way = mr, addr, length, way
        self.lkey, self.rkey = int(mr.lkey), int(mr.rkey)
        self._core = Core("memory region", mr, lambda it: _end(it, held), keep=keep)


def _end(mr: Any, held: List[Handle]) -> None:
    mr.close()
    for handle in held:
        handle.close()


_Attempt = Tuple[Any, int, Way, List[Handle]]


def _by_address(pd: Any, memory: Span, access: int, way: Way) -> _Attempt:
    from pyverbs.mr import MR
    return MR(pd, memory.length, access, address=memory.addr), memory.addr, way, []


def _by_dmabuf(pd: Any, memory: Span, access: int, dmabuf: Dmabuf, way: Way, held: List[Handle]) -> _Attempt:
    from pyverbs.mr import DmaBufMR
    with dmabuf:  # the memory region keeps the memory
        mr = DmaBufMR(pd, memory.length, access, dmabuf=dmabuf.fileno(), offset=dmabuf.offset)
    return mr, dmabuf.offset, way, held


def _by_region(pd: Any, memory: Span, access: int) -> _Attempt:
    ctx = Context()
    try:
        region = ctx.pin(memory.addr, memory.length)
        return _by_dmabuf(pd, memory, access, region.export_dmabuf(), Way.PEERPIN_DMABUF, [region, ctx])
    except BaseException:
        ctx.close()
        raise


def register(pd: Any, x: object, access: int = _LOCAL_WRITE, length: Optional[int] = None) -> RegisteredMemory:
    """Register the memory of x with the adapter of a pyverbs PD, in the first way that works.

    GPU memory: a dma-buf of the GPU's driver, a dma-buf of a region of /dev/peerpin, peer memory. Other memory: by address.
    access: pyverbs.enums.IBV_ACCESS_*. x, length: as for span().
    """
    memory = span(x, length)
    ways: List[Tuple[str, Callable[[], _Attempt]]] = [
        ("host memory", lambda: _by_address(pd, memory, access, Way.HOST))]
    if query(memory.addr).kind != Kind.HOST:
        ways = [
            ("a dma-buf of the GPU's driver", lambda: _by_dmabuf(
                pd, memory, access, export_dmabuf(memory.addr, memory.length), Way.VENDOR_DMABUF, [])),
            ("a dma-buf of /dev/peerpin", lambda: _by_region(pd, memory, access)),
            ("peer memory", lambda: _by_address(pd, memory, access, Way.PEER_MEMORY)),
        ]
    failed: List[str] = []
    first = errno.EINVAL
    for name, attempt in ways:
        try:
            mr, addr, way, held = attempt()
        except Exception as error:  # of pyverbs or of peerpin
            number = getattr(error, "errno", None) or getattr(error, "error_code", None) or errno.EIO
            first = first if failed else number
            failed.append(f"{name}: {getattr(error, 'strerror', None) or error}")
            continue
        return RegisteredMemory(mr, addr, memory.length, way, held, (pd, memory.keep))
    raise errors.Error(first, "; ".join(failed))


# ---- cached, by libpeerpin-verbs ---------------------------------------------------------------

class MemoryRegion(Handle):
    """A cached registration. Work requests use the program's own addresses.

    addr, length: the memory that was passed. The keys give access to base and size, which may be more.
    """

    def __init__(self, registrar: "Registrar", mr: Any, memory: Span) -> None:
        self.addr, self.length = memory.addr, memory.length
        self.lkey, self.rkey = int(mr.mr.lkey), int(mr.mr.rkey)
        self.base, self.size = int(mr.addr), int(mr.length)
        self.way = Way(mr.way)
        lib, v = registrar._lib, registrar._core._pointer[0]
        self._core = Core("memory region", mr, lambda p: lib.pp_verbs_unreg(v, p), registrar._core, owned=False,
                          keep=memory.keep)


class Registrar(Handle):
    """Cached registrations in a protection domain: pp_verbs(3).

    pd: the address of a struct ibv_pd. keep: what must exist as long as the protection domain.
    access: enum ibv_access_flags of all registrations. pin_flags: PinFlags of the pins of Way.PEERPIN_DMABUF.
    """

    def __init__(self, pd: int, access: int = _LOCAL_WRITE, *, max_bytes: int = 0, max_entries: int = 0,
                 pin_flags: int = 0, keep: object = None) -> None:
        self._lib = load("libpeerpin-verbs.so.1", "libpeerpin-verbs1")
        out = ffi.new("struct pp_verbs **")
        limits = ffi.new("struct pp_cache_attr *",
                         {"max_bytes": max_bytes, "max_entries": max_entries, "pin_flags": pin_flags})
        errors.check(self._lib.pp_verbs_open(ffi.cast("struct ibv_pd *", pd), access, limits, out))
        self._core = Core("registrar", out[0], self._lib.pp_verbs_close, keep=keep)

    def register(self, x: object, length: Optional[int] = None) -> MemoryRegion:
        """Return a registration of the memory of x, cached if there is one: pp_verbs_reg(3)."""
        memory = span(x, length)
        out, why = ffi.new("struct pp_mr **"), ffi.new("struct pp_mr_why *")
        with self._core.use() as v:
            ret = self._lib.pp_verbs_reg(v, pointer(memory.addr), memory.length, out, why)
            if ret:
                raise self._error(ret, why)
            return MemoryRegion(self, out[0], memory)

    def _error(self, ret: int, why: Any) -> errors.Error:
        text = ffi.new("char[2048]")
        self._lib.pp_verbs_explain(text, 2048, ret, why)
        return errors.make(-ret, ffi.string(text).decode(), why.why.reason, why.why.needed, why.why.available)

    def stats(self) -> CacheStats:
        """Return the counters of the cache of registrations."""
        out = ffi.new("struct pp_cache_stats *")
        with self._core.use() as v:
            _lib.pp_cache_stats(self._lib.pp_verbs_cache(v), out)
        return CacheStats(*(int(getattr(out, name)) for name in CacheStats._fields))
