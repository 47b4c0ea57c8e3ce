/* SPDX-License-Identifier: MIT */
/* The dlsym() and dlvsym() that this library's own take the place of. */
#ifndef PP_HOOK_LOADER_H
#define PP_HOOK_LOADER_H

#include <stdbool.h>

/* libc's: it tells by its caller where RTLD_NEXT begins */
void *(*pp_loader_libc(void))(void *handle, const char *name);

/* What comes after ours: libc's, or those of whoever else intercepts. */
void *(*pp_loader_dlsym(void))(void *handle, const char *name);
void *(*pp_loader_dlvsym(void))(void *handle, const char *name, const char *version);

/* Is it libc's dlsym() or dlvsym()? */
bool pp_loader_is_libc(const void *function);

/* As libc finds @name when this library asks. */
void *pp_loader_find(void *handle, const char *name);

/* Is it a function of another copy of this library? */
bool pp_loader_is_copy(const void *function);

/* What comes after this library; of other copies of it, what comes after them. */
void *pp_loader_next(const char *name);

/* A library that wrappers lead into must stay: the handle is never closed. */
void pp_loader_hold(const void *function);

/*
 * What @name is behind this library: the next one's in the order of search, else libcuda's if it is
 * loaded. It is held from then on.
 */
void *pp_loader_behind(const char *name);

#endif
