# SPDX-License-Identifier: MIT
"""Pinned memory: contexts, regions, CPU mappings, dma-bufs."""
import enum
import errno
import mmap
import os
from typing import Any, List, Optional

from ._ffi import ffi, lib
from ._handle import Core, Handle
from .errors import Error, check
from .memory import pointer, span

__all__ = ["Context", "Dmabuf", "Mapping", "PinFlags", "Region", "export_dmabuf"]


class PinFlags(enum.IntFlag):
    """Kinds of pins of GPU memory: enum peerpin_pin_flags. Peers reach a PCIE pin by PCIe; it must be PERSISTENT, too."""

    PERSISTENT = 1
    PCIE = 2


class Dmabuf(Handle):
    """A dma-buf, closed with the handle; importers keep the memory.

    addr, length: its GPU memory, or for a dma-buf of a region the part of the region. offset: the offset of the memory that
    was passed, in the dma-buf.
    """

    def __init__(self, fd: int, addr: int, length: int, offset: int = 0) -> None:
        self.addr, self.length, self.offset = addr, length, offset
        self._fds: List[int] = [fd]

    def fileno(self) -> int:
        """Return the descriptor, which belongs to the handle."""
        if not self._fds:
            raise ValueError("the dma-buf is closed")
        return self._fds[0]

    def detach(self) -> int:
        """Return the descriptor, which the caller closes from now on."""
        fd = self.fileno()
        self._fds.clear()
        return fd

    def close(self) -> None:
        try:
            fd = self._fds.pop()
        except IndexError:
            return
        os.close(fd)

    @property
    def closed(self) -> bool:
        return not self._fds

    def __enter__(self) -> "Dmabuf":
        self.fileno()
        return self

    def __del__(self) -> None:
        if getattr(self, "_fds", None):
            self.close()


def export_dmabuf(x: object, length: Optional[int] = None) -> Dmabuf:
    """Export GPU memory as a dma-buf of the GPU's driver: pp_dmabuf_export(3). Needs no kernel module of peerpin."""
    memory = span(x, length)
    out, why = ffi.new("struct pp_dmabuf *"), ffi.new("struct pp_why *")
    check(lib.pp_dmabuf_export(pointer(memory.addr), memory.length, out, why), why)
    return Dmabuf(out.fd, out.addr, out.length, memory.addr - out.addr)


class Mapping(Handle):
    """Memory of a region, mapped for the CPU: ``view`` is a memoryview of bytes.

    The mapping and the pin of its region last until the last view goes (memoryviews, NumPy arrays over them). GPU memory is
    write-combined: write it in order, and do not read much. After its region is revoked, an access is a SIGBUS.
    """

    def __init__(self, region: "Region", offset: int, length: int, writable: bool) -> None:
        prot = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        out = ffi.new("void **")
        with region._core.use() as pinned:
            check(lib.pp_region_map(region._context, pinned, offset, length, prot, out))
            core = Core("mapping", out[0], _unmapper(region._context, length), region._core, owned=False)
        # the owner of the memory lives as long as any view, and ends the mapping
        owner = ffi.gc(ffi.cast("char *", out[0]), lambda _: core.close())
        view = memoryview(ffi.buffer(owner, length))
        self._view: Optional[memoryview] = view if writable else view.toreadonly()
        self.addr, self.length = region.addr + offset, length

    @property
    def view(self) -> memoryview:
        """The bytes; writes reach the memory"""
        if self._view is None:
            raise ValueError("the mapping is closed")
        return self._view

    def close(self) -> None:
        self._view = None

    @property
    def closed(self) -> bool:
        return self._view is None

    def __enter__(self) -> "Mapping":
        self.view
        return self

    def __del__(self) -> None:
        pass


def _unmapper(context: Any, length: int) -> Any:
    return lambda at: lib.pp_region_unmap(context, at, length)


