# SPDX-License-Identifier: MIT
"""What memory an object has. Also runs on the host, without a GPU: test/host/python."""
import array
import errno
import pickle

import numpy as np
import peerpin
import pytest


def test_numpy_array_is_host_memory():
    x = np.arange(10, dtype=np.int32)
    assert peerpin.span(x)[:3] == (x.ctypes.data, 40, True)
    assert peerpin.query(x).kind == peerpin.Kind.HOST
    assert peerpin.span(np.asfortranarray(np.ones((3, 4))))[1] == 96
    assert peerpin.span(np.ones((3, 4)).T)[1] == 96


@pytest.mark.parametrize("kind", [bytes, bytearray, lambda b: memoryview(b)[1:], lambda b: array.array("B", b)],
                         ids=["bytes", "bytearray", "memoryview", "array"])
def test_buffers_have_memory(kind):
    x = kind(b"12345678")
    memory = peerpin.span(x)
    assert memory.length == len(memoryview(x))
    assert memory.writable is not memoryview(x).readonly


def test_span_keeps_a_bytearray():
    x = bytearray(100)
    memory = peerpin.span(x)
    with pytest.raises(BufferError):
        x.extend(b"more")
    del memory
    x.extend(b"more")


def test_types_without_buffers_work():
    x = np.zeros(4, dtype="datetime64[s]")
    assert peerpin.span(x)[:2] == (x.ctypes.data, 32)


class OnlyDLPack:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class NeedsDetach(OnlyDLPack):
    requires_grad = True

    def __dlpack__(self):
        raise RuntimeError("detach first")

    def detach(self):
        return OnlyDLPack(self.x)


@pytest.mark.parametrize("wrap", [OnlyDLPack, NeedsDetach], ids=["plain", "gradient"])
def test_dlpack_of_host_memory(wrap):
    x = np.arange(20, dtype=np.int16)[4:]
    assert peerpin.span(wrap(x))[:2] == (x.ctypes.data, 32)


@pytest.mark.parametrize("x", [np.zeros((4, 4))[:, 1], np.zeros(10)[::2], OnlyDLPack(np.zeros((4, 4))[:, 1]), np.zeros(0),
                               b""], ids=["column", "step", "dlpack", "empty_array", "empty_bytes"])
def test_holes_and_emptiness_are_refused(x):
    with pytest.raises(ValueError):
        peerpin.span(x)


def test_lengths_are_checked():
    x = np.zeros(10, dtype=np.uint8)
    assert peerpin.span(x, 5).length == 5
    assert peerpin.span(x.ctypes.data, 5)[:2] == (x.ctypes.data, 5)
    for bad in (0, 11):
        with pytest.raises(ValueError):
            peerpin.span(x, bad)
    for bad in (x.ctypes.data, "text", None, object()):
        with pytest.raises(TypeError):
            peerpin.span(bad)


def test_errors_survive_pickling():
    error = peerpin.errors.make(errno.ENOMEM, "a sentence", peerpin.Reason.NO_BAR1, 10, 5)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is peerpin.NoBar1 and again.args == error.args
    assert (again.errno, again.strerror, again.reason, again.needed, again.available) == (12, "a sentence", 3, 10, 5)


def test_newer_reasons_are_errors():
    error = peerpin.errors.make(errno.EIO, "a sentence", 99)
    assert type(error) is peerpin.Error and error.reason == 99


def test_each_reason_has_a_class():
    classes = {type(peerpin.errors.make(errno.EIO, "", reason)) for reason in peerpin.Reason if reason}
    assert len(classes) == len(peerpin.Reason) - 1 and peerpin.Error not in classes
