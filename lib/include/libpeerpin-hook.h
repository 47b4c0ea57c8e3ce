/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin-hook: calls subscribers before CUDA memory is freed.
 *
 * Implements the interception of deallocation that the NVIDIA GPUDirect RDMA guide,
 * sections 11.2 and 12.5, recommends for a registration cache.
 *
 * The library must come before libcuda.so.1 in symbol search order: load it by LD_PRELOAD,
 * or link it before -lcuda. When the program or a library in it (the CUDA runtime, for
 * example) calls cuMemFree() or another freeing function, this library calls the subscribers
 * first and the driver afterwards. While there are no subscribers, a freeing call costs about
 * one nanosecond more. libpeerpin-hook(3) lists the functions, and the frees that the library
 * does not see.
 *
 * Any thread may call the functions below, but not in a signal handler. No function is a
 * cancellation point.
 *
 * A program that must also run without the library finds each function by dlsym():
 * dlsym(RTLD_DEFAULT, "pp_hook_add").
 */
#ifndef LIBPEERPIN_HOOK_H
#define LIBPEERPIN_HOOK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * pp_hook_add - subscribe: call @gone before memory is freed
 * @gone: called with @arg and the range [addr, addr + length), in the freeing thread, before
 *	the driver is called. 0 and UINT64_MAX mean all memory: the library does not know
 *	which memory this call frees (a context is destroyed, a pool is trimmed, ...)
 * @arg: passed to @gone. The same @gone with another @arg is another subscriber
 *
 * @gone may be called for memory that stays allocated, because the driver refuses the free or
 * the mapping has another user. @gone may also be called twice for the same memory.
 *
 * @gone runs with no lock of this library held, in several threads at a time, and with thread
 * cancellation disabled. If @gone itself frees CUDA memory, @gone is called recursively. @gone
 * must return: no exception, no longjmp().
 *
 * A free that began before pp_hook_add() returned is not always reported to @gone. A child of
 * fork() starts without subscribers: the parent's subscribers are not called there.
 *
 * Return: 0; -EINVAL @gone is NULL; -ENOMEM; -EOPNOTSUPP the library comes after libcuda or
 * libc in symbol search order and would miss calls: put it in LD_PRELOAD, or link it before
 * -lcuda.
 */
int pp_hook_add(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg);

/**
 * pp_hook_remove - unsubscribe
 * @gone: as given to pp_hook_add()
 * @arg: as given to pp_hook_add()
 *
 * Removes the subscriber, then waits until the calls of @gone in other threads have returned.
 * So do not hold a lock that @gone takes. Does not wait if it is called inside any subscriber.
 *
 * Return: 0 no call of @gone is in progress; -EBUSY inside a subscriber's call: the subscriber
 * is removed, but calls of @gone are still in progress, perhaps this one; -ENOENT no such
 * subscriber.
 */
int pp_hook_remove(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg);

/**
 * pp_hook_is_going - check whether any part of a range is being freed
 *
 * A free is in progress from before the first subscriber is called until the driver returns. A
 * registration made meanwhile may be of the old memory, and @gone is not called again for this
 * free. So a cache that subscribes takes these steps:
 * 1. Put the planned registration where @gone finds it.
 * 2. Call pp_hook_is_going().
 * 3. Register. If step 2 returned 1, do not register, or use the registration once and do not
 *    keep it.
 *
 * Return: 1 or 0; 0 also for a free that began while there were no subscribers. Takes a lock
 * for a moment.
 */
int pp_hook_is_going(uint64_t addr, uint64_t length);

/**
 * pp_hook_real - return the function that a hooked CUDA function calls after the subscribers
 * @function: a CUDA function, as the caller linked or looked it up
 *
 * For a caller that knows that its call frees nothing. Example: a library retains a GPU's
 * primary context for a moment and then releases it. A plain cuDevicePrimaryCtxRelease()
 * reports a free of all memory to all subscribers. A call of the function returned here calls
 * no subscriber.
 *
 * Return: the driver's function, or the function of another library that intercepts the
 * driver; @function itself if libpeerpin-hook does not hook it; NULL if not found.
 */
void *pp_hook_real(void *function);

#ifdef __cplusplus
}
#endif
#endif
