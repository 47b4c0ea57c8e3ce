/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin-hook: tells of memory that is about to leave CUDA.
 *
 * The library stands before libcuda.so.1: load it by LD_PRELOAD, or link it
 * before -lcuda. Whatever takes memory away (cuMemFree() and the like, also
 * when called by the CUDA runtime) then tells the subscribers first and calls
 * the driver after that. While nobody subscribes a call costs about a
 * nanosecond more. libpeerpin-hook(3) lists the calls, and what cannot be seen.
 *
 * A program that may run without the library asks
 * dlsym(RTLD_DEFAULT, "pp_hook_add").
 */
#ifndef LIBPEERPIN_HOOK_H
#define LIBPEERPIN_HOOK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * pp_hook_add - be told of memory before it goes
 * @gone: called with @arg and the range [addr, addr + length) in the thread
 *	that frees, before the driver is. 0 and UINT64_MAX: all memory, where
 *	no less is known (a context ends, a pool is trimmed, ...)
 * @arg: any; @gone with another @arg is another subscriber
 *
 * @gone may be told of memory that stays after all, because the driver refuses
 * the call or another user of the mapping remains, and twice of the same. It
 * runs with no lock held, in several threads at a time, and is called again
 * inside when it frees CUDA memory itself. It must not throw or jump out.
 *
 * Memory whose free began before pp_hook_add() returned may go untold. A child
 * of fork() starts with no subscriber: the parent's are not called there.
 *
 * Return: 0; -EINVAL @gone is NULL; -ENOMEM; -EOPNOTSUPP the library stands
 * behind libcuda or libc in the order of symbol search and would miss calls:
 * put it in LD_PRELOAD, or before -lcuda.
 */
int pp_hook_add(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg);

/**
 * pp_hook_remove - be told no more
 * @gone: as given to pp_hook_add()
 * @arg: as given to pp_hook_add()
 *
 * No call of @gone begins once this has begun, and it waits for those in
 * progress in other threads: do not hold a lock that @gone takes. Inside any
 * subscriber's call it does not wait.
 *
 * Return: 0: none is in progress; -EBUSY: inside a subscriber's call: removed,
 * but calls of @gone, this one perhaps, are still in progress; -ENOENT: there
 * is no such subscriber.
 */
int pp_hook_remove(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg);

/**
 * pp_hook_is_going - is a range, or a part of it, being freed?
 *
 * From before subscribers are told to when the driver has returned. A range that
 * is registered then may be that of the old memory and must not be kept: who is
 * told of the free cannot know of it. Ask after the registration to come can be
 * found by @gone, and before it is made.
 *
 * Return: 1 or 0; 0 also while nobody subscribes. Takes a lock for a moment; any
 * thread.
 */
int pp_hook_is_going(uint64_t addr, uint64_t length);

/**
 * pp_hook_real - what a function of CUDA goes on to when subscribers were told
 * @function: as linked with or looked up; of any kind
 *
 * For calls that take no memory away though others of the function may: who retained
 * a GPU's primary context for a moment releases it so, and nobody has to believe
 * that all memory goes.
 *
 * Return: the driver's function, or that of another library that intercepts; NULL:
 * there is none; @function itself, if it tells nobody. Any thread.
 */
void *pp_hook_real(void *function);

#ifdef __cplusplus
}
#endif
#endif
