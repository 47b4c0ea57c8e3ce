// SPDX-License-Identifier: MIT
/* Pins of host memory that changes or is missing during the pin. */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGE = 4096,
	PAGES = 4,
	MOST_ROUNDS = 100,
	SECOND_TRY = 3,		/* the first fault of the second try of memory that changes */
};

static int fd;

SETUP(everything_is_there)
{
	fd = pin_open();
	EXPECT(fd >= 0, "%d", fd);
}

/* ---- userfaultfd --------------------------------------------------------------- */

/* PAGES pages. After the first page @count pages stay missing until a thread fills them. NULL: there is no userfaultfd. */
static char *pages_to_come(int *uffd, unsigned int count, uint64_t mode)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING | mode };
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (uintptr_t)p + PAGE;
	range.range.len = count * PAGE;
	*uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (p == MAP_FAILED || ioctl(*uffd, UFFDIO_API, &api) || ioctl(*uffd, UFFDIO_REGISTER, &range))
		return NULL;
	memset(p, 1, PAGE);
	return p;
}

static int uffd;
static char *missing;

static bool next_message(struct uffd_msg *message)
{
	return read(uffd, message, sizeof(*message)) == sizeof(*message) && message->event == UFFD_EVENT_PAGEFAULT;
}

static void *deliver(__attribute__((unused)) void *arg)
{
	static char data[PAGE] = "delivered";
	struct uffdio_copy copy = { .dst = (uintptr_t)missing + PAGE, .src = (uintptr_t)data, .len = PAGE };
	struct uffd_msg message;

	if (!next_message(&message))
		return "no fault";
	return ioctl(uffd, UFFDIO_COPY, &copy) ? "copy" : NULL;
}

/* Delivers a page that may not be written yet, and permits that at the next fault. */
static void *deliver_protected(__attribute__((unused)) void *arg)
{
	static char data[PAGE] = "protected";
	uint64_t at = (uintptr_t)missing + PAGE;
	struct uffdio_copy copy = { .dst = at, .src = (uintptr_t)data, .len = PAGE, .mode = UFFDIO_COPY_MODE_WP };
	struct uffdio_writeprotect permit = { .range = { at, PAGE } };
	struct uffd_msg message;

	if (!next_message(&message) || ioctl(uffd, UFFDIO_COPY, &copy))
		return "copy";
	if (!next_message(&message) || !(message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP))
		return "no second fault";
	return ioctl(uffd, UFFDIO_WRITEPROTECT, &permit) ? "permit" : NULL;
}

