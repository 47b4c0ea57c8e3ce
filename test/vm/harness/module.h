/* SPDX-License-Identifier: MIT */
/* Kernel modules and their files in sysfs and debugfs. Each call returns 0 or -errno. */
#ifndef TEST_MODULE_H
#define TEST_MODULE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static inline int module_remove(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* Load @file of this kernel, like "test/p2p_check.ko". The working directory must be the root of the tree. */
static inline int module_load(const char *file, const char *parameters)
{
	struct utsname name;
	char path[192];
	int node, err;

	uname(&name);
	snprintf(path, sizeof(path), "build/%s/%s", name.release, file);
	node = open(path, O_RDONLY | O_CLOEXEC);
	if (node < 0)
		return -errno;
	err = syscall(SYS_finit_module, node, parameters, 0) ? -errno : 0;
	close(node);
	return err;
}

/* Load a module of the kernel itself, like "fs/fuse/fuse". */
static inline int module_load_kernel(const char *name)
{
	struct utsname kernel;
	char path[320];
	int node, err, compressed = 0;

	uname(&kernel);
	snprintf(path, sizeof(path), "build/%s/kernel/lib/modules/%s/kernel/%s.ko", kernel.release, kernel.release, name);
	node = open(path, O_RDONLY | O_CLOEXEC);
	if (node < 0 && errno == ENOENT) {
		compressed = 4;	/* MODULE_INIT_COMPRESSED_FILE */
		strcat(path, ".xz");
		node = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (node < 0)
		return -errno;
	err = syscall(SYS_finit_module, node, "", compressed) ? -errno : 0;
	close(node);
	return err == -EEXIST ? 0 : err;
}

/* True for Linux @major.@minor and newer kernels */
static inline bool kernel_since(int major, int minor)
{
	int has_major = 0, has_minor = 0;
	struct utsname name;

	uname(&name);
	sscanf(name.release, "%d.%d", &has_major, &has_minor);
	return has_major > major || (has_major == major && has_minor >= minor);
}

/* Reference count of a module. */
static inline int module_refs(const char *name)
{
	char path[96];
	int refs = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", name);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &refs) != 1)
		refs = -1;
	if (f)
		fclose(f);
	return refs;
}

static inline int module_set(const char *parameter, const char *value)
{
	char path[128];
	int node, err;

	snprintf(path, sizeof(path), "/sys/module/%s", parameter);
	node = open(path, O_WRONLY | O_CLOEXEC);
	err = node >= 0 && write(node, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -errno;
	if (node >= 0)
		close(node);
	return err;
}

/* Contents of a file of debugfs, cut at @size; "" if the file cannot be read. */
static inline const char *module_debugfs(const char *file, char *text, size_t size)
{
	char path[128];
	ssize_t n;
	int node;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", file);
	node = open(path, O_RDONLY | O_CLOEXEC);
	n = read(node, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(node);
	return text;
}

/* True for a debug kernel. It is slow, keeps freed memory for a while, and looks for leaks itself. */
static inline bool kernel_checks_itself(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK) || !access("/sys/kernel/debug/kcsan", F_OK);
}

/* Watches of all processes; -1: unknown */
static inline long watches(void)
{
	FILE *f = fopen("/proc/driver/peerpin", "re");
	char line[64];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "watches %ld", &n);
	if (f)
		fclose(f);
	return n;
}

#endif
