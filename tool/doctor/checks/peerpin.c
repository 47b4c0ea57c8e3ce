// SPDX-License-Identifier: MIT
/* peerpin's modules and its device node. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "checks.h"

void check_peerpin_module(const struct view *v, struct report *r)
{
	switch (module_loaded(v, "peerpin")) {
	case SEEN_YES:
		report_add(r, HEALTH_OK, "peerpin", "loaded");
		break;
	case SEEN_NO:
		report_add(r, HEALTH_WARN, "peerpin",
			   "not loaded: its drivers cannot pin, and programs can use only dma-bufs");
		report_type(r, "modprobe peerpin");
		break;
	default:
		report_add(r, HEALTH_UNSEEN, "peerpin", "whether it is loaded cannot be seen");
		report_type(r, "lsmod | grep peerpin");
	}
}

/* Name of the provider module for this machine. NULL: neither a GPU with a known driver nor an integrated GPU. */
static const char *provider(const struct view *v)
{
	if (v->driver.kind != DRIVER_NONE)
		return "peerpin_nv";
	return is_tegra(v) && !count_gpus(v) ? "peerpin_tegra" : NULL;
}

void check_peerpin_provider(const struct view *v, struct report *r)
{
	const char *name = provider(v);

	if (!name || module_loaded(v, "peerpin") != SEEN_YES)
		return;
	if (module_loaded(v, name) == SEEN_YES) {
		report_add(r, HEALTH_OK, name, "loaded");
	} else if (module_loaded(v, name) == SEEN_NO) {
		report_add(r, HEALTH_WARN, name, "not loaded: peerpin can pin no memory of NVIDIA's GPUs");
		report_type(r, "modprobe %s", name);
	}
}

#define MAKE_NODE "mknod -m 666 /dev/peerpin c 10 $(awk '$2 == \"peerpin\" {print $1}' /proc/misc)"

static void add_no_node(const struct view *v, struct report *r)
{
	const char *hint;

	if (in_container(v, &hint)) {
		report_add(r, HEALTH_FAIL, "/dev/peerpin",
			   "the module is loaded, but its node is missing in this container");
		report_docker(r, "--device=/dev/peerpin");
	} else {
		report_add(r, HEALTH_FAIL, "/dev/peerpin", "the module is loaded, but its node is missing");
		report_type(r, MAKE_NODE);
	}
}

/* Containers have a plain file, a directory or a link to /dev/null in the place of a device. */
static void add_other_file(const struct view *v, struct report *r)
{
	const char *hint;

	report_add(r, HEALTH_FAIL, "/dev/peerpin", "it is not the device of the module, but another file");
	if (in_container(v, &hint))
		report_docker(r, "--device=/dev/peerpin");
	else
		report_type(r, "rm -r /dev/peerpin; " MAKE_NODE);
}

static void add_refused(const struct view *v, struct report *r, const struct node_fact *node)
{
	bool permission = node->open_error == EACCES || node->open_error == EPERM;

	report_add(r, HEALTH_FAIL, "/dev/peerpin", "it cannot be opened: %s (its mode is %04o, its group %u)",
		   strerror(node->open_error), (unsigned int)node->mode, node->gid);
	if (refused_by_container(v, node)) {
		report_docker(r, "--device=/dev/peerpin");
	} else if (permission) {
		report_type(r, "cp /usr/lib/udev/rules.d/60-peerpin.rules /etc/udev/rules.d/; udevadm control "
			       "--reload; udevadm trigger --name-match=peerpin    # for all users (after make install "
			       "copy it from /usr/local/lib); or join its group");
	} else {
		report_type(r, "dmesg | grep peerpin; rmmod peerpin_nv peerpin; modprobe peerpin_nv");
	}
}

void check_peerpin_node(const struct view *v, struct report *r)
{
	const struct node_fact *node = facts_node(&v->facts, "/dev/peerpin");

	if (module_loaded(v, "peerpin") != SEEN_YES)
		return;
	if (!node) {
		report_add(r, HEALTH_UNSEEN, "/dev/peerpin", "this tree has no facts about device nodes");
		report_type(r, "peerpin doctor --capture FILE.tar    # on that machine");
	} else if (node->mode < 0) {
		add_no_node(v, r);
	} else if (node->open_error == ENODEV) {
		add_other_file(v, r);
	} else if (node->open_error) {
		add_refused(v, r, node);
	} else {
		report_add(r, HEALTH_OK, "/dev/peerpin", "it can be opened");
	}
}
