// SPDX-License-Identifier: MIT
/*
 * Which monitor the caches of libfabric and UCX use in a process: does a cache learn that memory was freed? Code that
 * was linked statically cannot be seen.
 */
#include <string.h>
#include "checks.h"

enum {
	PROCESS,
	FABRIC_CACHE,
	FABRIC_MONITOR,
	FABRIC_GPU,
	UCX_MONITOR,
	UCX_GPU,
};

static const struct check checks[] = {
	[PROCESS] = { .id = "process", .section = "11.2" },
	[FABRIC_CACHE] = { .id = "fabric-cache", .section = "11.2" },
	[FABRIC_MONITOR] = { .id = "fabric-monitor", .section = "11.2" },
	[FABRIC_GPU] = { .id = "fabric-gpu", .section = "11.2" },
	[UCX_MONITOR] = { .id = "ucx-monitor", .section = "11.2" },
	[UCX_GPU] = { .id = "ucx-gpu", .section = "11.2" },
};

#define ADVISE_FI "LD_PRELOAD=libpeerpin-fi.so.1 COMMAND    # start the program again"
#define ADVISE_USERFAULTFD "FI_MR_CACHE_MONITOR=userfaultfd COMMAND    # start the program again, without libpeerpin-fi"
#define ADVISE_NO_CACHE "FI_MR_CACHE_MAX_COUNT=0 COMMAND    # start the program again: each transfer registers its memory"
#define ADVISE_UCM "LD_PRELOAD=libpeerpin-hook.so.1:libpeerpin-ucm.so.1 COMMAND    # start the program again"
#define ADVISE_STDERR "PEERPIN_DEBUG=1 COMMAND 2>&1 | grep -i peerpin    # start the program again, and read the reason"

static void ok(const struct process *p, struct report *r, const char *why)
{
	report_add(r, HEALTH_OK, p->subject, "%s", why);
}

static void warn(const struct process *p, struct report *r, const char *why, const char *type)
{
	report_add(r, HEALTH_WARN, p->subject, "%s", why);
	report_type(r, "%s", type);
}

/* ---- libfabric ------------------------------------------------------------------------- */

/* Returns whether libfabric can have a cache. */
static bool check_fabric_cache(const struct process *p, struct report *r)
{
	r->check = &checks[FABRIC_CACHE];
	if (!strcmp(p->variables[VARIABLE_MONITOR], "disabled") || !strcmp(p->variables[VARIABLE_MAX_COUNT], "0")) {
		ok(p, r, "libfabric caches nothing, because FI_MR_CACHE_MONITOR=disabled or FI_MR_CACHE_MAX_COUNT=0 was set: "
		   "each transfer registers its memory");
		return false;
	}
	if (!p->files[FILE_RDMA]) {
		ok(p, r, "no RDMA device is open: only the providers verbs, efa, cxi and those above them cache registrations");
		return false;
	}
	ok(p, r, "an RDMA device is open: the providers verbs, efa and cxi, and those above them, cache registrations");
	return true;
}

/* libpeerpin-fi is loaded. Its thread runs while libfabric has a cache with this monitor, or had one. */
static void judge_ours(const struct process *p, struct report *r, bool has_cache)
{
	const char *selected = p->variables[VARIABLE_MONITOR];

	if (p->threads[THREAD_FI]) {
		ok(p, r, "libfabric's monitor is libpeerpin-fi: each hit is checked by a word that the kernel changes before memory is reused");
	} else if (*selected) {
		report_add(r, HEALTH_WARN, p->subject,
			   "libpeerpin-fi does nothing, because FI_MR_CACHE_MONITOR=%s selects another monitor", selected);
		report_type(r, "env -u FI_MR_CACHE_MONITOR COMMAND    # start the program again");
	} else if (!p->maps[MAP_NODE]) {
		warn(p, r, "libpeerpin-fi is loaded, but is not the monitor: the process has opened no fabric yet, or is a "
		     "child of fork(), or libfabric refused to import the monitor", ADVISE_STDERR);
	} else if (has_cache) {
		warn(p, r, "libpeerpin-fi is loaded, but no cache uses it", ADVISE_STDERR);
	} else {
		ok(p, r, "libfabric's monitor is libpeerpin-fi; there is no cache yet");
	}
}

static void judge_selected(const struct process *p, struct report *r)
{
	static const char *const seen[] = { "userfaultfd", "uffd", "kdreg2" };
	const char *selected = p->variables[VARIABLE_MONITOR];
	size_t i;

	for (i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		if (strcmp(selected, seen[i]))
			continue;
		report_add(r, HEALTH_OK, p->subject,
			   "libfabric's monitor is %s (FI_MR_CACHE_MONITOR): the kernel reports frees of host memory", selected);
		return;
	}
	report_add(r, HEALTH_WARN, p->subject,
		   "libfabric's monitor is %s (FI_MR_CACHE_MONITOR): it intercepts munmap() and others, and misses raw system calls",
		   selected);
	report_type(r, "%s", p->maps[MAP_FI_MODULE] ? ADVISE_USERFAULTFD : "env -u FI_MR_CACHE_MONITOR " ADVISE_FI);
}

