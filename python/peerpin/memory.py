# SPDX-License-Identifier: MIT
"""What memory an object has: its address, its length and its kind."""
import ctypes
import enum
import re
from typing import Any, Dict, Iterable, NamedTuple, Optional, Tuple

from ._ffi import ffi, lib
from .errors import check

__all__ = ["Bar1", "Kind", "Memory", "Span", "bar1", "query", "span", "sync_memops"]

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_DL_CUDA = 2


class Span(NamedTuple):
    """A range of memory; ``keep`` keeps the memory allocated while it exists."""

    addr: int
    length: int
    writable: bool
    keep: object


def _is_contiguous(dims: Iterable[Tuple[int, int]], item: int) -> bool:
    """Whether elements of dims (stride, size), in any order of dimensions, fill a range without holes"""
    step = item
    for stride, size in sorted(d for d in dims if d[1] > 1):
        if stride != step:
            return False
        step *= size
    return True


def _length(x: object, shape: Tuple[int, ...], strides: Optional[Tuple[int, ...]], item: int) -> int:
    count = 1
    for size in shape:
        count *= size
    if strides and count and not _is_contiguous(zip(strides, shape), item):
        raise ValueError(f"the {type(x).__name__} is not contiguous: make a contiguous copy first")
    return count * item


def _of_interface(x: object, interface: Dict[str, Any]) -> Span:
    addr, read_only = interface["data"]
    item = re.match(r"[<>|=].(\d+)", interface["typestr"])  # such as <f4, <M8[s]
    if item is None:
        raise TypeError(f"elements of the type {interface['typestr']} have no known size")
    length = _length(x, tuple(interface["shape"]), interface.get("strides"), int(item[1]))
    return Span(addr or 0, length, not read_only, x)


def _capsule_of(x: Any) -> Any:
    if x.__dlpack_device__()[0] != _DL_CUDA:
        return x.__dlpack__()
    try:
        return x.__dlpack__(stream=-1)  # no synchronisation with a stream, as only the address is needed
    except RuntimeError:
        return x.__dlpack__()  # JAX takes -1 for the address of a stream


def _of_dlpack(x: Any) -> Span:
    capsule = _capsule_of(x)
    tensor = ffi.cast("struct dl_tensor *", _capsule_pointer(capsule, b"dltensor"))
    item = (tensor.bits * tensor.lanes + 7) // 8
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None if tensor.strides == ffi.NULL else tuple(tensor.strides[i] * item for i in range(tensor.ndim))
    addr = int(ffi.cast("uintptr_t", tensor.data)) + tensor.byte_offset
    return Span(addr, _length(x, shape, strides, item), True, capsule)


def _of_buffer(x: Any) -> Optional[Span]:
    try:
        view = memoryview(x)
    except (TypeError, BufferError, ValueError, RuntimeError):
        return None
    if not view.contiguous:
        raise ValueError(f"the {type(x).__name__} is not contiguous: make a contiguous copy first")
    if not view.c_contiguous:
        return None
    buffer = ffi.from_buffer(view)
    return Span(int(ffi.cast("uintptr_t", buffer)), view.nbytes, not view.readonly, buffer)


def _find(x: Any) -> Span:
    if getattr(x, "requires_grad", False) and hasattr(x, "detach"):
        x = x.detach()  # PyTorch exports the address only of a tensor without gradient
    try:
        interface = x.__cuda_array_interface__
    except (AttributeError, TypeError, RuntimeError):
        interface = None
    if interface is not None:
        return _of_interface(x, interface)
    found = _of_buffer(x)
    if found is not None:
        return found
    if isinstance(getattr(x, "__array_interface__", None), dict):
        return _of_interface(x, x.__array_interface__)  # a type that buffers lack, such as bfloat16
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _of_dlpack(x)
    raise TypeError(f"{type(x).__name__} has no memory: it has neither __cuda_array_interface__ nor __dlpack__, and is no "
                    "buffer; pass an address and a length")


def span(x: object, length: Optional[int] = None) -> Span:
    """Return the memory of an object.

    x: an array or tensor (NumPy, PyTorch, CuPy, JAX, ...: anything with ``__cuda_array_interface__``, the buffer protocol
    or ``__dlpack__``), which must be contiguous and not empty. Or an address as int; then length is required.
    length: bytes, at most those of x; None: all.

    Raises TypeError (no memory), ValueError (not contiguous, empty, or shorter than length).
    """
    if isinstance(x, int):
        if length is None:
            raise TypeError("an address needs a length")
        found = Span(x, length, True, None)
    else:
        found = _find(x)
        if length is not None and length > found.length:
            raise ValueError(f"the {type(x).__name__} has {found.length} bytes, not {length}")
        found = found._replace(length=found.length if length is None else length)
    if found.length <= 0:
        raise ValueError("the memory is empty")
    return found


def pointer(addr: int) -> Any:
    """Return an address as void *."""
    return ffi.cast("void *", addr)


class Kind(enum.IntEnum):
    """enum pp_mem_kind"""

    HOST = 0
    GPU = 1
    MANAGED = 2


class Memory(NamedTuple):
    """What query() found out: struct pp_mem of libpeerpin.h

    device: CUDA's number of the GPU, -1 for host memory. base, size: the allocation; 0 for host memory. buffer_id: CUDA's
    id of the allocation. rdma: CUDA lets devices access the memory. pooled: of a stream-ordered pool.
    """

    kind: Kind
    device: int
    base: int
    size: int
    buffer_id: int
    rdma: bool
    pooled: bool


def _address(x: object) -> int:
    return x if isinstance(x, int) else span(x).addr


def query(x: object) -> Memory:
    """Return the kind of memory of an object or address: pp_query(3). Freed GPU memory is host memory."""
    mem = ffi.new("struct pp_mem *")
    check(lib.pp_query(pointer(_address(x)), mem))
    return Memory(Kind(mem.kind), mem.device, mem.base, mem.size, mem.buffer_id, bool(mem.rdma), bool(mem.pooled))


def sync_memops(x: object) -> None:
    """Make CUDA's copies on the allocation of x synchronous: pp_sync_memops(3). Caches do so themselves."""
    check(lib.pp_sync_memops(pointer(_address(x))))


class Bar1(NamedTuple):
    """The BAR1 aperture of a GPU in bytes, as NVML reports it"""

    name: str
    uuid: str
    pci: str
    total: int
    used: int
    free: int


def bar1(index: int = 0) -> Bar1:
    """Return the BAR1 usage of GPU number index of NVML: pp_bar1(3)."""
    out = ffi.new("struct pp_bar1 *")
    check(lib.pp_bar1(index, out))
    name, uuid, pci = (ffi.string(text).decode() for text in (out.name, out.uuid, out.pci))
    return Bar1(name, uuid, pci, out.total, out.used, out.free)
