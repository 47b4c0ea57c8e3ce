// SPDX-License-Identifier: MIT
/* PEERPIN_IOC_WATCH and UNWATCH: accepted and refused calls, overlapping watches, limits, memory */
#include <pthread.h>
#include <sys/wait.h>

#include "test/vm/harness/module.h"
#include "test/vm/security/user.h"
#include "watch.h"

#define LIMIT "peerpin/parameters/max_process_watched_bytes"

enum { MANY = 20000 };

SETUP(everything_is_there)
{
	watch_fd = pin_open();
	watch_words = words_map(watch_fd);
	EXPECT(watch_fd >= 0 && watch_words, "%d, errno %d", watch_fd, errno);
}

/* Watched bytes of this process; -1: the accounts cannot be read. */
static long watched(void)
{
	char text[4096], line[32];
	const char *at;
	long bytes = -1;

	snprintf(line, sizeof(line), "\n%d ", getpid());
	at = strstr(module_debugfs("peerpin/accounts", text, sizeof(text)), line);
	if (at)
		sscanf(at + strlen(line), "%*d %*d %*d %*d %ld", &bytes);
	return bytes;
}

/* ---- calls ------------------------------------------------------------------------ */

CASE(range_is_rounded_to_pages)
{
	char *p = watch_anonymous();
	struct peerpin_watch w;

	EXPECT(!watch_at(watch_fd, p + WATCH_PAGE - 1, 2, &w), "watch: %d", errno);
	EXPECT(w.out_slot == PEERPIN_MAX_REGIONS + w.out_watch && w.out_epoch % 2 && watch_lives(&w), "%u %u", w.out_slot,
	       w.out_epoch);
	EXPECT(watched() == 2 * WATCH_PAGE, "%ld", watched());
	EXPECT(!munmap(p + 2 * WATCH_PAGE, WATCH_PAGE) && watch_lives(&w), "another page");
	EXPECT(!munmap(p + WATCH_PAGE, WATCH_PAGE) && !watch_lives(&w), "the last page");
	EXPECT(watched() == 0, "ended, but counted: %ld", watched());
	EXPECT(!unwatch(watch_fd, w.out_watch), "unwatch");
	munmap(p, 3 * WATCH_BYTES);
}

CASE(unwatch_changes_the_word)
{
	char *p = watch_anonymous();
	struct peerpin_watch w, again;

	EXPECT(!watch_at(watch_fd, p, 1, &w) && !unwatch(watch_fd, w.out_watch), "%d", errno);
	EXPECT(!watch_lives(&w) && watched() == 0, "%ld", watched());
	EXPECT(unwatch(watch_fd, w.out_watch) == -ENOENT, "twice");
	EXPECT(!watch_at(watch_fd, p, 1, &again) && again.out_slot == w.out_slot && again.out_epoch != w.out_epoch,
	       "slot %u, epoch %u", again.out_slot, again.out_epoch);
	EXPECT(!watch_lives(&w) && watch_lives(&again) && !unwatch(watch_fd, again.out_watch), "the older epoch");
	munmap(p, 3 * WATCH_BYTES);
}

CASE(bad_ranges_are_refused)
{
	char *p = watch_anonymous();
	struct peerpin_watch w;

	EXPECT(watch_at(watch_fd, p, 0, &w) == -EINVAL, "empty");
	EXPECT(watch_at(watch_fd, (void *)-4096l, 8192, &w) == -EINVAL, "overflow");
	EXPECT(watch_at(watch_fd, (void *)0xffff800000000000, 4096, &w) == -EINVAL, "an address of the kernel");
	EXPECT(watch_at(watch_fd, p, 1ull << 50, &w) == -EINVAL, "too long");
	EXPECT(!munmap(p + WATCH_BYTES, WATCH_PAGE), "munmap");
	EXPECT(watch_at(watch_fd, p, 3 * WATCH_BYTES, &w) == -EINVAL && w.out_reason == PEERPIN_REASON_NOT_MAPPED, "a hole");
	EXPECT(watch_at(watch_fd, p + WATCH_BYTES, WATCH_PAGE, &w) == -EINVAL, "all of it unmapped");
	EXPECT(!mprotect(p, WATCH_PAGE, PROT_NONE) && watch_at(watch_fd, p, 8192, &w) == -EINVAL, "no access");
	EXPECT(!mprotect(p, WATCH_PAGE, PROT_READ) && !watch_at(watch_fd, p, 8192, &w), "read-only: %d", errno);
	EXPECT(!unwatch(watch_fd, w.out_watch) && watched() == 0, "%ld", watched());
	munmap(p, 3 * WATCH_BYTES);
}

