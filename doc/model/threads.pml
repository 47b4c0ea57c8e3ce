/* SPDX-License-Identifier: GPL-2.0 */
/* Processes. */

/* pin_by(), then pp_file_unpin() or (EXITS) file_unpin_all(), in the process that pinned or (GPU) in another */
proctype user()
{
	bool did, idle, here = true;
	byte a, rounds;

	/* pin_new() */
	atomic {
		region.ref = 1;
		in_cookies = true
	};
	provider_pin();
	/* pin_open() */
	atomic {
		!region.locked;
		did = region.state == PINNING;
		if
		:: did -> region.state = LIVE; region.pinned = true; provider_look()
		:: else
		fi
	};
	if
	:: did ->
		in_file = true;
#ifdef EXITS
		atomic { may_begin_to_end() -> begin_to_end() };
		pp_region_close_soon(a, did);
		end_to_end();
#endif
		atomic {
			in_file = false;
			if
#ifdef OTHER_PROCESS
			:: here = false
#endif
			:: true
			fi
		}
	:: else
	fi;
	over = true;
	atomic { may_begin_to_end() -> begin_to_end() };
	pp_region_close(idle, a, did, here);
	assert(!region.cpu_mapped);	/* no CPU mapping outlives the file */
	end_to_end()
}

#ifdef HOST

/*
 * host_end(), pp_revoke_soon(): munmap or exit, if it comes before the end of the pin. It queues stop_work, which
 * queues work. stop_work is left out: it ends nothing, has a reference, and is cancelled before work.
 */
proctype owner()
{
	bool did;

	if
	:: atomic { notifier && may_begin_to_end() -> notifier_runs = true; begin_to_end() }
	:: over && !notifier -> goto done
	fi;
	pp_cookie_find(did);
	if
	:: did ->
		atomic {
			!region.locked;
			touch_region();
			if
			:: region.state <= LIVE -> region.state = REVOKED; region.deferred = true; region_queue_locked()
			:: else
			fi
		};
		pp_region_put()
	:: else
	fi;
	atomic { touch_region(); notifier_runs = false; end_to_end() };
done:
	skip
}

/* pp_region_work() */
proctype worker()
{
	bool did, idle, orphan;
	byte a, rounds;

end:
	do
	:: atomic { work == QUEUED && !work_runs -> work = IDLE; work_runs = true };
	   region_drain(idle, a, did);
	   if
	   :: idle ->
		region_unmap(a, did);
		atomic {
			!region.locked;
			touch_region();
			did = region.held == 0
		};
		if
		:: did -> region_give_back(did, orphan)
		:: else
		fi
	   :: else
	   fi;
	   pp_region_put();
	   atomic { work_runs = false; idle = false; did = false; orphan = false; a = 0 }
	od
}

#else

/* cuMemFree or exit, unless the memory was unpinned before; entirely with the GPU driver's lock held */
proctype owner()
{
	bool did, idle, orphan;
	byte a, rounds;

	if
	:: atomic { vendor_pin && !vendor_lock && may_begin_to_end() -> vendor_lock = true; begin_to_end() }
	:: over && !vendor_pin -> goto done
	fi;
	callback(idle, a, did, orphan);
	atomic {
		pages_go();
		vendor_pin = false;
		if
		:: vendor_frees -> table = FREE_TABLE
		:: else
		fi;
		vendor_lock = false;
		end_to_end()
	};
done:
	skip
}

#endif

