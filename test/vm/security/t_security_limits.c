// SPDX-License-Identifier: MIT
/* Resources that an ordinary user can exhaust, and the return of these resources. */
#include <signal.h>

#include "test/vm/harness/group.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/watch.h"
#include "victim.h"

#define PROCESS "peerpin/parameters/max_process_bytes"
#define TOTAL "peerpin/parameters/max_total_bytes"
#define REGIONS "peerpin/parameters/max_process_regions"
#define PER_USER "peerpin/parameters/memlock_per_user"
#define WATCHED "peerpin/parameters/max_process_watched_bytes"

enum {
	LOCKED = 1 << 20,	/* RLIMIT_MEMLOCK of a user with a limit */
	MANY = 2000,
	LONG_PAGES = 16384,
	OFTEN = 8,
	OWNERS = 4,
};

static char *host;

static bool set(const char *parameter, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	return !module_set(parameter, text);
}

static bool limits(unsigned long process, unsigned long total, unsigned long regions)
{
	return set(PROCESS, process) && set(TOTAL, total) && set(REGIONS, regions);
}

/* True if @parameter has its default, 0. */
static bool is_unlimited(const char *parameter)
{
	char path[128], text[8] = "";
	int fd;
	bool unlimited;

	snprintf(path, sizeof(path), "/sys/module/%s", parameter);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlimited = read(fd, text, sizeof(text) - 1) > 0 && !strcmp(text, "0\n");
	close(fd);
	return unlimited;
}

/* Number of bytes pinned by all processes. */
static long long total(void)
{
	char text[1 << 14];
	const char *all = strstr(module_debugfs("peerpin/accounts", text, sizeof(text)), "\nall ");

	return all ? atoll(all + strlen("\nall ")) : -1;
}

/* Try for a while: the last bytes of a killed process may be returned a moment later. */
static bool all_came_back(void)
{
	int i;

	for (i = 0; i < 200 && total(); i++)
		usleep(10000);
	return !total();
}

static int memlock(unsigned long bytes)
{
	return setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ bytes, bytes });
}

/* Anonymous memory of the calling process. */
static uint64_t memory(size_t size)
{
	return (uintptr_t)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

SETUP(everything_is_there)
{
	host = (char *)memory(PAGE);
	EXPECT(pin_open() >= 0 && emu_open() >= 0 && host != MAP_FAILED, "%s", strerror(errno));
	EXPECT(!total() && is_unlimited(PROCESS) && is_unlimited(TOTAL) && is_unlimited(REGIONS),
	       "%lld bytes are pinned already, or limits are set", total());
}

/* ---- RLIMIT_MEMLOCK ------------------------------------------------------------- */

static void pins_to_memlock(void)
{
	int fd = pin_open(), other = pin_open();
	uint64_t addr = memory(2 * LOCKED);
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, addr, LOCKED, &p), "pin up to the limit: %d", errno);
	EXPECT(pin_at(fd, addr, 1, &p) == -ENOMEM && p.out_reason == PEERPIN_REASON_MEMLOCK,
	       "pin of a page above the limit: %d", errno);
	EXPECT(pin_at(other, addr, 1, &p) == -ENOMEM, "pin by another file: %d", errno);
	EXPECT(!unshare(CLONE_NEWUSER), "a user namespace: %s", strerror(errno));
	EXPECT(pin_at(fd, addr, 1, &p) == -ENOMEM, "as root of a user namespace: %d", errno);
	EXPECT(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 2 * LOCKED, 2 * LOCKED }) && errno == EPERM,
	       "the user raised the limit");
}

/* After fork() the child has the whole limit for itself. */
static void pins_as_parent_and_child(void)
{
	int fd = pin_open();
	uint64_t addr = memory(LOCKED);
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, addr, LOCKED, &p), "pin up to the limit: %d", errno);
	AS_USER(0, pins_to_memlock);
}