/* Pages that a driver maps without struct pages, like the CPU mapping of a region */
CASE(device_memory_is_refused)
{
	char *p = watch_anonymous(), *view;
	struct peerpin_watch w;
	struct peerpin_pin pin;

	EXPECT(!pin_at(watch_fd, (uintptr_t)p, WATCH_PAGE, &pin), "pin: %d", errno);
	view = mmap(NULL, WATCH_PAGE, PROT_READ, MAP_SHARED, watch_fd, (off_t)PEERPIN_MMAP_OFFSET(pin.out_region));
	EXPECT(view != MAP_FAILED && !*view, "mmap: %d", errno);
	EXPECT(watch_at(watch_fd, view, 1, &w) == -EINVAL && w.out_reason == PEERPIN_REASON_NOT_MAPPED, "%d", errno);
	munmap(view, WATCH_PAGE);
	EXPECT(!unpin(watch_fd, pin.out_region), "unpin");
	munmap(p, 3 * WATCH_BYTES);
}

CASE(form_of_the_calls)
{
	char *p = watch_anonymous();
	struct peerpin_watch w = { .size = sizeof(w), .flags = 1, .addr = (uintptr_t)p, .length = 1 };
	struct { struct peerpin_watch w; uint64_t more; } longer = { w, 1 };

	EXPECT(ioctl(watch_fd, PEERPIN_IOC_WATCH, &w) && errno == EOPNOTSUPP, "flags: %d", errno);
	w.flags = 0;
	w.size--;
	EXPECT(ioctl(watch_fd, PEERPIN_IOC_WATCH, &w) && errno == EINVAL, "short: %d", errno);
	longer.w.flags = 0;
	longer.w.size = sizeof(longer);
	EXPECT(ioctl(watch_fd, PEERPIN_IOC_WATCH, &longer) && errno == E2BIG, "long: %d", errno);
	longer.more = 0;
	EXPECT(!ioctl(watch_fd, PEERPIN_IOC_WATCH, &longer), "long and 0: %d", errno);
	EXPECT(unwatch(watch_fd, longer.w.out_watch + 1) == -ENOENT && unwatch(watch_fd, PEERPIN_MAX_WATCHES) == -ENOENT,
	       "unknown");
	EXPECT(ioctl(watch_fd, PEERPIN_IOC_WATCH, p) && errno == EINVAL, "size 0: %d", errno);
	EXPECT(!mprotect(p, WATCH_PAGE, PROT_READ), "mprotect");
	EXPECT(!unwatch(watch_fd, PEERPIN_WATCH_ALL) && watched() == 0, "all: %ld", watched());
	munmap(p, 3 * WATCH_BYTES);
}

/* The kernel writes its result before the watch is published. If it cannot write, no watch stays. */
CASE(unwritable_struct_leaves_no_watch)
{
	char *p = watch_anonymous();
	struct peerpin_watch *w = (void *)(p + WATCH_BYTES);

	*w = (struct peerpin_watch){ .size = sizeof(*w), .addr = (uintptr_t)p, .length = 1 };
	EXPECT(!mprotect(w, WATCH_PAGE, PROT_READ), "mprotect");
	EXPECT(ioctl(watch_fd, PEERPIN_IOC_WATCH, w) && errno == EFAULT, "%d", errno);
	EXPECT(watched() == 0, "%ld", watched());
	munmap(p, 3 * WATCH_BYTES);
}

/* ---- owners -------------------------------------------------------------------------- */

CASE(another_process_is_refused)
{
	char *p = watch_anonymous();
	struct peerpin_watch w;
	int status;
	pid_t pid;

	EXPECT(!watch_at(watch_fd, p, 1, &w), "watch");
	pid = fork();
	if (!pid)
		_exit(watch_at(watch_fd, p, 1, &w) != -EACCES || unwatch(watch_fd, w.out_watch) != -EACCES);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	EXPECT(watch_lives(&w) && !unwatch(watch_fd, w.out_watch), "the child ended it");
	munmap(p, 3 * WATCH_BYTES);
}

