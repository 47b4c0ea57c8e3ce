// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "owners.h"

/* ---- one file ------------------------------------------------------------------ */

static bool parse_region(const char *text, struct owner *o)
{
	struct owned_region r = { 0 };
	struct owned_region *more;

	if (sscanf(text, "%u %15s %" SCNx64 " %" SCNu64 " %15s %" SCNu64 " %u %255s",
		   &r.id, r.provider, &r.addr, &r.length, r.state, &r.age_ms,
		   &r.extents, r.devices) != 8)
		return true;	/* a newer kernel's form: not for us */
	more = realloc(o->regions, (o->nr_regions + 1) * sizeof(*more));
	if (!more)
		return false;
	o->regions = more;
	o->regions[o->nr_regions++] = r;
	return true;
}

static bool parse_line(char *line, struct owner *o)
{
	char *value = strchr(line, ':');

	if (!value)
		return true;
	*value++ = '\0';
	if (!strcmp(line, "peerpin-owner"))
		o->owner = (pid_t)strtol(value, NULL, 10);
	else if (!strcmp(line, "peerpin-bytes"))
		o->bytes = strtoull(value, NULL, 10);
	else if (!strcmp(line, "peerpin-region"))
		return parse_region(value, o);
	return true;
}

bool owner_parse(FILE *f, struct owner *out)
{
	char line[512];
	bool ok = true;

	*out = (struct owner){ 0 };
	while (ok && fgets(line, sizeof(line), f))
		ok = parse_line(line, out);
	if (ok && out->owner)
		return true;
	owner_free(out);
	return false;
}

void owner_free(struct owner *o)
{
	free(o->regions);
	o->regions = NULL;
}

/* ---- all processes ------------------------------------------------------------- */

/*
 * dup() and fork() make one open file appear many times. Where the kernel does
 * not tell (kcmp() is compiled out or not allowed), the same owner with the
 * same bytes is taken for the same file.
 */
static bool same_file(const struct owner *a, const struct owner *b)
{
	long order = syscall(SYS_kcmp, a->pid, b->pid, KCMP_FILE, a->fd, b->fd);

	if (a->owner != b->owner)
		return false;
	return order < 0 ? a->bytes == b->bytes : order == 0;
}

static bool is_known(const struct owners *all, const struct owner *o)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		if (same_file(&all->at[i], o))
			return true;
	return false;
}

static void read_command(struct owner *o)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)o->owner);
	f = fopen(path, "re");
	if (!f || !fgets(o->command, sizeof(o->command), f))
		strcpy(o->command, "?");
	o->command[strcspn(o->command, "\n")] = '\0';
	if (f)
		fclose(f);
}

static int add(struct owners *all, const struct owner *o)
{
	struct owner *more = realloc(all->at, (all->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	all->at = more;
	all->at[all->count++] = *o;
	return 0;
}

static int add_new(struct owners *all, struct owner *o)
{
	int ret = 0;

	if (is_known(all, o)) {
		owner_free(o);
		return 0;
	}
	read_command(o);
	ret = add(all, o);
	if (ret)
		owner_free(o);
	return ret;
}

static bool is_peerpin(int fds, const char *name)
{
	char target[32];
	ssize_t n = readlinkat(fds, name, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return !strcmp(target, "/dev/peerpin");
}

static int look_at_fd(struct owners *all, pid_t pid, int fd)
{
	struct owner o;
	char path[64];
	bool ours;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	f = fopen(path, "re");
	if (!f)
		return 0;	/* closed meanwhile */
	ours = owner_parse(f, &o);
	fclose(f);
	if (!ours)
		return 0;
	o.pid = pid;
	o.fd = fd;
	return add_new(all, &o);
}

static int look_at_process(struct owners *all, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) {
		all->unreadable += errno == EACCES;
		return 0;
	}
	while (!ret && (entry = readdir(dir)))
		if (is_peerpin(dirfd(dir), entry->d_name))
			ret = look_at_fd(all, pid, atoi(entry->d_name));
	closedir(dir);
	return ret;
}

int owners_find(struct owners *out)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	*out = (struct owners){ 0 };
	if (!proc)
		return -errno;
	while (!ret && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0)
			ret = look_at_process(out, pid);
	}
	closedir(proc);
	if (ret)
		owners_free(out);
	return ret;
}

void owners_free(struct owners *o)
{
	while (o->count)
		owner_free(&o->at[--o->count]);
	free(o->at);
	o->at = NULL;
}
