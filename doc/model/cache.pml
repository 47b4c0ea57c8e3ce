/* SPDX-License-Identifier: MIT */
/*
 * How the registration cache counts users without a lock, for Spin. lib/cache/regcache.c has the argument.
 *
 *	scripts/check-model
 *
 * Processes, each at any time: two threads that get and put, GETS times each, and also put entries that the other thread
 * got; a third thread that makes both entries COLD with one barrier, evicts them in the same round, in the next round or
 * not at all, and registers again in a free entry, EVICTIONS times; with INVALIDATE a fourth thread, which invalidates a
 * region once. With FIRST the third thread also gets and puts what it registers, and there is one getter only. More has too
 * many states.
 *
 * Properties, for every order of steps:
 *  1  A registration is undone once, and never while a user holds it.
 *  2  A get returns the requested region, and no registration whose invalidation ended before the get began.
 *  3  What has left the cache is undone in the end.
 *  4  A hit never waits: look() has no guard, and leave() has one for GONE entries only.
 *
 * Weak memory: a getter's store into its own word stays in its store buffer until some later time, its next atomic
 * operation, or another thread's membarrier. Its loads do not wait for that. Stores by the holder of the lock are visible
 * at once: a barrier follows each store that matters, and a store that is visible later equals a store made later.
 *
 * Simplifications, and why they hide nothing:
 *  - A getter has one word, so it needs "shared" as soon as it uses both entries.
 *  - Without FIRST a new registration is LIVE with no user: its first user is a getter like others.
 *  - The thread that ends a pin or unpin pushes the entry to a stack, and a holder of the lock does the rest (done.h). With
 *    FIRST a process of its own does the rest, at any later time. Without FIRST the thread does it itself.
 *  - The first user's reference counts in the entry (@shared).
 *  - A key is a region, and the index has a word for each. The entry that a getter found there may be out of date by then.
 *  - Two getters pass an entry to each other without a modelled operation: a real program needs a lock or the like for it,
 *    and so has a barrier.
 */

#define PINS 4
#ifdef FIRST
#define STAY 4	/* processes that do not end: init, the store buffers, the finisher */
#else
#define STAY 3
#endif
#define NONE 2

mtype = { FREE, PENDING, ORPHAN, LIVE, COLD, GONE, EVICTED, DEAD };

typedef entry {
	mtype state;
	byte key;
	byte pin;
	short shared;
	bool done	/* its pin or unpin has ended */
};

/* the count of a getter, and its value that other threads see */
typedef word {
	byte at = NONE;
	byte users;
	byte seen_at = NONE;
	byte seen_users;
	bool buffered
};

typedef registration {
	byte holders;
	byte undone;
	bool invalidated
};

entry entries[2];
word words[2];
registration pins[PINS];
byte made;
byte index[2];
bool locked;
byte handed[2];		/* an entry that this getter must put */
bool has_got_all[2];
bool ended[2];		/* this getter has ended */
bool finishing;		/* the finisher examines a GONE entry */

inline lock()
{
	atomic { !locked -> locked = true }
}

inline unlock()
{
	locked = false
}

/* ---- store buffers --------------------------------------------------------------------------------------------- */

inline write_back(t)
{
	words[t].seen_at = words[t].at;
	words[t].seen_users = words[t].users;
	words[t].buffered = false
}

inline store_word(t, e, n)
{
	write_back(t);
	words[t].users = n;
	words[t].at = (words[t].users > 0 -> e : NONE);
	words[t].buffered = true
}

proctype store_buffer(byte t)
{
end:
	do
	:: d_step { words[t].buffered -> write_back(t) }
	od
}

inline membarrier()
{
#ifdef NO_MEMBARRIER
	skip
#else
	d_step { write_back(0); write_back(1) }
#endif
}

/* ---- beginning and end of a registration ----------------------------------------------------------------------- */

