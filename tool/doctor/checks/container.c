// SPDX-License-Identifier: MIT
/* Device nodes: in a container a node may be missing although its driver is loaded. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "checks.h"

void report_docker(struct report *r, const char *option)
{
	report_type(r, "docker run %s ...    # where the container is started; Kubernetes: its device plugin", option);
}

/* EPERM: by the device rules of a container (EACCES: file permissions). ENODEV: another file in place of the device */
bool refused_by_container(const struct view *v, const struct node_fact *node)
{
	const char *hint;

	return (node->open_error == EPERM || node->open_error == ENODEV) && in_container(v, &hint);
}

void check_container(const struct view *v, struct report *r)
{
	const char *hint;

	if (in_container(v, &hint)) {
		report_add(r, HEALTH_OK, "machine",
			   "this is a container (%s): its host loads drivers, and --device passes device nodes", hint);
	}
}

static void add_missing(const struct view *v, struct report *r, const char *node, const char *option,
			const char *command)
{
	const char *hint;

	if (in_container(v, &hint)) {
		report_add(r, HEALTH_FAIL, node, "the driver is loaded, but its node is missing in this container");
		report_docker(r, option);
	} else {
		report_add(r, HEALTH_FAIL, node, "the driver is loaded, but its node is missing");
		report_type(r, "%s", command);
	}
}

static void add_refused(const struct view *v, struct report *r, const struct node_fact *node)
{
	report_add(r, HEALTH_FAIL, node->path, "it cannot be opened: %s (its mode is %04o, its owner %u, its group %u)",
		   strerror(node->open_error), (unsigned int)node->mode, node->uid, node->gid);
	if (refused_by_container(v, node))
		report_docker(r, tree_path("--device=%s", node->path).at);
	else
		report_type(r, "ls -l %s; id    # join its group, or: sudo chmod a+rw %s", node->path, node->path);
}

/* ---- nodes of NVIDIA's driver ------------------------------------------------------ */

static bool has_node_like(const struct view *v, const char *prefix, bool digit)
{
	const struct node_fact *n;
	size_t i, length = strlen(prefix);

	for (i = 0; i < v->facts.nr_nodes; i++) {
		n = &v->facts.nodes[i];
		if (n->mode >= 0 && !strncmp(n->path, prefix, length) &&
		    (!digit || (n->path[length] >= '0' && n->path[length] <= '9'))) {
			return true;
		}
	}
	return false;
}

static size_t add_refusals(const struct view *v, struct report *r, const char *prefix)
{
	const struct node_fact *n;
	size_t i, found = 0;

	for (i = 0; i < v->facts.nr_nodes; i++) {
		n = &v->facts.nodes[i];
		if (n->mode >= 0 && n->open_error && !strncmp(n->path, prefix, strlen(prefix))) {
			add_refused(v, r, n);
			found++;
		}
	}
	return found;
}

static bool drives_gpus(const struct view *v)
{
	return v->driver.kind != DRIVER_NONE && v->driver.kind != DRIVER_EMULATED;
}

static size_t add_missing_nvidia(const struct view *v, struct report *r)
{
	static const struct {
		const char *path;
		bool digit;
		const char *name;
		const char *command;
	} rows[] = {
		{ "/dev/nvidiactl", false, "/dev/nvidiactl", "nvidia-modprobe" },
		{ "/dev/nvidia-uvm", false, "/dev/nvidia-uvm", "nvidia-modprobe -u -c 0" },
		{ "/dev/nvidia", true, "/dev/nvidia0", "nvidia-modprobe -c 0" },
	};
	size_t i, found = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!has_node_like(v, rows[i].path, rows[i].digit)) {
			add_missing(v, r, rows[i].name, "--gpus all", rows[i].command);
			found++;
		}
	}
	return found;
}

void check_nodes_nvidia(const struct view *v, struct report *r)
{
	if (!drives_gpus(v) || !v->facts.known)
		return;
	if (!(add_missing_nvidia(v, r) + add_refusals(v, r, "/dev/nvidia")))
		report_add(r, HEALTH_OK, "/dev/nvidia*", "the GPU driver's nodes are there");
}

/* ---- nodes of RDMA devices --------------------------------------------------------- */

void check_nodes_rdma(const struct view *v, struct report *r)
{
	if (!has_rdma(v) || !v->facts.known)
		return;
	if (!has_node_like(v, "/dev/infiniband/uverbs", true))
		add_missing(v, r, "/dev/infiniband/uverbs0", "--device=/dev/infiniband", "modprobe ib_uverbs");
	else if (!add_refusals(v, r, "/dev/infiniband/uverbs"))
		report_add(r, HEALTH_OK, "/dev/infiniband", "the RDMA devices' nodes can be opened");
}
