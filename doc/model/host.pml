/* SPDX-License-Identifier: GPL-2.0 */
/* kmod/providers/host.c, and the MM. A persistent pin of kmod/providers/nv.c is the same without a notifier. */

bool notifier;			/* registered */
bool notifier_runs;
bool host_pages;		/* the list of pages exists */

/* host_pin() */
inline provider_pin()
{
	atomic {
		notifier = true;
		vendor_pin = true;
		host_pages = true
	}
}

inline provider_look()
{
	skip
}

inline provider_extents()
{
	atomic {
		assert(host_pages && !pages_gone);	/* no page table is read when the pages are gone */
		region.extents = true
	}
}

/* host_unpin(): the first call gives the pages back */
inline provider_unpin(did)
{
	atomic {
		did = vendor_pin;
		vendor_pin = false
	};
	if
	:: did ->
		atomic {
			assert(host_pages);	/* no use of a freed list of pages */
			pages_go()
		}
	:: else
	fi
}

inline provider_release(did)
{
	provider_unpin(did)
}

/* host_cleanup(); removing the notifier waits until it does not run */
inline provider_cleanup()
{
	atomic {
		!notifier_runs;
		notifier = false
	};
	atomic {
		if
		:: vendor_pin -> vendor_pin = false; pages_go()
		:: else
		fi;
		host_pages = false
	}
}
