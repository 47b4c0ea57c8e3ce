/* SPDX-License-Identifier: MIT */
#ifndef EXPORT_H
#define EXPORT_H

#define EXPORTED __attribute__((visibility("default")))

/* A second exported name of a function. @name must not be a macro where ALIAS() is used. */
#define ALIAS(name, target) \
	extern __typeof__(target) name __attribute__((alias(#target), visibility("default")))

/* Declares an exported function that cuda.h lacks, with the prototype of @like. */
#define VARIANT(name, like) extern __typeof__(like) name EXPORTED

#endif
