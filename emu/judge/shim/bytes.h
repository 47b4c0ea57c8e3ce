/* SPDX-License-Identifier: MIT */
/* The bytes that the test copies to the GPU: a test should copy other bytes in each process. */
#ifndef SHIM_BYTES_H
#define SHIM_BYTES_H

/** bytes_note - call before each ioctl; adds a copy's bytes to the sum in the share */
void bytes_note(int fd, unsigned long request, const void *at);

#endif
