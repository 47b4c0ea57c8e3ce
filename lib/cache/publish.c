// SPDX-License-Identifier: MIT
/*
 * In a process that publishes, each struct pp_reader is a slot of the memfd, so the
 * store that counts a hit also publishes the hit. Slots stay mapped, because the memory
 * of a reader is never freed. The count of a slot is never reset: each reader remembers
 * its first value (@before).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "lib/cuda/process.h"
#include "publish.h"
#include "lib/sys/sys.h"

enum {
	SLOTS_AT = 4096,
	MAX_SLOTS = 4096,
	SIZE = SLOTS_AT + MAX_SLOTS * sizeof(struct pp_reader),
};

_Static_assert(sizeof(struct pp_published) <= SLOTS_AT, "the header ends before the slots");

/**
 * struct publication - the memfd of this process; protected by @publish_lock
 * @mark: process that the memfd belongs to (process.h); 0: none
 * @header: header of the memfd, which stays open for observers that use /proc; NULL:
 *	not requested, or failed
 * @spare: slots that were given back
 */
struct publication {
	uint64_t mark;
	struct pp_published *header;
	struct pp_reader *spare;
};

static struct publication ours;
static pthread_mutex_t publish_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Runs in a child of fork(), which may inherit a lock held by a thread of the parent. */
static void start_anew(void)
{
	pthread_mutex_init(&publish_lock, NULL);
}

static void init(void)
{
	pthread_atfork(NULL, NULL, start_anew);
}

static bool is_asked_for(void)
{
	const char *value = secure_getenv("PEERPIN_PUBLISH");

	return value && !strcmp(value, "1");
}

/* Prevents observers from writing to the memfd, and from shrinking it under our mapping. */
static bool seal(int fd)
{
	return !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
}

/*
 * Allocates the memory now: if an access found no memory later, a signal would end the
 * process. Uses the mapping, because the program may have closed the descriptor and
 * opened another file with the same number.
 */
static bool reserve(void *at, size_t length)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)at & -page;

	return !madvise((void *)begin, (uintptr_t)at + length - begin, MADV_POPULATE_WRITE);
}

/* Beyond RLIMIT_FSIZE ftruncate() would end the process by SIGXFSZ. */
static bool may_have_size(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= SIZE;
}

static void *map(int fd)
{
	void *at;

	if (!may_have_size() || ftruncate(fd, SIZE))
		return NULL;
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (reserve(at, SLOTS_AT) && seal(fd))
		return at;
	munmap(at, SIZE);
	return NULL;
}

/* The order does not matter: an observer of a partial header finds a wrong pid or no slots. */
static void fill_in(struct pp_published *header)
{
	header->version = PP_PUBLISHED_VERSION;
	header->slots_at = SLOTS_AT;
	header->slot_size = sizeof(struct pp_reader);
	header->hits_at = offsetof(struct pp_reader, hits);
	header->pid = getpid();
	memcpy(header->magic, PP_PUBLISHED_NAME, sizeof(PP_PUBLISHED_NAME));
}

static void begin(struct publication *p)
{
	int fd = pp_sys_above_stderr(memfd_create(PP_PUBLISHED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0)
		return;
	p->header = map(fd);
	if (p->header)
		fill_in(p->header);
	else
		close(fd);
}

/* A child of fork() does not use the inherited memfd, which stays mapped. */
static bool is_ours_locked(void)
{
	return ours.mark && pp_process_is(ours.mark);
}

struct pp_published *pp_publish(void)
{
	uint64_t mark = pp_process_mark();
	struct pp_published *header;

	pthread_once(&once, init);
	pthread_mutex_lock(&publish_lock);
	if (mark && ours.mark != mark) {
		ours = (struct publication){ .mark = mark };
		if (is_asked_for())
			begin(&ours);
	}
	header = mark ? ours.header : NULL;
	pthread_mutex_unlock(&publish_lock);
	return header;
}

/* ---- slots ---------------------------------------------------------------------- */

static struct pp_reader *slots(void)
{
	return (struct pp_reader *)((char *)ours.header + SLOTS_AT);
}

static struct pp_reader *take_new(void)
{
	uint32_t n = atomic_load_explicit(&ours.header->slots, memory_order_relaxed);

	if (n == MAX_SLOTS || !reserve(slots() + n, sizeof(struct pp_reader)))
		return NULL;
	atomic_store_explicit(&ours.header->slots, n + 1, memory_order_relaxed);
	return slots() + n;
}

static struct pp_reader *take_locked(void)
{
	struct pp_reader *r = ours.spare;

	if (!r)
		return take_new();
	ours.spare = atomic_load_explicit(&r->next, memory_order_relaxed);
	return r;
}

struct pp_reader *pp_publish_take(void)
{
	struct pp_reader *r = NULL;

	pthread_mutex_lock(&publish_lock);
	if (is_ours_locked() && ours.header)
		r = take_locked();
	pthread_mutex_unlock(&publish_lock);
	return r;
}

static bool is_slot_locked(const struct pp_reader *r)
{
	return is_ours_locked() && ours.header && r >= slots() && r < slots() + MAX_SLOTS;
}

bool pp_publish_give(struct pp_reader *r)
{
	bool given;

	pthread_mutex_lock(&publish_lock);
	given = is_slot_locked(r);
	if (given) {
		atomic_store_explicit(&r->next, ours.spare, memory_order_relaxed);
		ours.spare = r;
	}
	pthread_mutex_unlock(&publish_lock);
	return given;
}

/* ---- all else ---------------------------------------------------------------------- */

static void add(_Atomic uint64_t *to, uint64_t before, uint64_t now)
{
	if (now != before)
		atomic_fetch_add_explicit(to, now - before, memory_order_relaxed);
}

void pp_publish_stats(struct pp_published *to, const struct pp_cache_stats *before, const struct pp_cache_stats *now)
{
	add(&to->misses, before->misses, now->misses);
	add(&to->evictions, before->evictions, now->evictions);
	add(&to->revocations, before->revocations, now->revocations);
	add(&to->pins, before->pins, now->pins);
	add(&to->unpins, before->unpins, now->unpins);
	add(&to->pin_ns, before->pin_ns, now->pin_ns);
	add(&to->entries, before->entries, now->entries);
	add(&to->bytes, before->bytes, now->bytes);
}
