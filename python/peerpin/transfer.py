# SPDX-License-Identifier: MIT
"""Copies by a peer device, and between files and memory."""
import os
from typing import Any, NamedTuple, Optional, Union

from ._ffi import ffi, lib
from ._handle import Core, Handle
from .cache import Cache, ViewCache
from .errors import check
from .memory import Span, pointer, span

__all__ = ["Copy", "File", "Peer", "Transfer"]


def _writable(x: object, length: Optional[int]) -> Span:
    memory = span(x, length)
    if not memory.writable:
        raise TypeError(f"the {type(x).__name__} is read-only")
    return memory


class Copy(NamedTuple):
    """struct pp_copy_result; times in nanoseconds"""

    bytes: int
    engine_ns: int
    total_ns: int
    pins: int
    pin_ns: int


class Peer(Handle):
    """A peer device that copies ("lsi0", or a path): pp_peer(3)"""

    def __init__(self, name: str, cache: Cache) -> None:
        out = ffi.new("struct pp_peer **")
        with cache._core.use() as regions:
            check(lib.pp_peer_open(os.fsencode(name), regions, out))
            self._core = Core("peer", out[0], lib.pp_peer_close, cache._core)

    def copy(self, dst: object, src: object, length: Optional[int] = None) -> Copy:
        """Copy src to dst, which must be at least as long. length is required for addresses.

        Copies again, once, if memory is revoked meanwhile. Do not free the memory during the copy.
        """
        from_ = span(src, length)
        to = _writable(dst, length if isinstance(dst, int) else None)
        if to.length < from_.length:
            raise ValueError(f"the destination has {to.length} bytes, not {from_.length}")
        r = ffi.new("struct pp_copy_result *")
        with self._core.use() as peer:
            ret = lib.pp_peer_copy(peer, pointer(to.addr), pointer(from_.addr), from_.length, r)
        check(ret, ffi.addressof(r, "why"))
        return Copy(r.bytes, r.engine_ns, r.total_ns, r.pins, r.pin_ns)


class Transfer(NamedTuple):
    """How read_into() or write_from() moved the bytes: struct pp_file_result

    direct: bytes by the disk's DMA. bounced: bytes through host memory. reason: a sentence about the first bounced byte.
    """

    bytes: int
    direct: int
    bounced: int
    reason: str
    error: int
    total_ns: int


class File(Handle):
    """A file or disk that is read into, and written from, GPU or host memory: pp_file(3).

    file: a path; or a descriptor or an object with fileno(), which stays the caller's. writable: only for a path: create it
    if needed. views: a cache that several files share; None: the file has its own.
    """

    def __init__(self, file: Union[str, "os.PathLike[str]", int, Any], *, writable: bool = False,
                 views: Optional[ViewCache] = None) -> None:
        self._views: Optional[ViewCache] = None if views else ViewCache()
        of = views or self._views
        assert of is not None
        opened = -1
        if isinstance(file, (str, os.PathLike)):
            fd = opened = os.open(file, os.O_CLOEXEC | (os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY), 0o666)
        else:
            fd = file if isinstance(file, int) else file.fileno()
        out = ffi.new("struct pp_file **")
        try:
            with of._core.use() as cache:
                check(lib.pp_file_open(fd, cache, out))
                self._core = Core("file", out[0], lib.pp_file_close, of._core)
        finally:
            if opened >= 0:
                os.close(opened)

    def read_into(self, x: object, offset: int = 0, length: Optional[int] = None) -> Transfer:
        """Read into the memory of x, from offset of the file on. At the end of the file fewer bytes are read."""
        memory = _writable(x, length)
        return self._move(lib.pp_file_read, memory, offset)

    def write_from(self, x: object, offset: int = 0, length: Optional[int] = None) -> Transfer:
        """Write the memory of x at offset of the file. Wait for GPU work on x first."""
        return self._move(lib.pp_file_write, span(x, length), offset)

    def _move(self, call: Any, memory: Span, offset: int) -> Transfer:
        r = ffi.new("struct pp_file_result *")
        with self._core.use() as file:
            check(call(file, pointer(memory.addr), memory.length, offset, r))
        reason = ffi.string(lib.pp_file_strreason(r.reason)).decode()
        return Transfer(r.direct + r.bounced, r.direct, r.bounced, reason, r.error, r.total_ns)

    def close(self) -> None:
        super().close()
        if self._views is not None:
            self._views.close()