static void judge_default(const struct process *p, struct report *r)
{
	if (p->files[FILE_KDREG2])
		ok(p, r, "libfabric's monitor is kdreg2: the kernel reports frees of host memory");
	else if (p->files[FILE_USERFAULTFD])
		ok(p, r, "libfabric's monitor is userfaultfd, which is open: the kernel reports frees of host memory");
	else if (p->maps[MAP_FI_MODULE])
		warn(p, r, "a provider module of libfabric has its own cache, whose monitor is memhooks: it intercepts munmap() and "
		     "others, and misses raw system calls", ADVISE_USERFAULTFD);
	else if (p->maps[MAP_OPENMPI_OFI])
		warn(p, r, "libfabric's monitor is that of Open MPI: it intercepts munmap() and others, and misses raw system calls",
		     "mpirun -x LD_PRELOAD=libpeerpin-fi.so.1 COMMAND    # start the program again");
	else
		warn(p, r, "libfabric's monitor is memhooks: it intercepts munmap() and others, and misses raw system calls", ADVISE_FI);
}

/*
 * A libfabric that was built with CUDA links or opens libcudart.so. So without libcudart.so libfabric has no CUDA. With
 * libcudart.so this is not known: the program may have loaded it.
 */
static void check_fabric_gpu(const struct process *p, struct report *r)
{
	r->check = &checks[FABRIC_GPU];
	if (!p->maps[MAP_CUDA])
		return;
	if (p->maps[MAP_CUDART])
		ok(p, r, "FI_HMEM_CUDA memory: a libfabric that was built with CUDA compares CUDA's buffer ids at each hit; any "
		   "other refuses this memory");
	else if (p->threads[THREAD_FI] && !p->maps[MAP_FI_MODULE])
		ok(p, r, "libfabric has no CUDA here, so it refuses FI_HMEM_CUDA memory. libpeerpin-fi monitors GPU memory that is "
		   "registered as host memory");
	else
		warn(p, r, "libfabric has no CUDA here, so it refuses FI_HMEM_CUDA memory. libfabric's monitor does "
		     "not see frees of GPU memory that is registered as host memory",
		     p->maps[MAP_FI_MODULE] ? ADVISE_NO_CACHE : ADVISE_FI);
}

/* libpeerpin-fi is not the monitor of a provider module's cache. */
static void check_fabric(const struct process *p, struct report *r)
{
	bool has_cache = check_fabric_cache(p, r);

	r->check = &checks[FABRIC_MONITOR];
	if (p->maps[MAP_PEERPIN_FI] && !(has_cache && p->maps[MAP_FI_MODULE]))
		judge_ours(p, r, has_cache);
	else if (has_cache && *p->variables[VARIABLE_MONITOR])
		judge_selected(p, r);
	else if (has_cache)
		judge_default(p, r);
	if (has_cache)
		check_fabric_gpu(p, r);
}

/* ---- UCX -------------------------------------------------------------------------------- */

static void check_ucx_host(const struct process *p, struct report *r)
{
	r->check = &checks[UCX_MONITOR];
	if (!p->files[FILE_RDMA])
		ok(p, r, "no RDMA device is open, so UCX caches no registrations");
	else if (p->threads[THREAD_UCM])
		ok(p, r, "UCX intercepts munmap() and others; libpeerpin-ucm notifies UCX some milliseconds after a raw "
		   "system call has freed memory");
	else if (p->maps[MAP_PEERPIN_UCM])
		warn(p, r, "libpeerpin-ucm is loaded, but watches nothing: UCX has registered no memory yet, or there is no /dev/peerpin",
		     ADVISE_STDERR);
	else
		warn(p, r, "UCX intercepts munmap() and others, and misses raw system calls", ADVISE_UCM);
}

static void check_ucx_gpu(const struct process *p, struct report *r)
{
	r->check = &checks[UCX_GPU];
	if (!p->maps[MAP_CUDA] || !p->files[FILE_RDMA])
		return;
	if (p->maps[MAP_PEERPIN_UCM] && p->maps[MAP_PEERPIN_HOOK])
		ok(p, r, "libpeerpin-hook reports frees of GPU memory to UCX before they happen");
	else
		warn(p, r, "UCX intercepts frees of GPU memory itself, and misses those of a CUDA runtime that is linked statically",
		     ADVISE_UCM);
}

/* ---- the process ------------------------------------------------------------------------ */

static bool check_process(const struct process *p, struct report *r)
{
	bool fabric = p->maps[MAP_LIBFABRIC], ucx = p->maps[MAP_UCX];

	r->check = &checks[PROCESS];
	if (p->error) {
		report_add(r, HEALTH_UNSEEN, p->subject, "its files in /proc cannot be read: %s", strerror(-p->error));
		report_type(r, "sudo peerpin doctor --process %s", p->pid);
		return false;
	}
	if (!fabric && !ucx)
		ok(p, r, "neither libfabric nor UCX is loaded (statically linked code cannot be seen)");
	else
		report_add(r, HEALTH_OK, p->subject, "it uses %s%s%s", fabric ? "libfabric" : "",
			   fabric && ucx ? " and " : "", ucx ? "UCX" : "");
	return true;
}

void checks_run_on(const struct process *p, struct report *r)
{
	if (!check_process(p, r))
		return;
	if (p->maps[MAP_LIBFABRIC])
		check_fabric(p, r);
	if (!p->maps[MAP_UCX])
		return;
	check_ucx_host(p, r);
	check_ucx_gpu(p, r);
}
