/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How memory is taken away: the protocol of kmod/core and its providers, for Spin. doc/lifetimes.md has the argument.
 *
 *	scripts/check-model
 *
 * Who runs, each at any time: the thread that pins and then closes; the owner of the memory, who frees it, with the
 * vendor's lock held (GPU) or out of an MMU notifier (HOST); two threads that attach, begin and end DMA, of two drivers
 * or of one; the removal of the first driver's device; a CPU that faults on a view; an importer of a dma-buf; a pin of
 * other memory. All at once is too much for a machine, so -D chooses: scripts/check-model has the list.
 *
 * What holds, in every order of steps:
 *  1  When the pages go, no device and no CPU has them mapped, no DMA is in flight but that of a driver that was named
 *     and overruled, and the region has ended, so that its epoch is dead.
 *  2  Nothing is used after its last reference went, and every reference goes; a table is freed once, no put names the
 *     table of another pin, pages are given back once.
 *  3  No thread waits for ever, the vendor's lock included, but the removal of a device whose driver never ends DMA.
 *  4  Every thread takes a bounded number of steps: no loop over attachments goes round more often than there are any,
 *     and the work item runs once for each event that queues it. So with 3, a revocation, a close or a removal that was
 *     begun ends, however the threads are scheduled; no fairness is assumed. Where there are fewer states, a search for
 *     cycles without progress, in which nothing counts as progress, finds none either.
 *
 * What is simpler here, and why that hides nothing:
 *  - A critical section of a spinlock is one step: what it reads and writes, all others read and write under that lock
 *    too. dma_enter() reads peer->dying, which is under another lock: it is two steps.
 *  - wait_event() is a guard. Wake-ups are not here: each follows the change that it announces, in its critical section
 *    or by who holds what the waiter frees.
 *  - One region. Regions meet in a peer's list and counts only, and a peer goes through its attachments one by one.
 *  - attach_prepare() enters and leaves as attach_map_guarded() does. Memory never runs out, and no device is out of
 *    reach: such an error takes the way of -ESTALE.
 *  - Time. A good driver ends its DMA before a drain's time is up, so it is up only when every DMA in flight is a bad
 *    driver's, which ends late or never.
 *  - "Freed" is "no reference left".
 *  - With APART, an end by the owner and one by the user come one after the other, with more threads around them. That
 *    they overlap is checked with one driver.
 * What is not here: put_pages of a Tegra, which runs the callback itself; a region that only its provider maps.
 *
 * How to read a counterexample, build/model/NAME/steps: it has one step a line, with the process (user is the thread
 * that pins and closes), the line here, and the statement; at its end is where each process stands. What is here is
 * named as in the core; where one step stands for several functions, a comment names them.
 */

#include "state.pml"
#include "region.pml"
#include "attach.pml"
#include "export.pml"
#ifdef HOST
#include "host.pml"
#else
#include "nv.pml"
#endif
#include "threads.pml"

init {
	atomic {
#ifdef HOST
		run worker();
#else
		if
		:: vendor_frees = true
#ifdef OLD_VENDOR
		:: true
#endif
		fi;
#endif
		run user();
		run owner();
#ifndef NO_DRIVER
		run driver(0);
#endif
#ifdef SECOND
		run driver(1);
#endif
#ifdef REMOVE
		run peerpin_peer_unregister();
#endif
#ifdef CPU
		run cpu();
#endif
#ifdef IMPORT
		run importer();
#endif
#ifdef OTHER_PIN
		run other_pin()
#endif
	};
	/* all have ended, but the worker, which is idle */
	_nr_pr == 1 + LASTING && work == IDLE && !work_runs;
	if
	:: endless -> assert(LASTING || pages_gone)	/* the pages are given back in the end */
	:: else -> nothing_is_left()
	fi
}
