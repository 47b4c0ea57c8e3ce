// SPDX-License-Identifier: MIT
#include <errno.h>
#include <peerpin.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include "test/fuzz/calls/random.h"
#include "area.h"
#include "pattern.h"
#include "peer.h"
#include "work.h"

enum {
	VIEW_SIZE = 64 << 10,
};

static sigjmp_buf gone;

static void jump(int signo)
{
	(void)signo;
	siglongjmp(gone, 1);
}

/* False if the CPU mapping was revoked before all was written */
static bool write_view(void *view, const void *from)
{
	static const struct sigaction jumps = { .sa_handler = jump }, usual = { .sa_handler = SIG_DFL };
	bool there = !sigsetjmp(gone, 1);

	if (there) {
		sigaction(SIGBUS, &jumps, NULL);
		memcpy(view, from, VIEW_SIZE);
		__sync_synchronize();
	}
	sigaction(SIGBUS, &usual, NULL);
	return there;
}

static void *map(struct worker *w, const struct pin *pin, uint64_t offset)
{
	void *at = mmap(NULL, VIEW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, w->core,
			(off_t)(PEERPIN_MMAP_OFFSET(pin->region) + offset));

	if (at != MAP_FAILED)
		return at;
	worker_check(w, OP_VIEW, -errno, pin_when(w, pin));
	return NULL;
}

static void use_view(struct worker *w, struct area *area, void *view, uint64_t offset)
{
	struct area *host = &w->areas[HOST_B];
	unsigned char *to = (unsigned char *)host->at;

	pattern_write(to, HOST_SIZE, w->number, ++w->round);
	pattern_write(w->scratch, VIEW_SIZE, w->number, ++w->round);
	if (!write_view(view, w->scratch)) {
		count(COUNT_SIGBUS, 1);
		if (!(pin_when(w, &area->pin) & WHEN_REVOKED))
			soak_fail("worker %u: SIGBUS in a CPU mapping of a live region", w->number);
		return;
	}
	if (!peer_copy(w, (struct end){ &host->pin, 0 }, (struct end){ &area->pin, offset }, VIEW_SIZE))
		work_compare(w, "what the CPU wrote through a view", to, w->scratch, 0, VIEW_SIZE);
}

void work_view(struct worker *w)
{
	struct area *area = &w->areas[random_below(&w->seed, 2) ? GPU_A : GPU_B];
	uint64_t offset = RESIDENT + random_below(&w->seed, 16) * VIEW_SIZE;
	void *view;

	if (area_get(w, HOST_B) || area_pin(w, &w->areas[HOST_B]) || area_get(w, area - w->areas) || area_pin(w, area) ||
	    peer_get(w))
		return;
	view = map(w, &area->pin, offset);
	if (!view)
		return;
	use_view(w, area, view, offset);
	munmap(view, VIEW_SIZE);
}
