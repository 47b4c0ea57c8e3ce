// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "child.h"
#include "driver.h"
#include "file.h"
#include "emu/vm/init/modinfo.h"

enum {
	LOAD_MS = 10000,
	UNLOAD_MS = 5000,
	IN_USE_MS = 2000,
	PAUSE_US = 2000,
	PATH_LENGTH = 1024,
};

/* Splits "FILE.ko K=V ..." into file and parameters. */
static const char *cut_parameters(char *file)
{
	char *end = strstr(file, ".ko ");

	if (!end)
		return "";
	end[3] = '\0';
	return end + 4;
}

int driver_init(struct driver *driver, char *file)
{
	driver->parameters = cut_parameters(file);
	driver->file = file;
	return modinfo_name(file, driver->name, sizeof(driver->name));
}

/* initstate exists for loaded modules, but not for built-in modules. */
bool driver_is_loaded(const struct driver *driver)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", driver->name);
	return !access(path, F_OK);
}

static int load(const void *arg)
{
	const struct driver *driver = arg;
	int fd = open(driver->file, O_RDONLY | O_CLOEXEC);

	return fd < 0 || syscall(SYS_finit_module, fd, driver->parameters, 0) ? -errno : 0;
}

int driver_load(const struct driver *driver)
{
	return child_call(load, driver, LOAD_MS);
}

static int unload(const void *arg)
{
	const struct driver *driver = arg;

	return syscall(SYS_delete_module, driver->name, O_NONBLOCK) ? -errno : 0;
}

int driver_unload(const struct driver *driver)
{
	return child_call(unload, driver, UNLOAD_MS);
}

int driver_unload_patiently(const struct driver *driver)
{
	long end = now_ms() + IN_USE_MS;
	int ret;

	for (;;) {
		ret = driver_unload(driver);
		if (ret != -EWOULDBLOCK || now_ms() > end)
			return ret;
		usleep(PAUSE_US);
	}
}

/* Each bound device is a link in the driver's directory that points below /sys/devices. */
static bool is_bound(const char *directory, const char *name)
{
	char path[PATH_LENGTH], target[PATH_LENGTH];
	ssize_t length;

	snprintf(path, sizeof(path), "%.700s/%.255s", directory, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return strstr(target, "/devices/");
}

static void unbind_device(const char *directory, const char *name)
{
	char path[PATH_LENGTH];

	if (!is_bound(directory, name))
		return;
	snprintf(path, sizeof(path), "%.700s/unbind", directory);
	file_write(path, name);
}

static bool has_bound;

static void look_at_device(const char *directory, const char *name)
{
	has_bound |= is_bound(directory, name);
}

static void for_each_entry(const char *path, void (*call)(const char *directory, const char *name))
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			call(path, entry->d_name);
	closedir(dir);
}

static void unbind_driver(const char *directory, const char *name)
{
	char path[PATH_LENGTH];

	snprintf(path, sizeof(path), "%.700s/%.255s", directory, name);
	for_each_entry(path, unbind_device);
}

static void look_at_driver(const char *directory, const char *name)
{
	char path[PATH_LENGTH];

	snprintf(path, sizeof(path), "%.700s/%.255s", directory, name);
	for_each_entry(path, look_at_device);
}

static void for_each_driver(const struct driver *driver, void (*call)(const char *directory, const char *name))
{
	char path[PATH_LENGTH];

	snprintf(path, sizeof(path), "/sys/module/%s/drivers", driver->name);
	for_each_entry(path, call);
}

bool driver_is_bound(const struct driver *driver)
{
	has_bound = false;
	for_each_driver(driver, look_at_driver);
	return has_bound;
}

static int unbind(const void *arg)
{
	for_each_driver(arg, unbind_driver);
	return 0;
}

pid_t driver_unbind(const struct driver *driver)
{
	return child_run(unbind, driver);
}

/*
 * sysfs has the numbers of class and misc devices. If a driver only registers a major
 * number, so that mknod(1) must make the node, the number is in /proc/devices only.
 */
struct devices {
	size_t nr;
	struct share_device at[512];
};

static struct devices before;

static void add_device(struct devices *devices, uint32_t major, uint32_t minor)
{
	if (devices->nr < sizeof(devices->at) / sizeof(*devices->at))
		devices->at[devices->nr++] = (struct share_device){ major, minor };
}

static struct devices *scanned;

static void add_entry(const char *directory, const char *name)
{
	uint32_t major, minor;

	(void)directory;
	if (sscanf(name, "%u:%u", &major, &minor) == 2)
		add_device(scanned, major, minor);
}

static void add_majors(struct devices *devices)
{
	FILE *file = fopen("/proc/devices", "re");
	char line[128];
	uint32_t major;

	if (!file)
		return;
	while (fgets(line, sizeof(line), file) && strncmp(line, "Block", strlen("Block")))
		if (sscanf(line, " %u ", &major) == 1)
			add_device(devices, major, SHARE_ANY_MINOR);
	fclose(file);
}

static void scan(struct devices *devices)
{
	devices->nr = 0;
	scanned = devices;
	for_each_entry("/sys/dev/char", add_entry);
	add_majors(devices);
}

static bool has(const struct devices *devices, const struct share_device *device)
{
	size_t i;

	for (i = 0; i < devices->nr; i++)
		if (devices->at[i].major == device->major && devices->at[i].minor == device->minor)
			return true;
	return false;
}

void driver_devices_before(void)
{
	scan(&before);
}

void driver_devices_after(struct share *share)
{
	static struct devices after;
	size_t i;

	scan(&after);
	for (i = 0; i < after.nr && share->nr_devices < SHARE_DEVICES_MAX; i++)
		if (!has(&before, &after.at[i]))
			share->devices[share->nr_devices++] = after.at[i];
}

static bool is_device(const struct share *share, dev_t device)
{
	uint32_t i;

	for (i = 0; i < share->nr_devices; i++)
		if (share->devices[i].major == major(device) &&
		    (share->devices[i].minor == minor(device) || share->devices[i].minor == SHARE_ANY_MINOR))
			return true;
	return false;
}

static const struct share *looked_for;
static bool found_open;

static void look_at_file(const char *directory, const char *name)
{
	char path[PATH_LENGTH];
	struct stat stat_of;

	snprintf(path, sizeof(path), "%.700s/%.255s", directory, name);
	found_open |= !stat(path, &stat_of) && S_ISCHR(stat_of.st_mode) && is_device(looked_for, stat_of.st_rdev);
}

static void look_at_process(const char *directory, const char *name)
{
	char path[PATH_LENGTH];

	snprintf(path, sizeof(path), "%.700s/%.255s/fd", directory, name);
	for_each_entry(path, look_at_file);
}

bool driver_is_open(const struct share *share)
{
	looked_for = share;
	found_open = false;
	for_each_entry("/proc", look_at_process);
	return found_open;
}
