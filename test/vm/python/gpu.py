# SPDX-License-Identifier: MIT
"""Arrays in GPU memory for the tests: by the driver API, as tensor libraries present them."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
Pointer = ctypes.c_uint64


def must(result):
    assert result == 0, f"CUDA error {result}"


def start():
    context = ctypes.c_void_p()
    must(cuda.cuInit(0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))


class Buffer:
    """GPU memory, freed with the last reference."""

    def __init__(self, length):
        self.at, self.length = Pointer(), length
        must(cuda.cuMemAlloc_v2(ctypes.byref(self.at), ctypes.c_size_t(length)))

    @property
    def address(self):
        return self.at.value

    def free(self):
        if self.at.value:
            must(cuda.cuMemFree_v2(self.at))
            self.at.value = 0

    def __del__(self):
        self.free()

    def write(self, data):
        must(cuda.cuMemcpyHtoD_v2(self.at, bytes(data), ctypes.c_size_t(len(data))))

    def read(self, length):
        out = ctypes.create_string_buffer(length)
        must(cuda.cuMemcpyDtoH_v2(out, self.at, ctypes.c_size_t(length)))
        return out.raw


class CudaArray(Buffer):
    """As CuPy, Numba, JAX and PyTorch: __cuda_array_interface__"""

    def __init__(self, shape, item=4, strides=None):
        self.shape, self.item, self.strides = shape, item, strides
        length = item
        for size in shape:
            length *= size
        super().__init__(length)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": f"<f{self.item}", "data": (self.address, False), "version": 3,
                "strides": self.strides}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class DLPackArray(Buffer):
    """As a tensor library that has only __dlpack__"""

    def __init__(self, shape, offset=0, strides=None, refused_streams=()):
        length = 4
        for size in shape:
            length *= size
        super().__init__(length + offset)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self.tensor = _Tensor(self.address, 2, 0, len(shape), 2, 32, 1, self.shape, self.strides, offset, None, None)
        self.streams = []
        self.refused_streams = refused_streams

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        if stream in self.refused_streams:
            raise RuntimeError("invalid resource handle")
        return _new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)
