// SPDX-License-Identifier: MIT
/* ACS: a bridge with request redirect sends transfers up to the root complex, instead of directly to the peer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checks.h"
#include "tool/doctor/pair.h"

/* Sets redirects[i] for each bridge i of this pair: SEEN_YES if it redirects, SEEN_UNKNOWN if that cannot be seen. */
static void ask_pair(const struct view *v, const struct pair *p, unsigned char *redirects)
{
	enum seen seen;
	size_t i;
	int index;

	for (i = 0; i < p->path.nr_bridges; i++) {
		index = p->path.bridges[i];
		seen = pair_redirected_by(v, p, &v->machine.at[index]);
		if (seen != SEEN_NO)
			redirects[index] = seen;
	}
}

static void ask_all(const struct view *v, unsigned char *redirects)
{
	struct pair p;
	int gpu, peer;

	memset(redirects, SEEN_NO, v->machine.count);
	for (gpu = next_gpu(v, -1); gpu >= 0; gpu = next_gpu(v, gpu)) {
		for (peer = next_peer(v, -1); peer >= 0; peer = next_peer(v, peer)) {
			pair_find(v, gpu, peer, &p);
			ask_pair(v, &p, redirects);
		}
	}
}

static void add_redirect(struct report *r, const struct device *bridge, const char *for_good)
{
	report_add(r, HEALTH_WARN, bridge->name,
		   "this bridge between a GPU and a peer redirects requests to the root complex (ACS control %04x)",
		   bridge->acs_ctrl);
	report_type(r, "setpci -s %s ECAP_ACS+6.w=0:2c%s", bridge->name, for_good);
}

/* Writes the names of the redirecting bridges as "A;B"; the list ends with ";..." if @out is too small. */
static void list_bridges(const struct view *v, const unsigned char *redirects, char *out, size_t size)
{
	static const char more[] = ";...";
	size_t i, length = 0;

	*out = '\0';
	for (i = 0; i < v->machine.count; i++) {
		if (redirects[i] != SEEN_YES)
			continue;
		if (length + sizeof(v->machine.at[i].name) + sizeof(more) > size) {
			strcpy(out + length, more);
			return;
		}
		length += (size_t)sprintf(out + length, "%s%s", length ? ";" : "", v->machine.at[i].name);
	}
}

/*
 * Writes the advice for a permanent change. The kernel uses only the last disable_acs_redir= of its command line, so
 * one parameter lists all bridges. The parameter needs quotes, because GRUB ends a command at an unquoted semicolon.
 */
static void say_for_good(const struct view *v, const unsigned char *redirects, char *out, size_t size)
{
	bool again = strstr(v->cmdline, "disable_acs_redir=");
	char bridges[700];

	list_bridges(v, redirects, bridges, sizeof(bridges));
	snprintf(out, size,
		 "    # to keep it after a reboot: add 'pci=disable_acs_redir=%s'%s with the quotes to "
		 "GRUB_CMDLINE_LINUX=\"...\" in /etc/default/grub; update-grub; reboot",
		 bridges, again ? ", merged with the bridges already listed there," : "");
}

static bool root_ports_redirect(const struct view *v)
{
	size_t i;

	for (i = 0; i < v->machine.count; i++)
		if (v->machine.at[i].port == PORT_ROOT && (v->machine.at[i].acs_ctrl & ACS_REQUEST_REDIRECT))
			return true;
	return false;
}

static size_t count_that(const struct view *v, const unsigned char *redirects, enum seen wanted)
{
	size_t i, n = 0;

	for (i = 0; i < v->machine.count; i++)
		n += redirects[i] == wanted;
	return n;
}

static void add_redirects(const struct view *v, struct report *r, const unsigned char *redirects)
{
	size_t i, left = count_that(v, redirects, SEEN_YES);
	char for_good[960];

	say_for_good(v, redirects, for_good, sizeof(for_good));
	for (i = 0; i < v->machine.count; i++)
		if (redirects[i] == SEEN_YES)
			add_redirect(r, &v->machine.at[i], --left ? "" : for_good);
}

static const struct device *first_unseen(const struct view *v, const unsigned char *redirects)
{
	size_t i = 0;

	while (redirects[i] != SEEN_UNKNOWN)
		i++;
	return &v->machine.at[i];
}

static void tell(const struct view *v, struct report *r, const unsigned char *redirects)
{
	size_t unseen = count_that(v, redirects, SEEN_UNKNOWN);

	add_redirects(v, r, redirects);
	if (unseen) {
		report_add(r, HEALTH_UNSEEN, "machine",
			   "%zu bridge%s between GPUs and peers: reading ACS needs %s", unseen,
			   unseen == 1 ? "" : "s", who_sees(v, first_unseen(v, redirects)));
		report_type(r, "%s", how_to_see(v, first_unseen(v, redirects)));
	} else if (!count_that(v, redirects, SEEN_YES)) {
		report_add(r, HEALTH_OK, "machine",
			   "no switch between a GPU and a peer redirects requests to the root complex%s",
			   root_ports_redirect(v) ? "; root ports do, but they are part of it" : "");
	}
}

void check_acs_redirect(const struct view *v, struct report *r)
{
	unsigned char *redirects;

	if (next_gpu(v, -1) < 0 || next_peer(v, -1) < 0)
		return;
	redirects = malloc(v->machine.count);
	if (!redirects)
		return;
	ask_all(v, redirects);
	tell(v, r, redirects);
	free(redirects);
}