static void pin_delivered_page(uint64_t mode, void *(*run)(void *), const char *content)
{
	struct peerpin_pin p;
	pthread_t thread;
	void *wrong;
	int err;

	missing = pages_to_come(&uffd, 1, mode);
	if (!missing && uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(missing && !pthread_create(&thread, NULL, run, NULL), "userfaultfd: %s", strerror(errno));
	err = pin_at(fd, (uintptr_t)missing, PAGES * PAGE, &p);
	EXPECT(!err, "pin: %d, reason %u", err, p.out_reason);
	pthread_join(thread, &wrong);
	EXPECT(!wrong && !strcmp(missing + PAGE, content), "%s", (char *)wrong);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	munmap(missing, PAGES * PAGE);
	close(uffd);
}

CASE(pin_waits_for_missing_page)
{
	pin_delivered_page(0, deliver, "delivered");
}

CASE(pin_waits_twice_for_protected_page)
{
	pin_delivered_page(UFFDIO_REGISTER_MODE_WP, deliver_protected, "protected");
}

/* ---- memory that changes ---------------------------------------------------------- */

static unsigned int rounds;	/* written by the thread only, until it is joined */
static unsigned int signal_in;	/* the round in which the thread sends SIGALRM; 0: none */
static pthread_t pinning;

/* The address of the next fault, or NULL at the end of the test */
static char *next_fault(void)
{
	struct uffd_msg message;

	if (!next_message(&message))
		return NULL;
	return (char *)(uintptr_t)message.arg.pagefault.address - message.arg.pagefault.address % PAGE;
}

/*
 * Two pages are missing by turns: whenever the pin waits for a page, the thread discards the other page and fills
 * this page. So each try of the pin waits twice, and a page of the range is discarded meanwhile. After MOST_ROUNDS the
 * thread discards no more, so that a pin without a bound succeeds.
 */
static void *fill_by_turns(__attribute__((unused)) void *arg)
{
	static char data[PAGE];
	char *at;

	while ((at = next_fault())) {
		struct uffdio_copy copy = { .dst = (uintptr_t)at, .src = (uintptr_t)data, .len = PAGE };
		char *other = at == missing + PAGE ? at + PAGE : at - PAGE;

		if (++rounds < MOST_ROUNDS && madvise(other, PAGE, MADV_DONTNEED))
			return "discard";
		if (rounds == signal_in)
			pthread_kill(pinning, SIGALRM);
		if (ioctl(uffd, UFFDIO_COPY, &copy))
			return "copy";
	}
	return NULL;
}

static void pin_memory_that_changes(struct peerpin_pin *p, int *err)
{
	pthread_t thread;
	void *wrong;

	rounds = 0;
	pinning = pthread_self();
	missing = pages_to_come(&uffd, 2, 0);
	if (!missing && uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(missing && !pthread_create(&thread, NULL, fill_by_turns, NULL), "userfaultfd: %s", strerror(errno));
	*err = pin_at(fd, (uintptr_t)missing, PAGES * PAGE, p);
	pthread_cancel(thread);
	pthread_join(thread, &wrong);
	EXPECT(wrong == PTHREAD_CANCELED, "%s", wrong ? (char *)wrong : "no fault");
	munmap(missing, PAGES * PAGE);
	close(uffd);
}

CASE(memory_that_changes_is_ESTALE)
{
	struct peerpin_pin p;
	int err;

	pin_memory_that_changes(&p, &err);
	CHECK_CASE();
	EXPECT(err == -ESTALE && p.out_reason == PEERPIN_REASON_REVOKED, "%d after %u faults, reason %u", err, rounds,
	       p.out_reason);
	EXPECT(rounds >= SECOND_TRY, "%u faults", rounds);
}

/* ---- memory shared with a child ------------------------------------------------------ */

enum {
	SHARED = 1 << 20,
	THREADS = 8,
	FORKS = 20,
};

static char *shared;
static pthread_barrier_t all_are_there;

static void *pin_shared(__attribute__((unused)) void *arg)
{
	struct peerpin_pin p;
	long err;

	pthread_barrier_wait(&all_are_there);
	err = pin_at(fd, (uintptr_t)shared, SHARED, &p);
	return (void *)(err ?: unpin(fd, p.out_region));
}

/* The error of one of the threads, or 0 */
static long pin_in_threads(void)
{
	pthread_t threads[THREADS];
	long failed = 0;
	void *err;
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, pin_shared, NULL))
			abort();
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &err);
		failed = failed ?: (long)err;
	}
	return failed;
}

