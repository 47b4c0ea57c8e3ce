/* SPDX-License-Identifier: MIT */
#ifndef EXPORT_H
#define EXPORT_H

/* A second exported name of a function. The name must not be a macro at that place. */
#define ALIAS(name, target) \
	extern __typeof__(target) name __attribute__((alias(#target), visibility("default")))

#endif