inline publish(e, k)
{
	d_step {
		entries[e].key = k;
		entries[e].pin = made;
		made++
	};
	atomic { !locked -> entries[e].state = LIVE; index[k] = e }
}

inline unindex(e)
{
	if
	:: index[entries[e].key] == e -> index[entries[e].key] = NONE
	:: else
	fi
}

/* What is left to do for an entry whose pin or unpin has ended */
inline finish(e)
{
	entries[e].done = false;
	if
	:: entries[e].state == PENDING -> entries[e].state = LIVE
	:: entries[e].state == ORPHAN ->
		locked = true;
		finishing = true;
		entries[e].state = GONE
	:: else ->
		if
		:: entries[e].state == EVICTED -> unindex(e)
		:: else
		fi;
		entries[e].state = FREE
	fi
}

/* of an EVICTED or DEAD entry; without the lock */
inline undo(e)
{
	d_step {
		assert(pins[entries[e].pin].holders == 0);	/* nothing is undone while a user holds it */
		assert(pins[entries[e].pin].undone == 0);	/* nothing is undone twice */
		pins[entries[e].pin].undone++;
		entries[e].done = true
	};
#ifndef FIRST
	atomic { !locked -> finish(e) }
#endif
}

/* With the lock held: moves the count of a thread that has ended into the entry. */
inline remove_ended(t)
{
	d_step {
		if
		:: ended[t] && words[t].at != NONE ->
			entries[words[t].at].shared = entries[words[t].at].shared + words[t].users;
			words[t].users = 0;
			words[t].at = NONE;
			write_back(t)
		:: else
		fi
	}
}

inline tally_word(t)
{
	d_step {
		if
		:: words[t].seen_at != NONE ->
			tally[words[t].seen_at] = tally[words[t].seen_at] + words[t].seen_users
		:: else
		fi
	}
}

/* Counts one word after the other, while they change, for both entries. */
inline count_words()
{
	remove_ended(0);
	remove_ended(1);
	d_step { tally[0] = 0; tally[1] = 0 };
	tally_word(0);
	tally_word(1)
}

/* After count_words(), possibly much later */
inline add_up(e, n)
{
	n = tally[e] + entries[e].shared
}

/* With the lock held, and after a barrier since the entry is GONE. */
inline end_if_unused(e, n, did)
{
	count_words();
	add_up(e, n);
	d_step {
		did = n == 0;
		if
		:: did -> entries[e].state = DEAD
		:: else
		fi
	}
}

/* ---- getters; these have t, k, e, p, n, tally, did, found and old -------------------------------------------------- */

inline count()
{
	d_step {
		if
		:: words[t].at == e -> store_word(t, e, words[t].users + 1)
		:: words[t].users == 0 -> store_word(t, e, 1)
		:: else -> write_back(t); entries[e].shared++
		fi
	}
}

inline uncount()
{
	d_step {
		if
		:: words[t].at == e -> store_word(t, e, words[t].users - 1)
		:: else -> write_back(t); entries[e].shared--
		fi
	}
}

/* For a user, or a getter that only looked: the last to leave a GONE entry ends it. */
inline leave()
{
	uncount();
#ifndef NO_LOOK
	if
	:: entries[e].state == GONE ->
		did = false;
		atomic { !locked -> locked = true; write_back(t) };
		if
		:: entries[e].state == GONE -> end_if_unused(e, n, did)
		:: else		/* another thread was the last */
		fi;
		unlock();
		if
		:: did -> undo(e)
		:: else
		fi
	:: else
	fi
#endif
}

/* A compare-and-swap; if it fails, it returns the current state. */
inline rescue()
{
	d_step {
#ifndef NO_CAS
		write_back(t);
		found = entries[e].state;
#endif
		if
		:: found == COLD -> entries[e].state = LIVE; found = LIVE
		:: else
		fi
	}
}

