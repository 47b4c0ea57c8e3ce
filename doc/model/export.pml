/* SPDX-License-Identifier: GPL-2.0 */
/* kmod/core/dma/export.c */

#ifdef IMPORT

#define fenced (in_dma[IMPORTER] != 0 && export.dynamic)

inline pp_export_tell_all()
{
	atomic {
		!region.locked;
		touch_region();
		export.told = true
	}
}

/* Waits for the importer's fences, as long as region_drain() does. A static importer has none. */
inline pp_export_wait_all()
{
	atomic {
		if
		:: !fenced -> export.quiet = true
		:: fenced && in_dma[IMPORTER] == OVERSTAYS -> export.named = true
		fi
	}
}

/* pp_import_undo() */
inline import_undo()
{
	atomic {
		assert(region.extents);		/* no use of freed extents */
		assert(!export.gone);		/* no use of a removed device or its driver */
		assert(!good(IMPORTER));	/* no unmapping under DMA */
		assert(in_dma[IMPORTER] == 0 || import_overruled);	/* no unmapping under DMA but an overdue one */
		export.mapped = false
	};
	pp_region_leave()
}

#define to_be_held (LASTING && (!export.quiet || !export.dynamic))

/* map_take_locked() */
inline pp_export_drop_all(did)
{
	atomic {
		!region.locked;
		touch_region();
		did = false;
		if
		:: export.made && !export.held && to_be_held -> export.held = true; region.held++
		:: export.made && !export.held && !to_be_held -> export.made = false; region.users++; did = true
		:: else
		fi
	};
	if
	:: did -> import_undo()
	:: else
	fi
}

/* map_make(), by a user, and the importer's DMA, which begins when the mapping exists */
inline import_map(did)
{
	atomic {
		provider_extents();
		export.mapped = true
	};
	atomic {
		!region.locked;
		touch_region();
		did = region.state == LIVE;
		export.made = did;
		export.mapped = did;
		region.maps = region.maps || did;
		if
		:: did -> in_dma[IMPORTER] = SOON; export.dynamic = true
		:: did -> in_dma[IMPORTER] = WHEN_STOPPED; export.dynamic = true
		:: did && LASTING -> in_dma[IMPORTER] = SOON
#ifdef OVERSTAY
		:: did -> in_dma[IMPORTER] = OVERSTAYS; export.dynamic = true
		:: did && LASTING -> in_dma[IMPORTER] = OVERSTAYS
#endif
		:: !did
		fi
	}
}

inline pp_importer_map(did)
{
	pp_region_enter(did);
	if
	:: did -> import_map(did); pp_region_leave()
	:: else
	fi
}

/* and map_unlist() */
inline pp_importer_unmap(did)
{
	atomic {
		!region.locked;
		touch_region();
		did = export.made;
		export.made = false;
		region.users = region.users + did
	};
	if
	:: did -> import_undo()
	:: else -> !export.mapped
	fi;
	atomic {
		!region.locked;
		touch_region();
		if
		:: export.held -> export.held = false; region.held--; pp_region_idle_locked()
		:: else
		fi
	}
}

#else

inline pp_export_tell_all()
{
	skip
}

inline pp_export_wait_all()
{
	skip
}

inline pp_export_drop_all(did)
{
	skip
}

#endif
