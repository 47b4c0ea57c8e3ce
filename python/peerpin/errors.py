# SPDX-License-Identifier: MIT
"""Exceptions: one class for each reason of the library. The text is the sentence of pp_explain(), with numbers."""
import enum
import errno
from typing import Any, Dict, Optional, Type

from ._ffi import ffi, lib

__all__ = ["Error", "Reason", "NotMapped", "VendorRefused", "NoBar1", "NoProvider", "MemlockLimit", "RegionLimit",
           "NoMemory", "Revoked", "VendorError", "ProcessLimit", "TotalLimit", "NoApi", "Unaligned", "NotDmabuf",
           "NotOwned", "ManagedMemory", "NotGpu", "NotRdma", "PoolMemory", "SpansAllocations", "WatchLimit"]


class Reason(enum.IntEnum):
    """enum peerpin_reason; 0: unknown"""

    NONE = 0
    NOT_MAPPED = 1
    VENDOR_REFUSED = 2
    NO_BAR1 = 3
    NO_PROVIDER = 4
    MEMLOCK = 5
    LIMIT = 6
    NO_MEMORY = 7
    REVOKED = 8
    VENDOR_ERROR = 9
    PROCESS_BYTES = 10
    TOTAL_BYTES = 11
    NO_API = 12
    UNALIGNED = 13
    NOT_DMABUF = 14
    NOT_OWNED = 15
    MANAGED = 16
    NOT_GPU = 17
    NOT_RDMA = 18
    POOL = 19
    SPANS = 20
    WATCHED_BYTES = 21


class Error(OSError):
    """A call failed: ``errno`` is the error number, ``strerror`` the sentence.

    ``reason`` is a Reason, or an int that a newer library returned. The resource of the reason needed ``needed`` bytes,
    and ``available`` bytes were left; both are 0 if they are unknown.
    """

    reason: int
    needed: int
    available: int

    def __init__(self, number: int, text: str, reason: int = 0, needed: int = 0, available: int = 0) -> None:
        super().__init__(number, text)
        self.reason, self.needed, self.available = reason, needed, available

    def __reduce__(self) -> Any:
        return type(self), (self.errno, self.strerror, self.reason, self.needed, self.available)


class NotMapped(Error):
    """There is no memory, or no host memory that the process may write."""


class VendorRefused(Error):
    """The GPU's driver refused: freed, of another process, without the RDMA property, or past one allocation."""


class NoBar1(Error):
    """The BAR1 aperture has no room."""


class NoProvider(Error):
    """No kernel module for this kind of memory is loaded."""


class MemlockLimit(Error):
    """RLIMIT_MEMLOCK is too low."""


class RegionLimit(Error):
    """The process has too many regions."""


class NoMemory(Error):
    """The kernel has no memory."""


class Revoked(Error):
    """The memory was freed, or a huge page of it was split, during the call: call again once."""


class VendorError(Error):
    """The GPU's driver, or the exporter of a dma-buf, failed."""


class ProcessLimit(Error):
    """The module parameter max_process_bytes is too low."""


class TotalLimit(Error):
    """The module parameter max_total_bytes is too low."""


class NoApi(Error):
    """The GPU's driver cannot do this."""


class Unaligned(Error):
    """A range of a dma-buf must begin and end on pages."""


class NotDmabuf(Error):
    """The descriptor is not a dma-buf."""


class NotOwned(Error):
    """The handle belongs to the parent process: a child of fork() opens its own."""


class ManagedMemory(Error):
    """Managed memory moves and cannot be pinned."""


class NotGpu(Error):
    """The memory is not GPU memory."""


class NotRdma(Error):
    """The memory of cuMemCreate() was not made for devices (gpuDirectRDMACapable), or the GPU is integrated."""


class PoolMemory(Error):
    """The memory is of a pool that devices cannot use."""


class SpansAllocations(Error):
    """The range goes past its allocation or mapping, into another one, which begins at the address ``available``."""


class WatchLimit(Error):
    """The module parameter max_process_watched_bytes is too low."""


_CLASSES: Dict[int, Type[Error]] = {
    1: NotMapped, 2: VendorRefused, 3: NoBar1, 4: NoProvider, 5: MemlockLimit, 6: RegionLimit, 7: NoMemory, 8: Revoked,
    9: VendorError, 10: ProcessLimit, 11: TotalLimit, 12: NoApi, 13: Unaligned, 14: NotDmabuf, 15: NotOwned,
    16: ManagedMemory, 17: NotGpu, 18: NotRdma, 19: PoolMemory, 20: SpansAllocations, 21: WatchLimit,
}


def make(number: int, text: str, reason: int, needed: int = 0, available: int = 0) -> Error:
    """Return the exception for a reason."""
    known = Reason(reason) if reason in Reason._value2member_map_ else reason
    return _CLASSES.get(reason, Error)(number, text, known, needed, available)


def explained(ret: int, why: Any) -> Error:
    """Return the exception for a call that returned ret and filled in why (NULL: nothing)."""
    text = ffi.new("char[512]")
    lib.pp_explain(text, 512, ret, why)
    if why == ffi.NULL:
        return make(-ret, ffi.string(text).decode(), 0)
    return make(-ret, ffi.string(text).decode(), why.reason, why.needed, why.available)


def check(ret: int, why: Optional[Any] = None) -> None:
    """Raise the exception of a call that failed."""
    if ret < 0:
        raise explained(ret, ffi.NULL if why is None else why)


def not_owned() -> Error:
    """Return the exception for a handle of the parent process."""
    why = ffi.new("struct pp_why *", {"reason": Reason.NOT_OWNED})
    return explained(-errno.EACCES, why)
