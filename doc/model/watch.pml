/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of kmod/core/space/space.c for watches of host memory, for Spin. doc/lifetimes.md has the argument. A pin
 * of host memory is a watch whose owner registers the page by pinning it.
 *
 *	scripts/check-model
 *
 * Processes, each at any time: the owner, which watches a page, registers the mapped page by other means, uses the
 * registration as long as the word is live, and ends the watch, ROUNDS times; KERNELS threads of the kernel, each of which
 * replaces the page once; another thread of the owner, which faults a new page in when there is none; and a third one, which
 * uses the registration, too.
 *
 * Properties, for every order of steps:
 *  1  If the word is live, the registered page is the mapped page.
 *  2  No notifier uses a watch that was freed.
 *  3  No thread waits for ever.
 *
 * Simplifications, and why they hide nothing:
 *  - A critical section of the lock of the space is one step.
 *  - There is one page and one watch. Other ranges have other notes and other nodes of the tree.
 *  - The registration takes the page that is mapped at that moment, and faults it in if there is none.
 *  - The room for notes never runs out: without room the owner waits for longer.
 *  - pp_space_add() never returns -ESTALE here. After -ESTALE the range is not in the tree, and the caller tries again
 *    or fails: neither adds a step. A pin gets and drops pages before it tries again, but never uses those pages.
 */

byte page = 1;			/* the mapped page; 0: none */
byte pages = 1;			/* number of pages so far */
byte changing;			/* notes of replacements in progress */
bool in_tree;
bool freed;			/* the struct pp_watch */
byte word;			/* even: no watch */
byte epoch;			/* @word while the watch lives */
byte registered;		/* the page */
bool used;			/* @registered is set */

inline fault()
{
	atomic {
		if
		:: page == 0 -> pages++; page = pages
		:: else
		fi
	}
}

/* space_remove_locked(), then watch_end() */
inline end_locked()
{
	assert(!freed);		/* no notifier uses a freed watch */
	in_tree = false;
	word++
}

proctype kernel()
{
	/* space_range_start() */
	atomic {
#ifndef NO_NOTE
		changing++;
#endif
#ifndef LATE
		if
		:: in_tree -> end_locked()
		:: else
		fi
#endif
	};
	page = 0;
	/* space_range_end() */
	atomic {
#ifndef NO_NOTE
		changing--;
#endif
#ifdef LATE
		if
		:: in_tree -> end_locked()
		:: else
		fi
#endif
		skip
	}
}

active proctype toucher()
{
end:	do
	:: page == 0 -> fault()
	od
}

active proctype reader()
{
end:	do
	:: atomic {
			used && word == epoch ->
			assert(page == registered)	/* a live word means the mapped page */
		}
	od
}

active proctype owner()
{
	byte rounds;
	bool removed;

	do
	:: rounds < ROUNDS ->
		freed = false;
		used = false;
		word++;
		epoch = word;
		/* pp_space_add() */
		atomic {
			changing == 0;
			in_tree = true
		};
		atomic {
			fault();
			registered = page;
			used = true
		};
		do
		:: atomic {
				word == epoch ->
				assert(page == registered)	/* a live word means the mapped page */
			}
		:: word != epoch -> break
		:: break
		od;
		/* pp_space_end(), then kmem_cache_free() */
#ifdef LATE_WORD			/* the word changes after the lock is released */
		atomic {
			removed = in_tree;
			in_tree = false
		};
		if
		:: removed -> word++
		:: else
		fi;
#endif
#ifndef NO_REMOVE
		atomic {
			if
			:: in_tree -> end_locked()
			:: else
			fi
		};
#endif
		freed = true;
		rounds++
	:: else -> break
	od
}

init {
	byte i;

	atomic {
		for (i : 1 .. KERNELS) {
			run kernel()
		}
	}
}
