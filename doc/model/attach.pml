/* SPDX-License-Identifier: GPL-2.0 */
/* kmod/core/dma/attach.c, inflight.c, dma.c and peer.c */

/* attach_release(), pp_peer_put(), region_free() */
inline attach_put_refs(a, n)
{
	atomic {
		touch_attach(a);
		attach[a].ref = attach[a].ref - (n);
		if
		:: attach[a].ref == 0 ->
			assert(!attach[a].listed && !attach[a].mapped);	/* no attachment is freed mapped */
			touch_peer(PEER(a));
			peer[PEER(a)].ref--;
			touch_region();
			region.ref--
		:: else
		fi
	}
}

inline peerpin_attach_put(a)
{
	attach_put_refs(a, 1)
}

inline pp_peer_enter(p, did)
{
	atomic {
		touch_peer(p);
		did = !peer[p].dying;
		peer[p].users = peer[p].users + did
	}
}

inline pp_peer_leave(p)
{
	atomic {
		touch_peer(p);
		peer[p].users--
	}
}

#define busy(a) (attach[a].listed && attach[a].inflight > 0 && !attach[a].stopping)

/* attach_claim_stop(), and the driver's stop() */
inline pp_attach_stop(a, did)
{
	atomic {
		!region.locked;
		touch_attach(a);
		touch_region();
		did = busy(a);
		if
		:: did ->
			attach[a].stopping = true;
			touch_peer(PEER(a));
			peer[PEER(a)].users++
		:: else
		fi
	};
	if
	:: did ->
		atomic {
			touch_device(PEER(a));
			attach[a].stopped = true
		};
		pp_peer_leave(PEER(a))
	:: else
	fi
}

/* attach_to_stop() */
inline pp_attach_stop_all(a, did)
{
	do
	:: atomic {
		!region.locked ->
		touch_region();
		if
		:: busy(0) -> a = 0
		:: busy(1) -> a = 1
		:: else -> break
		fi;
		touch_attach(a);
		attach[a].ref++;
		count_round()
	   };
	   pp_attach_stop(a, did);
	   peerpin_attach_put(a)
	od;
	rounds = 0
}

#define name(a) attach[a].named = attach[a].named || (attach[a].listed && attach[a].inflight > 0)

inline pp_attach_name_busy()
{
	atomic {
		!region.locked;
		touch_region();
		name(0);
		name(1)
	}
}

inline attach_unmap(a)
{
	atomic {
		touch_device(PEER(a));
		assert(region.extents);		/* no use of freed extents */
		assert(attach[a].inflight == 0 || overruled(a));	/* no unmapping under DMA but an overdue one */
		attach[a].mapped = false
	};
	pp_peer_leave(PEER(a));
	pp_region_leave()
}

/* attach_unlist(); drops the caller's reference together with that of the lists */
inline pp_attach_drop_put(a, did)
{
	atomic {
		!region.locked;
		touch_attach(a);
		touch_region();
		did = attach[a].listed;
		if
		:: did ->
			attach[a].listed = false;
			touch_peer(PEER(a));
			peer[PEER(a)].users++;
			peer[PEER(a)].strays = peer[PEER(a)].strays + (attach[a].inflight > 0);
			region.users++
		:: else
		fi
	};
	if
	:: did -> attach_unmap(a)
	:: else
	fi;
	attach_put_refs(a, 1 + did)
}

/* attach_first() */
inline pp_attach_drop_all(a, did)
{
	do
	:: atomic {
		!region.locked ->
		touch_region();
		if
		:: attach[0].listed -> a = 0
		:: attach[1].listed -> a = 1
		:: else -> break
		fi;
		touch_attach(a);
		attach[a].ref++;
		count_round()
	   };
	   pp_attach_drop_put(a, did)
	od;
	rounds = 0
}

/*
 * dma_enter(); one step, except for reading peer->dying, which another lock protects. Counts that are spread need no
 * step of their own: percpu_ref refuses DMA from the step on that ends the region, and the wait for region->gathering
 * makes the counts exact before region_drain() reads them.
 */
inline peerpin_dma_begin(t, a, did)
{
	atomic {
		!region.locked;
		touch_attach(a);
		touch_region();
		did = region.state == LIVE && attach[a].listed && !peer[PEER(a)].dying;
		region.locked = true
	};
	atomic {
		if
		:: did ->
			assert(attach[a].mapped && !pages_gone);	/* no DMA begins when the pages are gone */
			touch_device(PEER(a));
			if
			:: in_dma[t] = SOON
			:: t == 0 -> in_dma[t] = WHEN_STOPPED
#ifdef OVERSTAY
			:: t == 0 -> in_dma[t] = OVERSTAYS
#endif
			fi;
#ifndef NO_COUNT
			attach[a].ref++;
			attach[a].inflight++;
			region.inflight++
#endif
		:: else
		fi;
		region.locked = false
	}
}

/* dma_leave(), pp_inflight_sub() */
inline peerpin_dma_end(t, a)
{
	atomic {
		!region.locked;
		touch_attach(a);
		touch_region();
		in_dma[t] = 0;
#ifndef NO_COUNT
		attach[a].inflight--;
		touch_peer(PEER(a));
		peer[PEER(a)].strays = peer[PEER(a)].strays - (attach[a].inflight == 0 && !attach[a].listed);
		region.inflight--;
		pp_region_idle_locked()
#endif
	};
#ifndef NO_COUNT
	peerpin_attach_put(a)
#endif
}

/* attach_find_locked() */
#define listed_of(p, a) (attach[a].listed && PEER(a) == (p))

/* pp_extents_read(), attach_map() and attach_publish(), by a user of region and peer; @a becomes the winner, or NOBODY */
inline attach_map(t, a)
{
	atomic {
		provider_extents();
		touch_device(PEER(t));
		attach[t].mapped = true
	};
	atomic {
		!region.locked;
		touch_region();
		touch_peer(PEER(t));
		if
		:: region.state != LIVE -> a = NOBODY
		:: region.state == LIVE && listed_of(PEER(t), 1 - t) -> a = 1 - t; attach[a].ref++
		:: region.state == LIVE && !listed_of(PEER(t), 1 - t) && peer[PEER(t)].dying -> a = NOBODY
		:: else -> a = t; attach[t].ref++; attach[t].listed = true; region.maps = true
		fi
	};
	if
	:: a != t ->
		atomic {
			assert(region.extents);		/* no use of freed extents */
			touch_device(PEER(t));
			attach[t].mapped = false
		}
	:: else
	fi
}

inline attach_map_guarded(t, a, did)
{
	pp_region_enter(did);
	if
	:: did ->
		pp_peer_enter(PEER(t), did);
		if
		:: did -> attach_map(t, a); pp_peer_leave(PEER(t))
		:: else
		fi;
		pp_region_leave()
	:: else
	fi
}

inline attach_alloc(t)
{
	touch_region();
	region.ref++;
	touch_peer(PEER(t));
	peer[PEER(t)].ref++;
	attach[t].ref = 1
}

/* attach_find() and attach_alloc(). If another reference exists, taking one needs no step of its own. */
inline attach_find(t, a)
{
	if
	:: region.state == LIVE && listed_of(PEER(t), 1 - t) -> a = 1 - t; attach[a].ref++
	:: else -> attach_alloc(t)
	fi
}
