// SPDX-License-Identifier: MIT
/*
 * A pin waits for memory. Either its page is in a FUSE file, and the server (this program) does not
 * answer, or an exporter moves its dma-buf. Only the pinning process may wait, and no other
 * process.
 */
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "test/kmod/raw_dmabuf.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmstat.h"
#include "test/vm/harness/vmtest.h"

enum {
	BYTES = 4096,
	PATIENCE_MS = 10000,
	BOTH = PEERPIN_LSI_DST_POINTER | PEERPIN_LSI_SRC_POINTER,
};

static int lsi, gpu;
static char device[64];

SETUP(there_is_a_device)
{
	char link[256] = "";

	gpu = emu_open();
	lsi = lsi_open();
	EXPECT(gpu >= 0 && lsi >= 0, "%d %d", gpu, lsi);
	EXPECT(readlink("/sys/class/misc/lsi0/device", link, sizeof(link) - 1) > 0, "readlink");
	snprintf(device, sizeof(device), "%s", strrchr(link, '/') + 1);
}

static int write_file(const char *path, const char *text)
{
	int f = open(path, O_WRONLY | O_CLOEXEC);
	int ret = f < 0 || write(f, text, strlen(text)) < 0 ? -errno : 0;

	if (f >= 0)
		close(f);
	return ret;
}

static int copy(const void *src)
{
	static unsigned char dst[BYTES];
	struct peerpin_lsi_copy c = {
		.size = sizeof(c), .flags = BOTH,
		.dst.offset = (uintptr_t)dst, .src.offset = (uintptr_t)src, .length = BYTES,
	};

	return ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) ? -errno : 0;
}

static int copy_own(void)
{
	static unsigned char src[BYTES];

	return copy(src);
}

static int unbind(void)
{
	return write_file("/sys/bus/pci/drivers/peerpin_lsi/unbind", device);
}

/* ---- actions, each in a process that may hang ----------------------------- */

static pid_t begin(int (*what)(void))
{
	pid_t pid = fork();

	if (!pid)
		_exit(-what());
	return pid;
}

/* Wait for the process. Returns the error of its action; 1: it does not end; 2: it was killed. */
static int end(pid_t pid)
{
	int status, ms;

	for (ms = 0; ms < PATIENCE_MS; ms += 10) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? -WEXITSTATUS(status) : 2;
		usleep(10000);
	}
	return 1;
}

/* ---- a file of one page ---------------------------------------------------------- */

static const char path[] = "/tmp/never";
static int fuse;

static bool file_mount(void)
{
	int under = open(path, O_CREAT | O_CLOEXEC, 0600);
	char options[80];

	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100600,user_id=0,group_id=0", fuse);
	return under >= 0 && !close(under) && fuse >= 0 && !mount("never", path, "fuse", 0, options);
}

/* Unmount: a process that waits for the file gets an error. */
static void file_umount(void)
{
	umount2(path, MNT_FORCE);
	umount2(path, MNT_DETACH);
	close(fuse);
}

static void answer(uint64_t unique, int error, const void *data, size_t n)
{
	struct fuse_out_header out = { .len = sizeof(out) + n, .error = error, .unique = unique };
	struct iovec parts[] = { { &out, sizeof(out) }, { (void *)data, n } };

	if (writev(fuse, parts, n ? 2 : 1) < 0)
		printf("# fuse: %s\n", strerror(errno));
}

/* Answer a request, except FUSE_READ. */
static void serve(const struct fuse_in_header *in)
{
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = BYTES };
	const struct fuse_attr_out attr = {
		.attr_valid = 3600, .attr = { .ino = 1, .size = BYTES, .mode = S_IFREG | 0600, .nlink = 1 },
	};
	const struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(in->unique, 0, &init, sizeof(init));
	case FUSE_GETATTR:
		return answer(in->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return answer(in->unique, 0, &opened, sizeof(opened));
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		return;
	}
	answer(in->unique, -ENOSYS, NULL, 0);
}

/* Serve until a FUSE_READ comes. Returns the number of this request; 0: none came. */
static uint64_t serve_until_read(void)
{
	static union {
		struct fuse_in_header in;
		char bytes[1 << 16];
	} request;
	struct pollfd p = { .fd = fuse, .events = POLLIN };

	while (poll(&p, 1, PATIENCE_MS) == 1 && read(fuse, &request, sizeof(request)) > 0) {
		if (request.in.opcode == FUSE_READ)
			return request.in.unique;
		serve(&request.in);
	}
	return 0;
}

/* Close the file before the copy. Else the exit of the process would send a request. */
static int copy_file(void)
{
	int f = open(path, O_RDWR | O_CLOEXEC);
	struct stat s;
	void *p;

	if (f < 0 || fstat(f, &s))
		return -errno;
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, f, 0);
	close(f);
	return p == MAP_FAILED ? -errno : copy(p);
}

/* ---- the cases ------------------------------------------------------------------- */

static pid_t waits, unbinds;
static uint64_t question;
static long pinned_before;

static void begin_to_wait(void)
{
	EXPECT(file_mount(), "%s", strerror(errno));
	waits = begin(copy_file);
	question = serve_until_read();
	EXPECT(question, "no FUSE_READ of the page");
}

CASE(copy_waits_for_missing_page)
{
	if (system("modprobe fuse") && access("/dev/fuse", F_OK))
		SKIP("this kernel has no FUSE");
	pinned_before = vmstat_pinned();
	begin_to_wait();
	CHECK_CASE();
	usleep(200000);
	EXPECT(!waitpid(waits, NULL, WNOHANG), "the copy does not wait");
}

