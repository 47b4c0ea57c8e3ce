/* SPDX-License-Identifier: MIT */
/*
 * A provider that revokes its own regions. The address of a region encodes the point of revocation.
 * The kernel warns if the core calls the provider out of order. The module registers as TEGRA; with
 * PERSISTENT, its pins are non-revocable. /sys/module/order_provider/parameters counts the calls.
 */
#ifndef ORDER_PROVIDER_H
#define ORDER_PROVIDER_H

/* Point at which the region is revoked */
enum order_when {
	ORDER_NEVER,
	ORDER_IN_PIN,
	ORDER_IN_LOOK,		/* ORDER_BESIDE only, because the core holds a spinlock */
	ORDER_IN_EXTENTS,	/* not ORDER_HERE: a revocation waits for the end of extents() */
	ORDER_IN_UNPIN,
	ORDER_IN_CLEANUP,
	ORDER_AFTER_ALL,	/* a late callback, after cleanup */
	ORDER_WHENS
};

/* Thread that revokes the region */
enum order_how {
	ORDER_HERE,	/* the calling thread */
	ORDER_AWAITED,	/* another thread; the calling thread waits for the revocation */
	ORDER_BESIDE,	/* two other threads; the calling thread continues after MOMENT_MS */
	ORDER_HOWS
};

/* Call of the provider that fails */
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
