// SPDX-License-Identifier: MIT
/*
 * Pinned pages of a shared mapping of a disk. The kernel writes the pages to the disk and marks
 * them clean, although a device may still write to the pages.
 */
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "test/vm/core/pin.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

#define DISK "/dev/loop0"
#define BEHIND "/run/host_file"

enum {
	PAGE = 4096,
	N = 16 * PAGE,
	BEFORE = 0x11,
	WRITTEN = 0x77,
};

static int fd, lsi, disk;
static unsigned char *mapped, *host;

/* True since Linux 6.5: the kernel refuses to pin a shared mapping of a disk for writing. */
static int kernel_refuses(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	return major > 6 || (major == 6 && minor >= 5);
}

static int make_disk(void)
{
	return system("modprobe loop; truncate -s 1M " BEHIND " && { [ -b " DISK " ] || mknod " DISK " b 7 0; } && losetup "
		      DISK " " BEHIND);
}

SETUP(everything_is_there)
{
	fd = pin_open();
	lsi = lsi_open();
	EXPECT(fd >= 0 && lsi >= 0 && !make_disk(), "%d %d", fd, lsi);
	disk = open(DISK, O_RDWR | O_CLOEXEC);
	mapped = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED, disk, 0);
	host = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(disk >= 0 && mapped != MAP_FAILED && host != MAP_FAILED, "%s", strerror(errno));
	memset(mapped, BEFORE, N);
	memset(host, WRITTEN, N);
	EXPECT(!fsync(disk), "fsync: %s", strerror(errno));
}

/* Drop the page cache, and count the bytes on the disk that equal @what. */
static int count_on_disk(int what)
{
	unsigned char data[N];
	int i, count = 0;

	if (munmap(mapped, N) || ioctl(disk, BLKFLSBUF) || pread(disk, data, N, 0) != N)
		return -1;
	for (i = 0; i < N; i++)
		count += data[i] == what;
	return count;
}

/* Such a pin may lose data. */
CASE(pin_is_refused_unless_asked_for)
{
	struct peerpin_pin p;
	int err = pin_at(fd, (uintptr_t)mapped, N, &p);

	EXPECT(err == -EINVAL && p.out_reason == PEERPIN_REASON_NOT_MAPPED, "%d, reason %u", err, p.out_reason);
}

static char *missing;	/* a page that userfaultfd must fill; then a hole */
static int uffd;

static bool make_hole(void)
{
	struct uffdio_register range = { .range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	missing = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)missing;
	return missing != MAP_FAILED && !munmap(missing + PAGE, PAGE) && !ioctl(uffd, UFFDIO_API, &api) &&
	       !ioctl(uffd, UFFDIO_REGISTER, &range);
}

/* While the pin waits for the missing page, maps the disk into the hole. Then fills the page. */
static void *fill_hole(__attribute__((unused)) void *arg)
{
	static char data[PAGE];
	struct uffdio_copy copy = { .dst = (uintptr_t)missing, .src = (uintptr_t)data, .len = PAGE };
	struct uffd_msg message;

	if (read(uffd, &message, sizeof(message)) != sizeof(message) || message.event != UFFD_EVENT_PAGEFAULT)
		return "no fault";
	if (mmap(missing + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, disk, 0) == MAP_FAILED)
		return "mmap";
	return ioctl(uffd, UFFDIO_COPY, &copy) ? "copy" : NULL;
}

/* If the pin is refused at once, no page fault comes, and read() in the thread never returns. So cancels the thread. */
CASE(file_mapped_during_pin_is_refused)
{
	struct peerpin_pin p;
	pthread_t thread;
	void *wrong;
	int err;

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(make_hole() && !pthread_create(&thread, NULL, fill_hole, NULL), "userfaultfd: %s", strerror(errno));
	err = pin_at(fd, (uintptr_t)missing, 2 * PAGE, &p);
	pthread_cancel(thread);
	pthread_join(thread, &wrong);
	EXPECT(!wrong || wrong == PTHREAD_CANCELED, "%s", (char *)wrong);
	EXPECT(err == -EINVAL && p.out_reason == PEERPIN_REASON_NOT_MAPPED, "%d, reason %u", err, p.out_reason);
	munmap(missing, 2 * PAGE);
	close(uffd);
}

/* The CPU has not written since the pages were cleaned. So the unpin must mark the pages dirty. */
CASE(dma_after_writeback_reaches_the_disk)
{
	struct peerpin_pin to, from;
	int err;

	EXPECT(kernel_refuses() || !module_set("peerpin/parameters/pin_shared_files", "1"), "parameter");
	err = pin_at(fd, (uintptr_t)mapped, N, &to);
	if (kernel_refuses()) {
		EXPECT(err == -EINVAL && to.out_reason == PEERPIN_REASON_NOT_MAPPED,
		       "pinned although this kernel refuses: %d, reason %u", err, to.out_reason);
		return;
	}
	EXPECT(!err && !pin_at(fd, (uintptr_t)host, N, &from), "pin: %d", err);
	EXPECT(!fsync(disk), "fsync: %s", strerror(errno));
	EXPECT(!lsi_copy(lsi, (struct end){ fd, to.out_region, 0 }, (struct end){ fd, from.out_region, 0 }, N), "copy");
	EXPECT(!unpin(fd, to.out_region) && !unpin(fd, from.out_region), "unpin");
	EXPECT(count_on_disk(WRITTEN) == N, "fewer than %d bytes on the disk", N);
}

CASE(nothing_is_left)
{
	close(disk);
	EXPECT(kernel_refuses() || !module_set("peerpin/parameters/pin_shared_files", "0"), "parameter");
	EXPECT(!system("losetup -d " DISK " && rm " BEHIND), "losetup");
}

VMTEST_MAIN
