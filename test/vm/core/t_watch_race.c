// SPDX-License-Identifier: MIT
/*
 * Watches and pins that begin while other threads replace pages. The pages are hugetlb pages, because stall.ko can
 * make the replacement of these late without making all other memory late.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>

#include "test/vm/harness/stall.h"
#include "watch.h"

enum {
	HUGE = 2 << 20,
	LATE_MS = 1500,
	ROUNDS = 3000,
};

static char *huge, *other;

static bool set_pages(const char *number)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "we");
	bool done = f && fputs(number, f) >= 0;

	return f && !fclose(f) && done;
}

SETUP(everything_is_there)
{
	watch_fd = pin_open();
	watch_words = words_map(watch_fd);
	other = watch_anonymous();
	EXPECT(watch_fd >= 0 && watch_words && other && set_pages("2"), "errno %d", errno);
	huge = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	EXPECT(huge != MAP_FAILED, "huge page: %d", errno);
	*huge = 1;
}

/* ---- one replacement, made late --------------------------------------------------------- */

static void *discard(void *arg)
{
	(void)arg;
	return (void *)(long)(madvise(huge, HUGE, MADV_DONTNEED) ? errno : 0);
}

static int pin_host(char *at, struct peerpin_pin *p)
{
	return pin_by(watch_fd, (uintptr_t)at, WATCH_PAGE, PEERPIN_PROVIDER_HOST, p);
}

static void ignore(int signal)
{
	(void)signal;
}

static volatile int go;

static int (*to_interrupt)(void);

/* Created before the replacement: its thread holds mmap_lock, which pthread_create() waits for. */
static void *call_interrupted(void *arg)
{
	struct sigaction action = { .sa_handler = ignore };

	(void)arg;
	sigaction(SIGUSR1, &action, NULL);
	while (!go)
		usleep(1000);
	return (void *)(long)to_interrupt();
}

/* A thread that discards a huge page sleeps between start and end of the notifier. */
static bool stall_huge(unsigned int ms)
{
	return !stall("__unmap_hugepage_range_final", ms) || !stall("__unmap_hugepage_range", ms);
}

static bool start_late(pthread_t *thread)
{
	if (!stall_huge(LATE_MS))
		return false;
	*huge = 1;
	pthread_create(thread, NULL, discard, NULL);
	for (int i = 0; i < 3000 && !stall_count(); i++)
		usleep(1000);
	return stall_count() > 0;
}

static void end_late(pthread_t thread)
{
	void *failed;

	pthread_join(thread, &failed);
	stall_end();
	EXPECT(!failed, "madvise: %ld", (long)failed);
}

/* The word of an older watch has changed before the page goes; a new watch waits. */
CASE(watch_waits_while_its_page_changes)
{
	struct peerpin_watch before, a, b;
	uint64_t start, far, near;
	pthread_t thread;
	bool live;

	EXPECT(!watch_at(watch_fd, huge, 1, &before), "watch: %d", errno);
	if (!start_late(&thread))
		SKIP("this kernel has no function to make late: %d", errno);
	live = watch_lives(&before);
	start = now_ns();
	EXPECT(!watch_at(watch_fd, other, 1, &b), "another page: %d", errno);
	far = now_ns() - start;
	EXPECT(!watch_at(watch_fd, huge, WATCH_PAGE, &a), "the page: %d", errno);
	near = now_ns() - start;
	end_late(thread);
	CHECK_CASE();
	EXPECT(!live, "the word was live while the page was removed");
	printf("# %lu ms for another page, %lu for the page\n", far / 1000000, near / 1000000);
	EXPECT(far < LATE_MS / 3 * 1000000ull && near > LATE_MS / 2 * 1000000ull, "%lu ns, %lu ns", far, near);
	EXPECT(watch_lives(&a) && watch_lives(&b) && !unwatch(watch_fd, PEERPIN_WATCH_ALL), "a word has changed");
}

/* The same for pins */
CASE(pin_waits_while_its_page_changes)
{
	struct peerpin_pin a, b;
	uint64_t start, far, near;
	pthread_t thread;

	EXPECT(!pin_host(other, &b) && !unpin(watch_fd, b.out_region), "the first call");
	if (!start_late(&thread))
		SKIP("this kernel has no function to make late: %d", errno);
	start = now_ns();
	EXPECT(!pin_host(other, &b), "another page: %d", errno);
	far = now_ns() - start;
	EXPECT(!pin_host(huge, &a), "the page: %d", errno);
	near = now_ns() - start;
	end_late(thread);
	CHECK_CASE();
	printf("# %lu ms for another page, %lu for the page\n", far / 1000000, near / 1000000);
	EXPECT(far < LATE_MS / 3 * 1000000ull && near > LATE_MS / 2 * 1000000ull, "%lu ns, %lu ns", far, near);
	EXPECT(watch_words[a.out_slot] == a.out_epoch && watch_words[b.out_slot] == b.out_epoch, "a word has changed");
	EXPECT(!unpin(watch_fd, a.out_region) && !unpin(watch_fd, b.out_region), "unpin: %d", errno);
}

