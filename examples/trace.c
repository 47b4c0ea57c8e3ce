// SPDX-License-Identifier: MIT
#include <emugpu.h>
#include <errno.h>
#include <fcntl.h>
#include <peerpin.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "say.h"
#include "trace.h"

static int count_maps(struct pp_ctx *ctx, const struct pp_region *region,
		      unsigned int *out)
{
	struct peerpin_query q = { .size = sizeof(q), .region = region->id };

	if (ioctl(pp_fd(ctx), PEERPIN_IOC_QUERY, &q))
		return failed("look", "region %u: %s", region->id,
			      strerror(errno));
	*out = q.out_maps;
	return 0;
}

/* Only the emulated GPU driver counts pins, and only root can read the count. */
static void count_pins(struct trace *t)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_COUNTS };
	int fd = open("/dev/emugpu", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	t->counted = !ioctl(fd, EMUGPU_IOC_TEST, &test);
	t->pins = test.counts.out_get_calls;
	close(fd);
}

int trace_look(struct trace *t, struct pp_ctx *ctx, const struct pp_region *a,
	       const struct pp_region *b)
{
	int ret;

	*t = (struct trace){ .a = *a, .b = *b };
	ret = count_maps(ctx, a, &t->maps_a);
	if (!ret)
		ret = count_maps(ctx, b, &t->maps_b);
	count_pins(t);
	return ret;
}

static bool same_region(const struct pp_region *x, const struct pp_region *y)
{
	return x->id == y->id && x->slot == y->slot && x->epoch == y->epoch;
}

static bool nothing_made(const struct trace *x, const struct trace *y)
{
	return same_region(&x->a, &y->a) && same_region(&x->b, &y->b) &&
	       x->maps_a == y->maps_a && x->maps_b == y->maps_b &&
	       x->counted == y->counted && x->pins == y->pins;
}

int trace_check(const char *what, const struct trace *x, const struct trace *y)
{
	if (!x->maps_a || !x->maps_b)
		return failed(what, "no mapping existed that could be used again");
	if (nothing_made(x, y))
		return 0;
	return failed(what, "regions %u and %u became %u and %u, %u and %u maps %u and %u, %llu pins %llu",
		      x->a.id, x->b.id, y->a.id, y->b.id, x->maps_a, x->maps_b,
		      y->maps_a, y->maps_b, x->pins, y->pins);
}
