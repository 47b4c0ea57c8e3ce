# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Before a block of doc/emulator.md, whose machine has no device for the driver:
# a test that it was loaded.
rm mytest
printf '#!/bin/sh\ngrep -q "^mydriver " /proc/modules\n' >mytest
chmod +x mytest