CASE(host_memory_counts_against_memlock)
{
	EXPECT(!memlock(LOCKED), "%s", strerror(errno));
	AS_USER(MALLORY, pins_to_memlock);
	AS_USER(MALLORY, pins_as_parent_and_child);
	EXPECT(all_came_back(), "%lld bytes left", total());
}

static void pins_nothing(void)
{
	struct peerpin_pin p;

	EXPECT(pin_at(pin_open(), memory(PAGE), PAGE, &p) == -ENOMEM && p.out_reason == PEERPIN_REASON_MEMLOCK,
	       "pin by a child of a user at the limit: %d", errno);
}

static void pins_as_one_user(void)
{
	int fd = pin_open();
	uint64_t addr = memory(LOCKED);
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, addr, LOCKED, &p), "pin up to the limit: %d", errno);
	AS_USER(0, pins_nothing);
	CHECK_CASE();
	EXPECT(!unpin(fd, p.out_region) && !pin_at(fd, addr, LOCKED, &p), "the pages were not given back: %d", errno);
}

CASE(memlock_per_user_counts_all_processes)
{
	EXPECT(!module_set(PER_USER, "1") && !memlock(LOCKED), "%s", strerror(errno));
	AS_USER(MALLORY, pins_as_one_user);
	AS_USER(MALLORY, pins_as_one_user);
	EXPECT(!module_set(PER_USER, "0") && all_came_back(), "%lld bytes left", total());
}

/* ---- limits of the module --------------------------------------------------------------- */

static void pins_to_the_processes_limit(void)
{
	int fd = pin_open();
	uint64_t addr = memory(4 * GPU_PAGE);
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, addr, 2 * GPU_PAGE, &p), "pin up to the limit: %d", errno);
	EXPECT(pin_at(pin_open(), addr, PAGE, &p) == -EDQUOT, "pin by another file: %d", errno);
	EXPECT(p.out_reason == PEERPIN_REASON_PROCESS_BYTES, "reason %u", p.out_reason);
}

static void pins_as_a_family(void)
{
	pins_to_the_processes_limit();
	CHECK_CASE();
	AS_USER(0, pins_to_the_processes_limit);
}

/* The limit is for each process. A user may have several processes. */
CASE(max_process_bytes_is_per_process)
{
	EXPECT(limits(2 * GPU_PAGE, 0, 0), "parameter");
	AS_USER(MALLORY, pins_as_a_family);
	EXPECT(all_came_back() && limits(0, 0, 0), "%lld bytes left", total());
}

static void pins_four_regions(void)
{
	uint64_t addr = memory(PAGE);
	struct peerpin_pin p;
	int i;

	for (i = 0; i < 4; i++)
		EXPECT(!pin_at(pin_open(), addr, 1, &p), "region %d: %d", i, errno);
	EXPECT(pin_at(pin_open(), addr, 1, &p) == -EDQUOT && p.out_reason == PEERPIN_REASON_LIMIT, "%d", errno);
}

CASE(max_process_regions_spans_all_files)
{
	EXPECT(limits(0, 0, 4), "parameter");
	AS_USER(MALLORY, pins_four_regions);
	EXPECT(all_came_back() && limits(0, 0, 0), "%lld bytes left", total());
}

static void watches_four_pages(void)
{
	void *at = (void *)memory(PAGE);
	struct peerpin_watch w;
	int i;

	for (i = 0; i < 4; i++)
		EXPECT(!watch_at(pin_open(), at, 1, &w), "watch %d: %d", i, errno);
	EXPECT(watch_at(pin_open(), at, 1, &w) == -EDQUOT && w.out_reason == PEERPIN_REASON_WATCHED_BYTES, "%d", errno);
}

CASE(max_process_watched_bytes_spans_all_files)
{
	EXPECT(set(WATCHED, 4 * PAGE), "parameter");
	AS_USER(MALLORY, watches_four_pages);
	EXPECT(set(WATCHED, 0), "parameter");
}

/* ---- total limits ----------------------------------------------------------------------- */

static int ready[2];

