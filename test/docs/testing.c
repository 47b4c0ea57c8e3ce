// SPDX-License-Identifier: MIT
// C only: the harness of the tests is not C++
BLOCK