class Region(Handle):
    """A pinned range: pass ``id`` and ``Context.fileno()`` to the driver of a device.

    addr, length: the region, whole pages. offset: the offset of the memory that was pinned, in the region.
    The region keeps the object that was pinned. close() unpins; it waits for DMA.
    """

    def __init__(self, context: "Context", pointer_to_region: Any, offset: int, keep: object) -> None:
        # stays open until the region is unpinned
        self._context = context._core._pointer[0]
        self._region = pointer_to_region
        self._core = Core("region", pointer_to_region, _unpinner(self._context), context._core, keep=keep)
        self.offset = offset

    @property
    def id(self) -> int:
        """The id for ioctls of a peer's driver, on the file of the context"""
        return int(self._region.id)

    @property
    def addr(self) -> int:
        return int(self._region.addr)

    @property
    def length(self) -> int:
        return int(self._region.length)

    @property
    def page_size(self) -> int:
        return int(self._region.page_size)

    @property
    def valid(self) -> bool:
        """Whether the region is pinned and not revoked: pp_region_valid(3)"""
        try:
            with self._core.use() as pinned:
                return bool(lib.pp_region_valid(self._context, pinned))
        except (ValueError, Error):
            return False

    def map(self, offset: int = 0, length: Optional[int] = None, *, writable: bool = True) -> Mapping:
        """Map the region, or a part of whole pages, for the CPU: pp_region_map(3)."""
        return Mapping(self, offset, self.length - offset if length is None else length, writable)

    def export_dmabuf(self, offset: int = 0, length: Optional[int] = None) -> Dmabuf:
        """Make a dma-buf of the region, or of a part of whole pages: pp_region_export(3)."""
        length = self.length - offset if length is None else length
        out = ffi.new("int *")
        with self._core.use() as pinned:
            check(lib.pp_region_export(self._context, pinned, offset, length, out))
        return Dmabuf(out[0], self.addr + offset, length, self.offset - offset)

    def __repr__(self) -> str:
        return f"<Region {self.id}: {self.length} bytes at {self.addr:#x}{', closed' if self.closed else ''}>"


def _unpinner(context: Any) -> Any:
    return lambda region: lib.pp_unpin(context, region)


class Context(Handle):
    """An open /dev/peerpin: pp_open(3). close() also closes the context's regions and caches.

    Raises Error with errno ENOENT if the module is not loaded, EACCES without permission.
    """

    def __init__(self) -> None:
        out = ffi.new("struct pp_ctx **")
        ret = lib.pp_open(out)
        if ret == -errno.ENOENT:
            raise Error(errno.ENOENT, "there is no /dev/peerpin; type: modprobe peerpin")
        if ret == -errno.EACCES:
            raise Error(errno.EACCES, "no permission for /dev/peerpin; type: adduser $USER peerpin, and log in again")
        check(ret)
        self._core = Core("context", out[0], lib.pp_close)

    def fileno(self) -> int:
        """Return the descriptor for the driver of a device; it belongs to the context."""
        with self._core.use() as ctx:
            return int(lib.pp_fd(ctx))

    def pin(self, x: object, length: Optional[int] = None, *, persistent: bool = False, pin_flags: int = 0) -> Region:
        """Pin GPU memory, or writable host memory: pp_pin_with(3).

        x, length: as for span(). pin_flags: PinFlags. persistent: adds PinFlags.PERSISTENT: the pin lasts until close(), even
        if the GPU memory is freed.
        Call sync_memops() before a device first accesses GPU memory, or use a Cache, which does.
        """
        memory = span(x, length)
        out, why = ffi.new("struct pp_region *"), ffi.new("struct pp_why *")
        with self._core.use() as ctx:
            flags = pin_flags | (PinFlags.PERSISTENT if persistent else 0)
            check(lib.pp_pin_with(ctx, pointer(memory.addr), memory.length, flags, out, why), why)
            return Region(self, out, memory.addr - out.addr, memory.keep)

    def pin_dmabuf(self, fd: Any, offset: int, length: int) -> Region:
        """Pin whole pages of a dma-buf of any driver: pp_pin_dmabuf(3). fd: a descriptor or an object with fileno()."""
        out, why = ffi.new("struct pp_region *"), ffi.new("struct pp_why *")
        fd = fd if isinstance(fd, int) else fd.fileno()
        with self._core.use() as ctx:
            check(lib.pp_pin_dmabuf(ctx, fd, offset, length, out, why), why)
            return Region(self, out, 0, None)