static void takes_everything(void)
{
	uint64_t addr = memory(LOCKED);
	int fd = pin_open();
	struct peerpin_pin p;

	while (!pin_at(fd, addr, LOCKED, &p))
		;
	EXPECT(p.out_reason == PEERPIN_REASON_TOTAL_BYTES, "reason %u", p.out_reason);
	EXPECT(write(ready[1], "", 1) == 1, "write");
	pause();
}

static void finds_nothing_left(void)
{
	struct peerpin_pin p;

	EXPECT(pin_at(pin_open(), memory(PAGE), 1, &p) == -EDQUOT, "%d", errno);
	EXPECT(p.out_reason == PEERPIN_REASON_TOTAL_BYTES && !p.out_available, "reason %u", p.out_reason);
}

static void pins_again(void)
{
	struct peerpin_pin p;

	EXPECT(!pin_at(pin_open(), memory(PAGE), 1, &p), "%d", errno);
}

/* The first user may take all: the limit protects the system, and no user from another. */
CASE(max_total_bytes_serves_first_comer)
{
	struct user *mallory;
	char byte;

	EXPECT(!memlock(8 * LOCKED) && limits(0, 4 * LOCKED, 0) && !pipe(ready), "limits");
	mallory = user_start(MALLORY, takes_everything);
	EXPECT(read(ready[0], &byte, 1) == 1, "read");
	AS_USER(ALICE, finds_nothing_left);
	EXPECT(!kill(mallory->pid, SIGKILL) && waitpid(mallory->pid, NULL, 0) == mallory->pid, "kill");
	EXPECT(all_came_back(), "%lld bytes left", total());
	AS_USER(ALICE, pins_again);
	EXPECT(all_came_back() && limits(0, 0, 0), "%lld bytes left", total());
}

static void takes_all_of_the_aperture(void)
{
	struct peerpin_pin p;
	int gpu = emu_open(), fd = pin_open(), ret;
	struct emugpu_info info;
	uint64_t at = 0;

	EXPECT(!emu_info(gpu, 0, &info) && !emu_alloc(gpu, GPU_A, info.out_vram_free), "alloc");
	do {
		ret = pin_at(fd, GPU_A + at, BLOCK, &p);
		at += BLOCK;
	} while (!ret && at < info.out_vram_free);
	EXPECT(ret == -ENOMEM && p.out_reason == PEERPIN_REASON_NO_BAR1, "%d, reason %u", ret, p.out_reason);
}

static void takes_what_is_allowed_of_the_aperture(void)
{
	int gpu = emu_open(), fd = pin_open();
	struct peerpin_pin p;

	EXPECT(!emu_alloc(gpu, GPU_A, 4 * BLOCK) && !pin_at(fd, GPU_A, 2 * BLOCK, &p), "%d", errno);
	EXPECT(pin_at(fd, GPU_A + 2 * BLOCK, GPU_PAGE, &p) == -EDQUOT, "%d", errno);
}

/* By default only host memory is limited. So a user may take the whole BAR1 aperture. */
CASE(bar1_is_shared_unless_limited)
{
	AS_USER(MALLORY, takes_all_of_the_aperture);
	EXPECT(all_came_back() && limits(2 * BLOCK, 0, 0), "%lld bytes left", total());
	AS_USER(MALLORY, takes_what_is_allowed_of_the_aperture);
	EXPECT(all_came_back() && limits(0, 0, 0), "%lld bytes left", total());
}

/* ---- pins of processes that have exited ----------------------------------------- */

static int passed[2];	/* sockets; no process receives */
static int collected[2];

static void pins_passes_and_exits(void)
{
	int emu = emu_open(), fd = pin_open();
	struct peerpin_pin p = {
		.size = sizeof(p), .addr = GPU_A, .length = GPU_PAGE, .flags = PEERPIN_PIN_PERSISTENT,
	};

	EXPECT(!emu_alloc(emu, GPU_A, BLOCK) && !ioctl(fd, PEERPIN_IOC_PIN, &p), "pin: %d", errno);
	EXPECT(!fd_send(passed[0], fd) && !close(fd), "send: %s", strerror(errno));
}

