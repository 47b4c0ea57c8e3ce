/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of kmod/core and its providers for revoking memory, for Spin. doc/lifetimes.md has the argument.
 *
 *	scripts/check-model
 *
 * Processes, each at any time: the thread that pins and then closes; the owner of the memory, which frees it, with the GPU
 * driver's lock held or (HOST) in an MMU notifier; two threads that attach, begin and end DMA, of two drivers or of one
 * driver; the removal of the first driver's device; a CPU page fault on a CPU mapping; an importer of a dma-buf; a pin of
 * other memory. All of them together have too many states, so -D selects some: scripts/check-model has the list.
 *
 * Properties, for every order of steps:
 *  1  When the pages are given back, no device and no CPU has them mapped. No DMA is in flight, except that of a driver
 *     which was named in the log and overruled. The region has ended, so its epoch is dead.
 *  2  Nothing is used after its last reference was dropped, and every reference is dropped. A table is freed once, no put
 *     names the table of another pin, and pages are given back once.
 *  3  No thread waits for ever, for the GPU driver's lock included. Exception: the removal of a device whose driver never
 *     ends DMA.
 *  4  Every thread takes a bounded number of steps. No loop over attachments has more rounds than there are attachments,
 *     and the work item runs once for each event that queues it. With 3, a revocation, a close or a removal that has begun
 *     ends, however the threads are scheduled; no fairness is assumed. In configurations with fewer states, a search for
 *     cycles without progress, in which no step counts as progress, finds none either.
 *
 * Simplifications, and why they hide nothing:
 *  - A critical section of a spinlock is one step: other threads access its data under that lock, too. dma_enter() reads
 *    peer->dying, which another lock protects, so it is two steps.
 *  - wait_event() is a guard. Wake-ups are not modelled: each follows the change that it announces, in the same critical
 *    section, or while the thread that frees the waiter's data still waits.
 *  - There is one region. Regions share only a peer's list and counts, and a peer handles its attachments one by one.
 *  - attach_prepare() enters and leaves like attach_map_guarded(). Memory never runs out, and every device reaches the
 *    memory: such an error takes the path of -ESTALE.
 *  - Time. A good driver ends its DMA before a drain times out. So the drain times out only if every DMA in flight is of a
 *    bad driver, which ends it late or never.
 *  - "Freed" means "no reference left".
 *  - With APART, an end by the owner and an end by the user do not overlap, with more other threads. Configurations with
 *    one driver check that they overlap.
 * Not modelled: put_pages of a Tegra, which runs the callback itself; a region that only its provider maps.
 *
 * A counterexample is in build/model/NAME/steps: a line for each step, with the process (user is the thread that pins and
 * closes), the line of the model, and the statement; at its end the position of each process. Names are those of the core.
 * If one step stands for several functions, a comment names them.
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
	/* all processes have ended, except the idle worker */
	_nr_pr == 1 + LASTING && work == IDLE && !work_runs;
	if
	:: endless -> assert(LASTING || pages_gone)	/* the pages are given back in the end */
	:: else -> nothing_is_left()
	fi
}
