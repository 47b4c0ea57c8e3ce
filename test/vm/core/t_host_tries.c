// SPDX-License-Identifier: MIT
/* Pins of host memory that changes or is missing during the pin: the pin ends, or waits until a signal comes. */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>

#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGE = 4096,
	SIZE = 4 << 20,
	LONG_S = 20,	/* a thread gives up after this time */
	SOON_S = 10,
};

static int fd;
static char *memory;
static atomic_int stopped;
static atomic_uint discards;

SETUP(everything_is_there)
{
	fd = pin_open();
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(fd >= 0 && memory != MAP_FAILED, "%s", strerror(errno));
	EXPECT(!madvise(memory, SIZE, MADV_NOHUGEPAGE), "%s", strerror(errno));
}

static void *discard(__attribute__((unused)) void *arg)
{
	uint64_t end = now_ns() + LONG_S * 1000000000ull;

	while (!atomic_load(&stopped) && now_ns() < end)
		atomic_fetch_add(&discards, !madvise(memory + SIZE / 2, PAGE, MADV_DONTNEED));
	return NULL;
}

CASE(memory_that_changes_is_ESTALE)
{
	uint64_t start = now_ns();
	struct peerpin_pin p;
	pthread_t thread;
	int err;

	atomic_store(&stopped, 0);
	EXPECT(!pthread_create(&thread, NULL, discard, NULL), "thread");
	usleep(50000);
	err = pin_at(fd, (uintptr_t)memory, SIZE, &p);
	atomic_store(&stopped, 1);
	pthread_join(thread, NULL);
	printf("# %d after %lu ms, %u discards\n", err, (now_ns() - start) / 1000000, atomic_load(&discards));
	EXPECT(now_ns() - start < SOON_S * 1000000000ull, "the pin took %lu ms", (now_ns() - start) / 1000000);
	if (!err)	/* the other thread did not run */
		EXPECT(!unpin(fd, p.out_region), "unpin");
	else
		EXPECT(err == -ESTALE && p.out_reason == PEERPIN_REASON_REVOKED, "%d, reason %u", err, p.out_reason);
}

/* ---- userfaultfd --------------------------------------------------------------- */

/* A page that stays missing until deliver(). NULL: there is no userfaultfd. */
static char *page_to_come(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (uintptr_t)p + PAGE;
	range.range.len = PAGE;
	*uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (p == MAP_FAILED || ioctl(*uffd, UFFDIO_API, &api) || ioctl(*uffd, UFFDIO_REGISTER, &range))
		return NULL;
	memset(p, 1, PAGE);
	return p;
}

static int uffd;
static char *missing;

static void *deliver(__attribute__((unused)) void *arg)
{
	static char data[PAGE] = "delivered";
	struct uffdio_copy copy = { .dst = (uintptr_t)missing + PAGE, .src = (uintptr_t)data, .len = PAGE };
	struct uffd_msg message;

	if (read(uffd, &message, sizeof(message)) != sizeof(message) || message.event != UFFD_EVENT_PAGEFAULT)
		return "no fault";
	return ioctl(uffd, UFFDIO_COPY, &copy) ? "copy" : NULL;
}

CASE(pin_waits_for_missing_page)
{
	struct peerpin_pin p;
	pthread_t thread;
	void *wrong;
	int err;

	missing = page_to_come(&uffd);
	if (!missing && uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(missing && !pthread_create(&thread, NULL, deliver, NULL), "userfaultfd: %s", strerror(errno));
	err = pin_at(fd, (uintptr_t)missing, 3 * PAGE, &p);
	EXPECT(!err, "pin: %d, reason %u", err, p.out_reason);
	pthread_join(thread, &wrong);
	EXPECT(!wrong && !strcmp(missing + PAGE, "delivered"), "%s", (char *)wrong);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	munmap(missing, 3 * PAGE);
	close(uffd);
}

static void ignore(__attribute__((unused)) int number)
{
}

/* Since Linux 6.3 the kernel's own wait ends by fatal signals only. */
static bool kernel_waits(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	return major > 6 || (major == 6 && minor >= 3);
}

CASE(signal_ends_wait_for_missing_page)
{
	struct itimerval soon = { .it_value.tv_usec = 200000 };
	struct sigaction act = { .sa_handler = ignore };
	struct peerpin_pin p;
	int err;

	if (kernel_waits())
		SKIP("the wait of this kernel ends by fatal signals only");
	missing = page_to_come(&uffd);
	if (!missing && uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(missing && !sigaction(SIGALRM, &act, NULL) && !setitimer(ITIMER_REAL, &soon, NULL), "%s", strerror(errno));
	err = pin_at(fd, (uintptr_t)missing, 3 * PAGE, &p);
	EXPECT(err == -EINTR, "pin: %d, reason %u", err, p.out_reason);
	munmap(missing, 3 * PAGE);
	close(uffd);
}

VMTEST_MAIN
