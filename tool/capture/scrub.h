/* SPDX-License-Identifier: MIT */
/*
 * Removes from files the data that identifies the owner: serial numbers, UUIDs, names of hosts and people. If a file
 * may contain anything, the function has a list of the parts to keep, not of those to remove.
 *
 * Edits @text, which has room for @length + 1 bytes. Returns the new length, which is not larger.
 */
#ifndef SCRUB_H
#define SCRUB_H

#include <stddef.h>

/* Keeps nothing; the capture only shows that the file exists. */
size_t scrub_all(char *text, size_t length);

/* A device's configuration space: keeps the capabilities that doctor and topo read. */
size_t scrub_config(char *text, size_t length);

/* The kernel's command line: keeps the words about PCI, IOMMUs and modules. */
size_t scrub_cmdline(char *text, size_t length);

/* Keeps the first processor, without values that change (MHz) and without the serial number. */
size_t scrub_cpuinfo(char *text, size_t length);

/* /proc/1/cgroup: keeps the kind of container, not its name. */
size_t scrub_cgroup(char *text, size_t length);

/* Keeps the numeric kernel version, without the suffix of its builder. */
size_t scrub_release(char *text, size_t length);

/* /proc/modules: replaces addresses by 0. */
size_t scrub_modules(char *text, size_t length);

/* Keeps the model and the device minor of a GPU, not its UUID and serial number. */
size_t scrub_information(char *text, size_t length);

/* "(user@host)", the builder of the driver, becomes "(@)". */
size_t scrub_builder(char *text, size_t length);

#endif