static void expect_others_to_copy(void)
{
	pid_t other = begin(copy_own);
	int err = end(other);

	if (err == 1 && !kill(other, SIGKILL))
		waitpid(other, NULL, 0);
	EXPECT(!err, "%s", err == 1 ? "the copy of another process waits too" : strerror(-err));
}

CASE(another_process_copies_during_wait)
{
	if (!waits)
		SKIP("this kernel has no FUSE");
	expect_others_to_copy();
}

CASE(driver_unbinds_during_wait)
{
	int err;

	if (!waits)
		SKIP("this kernel has no FUSE");
	unbinds = begin(unbind);
	err = end(unbinds);
	if (err != 1)
		unbinds = 0;
	EXPECT(!err, "%s", err == 1 ? "the unbind waits too" : strerror(-err));
	EXPECT(copy_own() == -ENODEV, "a copy afterwards: %d", errno);
}

static void bind_again(void)
{
	close(lsi);
	EXPECT(!write_file("/sys/bus/pci/drivers/peerpin_lsi/bind", device), "bind");
	lsi = lsi_open();
	EXPECT(lsi >= 0 && !copy_own(), "the device did not come back: %d", errno);
}

/* After the kill, the process still waits for a FUSE request that the server has read. */
CASE(waiting_process_can_be_killed)
{
	struct emugpu_test t;

	if (!waits)
		SKIP("this kernel has no FUSE");
	EXPECT(!kill(waits, SIGKILL), "kill");
	file_umount();
	EXPECT(end(waits) == 2, "the waiting process was not killed");
	EXPECT(!unbinds || !end(unbinds), "unbind");
	bind_again();
	CHECK_CASE();
	EXPECT(!emu_counts(gpu, &t) && !t.counts.out_pins, "%u pins left", t.counts.out_pins);
	EXPECT(vmstat_pinned_is(pinned_before), "%ld pages pinned, before %ld", vmstat_pinned(), pinned_before);
}

CASE(page_after_unbind_is_not_copied)
{
	static const unsigned char page[BYTES];
	int err;

	if (!waits)
		SKIP("this kernel has no FUSE");
	begin_to_wait();
	CHECK_CASE();
	unbinds = begin(unbind);
	err = end(unbinds);
	answer(question, 0, page, sizeof(page));
	EXPECT(!err && end(waits) == -ENODEV, "unbind: %d", err);
	file_umount();
	bind_again();
	CHECK_CASE();
	EXPECT(vmstat_pinned_is(pinned_before), "%ld pages pinned, before %ld", vmstat_pinned(), pinned_before);
}

/* ---- a dma-buf with a long move of its memory ------------------------------------- */

static int exporter, moved;

/* A signal with a handler must end the wait, too. */
static void ignore(int signal)
{
	(void)signal;
}

/* Pin the dma-buf in this process and copy from it. */
static int copy_moved(void)
{
	static unsigned char dst[BYTES];
	struct sigaction handled = { .sa_handler = ignore };
	struct peerpin_lsi_copy c = {
		.size = sizeof(c), .flags = PEERPIN_LSI_DST_POINTER,
		.dst.offset = (uintptr_t)dst, .length = BYTES,
	};
	struct peerpin_pin pin = {
		.size = sizeof(pin), .length = BYTES, .provider = PEERPIN_PROVIDER_DMABUF, .fd = moved,
	};

	sigaction(SIGUSR1, &handled, NULL);
	c.src.fd = pin_open();
	if (ioctl(c.src.fd, PEERPIN_IOC_PIN, &pin))
		return -errno;
	c.src.region = pin.out_region;
	return ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) ? -errno : 0;
}

static void begin_to_wait_for_the_move(void)
{
	waits = begin(copy_moved);
	usleep(200000);
	EXPECT(!waitpid(waits, NULL, WNOHANG), "the copy does not wait");
}

/* True if the process waited until it got this signal. */
static bool end_by(int signal, int result)
{
	return waits > 0 && !kill(waits, signal) && end(waits) == result;
}

CASE(copy_waits_for_moving_memory)
{
	waits = 0;
	EXPECT(!module_load("test/raw_dmabuf.ko", ""), "%s", strerror(errno));
	exporter = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	moved = ioctl(exporter, RAW_DMABUF_NEW);
	EXPECT(moved >= 0 && !ioctl(exporter, RAW_DMABUF_MOVE, moved), "%s", strerror(errno));
	begin_to_wait_for_the_move();
}

CASE(others_copy_during_the_move)
{
	expect_others_to_copy();
}

CASE(signal_ends_wait_for_move)
{
	EXPECT(end_by(SIGUSR1, -EINTR), "the copy was not interrupted");
}

CASE(unbind_waits_for_waiting_copies)
{
	begin_to_wait_for_the_move();
	CHECK_CASE();
	unbinds = begin(unbind);
	usleep(200000);
	EXPECT(!waitpid(unbinds, NULL, WNOHANG), "the driver was unbound during a copy");
	EXPECT(end_by(SIGTERM, 2), "the copying process was not killed");
	EXPECT(!end(unbinds), "unbind");
	bind_again();
}

CASE(moved_memory_is_copied)
{
	int err;

	begin_to_wait_for_the_move();
	err = ioctl(exporter, RAW_DMABUF_MOVED);
	EXPECT(!err && !end(waits), "the copy still waits, or failed");
	close(moved);
	close(exporter);
	EXPECT(!module_remove("raw_dmabuf"), "remove");
}

VMTEST_MAIN
