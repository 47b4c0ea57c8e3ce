// SPDX-License-Identifier: MIT
#include <errno.h>
#include <glob.h>
#include <linux/types.h>
#include <peerpin.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "explain.h"
#include "tool/tool.h"

/* Containers have a plain file, a directory or a link to /dev/null in the place of a device. */
static bool is_other_file(const char *name)
{
	char node[128], driver[128];

	snprintf(node, sizeof(node), "/dev/%s", name);
	snprintf(driver, sizeof(driver), "/sys/class/misc/%s", name);
	return !access(node, F_OK) && !access(driver, F_OK);
}

static int other_file(const char *name)
{
	return fail("/dev/%s is not the device of its driver, but another file; remove the file, or in a container "
		    "type: docker run --device=/dev/%s ...", name, name);
}

int explain_open(int error)
{
	if (error == -ENODEV && is_other_file("peerpin"))
		return other_file("peerpin");
	switch (error) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return fail("the kernel module is not loaded (no /dev/peerpin); type: modprobe peerpin");
	case -EACCES:
	case -EPERM:
		return fail("no permission to open /dev/peerpin; type: sudo peerpin ...");
	default:
		return fail("/dev/peerpin: %s; see the kernel's log: dmesg", strerror(-error));
	}
}

/* Writes the names of the peer devices, "lsi0 lsi1", cut to @room bytes. */
static void list_peers(char *out, size_t room)
{
	glob_t found;
	size_t i, used = 0;

	out[0] = '\0';
	if (glob("/dev/lsi[0-9]*", 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc && used < room; i++)
		used += snprintf(out + used, room - used, "%s%s",
				 i ? " " : "",
				 found.gl_pathv[i] + strlen("/dev/"));
	globfree(&found);
}

static int no_peer(const char *name)
{
	char peers[256];

	if (is_other_file(name))
		return other_file(name);
	list_peers(peers, sizeof(peers));
	if (!peers[0])
		return fail("there is no peer device %s, nor any other; see lspci -d 1000:0012, then type: modprobe peerpin_lsi", name);
	return fail("there is no peer device %s; give --peer one of: %s", name, peers);
}

int explain_peer(const char *name, int error)
{
	switch (error) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
	case -ENOTDIR:
		return no_peer(name);
	case -ENOTTY:
		return fail("%s is not a peer device; give --peer lsi0, for example", name);
	case -EACCES:
		return fail("no permission to open %s; type: sudo peerpin ...", name);
	default:
		return fail("%s: %s; see the kernel's log: dmesg", name, strerror(-error));
	}
}

/* Returns the next step for the user. */
static const char *advice(uint32_t reason)
{
	switch (reason) {
	case PEERPIN_REASON_NO_BAR1:
		return "give a smaller --size (the driver reserves a part of BAR1), or see its users: peerpin bar";
	case PEERPIN_REASON_NO_PROVIDER:
		return "type: modprobe peerpin_nv";
	case PEERPIN_REASON_MEMLOCK:
		return "give a smaller --size, or type: ulimit -l unlimited";
	case PEERPIN_REASON_LIMIT:
	case PEERPIN_REASON_PROCESS_BYTES:
	case PEERPIN_REASON_TOTAL_BYTES:
		return "see which process pins what: peerpin bar; the limits are in /sys/module/peerpin/parameters";
	default:
		return "see the kernel's log: dmesg";
	}
}

static int not_registered(int error, const struct pp_why *why)
{
	char what[256];

	pp_explain(what, sizeof(what), error, why);
	return fail("the memory cannot be pinned: %s; %s", what, advice(why->reason));
}

int explain_copy(const char *peer, int error, const struct pp_why *why)
{
	if (why->reason != PEERPIN_REASON_NONE)
		return not_registered(error, why);
	switch (error) {
	case -ESTALE:
		return fail("the memory was freed during the copy; type the command again");
	case -EIO:
		return fail("%s reported an error, or cannot reach the memory; see the kernel's log: dmesg", peer);
	case -ENODEV:
		return fail("%s was removed during the copy; see the kernel's log: dmesg", peer);
	default:
		return fail("the copy failed: %s; see the kernel's log: dmesg", strerror(-error));
	}
}

const char *why_no_bar1(unsigned int found, int error)
{
	switch (error) {
	case -ENODEV:
		return "there is no GPU, or its driver is not loaded; see lspci, then type: modprobe nvidia";
	case -ENOENT:
		return "there is no NVML library (libnvidia-ml.so.1): install the GPU's driver";
	case -EOPNOTSUPP:
		return "the GPU is integrated: it has no BAR1, and peers reach the CPU's memory; see peerpin doctor";
	default:
		return found ? "a GPU does not answer; see which GPUs nvidia-smi lists, and the kernel's log: dmesg" :
			       "NVML failed; see whether nvidia-smi works, and the kernel's log: dmesg";
	}
}
