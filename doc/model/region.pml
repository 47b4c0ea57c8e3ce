/* SPDX-License-Identifier: GPL-2.0 */
/* kmod/core/region/region.c, pin.c, end.c, revoke.c and close.c */

/* region_free() */
inline pp_region_put()
{
	atomic {
		touch_region();
		region.ref--
	}
}

inline pp_region_enter(did)
{
	atomic {
		!region.locked;
		touch_region();
		did = region.state <= LIVE;
		region.users = region.users + did
	}
}

inline pp_region_leave()
{
	atomic {
		!region.locked;
		touch_region();
		region.users--
	}
}

/* wait_event(r->idle, pp_region_is_zero(r, &r->users)) */
inline wait_for_users()
{
	atomic {
		region.users == 0 && !region.locked;
		touch_region()
	}
}

inline pp_region_end(to)
{
	atomic {
		!region.locked;
		touch_region();
		if
		:: region.state <= LIVE -> region.state = to
		:: else
		fi
	}
}

/* pp_table_find(): under the table's lock; the table has a reference */
inline pp_cookie_find(did)
{
	atomic {
		did = in_cookies;
		if
		:: did -> touch_region(); region.ref++
		:: else
		fi
	}
}

/* queue_work() refuses an item that is queued or being cancelled */
inline region_queue_locked()
{
	if
	:: work == IDLE -> work = QUEUED; region.ref++
	:: else
	fi
}

/* and region_queue_if_idle_locked() */
inline pp_region_idle_locked()
{
	if
	:: region.deferred && region.inflight == 0 && region.held == 0 -> region_queue_locked()
	:: else
	fi
}

#define overdue (region.inflight > 0 && !good(0) && !good(1))

/* pp_cpumap_zap(): one thread empties the CPU mappings, as a user */
inline region_zap(did)
{
	wait_for_users();
	atomic {
		!region.locked;
		touch_region();
		did = region.viewed;
		region.viewed = false;
		region.users = region.users + did
	};
	if
	:: did ->
		region.cpu_mapped = false;
		pp_region_leave()
	:: else
	fi;
	wait_for_users()
}

inline region_drain(idle, a, did)
{
	pp_export_tell_all();
	pp_attach_stop_all(a, did);
	region_zap(did);
	pp_export_wait_all();
	atomic {
		if
		:: region.inflight == 0 && !region.locked -> idle = true
		:: overdue && !region.locked -> idle = false
		fi;
		touch_region()
	};
	if
	:: !idle -> pp_attach_name_busy()
	:: else
	fi
}

inline region_unmap(a, did)
{
	wait_for_users();
	pp_attach_drop_all(a, did);
	pp_export_drop_all(did);
	wait_for_users()
}

/* and pp_extents_free() */
inline region_clean()
{
	provider_cleanup();
	atomic {
		touch_region();
		region.extents = false
	}
}

/* region_take_pages() */
inline region_release(did, orphan)
{
	atomic {
		!region.locked;
		touch_region();
		did = region.pinned;
		orphan = region.orphan;
		region.pinned = false;
		region.users = region.users + did
	};
	if
	:: did ->
		provider_release(did);
		pp_region_leave();
		if
		:: orphan ->
			in_cookies = false;
			region_clean();
			pp_region_put()
		:: else
		fi
	:: else
	fi
}

inline region_revoke(idle, a, did, orphan)
{
	pp_region_end(REVOKED);
	region_drain(idle, a, did);
	region_unmap(a, did);
	region_release(did, orphan)
}

/* under the lock */
inline region_to_unpin_locked(did)
{
	did = region.pinned;
	region.pinned = region.pinned && !LASTING
}

/* @did: region_to_unpin_locked() */
inline region_finish(did)
{
	if
	:: did -> provider_unpin(did)
	:: else
	fi;
	in_cookies = false;
	if
	:: region.ref == 1	/* region_is_mine() */
	:: else ->
		atomic {
			!region.locked;
			touch_region();
			region.pinned = false
		};
		wait_for_users()
	fi;
	region_clean()
}

/* region_adopt() */
inline region_give_back(did, orphan)
{
	atomic {
		!region.locked;
		touch_region();
		did = region.orphan && region.pinned;
		region.orphan = region.orphan && !did
	};
	if
	:: did ->
		atomic {
			!region.locked;
			touch_region();
			region_to_unpin_locked(did)
		};
		region_finish(did);
		pp_region_put()
	:: else -> region_release(did, orphan)
	fi
}

/* cancel_work_sync(): no other thread can queue the item until it does not run */
inline cancel_work()
{
	atomic {
		if
		:: work == QUEUED -> touch_region(); region.ref--
		:: else
		fi;
		work = TAKEN
	};
	atomic {
		!work_runs;
		work = IDLE
	}
}

inline region_abandon(did)
{
	atomic {
		!region.locked;
		touch_region();
		did = region.pinned;
		region.orphan = did;
		if
		:: did && LASTING -> region.deferred = true; pp_region_idle_locked()
		:: else
		fi
	}
}

/* @here: region_may_unpin_here() */
inline region_let_go(idle, a, did, here)
{
	region_drain(idle, a, did);
	if
	:: idle ->
		region_unmap(a, did);
		atomic {
			!region.locked;
			touch_region();
			idle = region.held == 0 && here
		}
	:: else
	fi
}

/* and region_end_used(); in the core pp_region_close() takes and puts the reference */
inline region_close_used(idle, a, did, here)
{
	region.ref++;
	pp_region_end(CLOSED);
	region_let_go(idle, a, did, here);
	did = false;
	if
	:: !idle -> region_abandon(did)
	:: else
	fi;
	if
	:: !did ->
		cancel_work();
		atomic {
			!region.locked;
			touch_region();
			region_to_unpin_locked(did)
		};
		region_finish(did);
		pp_region_put()
	:: else
	fi
}

/* region_end_unused() */
inline pp_region_close(idle, a, did, here)
{
	atomic {
		!region.locked;
		touch_region();
		idle = region.state == LIVE && region.users == 0 && here;
		idle = idle && !region.maps && !region.viewed && !export.there;
		if
		:: idle -> region.state = CLOSED; region_to_unpin_locked(did)
		:: else
		fi
	};
	if
	:: idle -> region_finish(did)
	:: else -> region_close_used(idle, a, did, here)
	fi;
	pp_region_put()
}

/* The first walk of file_unpin_all(); the file still has an id for the region, and the walk a reference. */
inline pp_region_close_soon(a, did)
{
	region.ref++;
	if
	:: region.maps || export.there ->
		pp_region_end(CLOSED);
		if
		:: region.inflight > 0 || export.there ->
			pp_export_tell_all();
			pp_attach_stop_all(a, did);
			region_zap(did)
		:: else
		fi
	:: else
	fi;
	pp_region_put()
}
