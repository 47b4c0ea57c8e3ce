/* SPDX-License-Identifier: MIT */
/*
 * Removes from files what tells whose machine it is: serial numbers, UUIDs, names of hosts and people. What is kept is
 * listed rather than what is dropped, wherever a file may hold anything.
 *
 * @text is changed, and has room for @length + 1 bytes. The new length, which is not larger.
 */
#ifndef SCRUB_H
#define SCRUB_H

#include <stddef.h>

/* Nothing but that the file is there. */
size_t scrub_all(char *text, size_t length);

/* A device's configuration space: of its capabilities those that doctor and topo read. */
size_t scrub_config(char *text, size_t length);

/* The kernel's command line: what is about PCI, IOMMUs and modules. */
size_t scrub_cmdline(char *text, size_t length);

/* The first processor, without what changes from one moment to the next. */
size_t scrub_cpuinfo(char *text, size_t length);

/* /proc/1/cgroup: the kind of container, not its name. */
size_t scrub_cgroup(char *text, size_t length);

/* The kernel's version, without what those who built it have added. */
size_t scrub_release(char *text, size_t length);

/* /proc/modules without addresses. */
size_t scrub_modules(char *text, size_t length);

/* Of a GPU's lines, which have its UUID and serial number, that which says what its node is. */
size_t scrub_information(char *text, size_t length);

/* "(user@host)" who compiled the driver becomes "(@)". */
size_t scrub_builder(char *text, size_t length);

#endif
