/* SPDX-License-Identifier: GPL-2.0 */
/* kmod/providers/nv.c, and NVIDIA's driver by its contract */

mtype table = NO_TABLE;
bool vendor_frees;		/* NVIDIA's driver frees a table itself; free_page_table() does nothing */
byte puts_reading;		/* nv_puts */
bool puts_writing;

/* struct nv_pin */
bool table_stored;
bool table_freed;
bool released;
bool put;

/* nv_pin(); NVIDIA's driver releases its lock, and the callback may run, before get_pages returns */
inline provider_pin()
{
	atomic { !puts_writing -> puts_reading++ };
	atomic {
		!vendor_lock ->
		vendor_pin = true;
		table = OUR_TABLE
	};
	puts_reading--;
	table_stored = true
}

/* nv_look() */
inline provider_look()
{
	assert(table == OUR_TABLE)	/* no page table is read when the pages are gone */
}

/* nv_extents() */
inline provider_extents()
{
	atomic {
		assert(table == OUR_TABLE);	/* no page table is read when the pages are gone */
		region.extents = true
	}
}

inline nvidia_p2p_free_page_table()
{
	assert(table_stored);		/* a table is known before it is freed */
	assert(!table_freed);		/* a table is freed once */
	table_freed = true;
	if
	:: !vendor_frees ->
		assert(table == OUR_TABLE);	/* no table of another pin is freed */
		table = FREE_TABLE
	:: else
	fi
}

/* nv_release() */
inline provider_release(did)
{
	atomic {
		touch_region();		/* priv */
		released = true
	};
	atomic { nvidia_p2p_free_page_table() }
}

/* Finds a pin by its table and unlinks it. If there is no such pin, it reports no error. */
inline nvidia_p2p_put_pages()
{
	!vendor_lock;
	assert(table != OTHERS_TABLE);	/* no put names the table of another pin */
	if
	:: vendor_pin -> pages_go(); vendor_pin = false; table = FREE_TABLE
	:: else
	fi
}

/* nv_unpin() */
inline provider_unpin(did)
{
	assert(here);			/* no put by another process, which would do nothing */
	take_core_lock();
	atomic { puts_reading == 0 && !puts_writing -> puts_writing = true };
	atomic {
		touch_region();		/* priv */
		put = true;
		did = !released
	};
	if
	:: did -> atomic { nvidia_p2p_put_pages() }
	:: else
	fi;
	puts_writing = false;
	give_core_lock()
}

/* nv_cleanup() */
inline provider_cleanup()
{
	atomic {
		touch_region();		/* priv */
		if
		:: !released && !put -> nvidia_p2p_free_page_table()
		:: else
		fi
	}
}

/* nv_free_callback(), pp_revoke() */
inline callback(idle, a, did, orphan)
{
#ifdef NO_COOKIE
	did = true;
#else
	pp_cookie_find(did);
#endif
	if
	:: did ->
		take_core_lock();
		give_core_lock();
		region_revoke(idle, a, did, orphan);
#ifndef NO_COOKIE
		pp_region_put()
#endif
	:: else
	fi
}
