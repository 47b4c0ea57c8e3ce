# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Before a block of doc/storage.md: a file to copy from.
mkdir -p /data
head -c 4194304 /dev/urandom >/data/model.bin
