// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "test/fuzz/calls/random.h"
#include "test/vm/harness/emu.h"
#include "area.h"
#include "pattern.h"
#include "peer.h"
#include "work.h"

enum { RIVAL_US = 4000 };

struct journey {
	uint64_t length;
	uint64_t at[AREAS];	/* offset of the copied bytes in each area */
};

void work_compare(struct worker *w, const char *what, const unsigned char *found, const unsigned char *expected,
		  uint64_t place, uint64_t length)
{
	uint64_t at = pattern_differs(found, expected, length), word = (place + at) / 8 * 8 - place;
	char text[PATTERN_TEXT];

	if (at == length) {
		count(COUNT_BYTES, length);
		return;
	}
	/* The first word may lie only partly in the copied range: use the next word. */
	if ((int64_t)word < 0)
		word += 8;
	pattern_tell(found + word, expected + word, text);
	soak_fail("worker %u: %s: byte %" PRIu64 " of %" PRIu64 " was lost: %s", w->number, what, at, length, text);
	exit(1);
}

static struct journey choose_journey(struct worker *w)
{
	struct journey j = { .length = 64 + random_below(&w->seed, JOURNEY_MAX - 64) };
	int i;

	for (i = 0; i < AREAS; i++)
		j.at[i] = random_below(&w->seed, HOST_SIZE - JOURNEY_MAX);
	j.at[GPU_A] += RESIDENT + random_below(&w->seed, GPU_SIZE / 2);
	j.at[GPU_B] += RESIDENT + random_below(&w->seed, GPU_SIZE / 2);
	return j;
}

static struct end end_of(struct worker *w, const struct journey *j, enum area_name name)
{
	return (struct end){ &w->areas[name].pin, j->at[name] };
}

/* A journey may skip one or both of the GPU areas. */
static int travel(struct worker *w, const struct journey *j)
{
	enum area_name here = HOST_A;
	int err = 0;

	if (random_below(&w->seed, 4)) {
		err = peer_copy(w, end_of(w, j, GPU_A), end_of(w, j, here), j->length);
		here = GPU_A;
	}
	if (!err && random_below(&w->seed, 4)) {
		err = peer_copy(w, end_of(w, j, GPU_B), end_of(w, j, here), j->length);
		here = GPU_B;
	}
	return err ?: peer_copy(w, end_of(w, j, HOST_B), end_of(w, j, here), j->length);
}

/* Outside the copied range the destination must be unchanged. */
static void compare_around(struct worker *w, const struct journey *j)
{
	unsigned char *found = (unsigned char *)w->areas[HOST_B].at;
	uint64_t behind = j->at[HOST_B] + j->length;

	pattern_write(w->scratch, HOST_SIZE, w->number, w->round);
	work_compare(w, "before what was copied", found, w->scratch, 0, j->at[HOST_B]);
	work_compare(w, "behind what was copied", found + behind, w->scratch + behind, behind, HOST_SIZE - behind);
}

static void go(struct worker *w)
{
	unsigned char *from = (unsigned char *)w->areas[HOST_A].at, *to = (unsigned char *)w->areas[HOST_B].at;
	struct journey j = choose_journey(w);

	pattern_write(from, HOST_SIZE, w->number, ++w->round);
	pattern_write(to, HOST_SIZE, w->number, ++w->round);
	if (travel(w, &j)) {
		if (!w->rival)
			area_drop_revoked(w);
		return;
	}
	work_compare(w, "a journey", to + j.at[HOST_B], from + j.at[HOST_A], j.at[HOST_A], j.length);
	compare_around(w, &j);
}

static bool ready(struct worker *w)
{
	int i;

	for (i = 0; i < AREAS; i++)
		if (area_get(w, i) || area_pin(w, &w->areas[i]))
			return false;
	return !peer_get(w);
}

void work_journey(struct worker *w)
{
	if (ready(w))
		go(w);
}

/* ---- a rival thread frees or unpins areas ------------------------------------------ */

struct rival {
	struct worker *w;
	struct area *area;
	bool unpin;
	useconds_t delay;
};

static void *rival_run(void *arg)
{
	struct rival *rival = arg;

	usleep(rival->delay);
	if (rival->unpin) {
		area_unpin(rival->w, rival->area);
		return NULL;
	}
	worker_check(rival->w, OP_FREE, emu_free(rival->w->gpu, rival->area->at), 0);
	rival->area->there = false;
	return NULL;
}

void work_journey_with_rival(struct worker *w)
{
	struct rival rival = {
		.w = w, .area = &w->areas[random_below(&w->seed, 2) ? GPU_A : GPU_B],
		.unpin = random_below(&w->seed, 2), .delay = (useconds_t)random_below(&w->seed, RIVAL_US),
	};
	pthread_t thread;

	if (!ready(w))
		return;
	w->rival = true;
	if (pthread_create(&thread, NULL, rival_run, &rival))
		soak_fail("no thread");
	go(w);
	pthread_join(thread, NULL);
	w->rival = false;
	area_drop(w, rival.area);
}
