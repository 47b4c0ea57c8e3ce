// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "libpeerpin-verbs.h"
#include "lib/sys/sys.h"
#include "registration.h"

/**
 * struct text - the text being written, truncated to @room
 * @length: length of the whole text
 */
struct text {
	char *out;
	size_t room;
	int length;
};

/* Address of the next part; NULL if there is no room. */
static char *end_of(const struct text *t, size_t *room)
{
	size_t length = (size_t)t->length;

	*room = length < t->room ? t->room - length : 0;
	return *room ? t->out + length : NULL;
}

__attribute__((format(printf, 2, 3)))
static void add(struct text *t, const char *format, ...)
{
	size_t room;
	char *end = end_of(t, &room);
	va_list args;

	va_start(args, format);
	t->length += vsnprintf(end, room, format, args);
	va_end(args);
}

static const char *const names[PP_MR_WAYS] = {
	[PP_MR_HOST] = "host memory",
	[PP_MR_VENDOR_DMABUF] = "a dma-buf of the GPU's driver",
	[PP_MR_PEERPIN_DMABUF] = "a dma-buf of /dev/peerpin",
	[PP_MR_PEER_MEMORY] = "peer memory",
};

const char *pp_mr_way_name(enum pp_mr_way way)
{
	return names[way];
}

/** struct advice - what to do when @call fails with @error in @way */
struct advice {
	const char *call;
	enum pp_mr_way way;
	int error;
	const char *text;
};

static const struct advice advice[] = {
	{ "pp_open", PP_MR_PEERPIN_DMABUF, -ENOENT, "type: modprobe peerpin" },
	{ "ibv_reg_dmabuf_mr", PP_MR_VENDOR_DMABUF, -EOPNOTSUPP, "the adapter's driver imports no dma-bufs" },
	{ "ibv_reg_dmabuf_mr", PP_MR_PEERPIN_DMABUF, -EOPNOTSUPP, "the adapter's driver imports no dma-bufs" },
	{ "ibv_reg_mr", PP_MR_PEER_MEMORY, -EFAULT,
	  "no peer-memory client knows the address; if the kernel supports clients, type: modprobe peerpin_ibpeer" },
	{ "ibv_reg_mr", PP_MR_HOST, -ENOMEM, "the limit of locked memory may be too low; see: ulimit -l" },
	{ "pp_pin", PP_MR_HOST, -ENOMEM, "see: ulimit -l" },
};

static void advise(struct text *t, const struct pp_mr_attempt *a)
{
	size_t i;

	for (i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		if (advice[i].way == a->way && advice[i].error == a->error && !strcmp(advice[i].call, a->call))
			add(t, " (%s)", advice[i].text);
}

static void tell(struct text *t, const struct pp_mr_attempt *a)
{
	size_t room;
	char *end;

	add(t, "%s: %s: ", names[a->way], a->call);
	end = end_of(t, &room);
	t->length += pp_explain(end, room, a->error, &a->why);
	advise(t, a);
}

PP_PUBLIC int pp_verbs_explain(char *out, size_t room, int error, const struct pp_mr_why *why)
{
	PP_KEEP_ERRNO;
	struct text t = { .out = out, .room = room };
	unsigned int i;

	if (!why || !why->count || why->why.reason)
		return pp_explain(out, room, error, why ? &why->why : NULL);
	for (i = 0; i < why->count; i++) {
		add(&t, i ? "; " : "");
		tell(&t, &why->attempt[i]);
	}
	return t.length;
}