/* Runs @call, which waits for the page, in a thread, and sends signals until it returns: before the page has changed. */
static void interrupt(int (*call)(void), long *ret)
{
	pthread_t thread, waiter;
	uint64_t start, took;
	bool ready;
	void *result;

	go = 0;
	to_interrupt = call;
	pthread_create(&waiter, NULL, call_interrupted, NULL);
	ready = start_late(&thread);
	start = now_ns();
	go = 1;
	while (pthread_tryjoin_np(waiter, &result)) {	/* a signal before the ioctl has no effect */
		usleep(50000);
		pthread_kill(waiter, SIGUSR1);
	}
	took = now_ns() - start;
	if (!ready)
		SKIP("this kernel has no function to make late: %d", errno);
	end_late(thread);
	CHECK_CASE();
	EXPECT(took < LATE_MS * 2 / 3 * 1000000ull, "the call returned after %lu ms", took / 1000000);
	*ret = (long)result;
}

static int watch_huge(void)
{
	struct peerpin_watch w;

	return watch_at(watch_fd, huge, WATCH_PAGE, &w);
}

CASE(signal_ends_the_wait)
{
	struct peerpin_watch first, w;
	long ret = 0;

	EXPECT(!watch_at(watch_fd, other, 1, &first) && !unwatch(watch_fd, first.out_watch), "the first call");
	interrupt(watch_huge, &ret);
	CHECK_CASE();
	EXPECT(ret == -EINTR, "%ld", ret);
	EXPECT(!watch_at(watch_fd, huge, WATCH_PAGE, &w) && w.out_watch == first.out_watch, "an id stays taken: %u",
	       w.out_watch);
	EXPECT(!unwatch(watch_fd, w.out_watch), "unwatch");
}

static int pin_huge(void)
{
	struct peerpin_pin p;

	return pin_host(huge, &p);
}

CASE(signal_ends_the_wait_of_a_pin)
{
	struct peerpin_pin first, p;
	long ret = 0;

	EXPECT(!pin_host(other, &first) && !unpin(watch_fd, first.out_region), "the first call");
	interrupt(pin_huge, &ret);
	CHECK_CASE();
	EXPECT(ret == -EINTR, "%ld", ret);
	EXPECT(!pin_host(huge, &p) && p.out_region == first.out_region, "an id stays taken: %u", p.out_region);
	EXPECT(!unpin(watch_fd, p.out_region), "unpin");
}

/* ---- many replacements -------------------------------------------------------------------- */

static volatile long *shared;	/* a page; its first word is the number of the last replacement */
static volatile long completed;	/* the last replacement that has ended */
static volatile int stop;

/* Each new page gets a higher number. */
static void *replace(void *arg)
{
	for (long i = 1; !stop; i++) {
		madvise((void *)shared, WATCH_PAGE, MADV_DONTNEED);
		*shared = i;
		completed = i;
	}
	return arg;
}

/* The registered page is in a pipe: vmsplice() takes a reference. Returns the number in it. */
static long registered(int pipe_end)
{
	long number = -1;

	return read(pipe_end, &number, sizeof(number)) == sizeof(number) ? number : -1;
}

/*
 * While the word is live, a number that was read from memory is in the registered page, too, or the registered page has a
 * higher one. A lower one means another page. Exception: a replacement ends for notifiers before the processors' TLBs are
 * flushed, so the number of the page that was discarded last may be read until madvise() returns.
 */
static bool is_stale(int pipes[2], unsigned int *used, unsigned int *failed)
{
	struct iovec page = { (void *)shared, sizeof(long) };
	struct peerpin_watch w;
	long seen = -1, there, done;

	if (watch_at(watch_fd, (void *)shared, WATCH_PAGE, &w)) {
		++*failed;
		return false;
	}
	done = completed;
	if (vmsplice(pipes[1], &page, 1, 0) != sizeof(long)) {
		*failed += 1 + !!unwatch(watch_fd, w.out_watch);
		return false;
	}
	for (int i = 0; i < 20; i++) {
		there = *shared;
		if (!watch_lives(&w))
			break;
		seen = there;
	}
	*used += seen >= 0;
	*failed += unwatch(watch_fd, w.out_watch) != 0;
	return registered(pipes[0]) < seen && seen > done;
}