/* An entry that is LIVE after it was counted stays valid. */
inline look()
{
	count();
	found = entries[e].state;
	if
	:: found == COLD -> rescue()
	:: else
	fi;
	d_step {
		p = entries[e].pin;
		if
		:: found == LIVE && entries[e].key == k ->
			pins[p].holders++;
			assert(pins[p].undone == 0);	/* no get returns what was undone */
			assert(!(old & (1 << p)));	/* no get returns what was invalidated before it */
		:: else -> found = FREE
		fi
	}
}

inline put()
{
	d_step {
		p = entries[e].pin;
		pins[p].holders--
	};
	leave()
}

inline put_handed()
{
	d_step { e = handed[t]; handed[t] = NONE };
	put()
}

inline get_and_put()
{
	d_step {
		old = pins[0].invalidated + 2 * pins[1].invalidated + 4 * pins[2].invalidated + 8 * pins[3].invalidated;
		e = index[k]
	};
	if
	:: e != NONE ->
		look();
		if
		:: found == LIVE && handed[1 - t] == NONE -> handed[1 - t] = e
		:: found == LIVE -> put()
		:: else -> leave()
		fi
	:: else
	fi
}

proctype getter(byte t)
{
	byte k, e, p, old, rounds;
	short n, tally[2];
	bool did;
	mtype found;

	do
	:: rounds < GETS ->
		rounds++;
		if
		:: k = 0; get_and_put()
		:: k = 1; get_and_put()
		:: handed[t] != NONE -> put_handed()
		fi;
		d_step { k = 0; e = 0; p = 0; old = 0; n = 0; tally[0] = 0; tally[1] = 0; did = false; found = FREE }
	:: else -> break
	od;
	has_got_all[t] = true;
	has_got_all[1 - t];
	if
	:: handed[t] != NONE -> put_handed()
	:: else
	fi;
	d_step { write_back(t); ended[t] = true }
}

/* ---- with the lock held ------------------------------------------------------------------------------------------ */

/* Before the barrier, which serves all entries. */
inline cool(e)
{
	d_step {
		picked[e] = entries[e].state == LIVE;
#ifndef NO_COLD
		if
		:: picked[e] -> entries[e].state = COLD
		:: else
		fi
#endif
	}
}

/* After the barrier. The compare-and-swap fails if the entry is already LIVE. */
inline keep_used(e)
{
	if
	:: picked[e] ->
		add_up(e, n);
		d_step {
			picked[e] = n == 0;
			if
			:: n > 0 && entries[e].state == COLD -> entries[e].state = LIVE
			:: else
			fi
		}
	:: else
	fi
}

#ifdef NO_COLD
#define IS_UNUSED(e) (picked[e] && entries[e].state == LIVE)
#else
#define IS_UNUSED(e) (entries[e].state == COLD)
#endif

/* In this round or later: an entry is unused as long as it is COLD. A compare-and-swap. */
inline take(e)
{
	atomic {
		picked[e] = IS_UNUSED(e);
		if
		:: picked[e] -> entries[e].state = EVICTED
		:: picked[e] = false
		:: else
		fi
	}
}

inline undo_picked(e)
{
	if
	:: picked[e] -> undo(e)
	:: else
	fi
}

#ifdef FIRST
/* By the first user of an entry, which may be PENDING or ORPHAN still */
inline put_first(e)
{
	d_step {
		pins[entries[e].pin].holders--;
		entries[e].shared--
	};
	if
	:: entries[e].state == GONE ->
		did = false;
		lock();
		if
		:: entries[e].state == GONE -> end_if_unused(e, n, did)
		:: else
		fi;
		unlock();
		if
		:: did -> undo(e)
		:: else
		fi
	:: else
	fi
}

#endif