static void collects_files(void)
{
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, passed), "%s", strerror(errno));
	for (int i = 0; i < OWNERS; i++)
		AS_USER(0, pins_passes_and_exits);
	EXPECT(write(collected[1], "", 1) == 1, "write");
	pause();
}

/* Each owner obeys the limit and exits. Their pins stay as long as a socket has their files. */
CASE(passed_files_outlive_their_owners)
{
	struct user *mallory;
	long long bytes;
	char byte;

	EXPECT(!pipe(collected) && limits(GPU_PAGE, 0, 0), "parameter");
	mallory = user_start(MALLORY, collects_files);
	close(collected[1]);
	EXPECT(read(collected[0], &byte, 1) == 1, "Mallory: %s", mallory->why);
	bytes = total();
	kill(mallory->pid, SIGKILL);
	waitpid(mallory->pid, NULL, 0);
	close(collected[0]);
	EXPECT(bytes == OWNERS * GPU_PAGE, "%lld bytes", bytes);
	EXPECT(all_came_back() && limits(0, 0, 0), "%lld bytes left", total());
}

/* ---- kernel memory ---------------------------------------------------------- */

/* Bytes of kernel memory that are charged to the control group. */
static long long kernel_bytes(void)
{
	return group_bytes("memory.stat", "kernel %lld");
}

static void makes_many_regions(void)
{
	uint64_t addr = memory(PAGE);
	int i, fd = pin_open();
	struct peerpin_pin p;

	for (i = 0; i < MANY; i++)
		EXPECT(!pin_at(fd, addr, 1, &p), "region %d: %d", i, errno);
	munmap((void *)(uintptr_t)addr, PAGE);	/* the region is revoked, but not unpinned */
	EXPECT(write(ready[1], "", 1) == 1, "write");
	pause();
}

static void joins_and_makes_many_regions(void)
{
	EXPECT(group_join(), "the group: %s", strerror(errno));
	EXPECT(user_become(MALLORY), "user");
	makes_many_regions();
}

/*
 * Fault in the pages first, so that the pins allocate no page tables. Pin several times, because
 * the kernel delays up to half a MiB of its count by some seconds.
 */
static void pins_a_long_region(void)
{
	const size_t length = (size_t)LONG_PAGES * PAGE;
	long long before, after;
	struct peerpin_pin p;
	uint64_t addr;
	int fd, i;

	EXPECT(group_join(), "the group: %s", strerror(errno));
	EXPECT(user_become(MALLORY), "user");
	fd = pin_open();
	addr = memory(length);
	memset((void *)(uintptr_t)addr, 1, length);
	before = kernel_bytes();
	for (i = 0; i < OFTEN; i++)
		EXPECT(!pin_at(fd, addr, length, &p), "%d", errno);
	after = kernel_bytes();
	EXPECT(before > 0 && after - before >= OFTEN * LONG_PAGES * (long long)sizeof(void *), "%lld bytes, then %lld",
	       before, after);
}

/* The record of a revoked region must stay charged to the group until the unpin. */
CASE(region_records_are_charged_to_cgroup)
{
	long long bytes;
	struct user *mallory;
	char byte;

	EXPECT(!memlock(RLIM_INFINITY) && group_make(), "a control group: %s", strerror(errno));
	mallory = user_start(0, joins_and_makes_many_regions);
	EXPECT(read(ready[0], &byte, 1) == 1, "read");
	bytes = kernel_bytes();
	kill(mallory->pid, SIGKILL);
	waitpid(mallory->pid, NULL, 0);
	EXPECT(bytes > MANY * 512ll, "%d regions, %lld bytes", MANY, bytes);
	user_join(user_start(0, pins_a_long_region));
	CHECK_CASE();
	EXPECT(all_came_back() && group_end(), "%s", strerror(errno));
}

VMTEST_MAIN
