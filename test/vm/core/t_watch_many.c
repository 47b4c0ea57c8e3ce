// SPDX-License-Identifier: MIT
/*
 * A million watches of one page each: limit of bytes, memory of the kernel, words, unmap, exit, and how the costs grow.
 * `make check` makes a twentieth of them, and so does a debug kernel.
 */
#include <sys/wait.h>

#include "test/vm/harness/group.h"
#include "test/vm/harness/module.h"
#include "watch.h"

#define LIMIT "peerpin/parameters/max_process_watched_bytes"

enum {
	MOST = 1000000,
	STEP = 7919,	/* a prime: the watches begin in scattered order */
	NOISE_NS = 100000,	/* of each watch; a scan of 50,000 watches takes more than 10 times as long */
};

enum cost { WATCH, UNWATCH, CHANGE, EXIT, COSTS };

static const char *const cost_names[COSTS] = {
	[WATCH] = "watch", [UNWATCH] = "unwatch", [CHANGE] = "change by munmap()", [EXIT] = "exit",
};

/**
 * struct report - of a process that watches @count pages; shared with the process
 * @ns: time of each watch
 * @exit_start: time of the exit
 * @bytes: kernel memory of each watch
 * @result, @why: of its EXPECTs
 */
struct report {
	unsigned int count;
	uint64_t ns[COSTS];
	uint64_t exit_start;
	long long bytes;
	enum vmtest_result result;
	char why[sizeof(vmtest_why)];
};

/* the words of the watches, by page */
struct mark {
	uint32_t watch, slot, epoch;
};

static struct report *reports;	/* of three processes, each with ten times as many watches */
static unsigned int most;

