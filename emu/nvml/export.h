/* SPDX-License-Identifier: MIT */
#ifndef EXPORT_H
#define EXPORT_H

/* A second exported name of a function. @name must not be a macro where ALIAS() is used. */
#define ALIAS(name, target) \
	extern __typeof__(target) name __attribute__((alias(#target), visibility("default")))

#endif
