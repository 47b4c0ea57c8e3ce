// SPDX-License-Identifier: MIT
/*
 * Watches of /dev/peerpin, while each allocation fails in turn: the first watch of a process and of a file, later
 * watches, unwatch, munmap
 */
#include "fail.h"
#include "test/vm/core/watch.h"

static char *memory;

SETUP(everything_is_there)
{
	memory = watch_anonymous();
	EXPECT(memory && !access("/dev/peerpin", F_OK), "type: emu/vm/run --kernel debug -- build/bin/vm/t_fail_watch");
}

/* The first round that allocates the MMU notifier keeps it until the process ends. */
CASE(first_watch_of_a_process)
{
	struct peerpin_watch w;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		FAIL(f, ret = watch_at(fd, memory, WATCH_BYTES, &w));
		EXPECT_PLAUSIBLE(f, ret);
		close(fd);
	}
}

/* A refused watch leaves no id taken: the next watch gets id 0. */
CASE(first_watch_of_a_file)
{
	struct peerpin_watch w, next;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		FAIL(f, ret = watch_at(fd, memory, WATCH_BYTES, &w));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret != -ENOMEM || w.out_reason == PEERPIN_REASON_NO_MEMORY, "allocation %u: reason %u", f.nth,
		       w.out_reason);
		EXPECT(!watch_at(fd, memory, WATCH_BYTES, &next) && next.out_watch == !ret, "allocation %u: id %u", f.nth,
		       next.out_watch);
		close(fd);
	}
}

CASE(next_watch_of_a_file)
{
	struct peerpin_watch w;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!watch_at(fd, memory, WATCH_BYTES, &w), "the first");
		FAIL(f, ret = watch_at(fd, memory, WATCH_BYTES, &w));
		EXPECT_PLAUSIBLE(f, ret);
		close(fd);
	}
}

CASE(unwatch_of_a_watch)
{
	struct peerpin_watch w;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!watch_at(fd, memory, WATCH_BYTES, &w), "watch");
		FAIL(f, ret = unwatch(fd, w.out_watch));
		EXPECT_PLAUSIBLE(f, ret);
		close(fd);
	}
}

CASE(munmap_of_watched_memory)
{
	struct peerpin_watch w;
	int fd, ret;
	char *p;

	FAIL_EACH(f) {
		fd = pin_open();
		watch_words = words_map(fd);
		p = watch_anonymous();
		EXPECT(!watch_at(fd, p, WATCH_BYTES, &w), "watch");
		FAIL(f, ret = munmap(p, WATCH_PAGE) ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(ret || !watch_lives(&w), "allocation %u: the word has not changed", f.nth);
		munmap(p, 3 * WATCH_BYTES);
		munmap((void *)watch_words, EPOCH_BYTES);
		close(fd);
	}
}

VMTEST_MAIN
