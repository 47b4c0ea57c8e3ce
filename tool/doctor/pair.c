// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ways.h"
#include "tool/util/grow.h"
#include "pair.h"
#include "tool/util/printable.h"

enum {
	ACS_EGRESS_CONTROL = 1 << 5,
	ACS_REDIRECTS = ACS_REQUEST_REDIRECT | ACS_COMPLETION_REDIRECT | ACS_EGRESS_CONTROL,
};

static const char *const verdicts[NR_PAIR_VERDICTS] = {
	[PAIR_WELL] = "works well",
	[PAIR_SLOW] = "works slowly",
	[PAIR_NOT] = "not supported",
	[PAIR_UNKNOWN] = "not known",
};

const char *pair_verdict_name(enum pair_verdict verdict)
{
	return verdicts[verdict];
}

const char *peer_name(const struct device *peer)
{
	if (peer->rdma[0])
		return peer->rdma;
	if (peer->kind == DEVICE_NVME || !peer->driver[0])
		return device_kind_name(peer->kind);
	return peer->driver;
}

/* Appends a reason. A verdict worse than the present verdict replaces it. */
static void add(struct pair *p, enum pair_verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(struct pair *p, enum pair_verdict verdict, const char *format, ...)
{
	size_t length = strlen(p->reason);
	va_list args;

	if (length && length + 3 < sizeof(p->reason))
		length += (size_t)sprintf(p->reason + length, "; ");
	va_start(args, format);
	vsnprintf(p->reason + length, sizeof(p->reason) - length, format, args);
	va_end(args);
	make_printable(p->reason);
	if (verdict > p->verdict)
		p->verdict = verdict;
}

void pair_find(const struct view *v, int gpu, int peer, struct pair *out)
{
	memset(out, 0, sizeof(*out));
	out->gpu = gpu;
	out->peer = peer;
	path_find(&v->machine, gpu, peer, &out->path);
}

/* ---- redirection -------------------------------------------------------------- */

/* A bridge with "direct translated P2P" does not redirect requests that the peer has translated by ATS. */
static bool passes_translated(const struct device *bridge, const struct device *peer)
{
	return peer->ats_on && (bridge->acs_ctrl & ACS_DIRECT_TRANSLATED);
}

enum seen pair_redirected_by(const struct view *v, const struct pair *p, const struct device *bridge)
{
	if (p->path.common < 0 || bridge == &v->machine.at[p->path.common])
		return SEEN_NO;
	if (!bridge->config_seen)
		return SEEN_UNKNOWN;
	if (!bridge->has_acs || !(bridge->acs_ctrl & ACS_REDIRECTS))
		return SEEN_NO;
	return passes_translated(bridge, &v->machine.at[p->peer]) ? SEEN_NO : SEEN_YES;
}

/* The first bridge of the path for which pair_redirected_by() returns @wanted, or NULL. */
static const struct device *find_bridge(const struct view *v, const struct pair *p, enum seen wanted)
{
	const struct device *bridge;
	size_t i;

	for (i = 0; i < p->path.nr_bridges; i++) {
		bridge = &v->machine.at[p->path.bridges[i]];
		if (pair_redirected_by(v, p, bridge) == wanted)
			return bridge;
	}
	return NULL;
}

/* ---- reasons -------------------------------------------------------------------- */

static void add_processors(const struct view *v, struct pair *p, const char *rate)
{
	int unknown = v->machine.at[p->gpu].numa_node == NO_NODE ? p->gpu : p->peer;

	switch (p->path.case_of_guide) {
	case PATH_ONE_CPU:
		add(p, PAIR_SLOW,
		    "through the root complex of one CPU, which works, but reads of GPU memory are slow%s", rate);
		break;
	case PATH_TWO_CPUS:
		add(p, PAIR_SLOW,
		    "through the link between two CPUs, which is slow or not reliable: use a GPU and a peer of the "
		    "same CPU%s",
		    rate);
		break;
	default:
		add(p, PAIR_SLOW,
		    "through the root complex of one CPU or through the link between two: the NUMA node of %s is "
		    "unknown%s",
		    address(v, unknown), rate);
	}
}

static void add_path(const struct view *v, struct pair *p)
{
	char rate[64] = "";

	if (p->path.mbps && p->path.slowest >= 0)
		snprintf(rate, sizeof(rate), ", %.1f GB/s by the link of %s", (double)p->path.mbps / 1000,
			 address(v, p->path.slowest));
	if (path_is_hidden(&v->machine, p->gpu) || path_is_hidden(&v->machine, p->peer))
		add(p, PAIR_UNKNOWN,
		    "this virtual machine does not show the bridges between them: run peerpin doctor on its host");
	else if (p->path.case_of_guide == PATH_SWITCHES_ONLY)
		add(p, PAIR_WELL, "only switches between them%s", rate);
	else
		add_processors(v, p, rate);
}

static void add_platform(const struct view *v, struct pair *p)
{
	if (!cpu_is_power8(v))
		return;
	if (p->path.case_of_guide == PATH_SWITCHES_ONLY)
		add(p, PAIR_WELL, "POWER8 does not support this, but through switches it is reported to work");
	else
		add(p, PAIR_NOT, "POWER8 supports only paths through switches");
}

static void add_gpu(const struct view *v, struct pair *p)
{
	const struct device *gpu = &v->machine.at[p->gpu];
	const struct gpu_facts *facts = facts_gpu(&v->facts, gpu->name);

	if (!lends_memory(gpu))
		add(p, PAIR_NOT, "no driver gives the GPU's memory to other drivers: see driver");
	else if (facts && !facts->gdr)
		add(p, PAIR_NOT, "CUDA says that the GPU has no GPUDirect RDMA: see gpu-direct");
}

static void add_ways(const struct view *v, struct pair *p)
{
	const struct device *peer = &v->machine.at[p->peer], *gpu = &v->machine.at[p->gpu];

	if (peer->kind == DEVICE_RDMA && can_register(v, peer, gpu) == SEEN_NO)
		add(p, PAIR_NOT,
		    "%s can register this GPU's memory neither as a dma-buf nor as peer memory: see dma-buf and rdma",
		    peer->rdma);
}

/* Translation costs nothing if the peer uses ATS and no switch on the path redirects translated requests. */
static void add_iommu(const struct view *v, struct pair *p)
{
	const struct device *peer = &v->machine.at[p->peer];
	bool straight = p->path.common >= 0 && peer->ats_on && !find_bridge(v, p, SEEN_YES);

	if (translates(peer) == SEEN_UNKNOWN)
		add(p, PAIR_UNKNOWN, "whether the IOMMU translates for %s cannot be seen", peer->name);
	else if (translates(peer) == SEEN_YES && !straight)
		add(p, PAIR_SLOW,
		    "the IOMMU translates for %s, so its transfers go through the root complex: see iommu-translates",
		    peer->name);
}

static void add_acs(const struct view *v, struct pair *p)
{
	const struct device *bridge = find_bridge(v, p, SEEN_YES), *unseen = find_bridge(v, p, SEEN_UNKNOWN);

	if (bridge)
		add(p, PAIR_SLOW,
		    "bridge %s redirects to the root complex (ACS): setpci -s %s ECAP_ACS+6.w=0:2c would change it",
		    bridge->name, bridge->name);
	else if (unseen && p->verdict == PAIR_WELL)
		add(p, PAIR_UNKNOWN, "%s is needed to see whether bridge %s redirects (ACS): %s", who_sees(v, unseen),
		    unseen->name, how_to_see(v, unseen));
}

static void judge(const struct view *v, struct pair *p)
{
	add_path(v, p);
	add_platform(v, p);
	add_gpu(v, p);
	add_ways(v, p);
	add_iommu(v, p);
	add_acs(v, p);
}

void pairs_judge(const struct view *v, struct pairs *out)
{
	unsigned int number = 0;
	struct pair *p;
	int gpu, peer;

	memset(out, 0, sizeof(*out));
	for (gpu = next_gpu(v, -1); gpu >= 0; gpu = next_gpu(v, gpu), number++)
		for (peer = next_peer(v, -1); peer >= 0; peer = next_peer(v, peer)) {
			out->at = grow(out->at, out->count, sizeof(*out->at));
			p = &out->at[out->count++];
			pair_find(v, gpu, peer, p);
			p->gpu_number = number;
			judge(v, p);
		}
}

void pairs_free(struct pairs *pairs)
{
	free(pairs->at);
	pairs->at = NULL;
	pairs->count = 0;
}
