// SPDX-License-Identifier: MIT
/* The remote side of t_verbs. Serves one client (protocol in verbs.h) and exits when the client ends. */
#include <libpeerpin-verbs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "verbs.h"

enum { KINDS = VERBS_GPU_COMBINED + 1 };

static struct rc rc;
static struct pp_verbs *verbs;
static char *memory[KINDS];

static int open_all(void)
{
	CUcontext ctx;
	int kind;

	if (rc_open(&rc) || pp_verbs_open(rc.pd, VERBS_ACCESS, NULL, &verbs))
		return -1;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		return -1;
	for (kind = 0; kind < KINDS; kind++) {
		memory[kind] = verbs_alloc(kind, NULL);
		if (!memory[kind])
			return -1;
	}
	return 0;
}

static int await_client(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(VERBS_PORT) };
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
		return -1;
	return accept(fd, NULL, NULL);
}

static int connect_back(const struct verbs_command *c, struct verbs_answer *a)
{
	int err = rc_new(&rc);

	a->id = rc.id;
	return err ? err : rc_connect(&rc, &c->id);
}

static int reg(const struct verbs_command *c, struct verbs_answer *a)
{
	const struct pp_mr *mr;
	struct pp_cache_stats stats;
	int err = pp_verbs_reg(verbs, memory[c->kind] + c->at, c->length, &mr, NULL);

	if (err)
		return err;
	a->rkey = mr->mr->rkey;
	pp_verbs_unreg(verbs, mr);
	pp_cache_stats(pp_verbs_cache(verbs), &stats);
	a->pins = stats.pins;
	return 0;
}

/* Fails if the address changes: only an address that is used again tests the cache. */
static int replace(enum verbs_kind kind)
{
	char *was = memory[kind];

	verbs_free(kind, was);
	memory[kind] = verbs_alloc(kind, was);
	if (!memory[kind])
		return -ENOMEM;
	return memory[kind] == was ? 0 : -EADDRNOTAVAIL;
}

static int perform(const struct verbs_command *c, struct verbs_answer *a)
{
	char *p = memory[c->kind] + c->at;

	switch (c->op) {
	case VERBS_CONNECT:
		return connect_back(c, a);
	case VERBS_REGISTER:
		return reg(c, a);
	case VERBS_FILL:
		verbs_fill(p, c->length, c->seed);
		return 0;
	case VERBS_CHECK:
		return verbs_is_filled(p, c->length, c->seed) ? 0 : -EILSEQ;
	case VERBS_REPLACE:
		return replace(c->kind);
	}
	return -EINVAL;
}

static void serve(int fd)
{
	struct verbs_command c;

	while (!verbs_receive(fd, &c, sizeof(c))) {
		struct verbs_answer a = { 0 };

		a.error = perform(&c, &a);
		a.addr = (uintptr_t)memory[c.kind];
		if (verbs_send(fd, &a, sizeof(a)))
			break;
	}
}

int main(void)
{
	int fd;

	if (open_all()) {
		fprintf(stderr, "verbs_server: no adapter or no GPU\n");
		return 1;
	}
	fd = await_client();
	if (fd < 0) {
		perror("verbs_server");
		return 1;
	}
	serve(fd);
	pp_verbs_close(verbs);
	return 0;
}