static void watch_without_locked_memory(void)
{
	const struct rlimit none = { 0, 0 };
	struct peerpin_watch w;
	struct peerpin_pin pin;
	int fd = pin_open();
	char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(fd >= 0 && p != MAP_FAILED && !setrlimit(RLIMIT_MEMLOCK, &none), "%d", errno);
	EXPECT(pin_at(fd, (uintptr_t)p, 4096, &pin) == -ENOMEM && pin.out_reason == PEERPIN_REASON_MEMLOCK, "pin: %d", errno);
	EXPECT(!watch_at(fd, p, 64 << 20, &w), "watch: %d", errno);
}

CASE(locked_memory_is_not_charged)
{
	AS_USER(ALICE, watch_without_locked_memory);
}

/* A child of fork() has the words of the parent's memory, and the parent's words do not change by its munmap(). */
CASE(child_does_not_change_the_word)
{
	char *p = watch_anonymous();
	struct peerpin_watch w;
	int status;
	pid_t pid;

	EXPECT(!watch_at(watch_fd, p, 1, &w), "watch");
	pid = fork();
	if (!pid)
		_exit(munmap(p, WATCH_PAGE) || !watch_lives(&w));
	EXPECT(waitpid(pid, &status, 0) == pid && !status && watch_lives(&w), "child: %#x", status);
	EXPECT(!unwatch(watch_fd, w.out_watch), "unwatch");
	munmap(p, 3 * WATCH_BYTES);
}

/* Two files of a process share the notifier; each has its own words. */
CASE(two_files_watch_one_page)
{
	int other = pin_open();
	volatile const uint32_t *words = words_map(other);
	char *p = watch_anonymous();
	struct peerpin_watch a, b, c;

	EXPECT(!watch_at(watch_fd, p, 1, &a) && !watch_at(other, p, 1, &b) && !watch_at(other, p + WATCH_BYTES, 1, &c),
	       "watch");
	EXPECT(!munmap(p, WATCH_PAGE) && !watch_lives(&a) && words[b.out_slot] != b.out_epoch, "munmap");
	close(other);	/* the mapping keeps the file */
	EXPECT(words[c.out_slot] == c.out_epoch, "still mapped");
	munmap((void *)words, EPOCH_BYTES);
	EXPECT(watched() == 0 && !unwatch(watch_fd, a.out_watch), "%ld", watched());
	munmap(p, 3 * WATCH_BYTES);
}

/* ---- overlaps --------------------------------------------------------------------------- */

CASE(each_overlapping_watch_changes)
{
	static const unsigned int first[] = { 0, 2, 2, 3, 4, 5, 0, 7, 3 }, end[] = { 16, 4, 4, 7, 5, 11, 3, 16, 4 };
	enum { COUNT = sizeof(first) / sizeof(*first) };
	char *p = watch_anonymous();
	struct peerpin_watch w[COUNT];
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		EXPECT(!watch_at(watch_fd, p + first[i] * WATCH_PAGE, (end[i] - first[i]) * WATCH_PAGE, &w[i]), "watch %u", i);
	EXPECT(!munmap(p + 3 * WATCH_PAGE, 2 * WATCH_PAGE), "munmap");
	for (i = 0; i < COUNT; i++) {
		EXPECT(watch_lives(&w[i]) == (first[i] >= 5 || end[i] <= 3), "watch %u, pages %u to %u", i, first[i], end[i]);
		EXPECT(!unwatch(watch_fd, w[i].out_watch), "unwatch %u", i);
	}
	munmap(p, 3 * WATCH_BYTES);
}

/* ---- limits -------------------------------------------------------------------------------- */

