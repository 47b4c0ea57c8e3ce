// SPDX-License-Identifier: MIT
#include <peerpin.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "test/fuzz/calls/random.h"
#include "test/vm/harness/emu.h"
#include "area.h"
#include "pattern.h"

enum { GPUS = 2 };

static const uint64_t gpu_addresses[] = { [GPU_A] = 0x200000000, [GPU_B] = 0x240000000 };

/* ---- memory ----------------------------------------------------------------------- */

static int host_get(const struct worker *w, struct area *area)
{
	void *at = mmap(NULL, HOST_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		soak_fail("no memory");
	/*
	 * Without huge pages the kernel rarely moves memory beside thread stacks. One worker in
	 * eight allows moves.
	 */
	if (w->number % 8)
		madvise(at, HOST_SIZE, MADV_NOHUGEPAGE);
	*area = (struct area){ .there = true, .at = (uintptr_t)at, .size = HOST_SIZE, .made = since_now() };
	return 0;
}

void area_expect_resident(struct worker *w, const struct area *area)
{
	pattern_write(w->scratch, RESIDENT, w->number, area->resident);
}

static int write_resident(struct worker *w, struct area *area)
{
	int err;

	area->resident = ++w->round;
	area_expect_resident(w, area);
	err = emu_write(w->gpu, area->at, w->scratch, RESIDENT);
	return worker_check(w, OP_GPU_COPY, err, since_what(&area->made));
}

static int gpu_get(struct worker *w, struct area *area, enum area_name name)
{
	struct emugpu_alloc alloc = {
		.gpu = (uint32_t)random_below(&w->seed, GPUS), .va = gpu_addresses[name], .size = GPU_SIZE,
		.context = w->context,
	};
	int err;

	*area = (struct area){ .gpu = true, .at = alloc.va, .size = GPU_SIZE, .made = since_now() };
	err = emu_call(w->gpu, EMUGPU_IOC_ALLOC, &alloc);
	err = worker_check(w, OP_ALLOC, err, since_what(&area->made));
	if (err)
		return err;
	area->there = true;
	err = write_resident(w, area);
	if (err)
		area_drop(w, area);
	return err;
}

int area_get(struct worker *w, enum area_name name)
{
	struct area *area = &w->areas[name];

	if (area->there)
		return 0;
	return name == GPU_A || name == GPU_B ? gpu_get(w, area, name) : host_get(w, area);
}

static void area_free(struct worker *w, struct area *area)
{
	if (area->gpu)
		worker_check(w, OP_FREE, emu_free(w->gpu, area->at), 0);
	else
		munmap((void *)area->at, area->size);
	area->there = false;
}

void area_drop(struct worker *w, struct area *area)
{
	bool first = random_below(&w->seed, 2);

	if (first)
		area_unpin(w, area);
	if (area->there)
		area_free(w, area);
	area_unpin(w, area);
}

void area_drop_revoked(struct worker *w)
{
	int i;

	for (i = 0; i < AREAS; i++)
		if (w->areas[i].pin.there && pin_when(w, &w->areas[i].pin) & WHEN_REVOKED)
			area_drop(w, &w->areas[i]);
}

int area_look(struct worker *w, struct area *area)
{
	unsigned char *found = w->scratch + RESIDENT;
	char text[PATTERN_TEXT];
	size_t at;
	int err;

	err = emu_read(w->gpu, found, area->at, RESIDENT);
	err = worker_check(w, OP_GPU_COPY, err, since_what(&area->made));
	if (err)
		return err;
	area_expect_resident(w, area);
	at = pattern_differs(found, w->scratch, RESIDENT);
	if (at == RESIDENT)
		return 0;
	pattern_tell(found + at / 8 * 8, w->scratch + at / 8 * 8, text);
	soak_fail("worker %u: byte %zu of unwritten GPU memory has changed: %s", w->number, at, text);
	exit(1);
}

/* ---- pins ------------------------------------------------------------------------- */

static void choose_kind(struct worker *w, struct peerpin_pin *args)
{
	switch (random_below(&w->seed, 4)) {
	case 0:
		args->flags = PEERPIN_PIN_PERSISTENT;
		break;
	case 1:
		if (!w->context)
			break;
		args->p2p_token = w->token;
		args->va_space_token = w->va_space;
		break;
	}
}

int area_pin(struct worker *w, struct area *area)
{
	struct peerpin_pin args = {
		.size = sizeof(args), .addr = area->at, .length = area->size,
		.provider = area->gpu ? PEERPIN_PROVIDER_NV : PEERPIN_PROVIDER_HOST,
	};
	struct since since = since_now();
	int err;

	if (area->pin.there)
		return 0;
	if (area->gpu)
		choose_kind(w, &args);
	err = ioctl(w->core, PEERPIN_IOC_PIN, &args) ? -errno : 0;
	err = worker_check(w, area->gpu ? OP_PIN_GPU : OP_PIN_HOST, err,
			   since_what(&since) | (since_what(&area->made) & WHEN_GPU));
	if (err)
		return err;
	area->pin = (struct pin){ .there = true, .host = !area->gpu, .region = args.out_region, .made = since };
	count(COUNT_PINS, 1);
	return 0;
}

void area_unpin(struct worker *w, struct area *area)
{
	struct peerpin_unpin args = { .size = sizeof(args), .region = area->pin.region };

	if (!area->pin.there)
		return;
	worker_check(w, OP_UNPIN, ioctl(w->core, PEERPIN_IOC_UNPIN, &args) ? -errno : 0, 0);
	area->pin.there = false;
}

unsigned int pin_when(struct worker *w, const struct pin *pin)
{
	struct peerpin_query args = { .size = sizeof(args), .region = pin->region };
	unsigned int when = since_what(&pin->made) & WHEN_GPU;

	if (ioctl(w->core, PEERPIN_IOC_QUERY, &args) || args.out_state != PEERPIN_STATE_REVOKED)
		return when;
	return pin->host || when ? when | WHEN_REVOKED : 0;
}
