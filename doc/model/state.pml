/* SPDX-License-Identifier: GPL-2.0 */
/* State and properties. The comment after an assertion is reported if the assertion fails. */

/*
 * enum pp_region_state; for an ended region enum pp_region_cause. ENDING, DEFERRED, ORPHAN and ENDED are
 * the variables pinned, orphan and deferred here: ENDED is !pinned.
 */
#define PINNING 0
#define LIVE 1
#define REVOKED 2
#define CLOSED 3

/* region->work, which can be queued while it runs; TAKEN: a thread cancels it */
mtype = { IDLE, QUEUED, TAKEN };

/* which table is at the address of the page table */
mtype = { NO_TABLE, OUR_TABLE, FREE_TABLE, OTHERS_TABLE };

/* when a transfer ends: without being asked, when stop() was called, or late or never */
mtype = { SOON, WHEN_STOPPED, OVERSTAYS };

typedef region_struct {
	byte ref;
	byte state;
	bool locked;		/* only by dma_enter(): other critical sections are one step */
	bool pinned;
	bool orphan;
	bool deferred;
	byte users;
	byte inflight;
	byte held;
	bool maps;		/* an attachment was ever listed */
	bool extents;		/* listed, and not freed */
	bool viewed;		/* has a CPU mapping: region->cpumap */
	bool cpu_mapped;	/* the CPU mapping has a page table entry */
};

typedef attach_struct {
	byte ref;
	bool listed;		/* in region->attaches and peer->attaches */
	byte inflight;
	bool stopping;
	bool mapped;		/* the device can reach the pages */
	bool stopped;		/* stop() was called */
	bool named;		/* in the log: DMA timed out */
};

typedef peer_struct {
	byte ref = 1;
	bool dying;
	byte users;
	byte strays;		/* unlisted attachments with DMA in flight */
	bool removed;		/* peerpin_peer_unregister() has returned: device and driver are gone */
};

typedef export_struct {
	bool there;		/* in region->exports */
	bool dynamic;		/* the importer has move_notify */
	bool made;		/* its mapping is MAP_MADE */
	bool mapped;		/* its device can reach the pages */
	bool held;
	bool told;
	bool quiet;		/* the importer has signalled its fences since */
	bool named;		/* in the log: DMA timed out */
	bool gone;		/* the importer has unmapped, and its device is removed */
};

#define NOBODY 2
#define IMPORTER 2

region_struct region;
attach_struct attach[2];	/* an attachment has the number of the thread that made it */
peer_struct peer[2];
export_struct export;

bool in_cookies;		/* the cookie table has the region */
bool in_file;			/* the file has an id for it */
bool over;			/* and will never have one again */

mtype in_dma[3] = 0;		/* the transfer of each thread and of the importer, while it is in flight */
bool endless;			/* a transfer will not end */

bool vendor_lock;
bool vendor_pin;		/* the pages are pinned, by the GPU driver or the MM */
bool pages_gone;

bool work_runs;
mtype work = IDLE;

#ifdef HOST
#define LASTING 1
#else
#define LASTING 0
#endif

#ifdef ONE_DRIVER
#define PEER(a) 0
#else
#define PEER(a) (a)
#endif

bool ending;
#ifdef APART			/* an end by the owner and one by the user do not overlap */
#define may_begin_to_end() (!ending && work == IDLE && !work_runs)
#define begin_to_end() ending = true
#define end_to_end() ending = false
#else
#define may_begin_to_end() true
#define begin_to_end() skip
#define end_to_end() skip
#endif

#ifdef LOCK_AROUND_PUT
bool core_lock;
#define take_core_lock() atomic { !core_lock -> core_lock = true }
#define give_core_lock() core_lock = false
#else
#define take_core_lock() skip
#define give_core_lock() skip
#endif

inline touch_region()
{
	assert(region.ref > 0)		/* no use of a freed region */
}

inline touch_attach(a)
{
	assert(attach[a].ref > 0)	/* no use of a freed attachment */
}

inline touch_peer(p)
{
	assert(peer[p].ref > 0)		/* no use of a freed peer */
}

inline touch_device(p)
{
	assert(!peer[p].removed)	/* no use of a removed device or its driver */
}

#define good(t) (in_dma[t] != 0 && in_dma[t] != OVERSTAYS)
/* DMA timed out, its driver is named in the log, and the memory's owner could not wait */
#define overruled(a) (!LASTING && attach[a].named)
#define import_overruled (!LASTING && export.named)

/* in a loop over attachments, which other threads also drop and stop */
inline count_round()
{
	rounds++;
	assert(rounds <= 2)	/* no loop goes on for ever */
}

/* From here on the pages are free, or have another owner. */
inline pages_go()
{
	assert(!pages_gone);			/* pages are given back once */
	assert(region.state >= REVOKED);	/* the epoch is dead when the pages go */
	assert(!good(0) && !good(1) && !good(IMPORTER));	/* no DMA outlives the pages */
	assert(attach[0].inflight == 0 || overruled(0));	/* no DMA outlives the pages but an overdue one */
	assert(attach[1].inflight == 0 || overruled(1));	/* no DMA outlives the pages but an overdue one */
	assert(in_dma[IMPORTER] == 0 || import_overruled);	/* no DMA outlives the pages but an overdue one */
	assert(!attach[0].mapped && !attach[1].mapped && !export.mapped);	/* no DMA mapping outlives the pages */
	assert(!region.cpu_mapped);		/* no CPU mapping outlives the pages */
	pages_gone = true
}

/* When all is done, nothing is left. */
inline nothing_is_left()
{
	assert(pages_gone && !vendor_pin);	/* the pages are given back in the end */
	assert(!region.cpu_mapped && !export.mapped);	/* nothing is mapped in the end */
	assert(!attach[0].mapped && !attach[1].mapped);	/* nothing is mapped in the end */
	assert(!in_cookies && region.ref == 0);	/* the region is freed in the end */
	assert(attach[0].ref == 0 && attach[1].ref == 0);	/* attachments are freed in the end */
	assert(peer[0].ref == 1 - peer[0].removed && peer[1].ref == 1);	/* peers are freed in the end */
	assert(region.users == 0 && region.inflight == 0 && region.held == 0)	/* counts are 0 in the end */
}
