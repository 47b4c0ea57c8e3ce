// SPDX-License-Identifier: MIT
BLOCK
