// SPDX-License-Identifier: MIT
/*
 * The memfd with the published counts (/proc/PID/fd) belongs to another process, which is
 * not trusted. So validate the header, and read the memfd without mmap(): after a
 * truncation, access to a mapping raises SIGBUS.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cache/published.h"
#include "cache_counts.h"

enum {
	MAX_SLOT = 4096,
	MAX_SLOTS = 65536,
	CHUNK = 65536,
};

/*
 * True if @own, the pid in the memfd, is the pid of process @pid in the innermost pid namespace of that process (last
 * number of NSpid). Linux before 4.1 has no NSpid: compare @own with @pid.
 */
static bool is_named(pid_t pid, uint32_t own)
{
	char path[64], line[256];
	bool is = (uint32_t)pid == own;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		const char *last;

		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		is = last && strtoul(last, NULL, 10) == own;
		break;
	}
	fclose(f);
	return is;
}

static bool header_read(int fd, struct pp_published *h)
{
	static const char magic[sizeof(h->magic)] = PP_PUBLISHED_NAME;

	return pread(fd, h, sizeof(*h), 0) == sizeof(*h) && !memcmp(h->magic, magic, sizeof(magic)) &&
	       h->version == PP_PUBLISHED_VERSION && h->slot_size >= sizeof(uint64_t) && h->slot_size <= MAX_SLOT &&
	       h->hits_at <= h->slot_size - sizeof(uint64_t) && h->slots <= MAX_SLOTS;
}

/* Adds the hits of one chunk of slots, beginning at slot @from. Returns the number of slots; 0: no more slots. */
static uint32_t add_hits(int fd, const struct pp_published *h, uint32_t from, uint64_t *hits)
{
	static char chunk[CHUNK];
	uint32_t size = h->slot_size, slots = h->slots, n = slots - from, i;
	ssize_t got;

	n = n < CHUNK / size ? n : CHUNK / size;
	got = pread(fd, chunk, (size_t)n * size, (off_t)h->slots_at + (off_t)from * size);
	n = got > 0 ? (uint32_t)got / size : 0;
	for (i = 0; i < n; i++) {
		uint64_t one;

		memcpy(&one, chunk + (size_t)i * size + h->hits_at, sizeof(one));
		*hits += one;
	}
	return n;
}

bool cache_counts_parse(int fd, struct cache_counts *out, uint32_t *pid)
{
	struct pp_published h;
	uint32_t from = 0, n;

	if (!header_read(fd, &h))
		return false;
	*out = (struct cache_counts){ .hits = h.hits, .misses = h.misses };
	*pid = h.pid;
	while (from < h.slots && (n = add_hits(fd, &h, from, &out->hits)))
		from += n;
	return true;
}

/* Check the type, because the process may have reused the descriptor for a FIFO or a device. */
static bool is_regular(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

bool cache_counts_read(const struct fd_at *at, struct cache_counts *out)
{
	char path[64];
	uint32_t own;
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)at->pid, at->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	ok = is_regular(fd) && cache_counts_parse(fd, out, &own) && is_named(at->pid, own);
	close(fd);
	return ok;
}