CASE(watched_bytes_are_limited)
{
	char *p = watch_anonymous();
	struct peerpin_watch a, b;

	EXPECT(!module_set(LIMIT, "40960"), "parameter");
	EXPECT(!watch_at(watch_fd, p, WATCH_BYTES, &a), "the first");
	EXPECT(watch_at(watch_fd, p, WATCH_BYTES, &b) == -EDQUOT && b.out_reason == PEERPIN_REASON_WATCHED_BYTES &&
	       b.out_needed == WATCH_BYTES && b.out_available == 40960 - WATCH_BYTES, "reason %u, %llu of %llu",
	       b.out_reason, b.out_needed, b.out_available);
	EXPECT(watched() == WATCH_BYTES, "a refusal is counted: %ld", watched());
	EXPECT(!munmap(p + WATCH_PAGE, WATCH_PAGE) && watched() == 0, "an ended watch is counted: %ld", watched());
	EXPECT(!watch_at(watch_fd, p + WATCH_BYTES, WATCH_BYTES, &b), "after the end");
	EXPECT(!module_set(LIMIT, "0") && !unwatch(watch_fd, PEERPIN_WATCH_ALL) && watched() == 0, "%ld", watched());
	munmap(p, 3 * WATCH_BYTES);
}

/* Bytes of an object of the slab cache, with what the allocator adds; 0: unknown */
static unsigned int object_bytes(void)
{
	FILE *f = fopen("/sys/kernel/slab/peerpin_watch/slab_size", "re");
	unsigned int bytes = 0;

	if (f && fscanf(f, "%u", &bytes) != 1)
		bytes = 0;
	if (f)
		fclose(f);
	return bytes;
}

static unsigned int how_many(void)
{
	const char *set = getenv("WATCHES");

	return set ? strtoul(set, NULL, 10) : MANY;
}

/* All of one page; WATCHES=1048576 watches as many as a file can have. */
CASE(many_watches_of_one_page)
{
	unsigned int count = how_many(), i, lives = 0;
	uint64_t start = now_ns(), made, ended;
	char *p = watch_anonymous();
	struct peerpin_watch w, first;

	EXPECT(!unwatch(watch_fd, PEERPIN_WATCH_ALL) && !watch_at(watch_fd, p, 1, &first), "watch");
	for (i = 1; i < count; i++)
		EXPECT(!watch_at(watch_fd, p, 1, &w), "watch %u: %d", i, errno);
	made = now_ns();
	if (count == PEERPIN_MAX_WATCHES)
		EXPECT(watch_at(watch_fd, p, 1, &w) == -EDQUOT && w.out_reason == PEERPIN_REASON_LIMIT, "%d", errno);
	EXPECT(watched() == (long)count * WATCH_PAGE, "%ld", watched());
	EXPECT(!munmap(p, WATCH_PAGE) && watched() == 0, "%ld", watched());
	ended = now_ns();
	for (i = 0; i < count; i++)
		lives += watch_words[PEERPIN_MAX_REGIONS + i] % 2;
	EXPECT(!lives && !unwatch(watch_fd, PEERPIN_WATCH_ALL), "%u words have not changed", lives);
	EXPECT(unwatch(watch_fd, first.out_watch) == -ENOENT, "all are gone");
	printf("# %u watches: %lu ns each to make, %lu to end\n", count, (made - start) / count, (ended - made) / count);
	munmap(p, 3 * WATCH_BYTES);
}

/* An entry of the table has 16 bytes and the word 4. kmod/core/node/watch.c has the same bound. */
CASE(watch_has_128_bytes_at_most)
{
	unsigned int bytes = object_bytes();

	if (kernel_checks_itself())
		SKIP("a debug kernel adds its own records");
	EXPECT(bytes && bytes + 16 + 4 + 8 <= 128, "%u bytes", bytes);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *watch_and_unwatch(void *arg)
{
	char *p = arg;
	struct peerpin_watch w;
	long failed = 0;

	for (int i = 0; i < 2000; i++)
		if (watch_at(watch_fd, p + i % 8 * WATCH_PAGE, WATCH_PAGE, &w) || unwatch(watch_fd, w.out_watch))
			failed++;
	return (void *)failed;
}

static void *discard(void *arg)
{
	char *p = arg;

	for (int i = 0; i < 2000; i++)
		madvise(p + i % 8 * WATCH_PAGE, WATCH_PAGE, MADV_DONTNEED);
	return NULL;
}

CASE(threads_watch_while_pages_go)
{
	char *p = watch_anonymous();
	pthread_t threads[4];
	void *failed;
	long sum = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i % 2 ? discard : watch_and_unwatch, p);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		sum += (long)failed;
	}
	EXPECT(!sum && watched() == 0, "%ld calls failed, %ld bytes", sum, watched());
	munmap(p, 3 * WATCH_BYTES);
}

VMTEST_MAIN
