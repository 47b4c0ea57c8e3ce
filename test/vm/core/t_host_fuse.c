// SPDX-License-Identifier: MIT
/* A pin of a page that a FUSE server does not deliver. The whole file system is one file, so the server finds no names. */
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test/vm/core/pin.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

#define FILE_PATH "/tmp/fuse_file"

enum { PAGE = 4096 };

static int fuse;
static atomic_int reads;	/* requests that the server does not answer */

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t size)
{
	char reply[256];
	struct fuse_out_header out = { .len = sizeof(out) + size, .error = error, .unique = in->unique };

	memcpy(reply, &out, sizeof(out));
	memcpy(reply + sizeof(out), data, size);
	if (write(fuse, reply, out.len) < 0)
		fprintf(stderr, "fuse: answer to %u: %s\n", in->opcode, strerror(errno));
}

static void serve_one(const struct fuse_in_header *in)
{
	/* without asynchronous read-ahead FUSE itself waits for the answer, which no signal ends */
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
				      .flags = FUSE_ASYNC_READ, .max_readahead = 1 << 16, .max_write = PAGE };
	struct fuse_attr_out attr = { .attr = { .ino = 1, .size = PAGE, .mode = S_IFREG | 0666, .nlink = 1 } };
	struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		atomic_fetch_add(&reads, 1);
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

static void *serve(__attribute__((unused)) void *arg)
{
	static char request[1 << 17];

	while (read(fuse, request, sizeof(request)) > 0)
		serve_one((const struct fuse_in_header *)request);
	return NULL;
}

SETUP(everything_is_there)
{
	int file = open(FILE_PATH, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	char options[64];
	pthread_t thread;

	close(file);
	module_load_kernel("fs/fuse/fuse");	/* fails if it is built in */
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	EXPECT(file >= 0 && fuse >= 0, "%s: /dev/fuse: %s", FILE_PATH, strerror(errno));
	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0", fuse);
	EXPECT(!mount("test", FILE_PATH, "fuse", 0, options), "mount: %s", strerror(errno));
	EXPECT(!pthread_create(&thread, NULL, serve, NULL), "thread");
}

static void pin_forever(void)
{
	int fd = pin_open(), file = open(FILE_PATH, O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	struct peerpin_pin pin;
	struct stat there;

	/* fstat() makes the kernel ask for the size; until then the size is 0, and a fault is SIGBUS */
	_exit(p == MAP_FAILED || fstat(file, &there) ? 1 : pin_at(fd, (uintptr_t)p, PAGE, &pin) ? 2 : 3);
}

/* True if the child ended by SIGKILL. A child that survives SIGKILL is woken by the umount2() of the caller. */
static bool is_killed(pid_t child)
{
	int status = 0, i;

	kill(child, SIGKILL);
	for (i = 0; i < 1000 && !waitpid(child, &status, WNOHANG); i++)
		usleep(10000);
	return i < 1000 && WIFSIGNALED(status);
}

CASE(kill_ends_wait_for_fuse_server)
{
	pid_t child = fork();
	bool killed;
	int i;

	if (!child)
		pin_forever();
	for (i = 0; i < 1000 && !atomic_load(&reads); i++)
		usleep(10000);
	usleep(200000);	/* now the child waits for the page */
	EXPECT(atomic_load(&reads) && !waitpid(child, NULL, WNOHANG), "%d reads of a page", atomic_load(&reads));
	killed = is_killed(child);
	umount2(FILE_PATH, MNT_FORCE | MNT_DETACH);
	EXPECT(killed, "the process cannot be killed");
}

VMTEST_MAIN
