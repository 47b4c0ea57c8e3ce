/* SPDX-License-Identifier: MIT */
/* A control group with a memory controller. The VM has no other groups. */
#ifndef TEST_GROUP_H
#define TEST_GROUP_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUPS_DIR "/run/test_groups"
#define GROUP GROUPS_DIR "/one"

static inline bool group_write(const char *file, const char *text)
{
	int node = open(file, O_WRONLY | O_CLOEXEC);
	bool done = write(node, text, strlen(text)) == (ssize_t)strlen(text);

	close(node);
	return done;
}

static inline bool group_make(void)
{
	return !mkdir(GROUPS_DIR, 0755) && !mount("none", GROUPS_DIR, "cgroup2", 0, NULL) &&
	       group_write(GROUPS_DIR "/cgroup.subtree_control", "+memory") && !mkdir(GROUP, 0755);
}

/* Move the caller into the group. */
static inline bool group_join(void)
{
	return group_write(GROUP "/cgroup.procs", "0");
}

/* Number in the first line of @file that has the form @form: "kernel %lld" or "%lld". -1: no such line. */
static inline long long group_bytes(const char *file, const char *form)
{
	char path[128], line[128];
	long long bytes = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", GROUP, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, form, &bytes) != 1)
		;
	if (f)
		fclose(f);
	return bytes;
}

/*
 * Stop all processes of the group, as docker pause does. False: the write failed, or a process still runs after three
 * seconds.
 */
static inline bool group_freeze(void)
{
	bool frozen = group_write(GROUP "/cgroup.freeze", "1");
	int i;

	for (i = 0; frozen && i < 300 && group_bytes("cgroup.events", "frozen %lld") != 1; i++)
		usleep(10000);
	return frozen && i < 300;
}

static inline bool group_thaw(void)
{
	return group_write(GROUP "/cgroup.freeze", "0");
}

/* Remove the group, after all processes of the group have exited. */
static inline bool group_end(void)
{
	return !rmdir(GROUP) && !umount2(GROUPS_DIR, MNT_DETACH) && !rmdir(GROUPS_DIR);
}

#endif
