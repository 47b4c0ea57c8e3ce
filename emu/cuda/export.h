/* SPDX-License-Identifier: MIT */
#ifndef EXPORT_H
#define EXPORT_H

#define EXPORTED __attribute__((visibility("default")))

/* A second exported name of a function; it must be no macro where this is used. */
#define ALIAS(name, target) \
	extern __typeof__(target) name __attribute__((alias(#target), visibility("default")))

/* The prototype of an exported function that cuda.h lacks, and that takes what @like takes. */
#define VARIANT(name, like) extern __typeof__(like) name EXPORTED

#endif