CASE(live_word_means_the_registered_page)
{
	unsigned int stale = 0, used = 0, failed = 0;
	pthread_t thread;
	int pipes[2];

	shared = mmap(NULL, WATCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(shared != MAP_FAILED && !pipe(pipes), "%d", errno);
	pthread_create(&thread, NULL, replace, NULL);
	for (int i = 0; i < ROUNDS; i++)
		stale += is_stale(pipes, &used, &failed);
	stop = 1;
	pthread_join(thread, NULL);
	printf("# %u of %u registrations were used\n", used, ROUNDS);
	EXPECT(!failed, "%u calls failed", failed);
	EXPECT(used > ROUNDS / 100 && !stale, "%u of %u registrations were stale", stale, used);
}

/* ---- many threads that replace pages elsewhere --------------------------------------------- */

enum {
	CHURNERS = 100,		/* more than PP_CHANGES_FIRST of changes.h */
	CHURN_MS = 500,
	CHURN_LIMIT_S = 5,
};

static volatile int churning, calling, returned;
static pthread_t caller;

/* Discards the pages of a mapping. Each thread has a mapping of its own, because the kernel locks the mapping. */
static void *churn(void *p)
{
	while (!churning)
		usleep(1000);
	while (!stop)
		madvise(p, HUGE, MADV_DONTNEED);
	return p;
}

/* When the call has returned, or after CHURN_LIMIT_S, stops the threads. In the second case also sends a signal. */
static void *end_churn(void *arg)
{
	while (!calling)
		usleep(1000);
	for (int i = 0; i < CHURN_LIMIT_S * 100 && !returned; i++)
		usleep(10000);
	stop = 1;
	if (!returned)
		pthread_kill(caller, SIGALRM);
	return arg;
}

/*
 * Runs @call while the threads discard pages. All threads and mappings are made before: mmap() waits until no thread is
 * between start and end of the notifier, because these threads hold mmap_lock.
 */
static void beside_churn(int (*call)(void), int *ret)
{
	struct sigaction action = { .sa_handler = ignore };
	pthread_t threads[CHURNERS], guard;
	bool stalled, beside;
	unsigned int changing;
	uint64_t start;
	void *p;
	int i;

	sigaction(SIGALRM, &action, NULL);
	stop = churning = calling = returned = 0;
	caller = pthread_self();
	EXPECT(!pthread_create(&guard, NULL, end_churn, NULL), "thread: %d", errno);
	for (i = 0; i < CHURNERS; i++) {
		p = mmap(NULL, HUGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
		EXPECT(p != MAP_FAILED && !pthread_create(&threads[i], NULL, churn, p), "thread: %d", errno);
	}
	stalled = stall_huge(CHURN_MS);
	churning = 1;
	for (i = 0; i < 1000 && stalled && stall_count() < CHURNERS; i++)
		usleep(10000);
	changing = stall_count();
	start = now_ns();
	calling = 1;
	*ret = call();
	beside = !stop;
	returned = 1;
	printf("# the call took %lu ms\n", (now_ns() - start) / 1000000);
	pthread_join(guard, NULL);
	if (stalled)
		stall_end();
	for (i = 0; i < CHURNERS; i++) {
		pthread_join(threads[i], &p);
		munmap(p, HUGE);
	}
	if (!stalled)
		SKIP("this kernel has no function to make late");
	EXPECT(changing >= CHURNERS, "only %u threads discard pages", changing);
	EXPECT(beside, "the call returned only after the threads had stopped");
}

/* The first case in which the list of changes is full */
static int pin_other(void)
{
	struct peerpin_pin p;

	return pin_host(other, &p) ?: unpin(watch_fd, p.out_region);
}

CASE(changes_elsewhere_delay_no_pin)
{
	int ret = 0;

	EXPECT(!pin_other(), "the first call: %d", errno);
	beside_churn(pin_other, &ret);
	CHECK_CASE();
	EXPECT(!ret, "%d", ret);
}

static struct peerpin_watch watch_elsewhere;

static int watch_other(void)
{
	return watch_at(watch_fd, other, 1, &watch_elsewhere);
}

CASE(changes_elsewhere_delay_no_watch)
{
	struct peerpin_watch w;
	int ret = 0;

	EXPECT(!watch_at(watch_fd, other, 1, &w) && !unwatch(watch_fd, w.out_watch), "the first call");
	beside_churn(watch_other, &ret);
	CHECK_CASE();
	EXPECT(!ret, "%d", ret);
	EXPECT(watch_lives(&watch_elsewhere) && !unwatch(watch_fd, watch_elsewhere.out_watch), "the word has changed");
}

CASE(nothing_is_left)
{
	munmap(huge, HUGE);
	EXPECT(set_pages("0"), "nr_hugepages: %d", errno);
}

VMTEST_MAIN