/* A miss; with FIRST also its put */
inline add()
{
	atomic {
		!locked ->
		e = (entries[0].state == FREE -> 0 : (entries[1].state == FREE -> 1 : NONE));
		k = (index[0] == NONE -> 0 : (index[1] == NONE -> 1 : NONE));
		did = e != NONE && k != NONE;
		if
		:: did ->
			entries[e].state = PENDING;
#ifdef FIRST
			entries[e].key = k;
			entries[e].pin = made;
			made++;
			index[k] = e
#endif
		:: else
		fi
	};
#ifdef FIRST
	if
	:: did ->
		d_step {
			entries[e].shared++;
			pins[entries[e].pin].holders++;
			entries[e].done = true
		};
		put_first(e)
	:: else
	fi
#else
	if
	:: did -> publish(e, k)
	:: else
	fi
#endif
}

#ifdef FIRST
proctype finisher()
{
	byte e;
	short n, tally[2];
	bool did;

end:
	do
	:: atomic {
			!locked && (entries[0].done || entries[1].done) ->
			e = (entries[0].done -> 0 : 1);
			finish(e)
		};
		if
		:: finishing ->
			membarrier();
#ifndef NO_SWEEP
			end_if_unused(e, n, did);
#endif
			unlock();
			if
			:: did -> undo(e)
			:: else
			fi
		:: else
		fi;
		d_step { e = 0; n = 0; tally[0] = 0; tally[1] = 0; did = false; finishing = false }
	od
}
#endif

proctype evictor()
{
	byte e, k, rounds;
	short n, tally[2];
	bool did, picked[2];

	do
	:: rounds < EVICTIONS ->
		rounds++;
		lock();
		cool(0);
		cool(1);
#ifdef EARLY_COUNT
		count_words();
		membarrier();
#else
		membarrier();
		count_words();
#endif
		keep_used(0);
		keep_used(1);
		take(0);
		take(1);
		unlock();
		undo_picked(0);
		undo_picked(1);
		add();
		d_step { e = 0; k = 0; n = 0; tally[0] = 0; tally[1] = 0; did = false; picked[0] = false; picked[1] = false }
	:: else -> break
	od
}

proctype invalidator()
{
	byte e, p;
	short n, tally[2];
	bool did;

	lock();
	e = index[0];
	if
	:: e != NONE && entries[e].state == PENDING ->
		d_step { p = entries[e].pin; entries[e].state = ORPHAN; unindex(e) };
		unlock();
		pins[p].invalidated = true
	:: e != NONE && entries[e].state != PENDING && entries[e].state != EVICTED ->
		d_step { p = entries[e].pin; entries[e].state = GONE; unindex(e) };
		membarrier();
		end_if_unused(e, n, did);
		unlock();
		pins[p].invalidated = true;
		if
		:: did -> undo(e)
		:: else
		fi
	:: else -> unlock()
	fi
}

inline check_end(e)
{
	left = entries[e].state == PENDING || entries[e].state == ORPHAN || entries[e].state == GONE ||
	       entries[e].state == EVICTED || entries[e].state == DEAD;
	assert(!left);	/* what has left the cache is undone in the end */
	assert(entries[e].shared + (words[0].at == e -> words[0].users : 0) +
	       (words[1].at == e -> words[1].users : 0) == 0)	/* nothing is counted in the end */
}

init {
	bool left;

	atomic {
		index[0] = NONE;
		index[1] = NONE;
		handed[0] = NONE;
		handed[1] = NONE;
		entries[0].state = PENDING;
		entries[1].state = PENDING
	};
	atomic {
		publish(0, 0);
		publish(1, 1);
		run store_buffer(0);
		run store_buffer(1);
#ifdef FIRST
		run finisher();
		handed[1] = 0;
		has_got_all[1] = true;
#else
		run getter(1);
#endif
		run getter(0);
		run evictor();
#ifdef INVALIDATE
		run invalidator()
#endif
	};
	_nr_pr == STAY && !words[0].buffered && !words[1].buffered && !finishing && !entries[0].done && !entries[1].done;
	check_end(0);
	check_end(1)
}
