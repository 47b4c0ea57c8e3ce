# SPDX-License-Identifier: MIT
"""Registration caches: of regions, of dma-bufs, of CPU views."""
import enum
from typing import Any, Generic, NamedTuple, Optional, Type, TypeVar

from ._ffi import ffi, lib
from ._handle import Core, Handle
from .errors import check
from .memory import Span, pointer, span
from .region import Context

__all__ = ["Cache", "CacheStats", "CachedDmabuf", "CachedRegion", "CachedView", "DmabufCache", "ViewCache", "Watch"]


class Watch(enum.IntEnum):
    """How a cache learns that memory was freed: enum pp_cache_watch"""

    BEST = 0
    EPOCH = 1
    HOOK = 2
    TAG = 3
    NONE = 4


class CacheStats(NamedTuple):
    """Counts since the cache was made; entries and bytes are present totals"""

    hits: int
    misses: int
    evictions: int
    revocations: int
    pins: int
    unpins: int
    pin_ns: int
    entries: int
    bytes: int


class _Entry(Handle):
    """A get of a cache; close() puts the entry, which stays registered. It keeps the object that was passed."""

    def __init__(self, cache: "_Cache[Any]", found: Any, memory: Span) -> None:
        self._reg: Any = found.reg
        self._core = Core("entry", (cache._core._pointer[0], found), _put, cache._core, owned=False, keep=memory.keep)
        self._begin = memory.addr
        self.request_length = memory.length

    def _registration(self, kind: str) -> Any:
        if self._core.closed:
            raise ValueError("the entry is closed")
        return ffi.cast(kind, self._reg)


def _put(both: Any) -> None:
    lib.pp_cache_put(*both)


class CachedRegion(_Entry):
    """An entry of a Cache: pass ``id``, ``offset`` and ``Context.fileno()`` to the driver of a device."""

    @property
    def _region(self) -> Any:
        return self._registration("struct pp_region *")

    @property
    def id(self) -> int:
        return int(self._region.id)

    @property
    def addr(self) -> int:
        return int(self._region.addr)

    @property
    def length(self) -> int:
        return int(self._region.length)

    @property
    def offset(self) -> int:
        """Offset of the requested memory in the region"""
        return self._begin - self.addr


class CachedDmabuf(_Entry):
    """An entry of a DmabufCache. The descriptor belongs to the cache: end all imports of it before close()."""

    @property
    def _dmabuf(self) -> Any:
        return self._registration("const struct pp_dmabuf *")

    def fileno(self) -> int:
        """Return the descriptor, which belongs to the cache."""
        return int(self._dmabuf.fd)

    @property
    def addr(self) -> int:
        return int(self._dmabuf.addr)

    @property
    def length(self) -> int:
        return int(self._dmabuf.length)

    @property
    def offset(self) -> int:
        """Offset of the requested memory in the dma-buf"""
        return self._begin - self.addr


class CachedView(_Entry):
    """An entry of a ViewCache: GPU memory that is mapped for the CPU, for direct I/O."""

    @property
    def at(self) -> int:
        """CPU address of the requested memory"""
        view = self._registration("const struct pp_view *")
        return int(ffi.cast("uintptr_t", view.at)) + self._begin - int(view.addr)


E_co = TypeVar("E_co", bound=_Entry)


class _Cache(Handle, Generic[E_co]):
    _entry: Type[E_co]

    def _open(self, create: Any, limits: Any, parent: Optional[Core]) -> None:
        out = ffi.new("struct pp_cache **")
        attr = ffi.new("struct pp_cache_attr *", limits)
        check(create(attr, out))
        self._core = Core("cache", out[0], lib.pp_cache_destroy, parent)

    def get(self, x: object, length: Optional[int] = None) -> E_co:
        """Return a registration that covers the memory of x, cached if there is one: pp_cache_get(3).

        x, length: as for span(). Use the entry in ``with``, or close it when no device uses it any more.
        """
        memory = span(x, length)
        out, why = ffi.new("struct pp_cache_entry **"), ffi.new("struct pp_why *")
        with self._core.use() as cache:
            check(lib.pp_cache_get(cache, pointer(memory.addr), memory.length, out, why), why)
            return self._entry(self, out[0], memory)

    def invalidate(self, x: object, length: Optional[int] = None) -> None:
        """Remove all entries that overlap the memory of x: pp_cache_invalidate(3)."""
        memory = span(x, length)
        with self._core.use() as cache:
            lib.pp_cache_invalidate(cache, pointer(memory.addr), memory.length)

    def flush(self) -> None:
        """Unregister all idle entries."""
        with self._core.use() as cache:
            lib.pp_cache_flush(cache)

    def stats(self) -> CacheStats:
        """Return the counters."""
        out = ffi.new("struct pp_cache_stats *")
        with self._core.use() as cache:
            lib.pp_cache_stats(cache, out)
        return CacheStats(*(int(getattr(out, name)) for name in CacheStats._fields))


class Cache(_Cache[CachedRegion]):
    """A registration cache of regions: ``with cache.get(tensor) as reg``.

    Above max_bytes or max_entries (0: no limit) idle entries are evicted. close() keeps entries in use until they are put.
    pin_flags: PinFlags of all pins. With PinFlags.PERSISTENT the cache pins GPU memory only, and cannot have Watch.EPOCH.
    """

    _entry = CachedRegion

    def __init__(self, context: Context, *, max_bytes: int = 0, max_entries: int = 0, watch: Watch = Watch.BEST,
                 pin_flags: int = 0) -> None:
        limits = {"max_bytes": max_bytes, "max_entries": max_entries, "watch": watch, "pin_flags": pin_flags}
        with context._core.use() as ctx:
            self._open(lambda attr, out: lib.pp_cache_create_ctx(ctx, attr, out), limits, context._core)


class DmabufCache(_Cache[CachedDmabuf]):
    """A cache of dma-bufs of the GPU's driver; needs no kernel module of peerpin."""

    _entry = CachedDmabuf

    def __init__(self, *, max_bytes: int = 0, max_entries: int = 0, watch: Watch = Watch.BEST) -> None:
        self._open(lib.pp_cache_create_dmabuf,
                   {"max_bytes": max_bytes, "max_entries": max_entries, "watch": watch}, None)


class ViewCache(_Cache[CachedView]):
    """A cache of CPU mappings of GPU memory, for File and for direct I/O; needs no kernel module of peerpin."""

    _entry = CachedView

    def __init__(self, *, max_bytes: int = 0, max_entries: int = 0) -> None:
        self._open(lib.pp_cache_create_view, {"max_bytes": max_bytes, "max_entries": max_entries}, None)