SETUP(everything_is_there)
{
	most = getenv("SHORT") || kernel_checks_itself() ? MOST / 20 : MOST;
	reports = mmap(NULL, WATCH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(reports != MAP_FAILED && !access("/dev/peerpin", F_OK), "%d", errno);
}

/* ---- a process -------------------------------------------------------------------------- */

static char *map_pages(unsigned int count)
{
	char *p = mmap(NULL, (size_t)count * WATCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void watch_all(char *at, unsigned int count, struct mark *marks)
{
	struct peerpin_watch w;
	size_t page;

	for (unsigned int i = 0; i < count; i++) {
		page = (size_t)i * STEP % count;
		EXPECT(!watch_at(watch_fd, at + page * WATCH_PAGE, 1, &w), "watch %u: %d", i, errno);
		marks[page] = (struct mark){ w.out_watch, w.out_slot, w.out_epoch };
	}
}

static void unwatch_all(unsigned int count, const struct mark *marks)
{
	for (unsigned int i = 0; i < count; i++)
		EXPECT(!unwatch(watch_fd, marks[i].watch), "unwatch of page %u", i);
}

/* The limit is reached. */
static void next_is_refused(char *at)
{
	struct peerpin_watch w;

	EXPECT(watch_at(watch_fd, at, 1, &w) == -EDQUOT && w.out_reason == PEERPIN_REASON_WATCHED_BYTES && !w.out_available,
	       "reason %u, %llu bytes left", w.out_reason, w.out_available);
}

static void each_word_has_changed_once(unsigned int count, const struct mark *marks)
{
	for (unsigned int i = 0; i < count; i++)
		EXPECT(watch_words[marks[i].slot] == marks[i].epoch + 1, "page %u: epoch %u is now %u", i, marks[i].epoch,
		       watch_words[marks[i].slot]);
}

static long long kernel_bytes(void)
{
	return group_bytes("memory.stat", "kernel %lld");
}

static void make_and_unwatch(struct report *r, char *at, struct mark *marks)
{
	long long before = kernel_bytes();
	uint64_t start = now_ns(), made;

	watch_all(at, r->count, marks);
	CHECK_CASE();
	made = now_ns();
	r->bytes = (kernel_bytes() - before) / r->count;
	next_is_refused(at);
	r->ns[WATCH] = (made - start) / r->count;
	start = now_ns();
	unwatch_all(r->count, marks);
	r->ns[UNWATCH] = (now_ns() - start) / r->count;
}

static void make_and_unmap(struct report *r, char *at, struct mark *marks)
{
	uint64_t start;

	watch_all(at, r->count, marks);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!munmap(at, (size_t)r->count * WATCH_PAGE), "munmap: %d", errno);
	r->ns[CHANGE] = (now_ns() - start) / r->count;
	each_word_has_changed_once(r->count, marks);
	EXPECT(!unwatch(watch_fd, PEERPIN_WATCH_ALL), "unwatch: %d", errno);
}

/* Leaves all watches to the exit of the process. */
static void watch_three_times(struct report *r)
{
	struct mark *marks = mmap(NULL, r->count * sizeof(*marks), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char *at = map_pages(r->count);

	watch_fd = pin_open();
	watch_words = words_map(watch_fd);
	EXPECT(watch_fd >= 0 && watch_words && marks != MAP_FAILED && at && group_join(), "%d", errno);
	make_and_unwatch(r, at, marks);
	CHECK_CASE();
	make_and_unmap(r, at, marks);
	CHECK_CASE();
	at = map_pages(r->count);
	EXPECT(at, "mmap: %d", errno);
	watch_all(at, r->count, marks);
}

/* ---- three processes ---------------------------------------------------------------------- */

static void run_process(struct report *r, unsigned int count)
{
	char bytes[32];
	int status;
	pid_t pid;

	r->count = count;
	snprintf(bytes, sizeof(bytes), "%lu", (unsigned long)count * WATCH_PAGE);
	EXPECT(!module_set(LIMIT, bytes), "parameter");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		watch_three_times(r);
		r->result = vmtest_result;
		memcpy(r->why, vmtest_why, sizeof(vmtest_why));
		r->exit_start = now_ns();
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "%u watches: status %#x", count, status);
	r->ns[EXIT] = (now_ns() - r->exit_start) / count;
	EXPECT(r->result == VMTEST_OK, "%u watches: %s", count, r->why);
}

static void run_processes(void)
{
	for (unsigned int i = 0, count = most / 100; i < 3; i++, count *= 10) {
		run_process(&reports[i], count);
		CHECK_CASE();
	}
	for (enum cost c = 0; c < COSTS; c++)
		printf("# %s, ns each of %u, %u, %u watches: %lu, %lu, %lu\n", cost_names[c], reports[0].count, reports[1].count,
		       reports[2].count, reports[0].ns[c], reports[1].ns[c], reports[2].ns[c]);
	printf("# kernel memory, bytes each: %lld, %lld, %lld\n", reports[0].bytes, reports[1].bytes, reports[2].bytes);
}

SETUP(million_watches_end_once_each)
{
	long before = watches();

	EXPECT(before >= 0 && group_make(), "a control group: %s", strerror(errno));
	run_processes();
	EXPECT(!module_set(LIMIT, "0") && group_end(), "%s", strerror(errno));
	EXPECT(watches() == before, "%ld watches, before %ld", watches(), before);
}

/* The last page of words need not be full. So all watches together may take one page more. */
CASE(watch_takes_at_most_128_bytes)
{
	if (kernel_checks_itself())
		SKIP("a debug kernel adds its own records");
	for (unsigned int i = 0; i < 3; i++)
		EXPECT(reports[i].bytes >= 64 && reports[i].bytes <= 128 + 4096 / reports[i].count, "%u watches: %lld bytes each",
		       reports[i].count, reports[i].bytes);
}

/*
 * A tree of 100 times as many watches is one and a half times as high. A scan would take 100 times as long. The fixed
 * time of an exit is a large part of the time of few watches, so the smaller of the times with few and with more watches counts. The
 * bound has room for a processor that other programs use, too.
 */
CASE(cost_of_a_watch_grows_less_than_20_times)
{
	const struct report *few = &reports[0], *more = &reports[1], *most_of_all = &reports[2];
	uint64_t least;

	for (enum cost c = 0; c < COSTS; c++) {
		least = few->ns[c] < more->ns[c] ? few->ns[c] : more->ns[c];
		EXPECT(most_of_all->ns[c] < 20 * least + NOISE_NS, "%s of %u watches: %lu ns each, of %u or %u: %lu", cost_names[c],
		       most_of_all->count, most_of_all->ns[c], few->count, more->count, least);
	}
}

/* ---- the bound of an address space -------------------------------------------------------- */

/* The watches of both files are of one page. */
CASE(two_files_have_at_most_a_million)
{
	struct peerpin_watch w;
	unsigned int i;
	char *p;
	int other;

	if (most < MOST)
		SKIP("this kernel, or SHORT, makes a twentieth of a million watches only");
	p = map_pages(1);
	other = pin_open();
	watch_fd = pin_open();
	EXPECT(other >= 0 && watch_fd >= 0 && p, "%d", errno);
	EXPECT(!watch_at(other, p, 1, &w), "first: %d", errno);
	for (i = 1; i < PEERPIN_MAX_WATCHES; i++)
		EXPECT(!watch_at(watch_fd, p, 1, &w), "watch %u: %d", i, errno);
	EXPECT(watch_at(other, p, 1, &w) == -EDQUOT && w.out_reason == PEERPIN_REASON_LIMIT, "%d, reason %u", errno, w.out_reason);
	EXPECT(watch_at(watch_fd, p, 1, &w) == -EDQUOT && w.out_reason == PEERPIN_REASON_LIMIT, "%d, reason %u", errno,
	       w.out_reason);
	EXPECT(!unwatch(other, 0) && !watch_at(other, p, 1, &w), "after an unwatch: %d", errno);
	EXPECT(!munmap(p, WATCH_PAGE), "munmap: %d", errno);
	p = map_pages(1);
	EXPECT(p && !watch_at(other, p, 1, &w), "after a change: %d", errno);
	close(other);
	close(watch_fd);
	munmap(p, WATCH_PAGE);
}

VMTEST_MAIN