/* Each pin breaks COW page by page. All threads do so at the same time, in the same pages. */
CASE(threads_pin_memory_shared_with_a_child)
{
	long failed = 0;
	pid_t child;
	int i;

	shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(shared != MAP_FAILED && !madvise(shared, SHARED, MADV_NOHUGEPAGE), "%s", strerror(errno));
	EXPECT(!pthread_barrier_init(&all_are_there, NULL, THREADS), "barrier");
	for (i = 0; i < vmtest_rounds(FORKS) && !failed; i++) {
		memset(shared, i, SHARED);
		child = fork();
		EXPECT(child >= 0, "fork: %s", strerror(errno));
		if (!child) {
			pause();
			_exit(0);
		}
		failed = pin_in_threads();
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	EXPECT(!failed, "round %d: %ld", i, failed);
	munmap(shared, SHARED);
}

/* ---- signals ---------------------------------------------------------------------- */

static void ignore(__attribute__((unused)) int number)
{
}

/* A try has two faults. The signal comes at the first fault of the second try, so at most one fault follows. */
CASE(signal_ends_tries_of_changing_memory)
{
	struct sigaction act = { .sa_handler = ignore };
	struct peerpin_pin p;
	int err;

	EXPECT(!sigaction(SIGALRM, &act, NULL), "%s", strerror(errno));
	signal_in = SECOND_TRY;
	pin_memory_that_changes(&p, &err);
	signal_in = 0;
	CHECK_CASE();
	EXPECT(err == -EINTR, "%d after %u faults, reason %u", err, rounds, p.out_reason);
	EXPECT(rounds == SECOND_TRY || rounds == SECOND_TRY + 1, "%u faults", rounds);
}

CASE(signal_ends_wait_for_missing_page)
{
	struct itimerval soon = { .it_value.tv_usec = 200000 };
	struct sigaction act = { .sa_handler = ignore };
	struct peerpin_pin p;
	int err;

	missing = pages_to_come(&uffd, 1, 0);
	if (!missing && uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(missing && !sigaction(SIGALRM, &act, NULL) && !setitimer(ITIMER_REAL, &soon, NULL), "%s", strerror(errno));
	err = pin_at(fd, (uintptr_t)missing, PAGES * PAGE, &p);
	EXPECT(err == -EINTR, "pin: %d, reason %u", err, p.out_reason);
	munmap(missing, PAGES * PAGE);
	close(uffd);
}

enum {
	LARGE = 32 << 20,	/* the pin takes several steps, and checks for signals in each */
	LARGE_PINS = 10,
	MAPPINGS = 2000,
	FIRST_PINS = 5,
};

static void *signal_always(void *pinner)
{
	for (;;) {
		pthread_kill(*(pthread_t *)pinner, SIGALRM);
		usleep(100);	/* without a pause the handler could run all the time */
	}
	return NULL;
}

/* Each second page is read-only, so each page is a mapping of its own. */
static int first_pin_beside_signals(void)
{
	char *p = mmap(NULL, MAPPINGS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = { .sa_handler = ignore };
	pthread_t me = pthread_self(), thread;
	struct peerpin_pin pin;
	int own = pin_open(), i;

	for (i = 1; i < MAPPINGS; i += 2)
		if (mprotect(p + i * PAGE, PAGE, PROT_READ))
			return 1;
	*p = 1;
	if (sigaction(SIGALRM, &act, NULL) || pthread_create(&thread, NULL, signal_always, &me))
		return 1;
	return pin_at(own, (uintptr_t)p, PAGE, &pin) ? errno : 0;
}

/* The first pin of a process registers an MMU notifier. */
CASE(signals_do_not_end_first_pin_of_process)
{
	int i, status = 0;
	pid_t child;

	for (i = 0; i < FIRST_PINS && !status; i++) {
		child = fork();
		if (!child)
			_exit(first_pin_beside_signals());
		EXPECT(child > 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
	}
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "process %d: %s", i, strerror(WEXITSTATUS(status)));
}

CASE(signals_do_not_end_pin_of_present_memory)
{
	char *p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = { .sa_handler = ignore };
	pthread_t me = pthread_self(), thread;
	struct peerpin_pin pin;
	int i, err = 0;

	EXPECT(p != MAP_FAILED && !madvise(p, LARGE, MADV_NOHUGEPAGE), "%s", strerror(errno));
	memset(p, 1, LARGE);
	EXPECT(!sigaction(SIGALRM, &act, NULL) && !pthread_create(&thread, NULL, signal_always, &me), "signals");
	CHECK_CASE();
	for (i = 0; i < LARGE_PINS && !err; i++)
		err = pin_at(fd, (uintptr_t)p, LARGE, &pin) ?: unpin(fd, pin.out_region);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	EXPECT(!err, "pin %d: %d, reason %u", i, err, pin.out_reason);
	munmap(p, LARGE);
}

VMTEST_MAIN
