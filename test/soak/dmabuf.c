// SPDX-License-Identifier: MIT
#include <errno.h>
#include <peerpin.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "test/fuzz/calls/random.h"
#include "test/vm/harness/emu.h"
#include "area.h"
#include "peer.h"
#include "work.h"

static int export_by_gpu(struct worker *w, const struct area *area)
{
	struct emugpu_export args = { .va = area->at, .size = area->size };
	int err = emu_call(w->gpu, EMUGPU_IOC_EXPORT, &args);

	return worker_check(w, OP_EXPORT_GPU, err, since_what(&area->made)) ?: args.out_fd;
}

static int export_region(struct worker *w, struct area *area)
{
	struct peerpin_export args = { .size = sizeof(args), .length = area->size };
	int err = area_pin(w, area);

	if (err)
		return err;
	args.region = area->pin.region;
	err = ioctl(w->core, PEERPIN_IOC_EXPORT, &args) ? -errno : 0;
	return worker_check(w, OP_EXPORT, err, err ? pin_when(w, &area->pin) : 0) ?: args.out_fd;
}

static int pin_dmabuf(struct worker *w, int dmabuf, const struct area *area, struct area *out)
{
	struct peerpin_pin args = {
		.size = sizeof(args), .length = area->size, .provider = PEERPIN_PROVIDER_DMABUF, .fd = dmabuf,
	};
	struct since since = since_now();
	int err;

	*out = (struct area){ .made = area->made };
	err = ioctl(w->core, PEERPIN_IOC_PIN, &args) ? -errno : 0;
	err = worker_check(w, OP_PIN_DMABUF, err, since_what(&since));
	if (!err)
		out->pin = (struct pin){ .there = true, .region = args.out_region, .made = area->made };
	return err;
}

static void read_through(struct worker *w, struct area *area, struct area *dmabuf)
{
	struct area *host = &w->areas[HOST_B];

	if (peer_copy(w, (struct end){ &host->pin, 0 }, (struct end){ &dmabuf->pin, 0 }, RESIDENT))
		return;
	area_expect_resident(w, area);
	work_compare(w, "a read through a dma-buf", (unsigned char *)host->at, w->scratch, 0, RESIDENT);
}

void work_dmabuf(struct worker *w)
{
	struct area *area = &w->areas[random_below(&w->seed, 2) ? GPU_A : GPU_B], pinned;
	int dmabuf;

	if (area_get(w, HOST_B) || area_pin(w, &w->areas[HOST_B]) || area_get(w, area - w->areas) || peer_get(w))
		return;
	dmabuf = random_below(&w->seed, 2) ? export_by_gpu(w, area) : export_region(w, area);
	if (dmabuf < 0)
		return;
	if (!pin_dmabuf(w, dmabuf, area, &pinned)) {
		read_through(w, area, &pinned);
		area_unpin(w, &pinned);
	}
	close(dmabuf);
}
