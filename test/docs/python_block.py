# SPDX-License-Identifier: MIT
"""Runs the code block of doc/python.md that is on stdin, on an emulated GPU."""
import sys

import gpu
import peerpin


class Array(gpu.CudaArray):
    nbytes = 4 << 20


def device_send(fd, region, offset, length):
    assert fd > 2 and region >= 0 and offset == 0 and length == 4 << 20
    sent.append(region)


gpu.start()
sent = []
block = sys.stdin.read()
exec(compile(block, "doc/python.md", "exec"), {
    "peerpin": peerpin, "x": Array((1 << 20,)), "y": Array((1 << 20,)), "path": sys.executable, "device_send": device_send})
assert bool(sent) == ("device_send" in block)
