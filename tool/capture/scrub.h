/* SPDX-License-Identifier: MIT */
/*
 * Removes from files the data that identifies the owner: serial numbers, UUIDs, names of hosts and people. If the
 * contents of a file are not known in advance, its function has a list of the parts to keep.
 *
 * Each function edits @text, which has room for @length + 1 bytes, and returns the new length, at most @length.
 */
#ifndef SCRUB_H
#define SCRUB_H

#include <stddef.h>

/* Removes all contents: the capture only shows that the file exists. */
size_t scrub_all(char *text, size_t length);

/* A device's configuration space: keeps the capabilities that doctor and topo read. */
size_t scrub_config(char *text, size_t length);

/* The kernel's command line: keeps the words about PCI, IOMMUs and modules. */
size_t scrub_cmdline(char *text, size_t length);

/* /proc/cpuinfo: keeps the first processor, without its serial number and values that change (MHz). */
size_t scrub_cpuinfo(char *text, size_t length);

/* /proc/1/cgroup: keeps the kind of container, and removes its name. */
size_t scrub_cgroup(char *text, size_t length);

/* osrelease: keeps the numeric kernel version, and removes the suffix that the builder added. */
size_t scrub_release(char *text, size_t length);

/* /proc/modules: replaces addresses by 0. */
size_t scrub_modules(char *text, size_t length);

/* The driver's file about a GPU: keeps the model and the device minor, and removes UUID and serial number. */
size_t scrub_information(char *text, size_t length);

/* The driver's version file: replaces the builder "(user@host)" by "(@)". */
size_t scrub_builder(char *text, size_t length);

#endif
