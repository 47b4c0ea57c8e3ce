// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ask.h"
#include "node.h"

enum {
	KNOWN_MAX = 64,
	FDS_MAX = 1024,
};

/*
 * A cache of device kinds: each intercepted call needs the kind of its device. Entries are
 * never removed, so a thread that reads nr_known (acquire) sees all entries below nr_known.
 */
static struct known {
	dev_t device;
	enum node_kind kind;
	char path[NODE_PATH_MAX];
} known[KNOWN_MAX];
static unsigned int nr_known;
static char adding;

static const char *const gpu_nodes[] = { "emugpu", "nvidia", NULL };

static const char *const other_nodes[] = {
	"null", "zero", "full", "random", "urandom", "tty", "pts/", "ptmx", "shm/", "dri", "console", "kmsg", "vport",
	"mem", "hvc", "rtc", "fuse", "net/", NULL
};

static bool begins_with_one(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(name, *words, strlen(*words)))
			return true;
	return false;
}

static enum node_kind kind_of_path(const char *path)
{
	const char *name = path + strlen("/dev/");

	if (strncmp(path, "/dev/", strlen("/dev/")) || begins_with_one(name, other_nodes))
		return NODE_OTHER;
	return begins_with_one(name, gpu_nodes) ? NODE_GPU : NODE_DRIVER;
}

static const struct known *find(dev_t device)
{
	unsigned int i, nr = __atomic_load_n(&nr_known, __ATOMIC_ACQUIRE);

	for (i = 0; i < nr; i++)
		if (known[i].device == device)
			return &known[i];
	return NULL;
}

/* A device that the driver under test created is NODE_DRIVER, whatever its name. */
static void look_up(int fd, dev_t device, struct known *out)
{
	const struct share *share = ask_share();
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, out->path, sizeof(out->path) - 1);
	out->path[length < 0 ? 0 : length] = '\0';
	out->device = device;
	out->kind = share && node_of_driver(fd, share) ? NODE_DRIVER : kind_of_path(out->path);
}

static void add(const struct known *found)
{
	if (__atomic_test_and_set(&adding, __ATOMIC_ACQUIRE))
		return;
	if (nr_known < KNOWN_MAX && !find(found->device)) {
		known[nr_known] = *found;
		__atomic_store_n(&nr_known, nr_known + 1, __ATOMIC_RELEASE);
	}
	__atomic_clear(&adding, __ATOMIC_RELEASE);
}

enum node_kind node_kind(int fd, char *path)
{
	const struct known *at;
	struct known found;
	struct stat stat;

	if (fstat(fd, &stat) || !S_ISCHR(stat.st_mode))
		return NODE_OTHER;
	at = find(stat.st_rdev);
	if (!at) {
		look_up(fd, stat.st_rdev, &found);
		add(&found);
		at = &found;
	}
	if (path)
		memcpy(path, at->path, NODE_PATH_MAX);
	return at->kind;
}

void node_each(enum node_kind kind, void (*call)(int fd))
{
	int fd;

	for (fd = 0; fd < FDS_MAX; fd++)
		if (node_kind(fd, NULL) == kind)
			call(fd);
}

bool node_of_driver(int fd, const struct share *share)
{
	struct stat stat;
	uint32_t i;

	if (fstat(fd, &stat) || !S_ISCHR(stat.st_mode))
		return false;
	for (i = 0; i < share->nr_devices; i++)
		if (share->devices[i].major == major(stat.st_rdev) &&
		    (share->devices[i].minor == minor(stat.st_rdev) || share->devices[i].minor == SHARE_ANY_MINOR))
			return true;
	return false;
}
