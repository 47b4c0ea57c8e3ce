#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python package on a real GPU, with the tensors of PyTorch, CuPy and JAX. Needs no kernel module of peerpin.
# scripts/h200 must have built the library. Needs cffi and at least one of the three packages.
#
#   sh bench/h200_python.sh [DIRECTORY]      (build/h200)
#
# Ends with a table. The exit status is 1 if a check fails, or none of the three packages is installed.
cd "$(dirname "$0")/.." || exit 1
bin=$(cd "${1:-build/h200}" 2>/dev/null && pwd)
[ -e "$bin/libpeerpin.so.1" ] || { echo "$0: ${1:-build/h200} has no libpeerpin.so.1; type: scripts/h200" >&2; exit 1; }
python3 -c 'import cffi' 2>/dev/null || { echo "$0: no cffi; type: pip install cffi" >&2; exit 1; }
export LD_LIBRARY_PATH="$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PYTHONPATH="$PWD/python${PYTHONPATH:+:$PYTHONPATH}"
export XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONDONTWRITEBYTECODE=1
exec python3 bench/h200_python.py
