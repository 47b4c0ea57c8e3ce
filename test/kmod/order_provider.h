/* SPDX-License-Identifier: MIT */
/*
 * A provider that revokes its own regions at a point of their lives which their
 * address names, and has the kernel warn when the core calls it out of order. It
 * takes the place of TEGRA, with PERSISTENT for memory that lasts.
 * /sys/module/order_provider/parameters counts what was called.
 */
#ifndef ORDER_PROVIDER_H
#define ORDER_PROVIDER_H

/* When to revoke */
enum order_when {
	ORDER_NEVER,
	ORDER_IN_PIN,
	ORDER_IN_LOOK,		/* BESIDE only: a lock of the core's is held */
	ORDER_IN_EXTENTS,	/* not HERE: the core waits for the end of this */
	ORDER_IN_UNPIN,
	ORDER_IN_CLEANUP,
	ORDER_AFTER_ALL,	/* a callback that comes too late */
	ORDER_WHENS
};

/* Who revokes */
enum order_how {
	ORDER_HERE,	/* the thread that is there */
	ORDER_AWAITED,	/* another one, which that waits for */
	ORDER_BESIDE,	/* two others, and it goes on after a moment */
	ORDER_HOWS
};

/* Which call fails */
enum order_fail {
	ORDER_FAIL_NONE,
	ORDER_FAIL_PIN,
	ORDER_FAIL_LOOK,
	ORDER_FAILS
};

#define ORDER_BASE (1ull << 40)
#define ORDER_ADDR(when, how, fail) (ORDER_BASE | (when) << 24 | (how) << 20 | (fail) << 16)
#define ORDER_OURS(addr) ((addr) >> 28 == ORDER_BASE >> 28)
#define ORDER_WHEN(addr) ((addr) >> 24 & 15)
#define ORDER_HOW(addr) ((addr) >> 20 & 15)
#define ORDER_FAIL(addr) ((addr) >> 16 & 15)

#endif
