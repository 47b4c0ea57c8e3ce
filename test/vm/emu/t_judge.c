// SPDX-License-Identifier: MIT
/* judge.ko with test/kmod/judge_subject.c, a module that allocates in each watched way. */
#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

#define SUBJECT "test/judge_subject.ko"

enum {
	LOADED = 33,	/* number of allocations in a load without failures */
	STORM = 1000,		/* additional allocations, which interrupts free */
	TEXT = 4096,
};

#define GPU (1ull << 33)

static int control(const char *file, const char *value)
{
	char path[64];
	int node, err;

	snprintf(path, sizeof(path), "/sys/kernel/debug/judge/%s", file);
	node = open(path, O_WRONLY | O_CLOEXEC);
	err = write(node, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -errno;
	close(node);
	return err;
}

static int fail_nth(unsigned int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	return control("fail", text);
}

/* The leaks that the judge reports. */
static const char *leaks(void)
{
	static char text[TEXT];

	return module_debugfs("judge/leaks", text, sizeof(text));
}

static void counts(int *allocations, int *failed)
{
	char text[64];

	*allocations = *failed = -1;
	sscanf(module_debugfs("judge/fail", text, sizeof(text)), "%d allocations, %d failed", allocations, failed);
}

static int load_and_remove(const char *parameters)
{
	int err = control("reset", "1") ?: module_load(SUBJECT, parameters);

	return err ?: module_remove("judge_subject");
}

CASE(module_is_named_before_its_load)
{
	char text[64];

	module_debugfs("judge/module", text, sizeof(text));
	EXPECT(!strcmp(text, "\n"), "'%s'", text);
	EXPECT(!control("module", "judge-subject\n"), "%d", errno);
	module_debugfs("judge/module", text, sizeof(text));
	EXPECT(!strcmp(text, "judge_subject\n"), "'%s'", text);
	EXPECT(*module_debugfs("judge/began", text, sizeof(text)) == 'N', "'%s'", text);
	EXPECT(!module_load(SUBJECT, ""), "load");
	EXPECT(*module_debugfs("judge/began", text, sizeof(text)) == 'Y', "'%s'", text);
	EXPECT(control("module", "another") == -EBUSY, "a module was named after the load");
	EXPECT(!module_remove("judge_subject"), "remove");
}

CASE(freed_memory_is_no_leak)
{
	int n, failed;

	EXPECT(!fail_nth(0), "fail");
	EXPECT(!load_and_remove(""), "load");
	EXPECT(!leaks()[0], "%s", leaks());
	counts(&n, &failed);
	EXPECT(n == LOADED && !failed, "%d allocations, %d failed", n, failed);
}

/* Some interrupts arrive while a probe handles an allocation. */
CASE(free_by_interrupt_is_no_leak)
{
	int n, failed;

	EXPECT(!fail_nth(0), "fail");
	EXPECT(!load_and_remove("storm_ms=1000"), "load");
	EXPECT(!leaks()[0], "%s", leaks());
	counts(&n, &failed);
	EXPECT(n > LOADED + STORM && !failed, "%d allocations, %d failed", n, failed);
}

/* Number of allocations that the judge could not see: allocations by interrupts during a probe. */
static void count_unseen(int *unseen)
{
	char text[64];
	int n = -1, failed = -1;

	EXPECT(!load_and_remove("storm_ms=1000 storm_allocates=1"), "load");
	module_debugfs("judge/fail", text, sizeof(text));
	EXPECT(sscanf(text, "%d allocations, %d failed, %d not seen", &n, &failed, unseen) == 3, "%s", text);
	EXPECT(n > LOADED + STORM && !failed && *unseen >= 0, "%s", text);
	EXPECT(*unseen ? !!strstr(leaks(), " allocations were not seen\n") : !leaks()[0], "%s%s", text, leaks());
}

/* In a second there usually are some unseen allocations. */
CASE(unseen_allocations_are_reported)
{
	int tries, unseen = 0;

	EXPECT(!fail_nth(0), "fail");
	for (tries = 0; !unseen && tries < 20; tries++) {
		count_unseen(&unseen);
		CHECK_CASE();
	}
	EXPECT(unseen, "no unseen allocation in %d s", tries);
}

static void keeps(const char *what, size_t bytes)
{
	char parameters[32];
	size_t found = 0;

	snprintf(parameters, sizeof(parameters), "keep=%s", what);
	EXPECT(!load_and_remove(parameters), "load");
	EXPECT(sscanf(leaks(), "%zu", &found) == 1 && found == bytes, "%s: %s", what, leaks());
	EXPECT(strchr(leaks(), '\n') == strrchr(leaks(), '\n'), "%s: more than one leak: %s", what, leaks());
	EXPECT(strstr(leaks(), "by_") || strstr(leaks(), "init"), "%s: no function in the report: %s", what, leaks());
}

CASE(kept_memory_is_a_leak)
{
	keeps("kmalloc", 100);
	keeps("vmalloc", 3 * 4096);
	keeps("dma", 3 * 4096);
	keeps("peer", 0);
}

/* The peer was freed before. The kernel may not notice the use. */
CASE(use_of_freed_peer_is_reported)
{
	char text[128];

	EXPECT(!load_and_remove(""), "load");
	EXPECT(!*module_debugfs("judge/misuse", text, sizeof(text)), "%s", text);
	EXPECT(!load_and_remove("late_attach=1"), "load");
	EXPECT(strstr(module_debugfs("judge/misuse", text, sizeof(text)), "1 peerpin_attach attach+"), "%s", text);
}

CASE(fail_needs_a_number)
{
	EXPECT(control("fail", "first") == -EINVAL, "%s", strerror(errno));
}

/* Fail each allocation once. */
CASE(the_nth_allocation_fails)
{
	int nth, n, failed, err;

	for (nth = 1; nth <= LOADED; nth++) {
		EXPECT(!fail_nth(nth), "fail %d", nth);
		err = load_and_remove("");
		counts(&n, &failed);
		EXPECT(err == -ENOMEM && failed == 1 && n >= nth, "%d: %d, %d of %d failed", nth, err, failed, n);
		EXPECT(!leaks()[0], "%d: %s", nth, leaks());
	}
	EXPECT(!fail_nth(nth), "fail %d", nth);
	err = load_and_remove("");
	counts(&n, &failed);
	EXPECT(!err && !failed && n == LOADED, "%d: %d, %d of %d failed", nth, err, failed, n);
}

/* Only the owner of GPU memory may unpin it. So a failed pin must not leave a pin, even for a moment. */
CASE(failed_pin_leaves_nothing)
{
	char parameters[64], text[TEXT];
	int gpu = emu_open(), nth, n, failed, err = 0;

	EXPECT(!emu_alloc(gpu, GPU, 2 * MIB), "alloc");
	snprintf(parameters, sizeof(parameters), "gpu_address=%llu", GPU);
	for (nth = 1; nth <= LOADED + 1; nth++) {
		EXPECT(!fail_nth(nth), "fail %d", nth);
		err = load_and_remove(parameters);
		counts(&n, &failed);
		EXPECT(err == (nth <= LOADED ? -ENOMEM : 0), "%d: %d", nth, err);
		EXPECT(failed == (nth <= LOADED), "%d: %d of %d failed", nth, failed, n);
		module_debugfs("peerpin/regions", text, sizeof(text));
		EXPECT(strchr(text, '\n') == strrchr(text, '\n'), "%d: %s", nth, text);
	}
	EXPECT(!emu_free(gpu, GPU), "free");
	close(gpu);
}

/* The judge must report unwatched allocations. The use of an unwatched peer is no misuse. */
CASE(unwatched_allocations_are_reported)
{
	char text[128];

	EXPECT(!fail_nth(0), "fail");
	EXPECT(!load_and_remove("many=66000"), "load");
	EXPECT(*leaks() == '#' && strstr(leaks(), "more allocations were not watched"), "%s", leaks());
	EXPECT(!*module_debugfs("judge/misuse", text, sizeof(text)), "%s", text);
	EXPECT(!load_and_remove(""), "load");
	EXPECT(!leaks()[0], "%s", leaks());
}

CASE(other_modules_are_not_watched)
{
	int n, failed;

	EXPECT(!fail_nth(1), "fail");
	EXPECT(!module_load("test/null_provider.ko", ""), "load of null_provider");
	EXPECT(!module_remove("null_provider"), "removal of null_provider");
	counts(&n, &failed);
	EXPECT(!n && !failed, "%d allocations, %d failed", n, failed);
	fail_nth(0);
}

VMTEST_MAIN