/* A thread of a driver: one transfer. peerpin.h forbids an attach once the device is being removed. */
proctype driver(byte t)
{
	bool did;
	byte a = NOBODY;

	/* peerpin_attach() of a region from peerpin_region_get() */
	if
	:: atomic { in_file && !peer[PEER(t)].dying && !region.locked -> attach_find(t, a) }
	:: over || peer[PEER(t)].dying -> goto done
	fi;
	if
	:: a == NOBODY ->
		attach_map_guarded(t, a, did);
		if
		:: a != t -> peerpin_attach_put(t)
		:: else
		fi
	:: else
	fi;
	if
	:: a == NOBODY -> goto done
	:: else
	fi;
	peerpin_dma_begin(t, a, did);
	if
	:: did ->
		if
		:: in_dma[t] != WHEN_STOPPED || attach[a].stopped -> peerpin_dma_end(t, a)
		:: in_dma[t] == OVERSTAYS -> atomic { endless = true; goto done }
		fi
	:: else
	fi;
	peerpin_attach_put(a);
done:
	skip
}

#ifdef REMOVE

/* For the first driver: it may wait for ever for DMA of that driver. */
proctype peerpin_peer_unregister()
{
	bool did;
	byte a, rounds;

	peer[0].dying = true;
	peer[0].users == 0;
	do
	/* peer_first() */
	:: atomic {
		if
		:: listed_of(0, 0) -> a = 0
		:: listed_of(0, 1) -> a = 1
		:: else -> break
		fi;
		touch_attach(a);
		attach[a].ref++;
		count_round()
	   };
	   pp_attach_stop(a, did);
	   if
	   :: atomic { attach[a].inflight == 0 && !region.locked -> touch_attach(a); touch_region() }
	   :: attach[a].inflight > 0 && endless -> goto done
	   fi;
	   pp_attach_drop_put(a, did)
	od;
	if
	:: peer[0].strays == 0
	:: peer[0].strays > 0 && endless -> goto done
	fi;
	peer[0].users == 0;
	assert(in_dma[0] == 0);		/* no DMA outlives the device */
	assert(!listed_of(0, 0) && !listed_of(0, 1));	/* no mapping outlives the device */
	peer[0].removed = true;
	atomic {
		touch_peer(0);
		peer[0].ref--
	};
done:
	skip
}

#endif

#ifdef CPU

/* pp_cpumap_mmap(), view_fault() */
proctype cpu()
{
	bool did;

	if
	:: atomic { in_file -> touch_region(); region.ref++ }
	:: over -> goto done
	fi;
	atomic {
		!region.locked;
		did = region.state == LIVE;
		region.viewed = did
	};
	if
	:: did -> pp_region_enter(did)
	:: else
	fi;
	if
	:: did ->
		atomic {
			assert(region.viewed);	/* no use of a freed list of views */
			assert(!pages_gone);	/* no CPU mapping of pages that are gone */
			region.cpu_mapped = true
		};
		pp_region_leave()
	:: else
	fi;
	pp_region_put();
done:
	skip
}

#endif

#ifdef IMPORT

/* Another driver, through a dma-buf */
proctype importer()
{
	bool did;

	/* pp_export_fd(), export_link(); the dma-buf holds the region */
	if
	:: atomic { in_file -> touch_region(); region.ref++ }
	:: over -> goto done
	fi;
	atomic {
		!region.locked;
		did = region.state == LIVE;
		export.there = did
	};
	if
	:: did -> pp_importer_map(did)
	:: else
	fi;
	if
	:: did ->
		if
		:: atomic { in_dma[IMPORTER] != WHEN_STOPPED || export.told -> in_dma[IMPORTER] = 0 }
		:: in_dma[IMPORTER] == OVERSTAYS -> atomic { endless = true; goto done }
		fi;
		pp_importer_unmap(did)
	:: else
	fi;
	/* export_released() */
	atomic {
		!region.locked;
		touch_region();
		export.there = false;
		export.gone = true
	};
	pp_region_put();
done:
	skip
}

#endif

#ifdef OTHER_PIN

/* nv_pin() of other memory in the same process, with a table at the address of the freed table */
proctype other_pin()
{
	atomic { table == FREE_TABLE && !puts_writing -> puts_reading++ };
	atomic { !vendor_lock -> table = OTHERS_TABLE };
	puts_reading--
}

#endif
