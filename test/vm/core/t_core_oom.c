// SPDX-License-Identifier: MIT
/*
 * A process in a control group with little memory makes regions, dma-bufs, watches, mappings for devices or mappings of
 * the revocation page, until the kernel kills the process in the middle of a call. Nothing may be left.
 */
#include <signal.h>
#include <sys/resource.h>

#include "core.h"
#include "test/vm/harness/group.h"
#include "watch.h"

enum {
	DEVICE = 0,
	SEGMENT = 64,		/* bytes of an entry in the list of bus addresses: the list is long */
	PIECE = 1 << 20,	/* of GPU memory, mapped once: a debug kernel warns of more than 7 mappings of a byte */
	PIECES = 64,
	FILES = 20000,
	MOST = 1 << 17,		/* after so many objects the process exits: it was not killed */
	MOST_EXPORTS = 1000,	/* of a region */
};

#define LIMIT "10M"

static char *host;

SETUP(everything_is_there)
{
	struct core_check c = { .peer = DEVICE, .max_seg = SEGMENT };

	EXPECT_CORE();
	host = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(host != MAP_FAILED && !core_call(core, CORE_CHECK_REGISTER, &c), "%s", strerror(errno));
	EXPECT(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){ FILES, FILES }), "%s", strerror(errno));
	EXPECT(group_make() && group_write(GROUP "/memory.max", LIMIT), "a control group: %s", strerror(errno));
	EXPECT_CLEAN();
}

/* Each function makes one more object; a failure is no error, because the kernel may refuse before it kills. */
static void make_region(int file)
{
	struct peerpin_pin p;

	pin_at(file, (uintptr_t)host, PAGE, &p);
}

static void make_dmabuf(int file)
{
	static struct peerpin_pin p;
	static unsigned int made;
	struct peerpin_export e = { .size = sizeof(e), .length = PAGE };

	if (made++ % MOST_EXPORTS == 0)
		pin_at(file, (uintptr_t)host, PAGE, &p);
	e.region = p.out_region;
	ioctl(file, PEERPIN_IOC_EXPORT, &e);
}

static void make_watch(int file)
{
	struct peerpin_watch w;

	watch_at(file, host, PAGE, &w);
}

static void make_mapping(int file)
{
	static unsigned int made;
	int c = core_open();
	struct peerpin_pin p;

	if (!pin_at(file, GPU_B + made++ % PIECES * PIECE, PIECE, &p) && !core_get(c, file, p.out_region))
		core_do(c, CORE_CHECK_ATTACH, DEVICE);
}

static void make_words(int file)
{
	volatile const uint32_t *words = words_map(pin_open());
	unsigned int i;

	for (i = 0; words && i < EPOCH_BYTES / sizeof(*words); i += PAGE / sizeof(*words))
		(void)words[i];
	(void)file;
}

static void make_until_killed(void (*make)(int file))
{
	int g = emu_open(), file = pin_open(), i;

	if (emu_alloc(g, GPU_B, PIECES * PIECE) || !group_join())
		_exit(1);
	for (i = 0; i < MOST; i++)
		make(file);
	_exit(2);
}

static void expect_killed(void (*make)(int file))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		make_until_killed(make);
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%#x", status);
	EXPECT_CLEAN();
}

CASE(oom_kill_leaves_no_region)
{
	expect_killed(make_region);
}

CASE(oom_kill_leaves_no_dmabuf)
{
	expect_killed(make_dmabuf);
}

CASE(oom_kill_leaves_no_watch)
{
	expect_killed(make_watch);
}

CASE(oom_kill_leaves_no_mapping)
{
	expect_killed(make_mapping);
}

CASE(oom_kill_leaves_no_words)
{
	expect_killed(make_words);
}

CASE(nothing_is_left)
{
	EXPECT(group_end(), "the control group: %s", strerror(errno));
	EXPECT(!core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
}

VMTEST_MAIN
