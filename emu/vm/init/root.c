// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "root.h"

#define NEW "/new"
/* msize: below the largest message of virtio, which is 125 pages of 4 KiB (128 less three). */
#define P9 "trans=virtio,version=9p2000.L,msize=512000,"

struct mount_entry {
	const char *source, *target, *type;
	unsigned long flags;
	const char *options;
};

void root_fail(const char *what, int error)
{
	fprintf(stderr, "vm: %s: %s\n", what, strerror(error));
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void mount_or_fail(const struct mount_entry *m)
{
	char what[256];

	if (!mount(m->source, m->target, m->type, m->flags, m->options))
		return;
	snprintf(what, sizeof(what), "cannot mount %s %s on %s", m->type ? m->type : "",
		 m->source, m->target);
	root_fail(what, errno);
}

static void make_path(const char *path)
{
	char part[4096];
	char *p;

	snprintf(part, sizeof(part), "%s", path);
	for (p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(part, 0755);
		*p = '/';
	}
	mkdir(part, 0755);
}

static void mount_at(const struct mount_entry *m)
{
	make_path(m->target);
	mount_or_fail(m);
}

void root_mount_early(void)
{
	static const struct mount_entry early[] = {
		{ "proc", "/proc", "proc", 0, NULL },
		{ "sysfs", "/sys", "sysfs", 0, NULL },
		{ "devtmpfs", "/dev", "devtmpfs", 0, NULL },
	};
	size_t i;

	for (i = 0; i < sizeof(early) / sizeof(*early); i++)
		mount_at(&early[i]);
}

static void must_link(const char *target, const char *path)
{
	if (symlink(target, path))
		root_fail(path, errno);
}

/*
 * An open of a host's file, and each use of a symbolic link, waits for QEMU. So links of the root directory such as
 * /lib, which most paths contain, are made in the VM's memory, too.
 */
static void copy_links(const char *from, const char *to)
{
	char path[512], target[512];
	struct dirent *entry;
	DIR *dir = opendir(from);
	ssize_t length;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", from, entry->d_name);
		length = entry->d_type == DT_LNK ? readlink(path, target, sizeof(target) - 1) : -1;
		if (length < 0)
			continue;
		target[length] = '\0';
		snprintf(path, sizeof(path), "%s/%s", to, entry->d_name);
		must_link(target, path);
	}
	if (dir)
		closedir(dir);
}

/* overlayfs copies a file to the upper layer, which is in memory, when it is opened for writing. */
static void copy_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

/* Almost every program opens these files. Those that this host lacks are left out. */
static void copy_common_files(void)
{
	static const char *const paths[] = {
#ifdef __aarch64__
		NEW "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", NEW "/usr/aarch64-linux-gnu/lib/libc.so.6",
#else
		NEW "/lib64/ld-linux-x86-64.so.2", NEW "/lib/x86_64-linux-gnu/libc.so.6",
		NEW "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache",
#endif
		NEW "/etc/ld.so.cache", NEW "/usr/share/locale/locale.alias",
		NEW "/usr/lib/locale/C.utf8/LC_*", NEW "/usr/lib/locale/C.utf8/LC_MESSAGES/*",
	};
	glob_t found;
	size_t i, k;

	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (glob(paths[i], GLOB_NOSORT, NULL, &found))
			continue;
		for (k = 0; k < found.gl_pathc; k++)
			copy_file(found.gl_pathv[k]);
		globfree(&found);
	}
}

static void mount_host(void)
{
	static const struct mount_entry layers[] = {
		{ "host", "/lower", "9p", MS_RDONLY, P9 "cache=loose" },
		{ "tmpfs", "/upper", "tmpfs", 0, "mode=0755" },
	};
	static const struct mount_entry overlay = {
		"overlay", NEW, "overlay", 0,
		"lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work"
	};

	mount_at(&layers[0]);
	mount_at(&layers[1]);
	make_path("/upper/data");
	make_path("/upper/work");
	copy_links("/lower", "/upper/data");
	mount_at(&overlay);
	copy_common_files();
}

static void mount_kernel(void)
{
	static const struct mount_entry mounts[] = {
		{ "/proc", NEW "/proc", NULL, MS_MOVE, NULL },
		{ "/sys", NEW "/sys", NULL, MS_MOVE, NULL },
		{ "/dev", NEW "/dev", NULL, MS_MOVE, NULL },
		{ "devpts", NEW "/dev/pts", "devpts", 0, "ptmxmode=0666" },
		{ "tmpfs", NEW "/dev/shm", "tmpfs", 0, "mode=1777" },
		{ "tmpfs", NEW "/run", "tmpfs", 0, "mode=0755" },
		{ "/busybox", NEW "/run/busybox", NULL, MS_BIND, NULL },
		{ "debugfs", NEW "/sys/kernel/debug", "debugfs", 0, NULL },
		{ "tracefs", NEW "/sys/kernel/tracing", "tracefs", 0, NULL },
	};
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(*mounts); i++)
		mount_at(&mounts[i]);
}

/* Makes links that udev would make. */
static void link_streams(void)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	char from[32], to[32];
	int i;

	must_link("/proc/self/fd", NEW "/dev/fd");
	for (i = 0; i < 3; i++) {
		snprintf(from, sizeof(from), "/proc/self/fd/%d", i);
		snprintf(to, sizeof(to), NEW "/dev/%s", names[i]);
		must_link(from, to);
	}
}

/*
 * An arm64 VM cannot run the host's programs. Replace the loader and the shell: other
 * programs name these two by an absolute path.
 */
#ifdef __aarch64__
static void replace(const char *target, const char *path)
{
	unlink(path);
	must_link(target, path);
}

static void replace_programs(void)
{
	replace("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", NEW "/lib/ld-linux-aarch64.so.1");
	replace("/run/busybox/sh", NEW "/bin/sh");
}
#else
static void replace_programs(void)
{
}
#endif

static void switch_root(void)
{
	if (chdir(NEW) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		root_fail("cannot enter " NEW, errno);
}

/*
 * cache=mmap: writable mappings work, and data reaches the host at the latest when
 * the file is closed.
 */
static void mount_shares(const struct config *config)
{
	struct mount_entry share = { .type = "9p", .options = P9 "cache=mmap" };
	char tag[32];
	size_t i;

	share.source = tag;
	for (i = 0; i < config->nr_shares; i++) {
		snprintf(tag, sizeof(tag), "share%zu", i);
		share.target = config->share[i];
		mount_at(&share);
	}
}

/* Mounts the module tree at /lib/modules/RELEASE, where modprobe searches. */
static void mount_modules(const struct config *config)
{
	struct mount_entry tree = { .source = config->modules, .flags = MS_BIND };
	struct utsname kernel;
	char target[128];

	if (!config->modules)
		return;
	uname(&kernel);
	snprintf(target, sizeof(target), "/lib/modules/%s", kernel.release);
	tree.target = target;
	mount_at(&tree);
}

/*
 * Makes @path, which may be below /root, accessible to programs that switch to another user.
 * The new modes stay in the VM's memory.
 */
static void open_way(const char *path)
{
	char part[4096];
	struct stat st;
	char *slash;

	snprintf(part, sizeof(part), "%s", path);
	while ((slash = strrchr(part, '/')) && slash[1]) {
		if (!stat(part, &st))
			chmod(part, st.st_mode | S_IXGRP | S_IXOTH);
		*slash = '\0';
	}
}

void root_enter(const struct config *config)
{
	mount_host();
	mount_kernel();
	link_streams();
	replace_programs();
	switch_root();
	open_way(config->cwd);
	mount_shares(config);
	mount_modules(config);
}
