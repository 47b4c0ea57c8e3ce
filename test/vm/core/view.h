/* SPDX-License-Identifier: MIT */
/* CPU mappings of regions, and accesses to memory that may be revoked. */
#ifndef TEST_VIEW_H
#define TEST_VIEW_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>

#include "test/vm/harness/emu.h"
#include "pin.h"

enum {
	PAGE = 4096,
	BLOCK = 2 << 20,
};

static __thread sigjmp_buf view_jump;

static inline void view_signal(int sig)
{
	siglongjmp(view_jump, sig);
}

static inline int view_catch(void)
{
	struct sigaction act = { .sa_handler = view_signal, .sa_flags = SA_NODEFER };

	return sigaction(SIGBUS, &act, NULL) || sigaction(SIGSEGV, &act, NULL);
}

/* Read *@out from @at. Returns 0 or the signal that the access raised; then *@out is unset. */
static inline int view_get(const volatile unsigned char *at, unsigned char *out)
{
	int sig = sigsetjmp(view_jump, 0);

	if (!sig)
		*out = *at;
	return sig;
}

static inline int view_put(volatile unsigned char *at, unsigned char byte)
{
	int sig = sigsetjmp(view_jump, 0);

	if (!sig)
		*at = byte;
	return sig;
}

static inline int view_touch(const volatile unsigned char *at)
{
	unsigned char byte;

	return view_get(at, &byte);
}

/* True if an access to each page raises @sig; @sig 0: no signal. */
static inline bool view_is(const volatile unsigned char *at, size_t length, int sig)
{
	size_t i;

	for (i = 0; i < length; i += PAGE)
		if (view_touch(at + i) != sig || view_touch(at + i + PAGE - 1) != sig)
			return false;
	return true;
}

/* Map a view. Returns NULL with errno set if the call fails. */
static inline unsigned char *view_map(int fd, uint32_t region, uint64_t offset, size_t length, int prot)
{
	void *p = mmap(NULL, length, prot, MAP_SHARED, fd, (off_t)(PEERPIN_MMAP_OFFSET(region) + offset));

	return p == MAP_FAILED ? NULL : p;
}

/* errno of a refused view; 0: not refused */
static inline int view_refused(int fd, uint32_t region, uint64_t offset, size_t length)
{
	unsigned char *p = view_map(fd, region, offset, length, PROT_READ);

	if (!p)
		return errno;
	munmap(p, length);
	return 0;
}

/* No huge pages: freeing a part of one, such as a thread's stack, revokes the pins in the rest. */
static inline unsigned char *host_memory(size_t length)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, length, MADV_NOHUGEPAGE);
	return p;
}

/* Number of pins of the GPU driver; ~0: unknown */
static inline unsigned int view_pins(int gpu)
{
	struct emugpu_test t;

	return emu_counts(gpu, &t) ? ~0u : t.counts.out_pins;
}

#endif
