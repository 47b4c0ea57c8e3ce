// SPDX-License-Identifier: MIT
/* The kernel's configuration and the limits of a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checks.h"
#include "tool/doctor/ways.h"
#include "tool/util/units.h"

static void add_unknown(const struct view *v, struct report *r, const char *key)
{
	report_add(r, HEALTH_UNSEEN, key, "the kernel's configuration cannot be seen: %s",
		   *v->facts.config_error ? v->facts.config_error : "the tree does not have it");
	report_type(r, "modprobe configs || apt install --reinstall linux-image-$(uname -r)    # either provides it; in "
		       "a container: -v /boot:/boot:ro");
}

static void check_option(const struct view *v, struct report *r, const char *key, const char *with, const char *without)
{
	char value[8];

	if (!facts_config(&v->facts, key, value, sizeof(value))) {
		add_unknown(v, r, key);
	} else if (strcmp(value, "n")) {
		report_add(r, HEALTH_OK, key, "%s", with);
	} else {
		report_add(r, HEALTH_WARN, key, "%s", without);
		report_type(r, "scripts/config -e %s    # in the kernel's source; or boot another kernel", key);
	}
}

void check_kernel_p2pdma(const struct view *v, struct report *r)
{
	check_option(v, r, "PCI_P2PDMA", "the kernel's drivers can transfer from peer to peer",
		     "the kernel was built without it: its own drivers, as NVMe, do not transfer from peer to peer");
}

void check_kernel_dma_buf(const struct view *v, struct report *r)
{
	if (a_gpu_exports_dma_bufs(v) == SEEN_YES) {
		report_add(r, HEALTH_OK, "DMA_SHARED_BUFFER", "the kernel has dma-bufs, as GPUs export some");
		return;
	}
	check_option(v, r, "DMA_SHARED_BUFFER", "the kernel has dma-bufs",
		     "the kernel was built without dma-bufs, so that GPU memory is reached by nv-p2p only");
}

/* ---- signatures ---------------------------------------------------------------- */

static const char *why_enforced(const struct view *v)
{
	char line[64];

	if (!tree_line(v->tree, "sys/module/module/parameters/sig_enforce", line, sizeof(line)) && line[0] == 'Y')
		return "module.sig_enforce is on";
	if (!tree_line(v->tree, "sys/kernel/security/lockdown", line, sizeof(line)) && !strstr(line, "[none]"))
		return "it is locked down";
	if (facts_config(&v->facts, "MODULE_SIG_FORCE", line, sizeof(line)) && line[0] == 'y')
		return "CONFIG_MODULE_SIG_FORCE";
	return NULL;
}

static bool enforcement_known(const struct view *v)
{
	char line[64];

	return !tree_line(v->tree, "sys/module/module/parameters/sig_enforce", line, sizeof(line)) ||
	       facts_config(&v->facts, "MODULE_SIG_FORCE", line, sizeof(line));
}

void check_kernel_signatures(const struct view *v, struct report *r)
{
	const char *why = why_enforced(v);

	if (why && module_loaded(v, "peerpin") == SEEN_YES) {
		report_add(r, HEALTH_OK, "machine",
			   "the kernel takes signed modules only (%s); peerpin's modules are signed", why);
	} else if (why) {
		report_add(r, HEALTH_WARN, "machine",
			   "the kernel takes signed modules only (%s): others are refused with \"Key was rejected by "
			   "service\"",
			   why);
		report_type(r, "kmodsign sha512 MOK.priv MOK.der peerpin.ko; mokutil --import MOK.der; reboot    # "
			       "likewise other modules");
	} else if (enforcement_known(v)) {
		report_add(r, HEALTH_OK, "machine", "the kernel takes modules that are not signed");
	} else {
		report_add(r, HEALTH_UNSEEN, "machine", "whether the kernel takes unsigned modules cannot be seen");
		report_type(r, "cat /sys/module/module/parameters/sig_enforce /sys/kernel/security/lockdown");
	}
}

/* ---- limits --------------------------------------------------------------------- */

/* RLIMIT_MEMLOCK below which the check warns: buffers of usual size do not fit. */
static const uint64_t small_limit = 64ull << 20;

/* Returns the soft limit in "Max locked memory     8388608      8388608     bytes", or NULL: no such line. */
static const char *find_limit(const char *limits)
{
	static const char name[] = "Max locked memory";
	const char *at = strstr(limits, name);

	return at ? at + strlen(name) + strspn(at + strlen(name), " ") : NULL;
}

/* Does RLIMIT_MEMLOCK apply? CAP_IPC_LOCK lifts it. If the capability is unknown, assume that only root has it. */
static bool limit_binds(const struct view *v)
{
	return v->facts.ipc_lock == SEEN_UNKNOWN ? !v->facts.root : v->facts.ipc_lock == SEEN_NO;
}

static void type_raise_limit(const struct view *v, struct report *r)
{
	const char *hint;

	if (in_container(v, &hint))
		report_type(r, "docker run --ulimit memlock=-1 ...    # or --cap-add IPC_LOCK, where the container is "
			       "started");
	else
		report_type(r, "ulimit -l unlimited    # before that, as root: echo '* - memlock unlimited' >> "
			       "/etc/security/limits.conf");
}

static void judge_limit(const struct view *v, struct report *r, uint64_t limit)
{
	if (limit >= small_limit) {
		report_add(r, HEALTH_OK, "RLIMIT_MEMLOCK", "%s", text_bytes(limit).at);
	} else if (!limit_binds(v)) {
		report_add(r, HEALTH_OK, "RLIMIT_MEMLOCK", "%s, which does not apply with CAP_IPC_LOCK",
			   text_bytes(limit).at);
	} else {
		report_add(r, HEALTH_WARN, "RLIMIT_MEMLOCK", "a process may register at most %s of host memory",
			   text_bytes(limit).at);
		type_raise_limit(v, r);
	}
}

void check_memlock(const struct view *v, struct report *r)
{
	char limits[2048];
	const char *limit =
		tree_read(v->tree, "proc/self/limits", limits, sizeof(limits)) < 0 ? NULL : find_limit(limits);

	if (!limit) {
		report_add(r, HEALTH_UNSEEN, "RLIMIT_MEMLOCK", "the limit cannot be seen");
		report_type(r, "ulimit -l");
	} else if (!strncmp(limit, "unlimited", strlen("unlimited"))) {
		report_add(r, HEALTH_OK, "RLIMIT_MEMLOCK", "unlimited");
	} else {
		judge_limit(v, r, strtoull(limit, NULL, 10));
	}
}
