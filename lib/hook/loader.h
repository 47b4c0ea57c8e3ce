/* SPDX-License-Identifier: MIT */
/* The dlsym() and dlvsym() that this library's own functions replace. */
#ifndef PP_HOOK_LOADER_H
#define PP_HOOK_LOADER_H

#include <stdbool.h>

/* libc's dlsym(): the address of its caller decides where RTLD_NEXT begins */
void *(*pp_loader_libc(void))(void *handle, const char *name);

/* The next dlsym() and dlvsym() in symbol search order: libc's, or another intercepting library's */
void *(*pp_loader_dlsym(void))(void *handle, const char *name);
void *(*pp_loader_dlvsym(void))(void *handle, const char *name, const char *version);

/* Is @function libc's dlsym() or dlvsym()? */
bool pp_loader_is_libc(const void *function);

/* libc's dlsym(), called from this library */
void *pp_loader_find(void *handle, const char *name);

/* Is @function in another copy of this library? */
bool pp_loader_is_copy(const void *function);

/* The next definition of @name after this library. Skips a copy of this library */
void *pp_loader_next(const char *name);

/* Keeps the library of @function loaded, because wrappers call @function: the handle is never closed. */
void pp_loader_hold(const void *function);

/*
 * The definition of @name after this library in symbol search order, or in libcuda if libcuda is loaded.
 * The library of the definition stays loaded from then on.
 */
void *pp_loader_behind(const char *name);

#endif
