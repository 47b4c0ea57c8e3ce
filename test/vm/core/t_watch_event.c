// SPDX-License-Identifier: MIT
/*
 * The table of doc/lifetimes.md: which events change the word of a watch. An event of the middle
 * range must not change the words of the neighbours, unless the row says so.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "test/vm/harness/module.h"
#include "test/vm/harness/vmstat.h"
#include "watch.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef UFFDIO_MOVE
struct uffdio_move {
	__u64 dst, src, len, mode;
	__s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#endif

enum { HUGE = 2 << 20, HINTING_FAULTS = 100 };

SETUP(everything_is_there)
{
	watch_fd = pin_open();
	watch_words = words_map(watch_fd);
	EXPECT(watch_fd >= 0 && watch_words, "%d, errno %d", watch_fd, errno);
}

/* ---- must, does not, may -------------------------------------------------------------- */

#define MUST(s) \
	do { \
		EXPECT(!watch_lives(&(s).middle), "the word has not changed"); \
		EXPECT(watch_lives(&(s).before) && watch_lives(&(s).after), "a neighbour's word has changed"); \
		span_unwatch(&(s)); \
	} while (0)

#define DOES_NOT(s) \
	do { \
		EXPECT(watch_lives(&(s).middle), "the word has changed"); \
		EXPECT(watch_lives(&(s).before) && watch_lives(&(s).after), "a neighbour's word has changed"); \
		span_unwatch(&(s)); \
	} while (0)

/* Says what this kernel does. */
#define MAY(w) printf("# the word %s\n", watch_lives(w) ? "stays" : "has changed")

/* @s: new anonymous memory; after DONE the memory is unmapped */
#define ANONYMOUS(s) \
	struct span s; \
	span_watch(watch_anonymous(), &s); \
	CHECK_CASE()

#define DONE(s) munmap((s).at - WATCH_BYTES, 3 * WATCH_BYTES)

/* ---- the memory is unmapped ------------------------------------------------------------ */

CASE(munmap_changes_it)
{
	ANONYMOUS(s);
	EXPECT(!munmap(s.at, WATCH_BYTES), "munmap");
	MUST(s);
	DONE(s);
}

CASE(munmap_of_one_page_changes_it)
{
	ANONYMOUS(s);
	EXPECT(!munmap(s.at + 3 * WATCH_PAGE, WATCH_PAGE), "munmap");
	MUST(s);
	DONE(s);
}

CASE(mmap_over_it_changes_it)
{
	ANONYMOUS(s);
	EXPECT(mmap(s.at, WATCH_BYTES, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == s.at, "mmap");
	MUST(s);
	DONE(s);
}

CASE(mremap_away_changes_it)
{
	void *to;

	ANONYMOUS(s);
	to = mmap(NULL, WATCH_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(mremap(s.at, WATCH_BYTES, WATCH_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to, "mremap: %d", errno);
	MUST(s);
	munmap(to, WATCH_BYTES);
	DONE(s);
}

CASE(mremap_onto_it_changes_it)
{
	char *from = mmap(NULL, WATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	ANONYMOUS(s);
	EXPECT(mremap(from, WATCH_BYTES, WATCH_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, s.at) == s.at, "mremap: %d", errno);
	MUST(s);
	DONE(s);
}

CASE(shmdt_changes_it)
{
	int id = shmget(IPC_PRIVATE, WATCH_BYTES, IPC_CREAT | 0600);
	struct peerpin_watch w;
	char *p = shmat(id, NULL, 0);

	EXPECT(p != (void *)-1, "shmat: %d", errno);
	shmctl(id, IPC_RMID, NULL);
	*p = 1;
	EXPECT(!watch_at(watch_fd, p, WATCH_BYTES, &w) && !shmdt(p), "%d", errno);
	EXPECT(!watch_lives(&w) && !unwatch(watch_fd, w.out_watch), "the word has not changed");
}

CASE(brk_changes_it)
{
	struct peerpin_watch w;
	char *end = sbrk(0), *start = (char *)(((uintptr_t)end + WATCH_PAGE - 1) & -WATCH_PAGE);

	EXPECT(!brk(start + WATCH_PAGE), "brk: %d", errno);
	*start = 1;
	EXPECT(!watch_at(watch_fd, start, WATCH_PAGE, &w) && !brk(end), "%d", errno);
	EXPECT(!watch_lives(&w) && !unwatch(watch_fd, w.out_watch), "the word has not changed");
}

/* ---- the memory is discarded ------------------------------------------------------------ */

static void discard(int advice)
{
	ANONYMOUS(s);
	EXPECT(!madvise(s.at, WATCH_BYTES, advice), "madvise: %d", errno);
	MUST(s);
	DONE(s);
}

CASE(madv_dontneed_changes_it)
{
	discard(MADV_DONTNEED);
}

CASE(madv_free_changes_it)
{
	discard(MADV_FREE);
}

/* @s: new memory of a file */
#define OF_FILE(s, file, flags) \
	struct span s; \
	int file = memfd_create("watched", MFD_CLOEXEC); \
	EXPECT(file >= 0 && !ftruncate(file, 3 * WATCH_BYTES), "memfd: %d", errno); \
	span_watch(watch_map((flags) | MAP_POPULATE, file), &s); \
	CHECK_CASE()

#define DONE_FILE(s, file) \
	do { \
		DONE(s); \
		close(file); \
	} while (0)

CASE(madv_remove_changes_it)
{
	OF_FILE(s, file, MAP_SHARED);
	EXPECT(!madvise(s.at, WATCH_BYTES, MADV_REMOVE), "madvise: %d", errno);
	MUST(s);
	DONE_FILE(s, file);
}

CASE(hole_punching_changes_it)
{
	OF_FILE(s, file, MAP_SHARED);
	EXPECT(!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, WATCH_BYTES, WATCH_BYTES), "%d", errno);
	MUST(s);
	DONE_FILE(s, file);
}

CASE(truncation_changes_it)
{
	OF_FILE(s, file, MAP_SHARED);
	EXPECT(!ftruncate(file, 2 * WATCH_BYTES - 1), "%d", errno);
	EXPECT(watch_lives(&s.before) && watch_lives(&s.middle) && !watch_lives(&s.after), "the last page stays");
	EXPECT(!ftruncate(file, WATCH_BYTES), "%d", errno);
	EXPECT(watch_lives(&s.before) && !watch_lives(&s.middle), "the word has not changed");
	span_unwatch(&s);
	DONE_FILE(s, file);
}

CASE(truncation_by_another_process_changes_it)
{
	int status;
	pid_t pid;

	OF_FILE(s, file, MAP_SHARED);
	pid = fork();
	if (!pid)
		_exit(ftruncate(file, WATCH_BYTES) != 0);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	EXPECT(watch_lives(&s.before) && !watch_lives(&s.middle), "the word has not changed");
	span_unwatch(&s);
	DONE_FILE(s, file);
}

/* ---- copies on write ---------------------------------------------------------------------- */

CASE(first_write_to_zero_page_changes_it)
{
	struct span s;
	char *p = watch_map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	EXPECT(p && !madvise(p, 3 * WATCH_BYTES, MADV_NOHUGEPAGE), "mmap");
	EXPECT(p[WATCH_BYTES] == 0, "not zero");	/* maps the zero page */
	span_watch(p, &s);
	CHECK_CASE();
	p[WATCH_BYTES] = 1;
	MUST(s);
	DONE(s);
}

CASE(first_write_to_private_file_changes_it)
{
	OF_FILE(s, file, MAP_PRIVATE);
	/* MAP_POPULATE has copied the pages: map the file's pages again */
	EXPECT(!madvise(s.at - WATCH_BYTES, 3 * WATCH_BYTES, MADV_DONTNEED) && !s.at[0], "madvise");
	span_unwatch(&s);
	span_watch(s.at - WATCH_BYTES, &s);
	CHECK_CASE();
	s.at[0] = 1;
	MUST(s);
	DONE_FILE(s, file);
}

static pid_t sleeper(int *end)
{
	int pipes[2];
	pid_t pid;
	char byte;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) != 0);
	}
	close(pipes[0]);
	*end = pipes[1];
	return pid;
}

/* fork() itself only makes the pages read-only. The parent's next write makes a copy, and the child keeps the page. */
CASE(fork_leaves_it_and_write_changes_it)
{
	int end, status;
	pid_t pid;

	ANONYMOUS(s);
	pid = sleeper(&end);
	EXPECT(pid > 0 && watch_lives(&s.middle) && watch_lives(&s.before), "fork() has changed the word");
	s.at[0] = 1;
	MUST(s);
	close(end);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	DONE(s);
}

/* fork() copies a pinned page for the child at once, so the parent's next write needs no copy. */
CASE(write_to_pinned_page_after_fork_leaves_it)
{
	struct peerpin_pin pin;
	int end, status;
	pid_t pid;

	ANONYMOUS(s);
	EXPECT(!pin_by(watch_fd, (uintptr_t)s.at, WATCH_BYTES, PEERPIN_PROVIDER_HOST, &pin), "pin: %d", errno);
	pid = sleeper(&end);
	EXPECT(pid > 0 && watch_lives(&s.middle) && watch_lives(&s.before), "fork() has changed the word");
	memset(s.at, 2, WATCH_BYTES);
	DOES_NOT(s);
	close(end);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	EXPECT(!unpin(watch_fd, pin.out_region), "unpin");
	DONE(s);
}

CASE(forced_write_to_read_only_memory_changes_it)
{
	int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	OF_FILE(s, file, MAP_PRIVATE);
	EXPECT(!madvise(s.at - WATCH_BYTES, 3 * WATCH_BYTES, MADV_DONTNEED) && !s.at[0], "madvise");
	EXPECT(!mprotect(s.at, WATCH_BYTES, PROT_READ), "mprotect");
	span_unwatch(&s);
	span_watch(s.at - WATCH_BYTES, &s);
	CHECK_CASE();
	EXPECT(pwrite(memory, "x", 1, (off_t)(uintptr_t)s.at) == 1, "/proc/self/mem: %d; Linux 7 needs proc_mem.force_override=always", errno);
	MUST(s);
	close(memory);
	DONE_FILE(s, file);
}

/* ---- only protections and flags change ---------------------------------------------------- */

CASE(mprotect_leaves_it)
{
	ANONYMOUS(s);
	EXPECT(!mprotect(s.at, WATCH_BYTES, PROT_NONE) && !mprotect(s.at, WATCH_BYTES, PROT_READ) &&
	       !mprotect(s.at, WATCH_BYTES, PROT_READ | PROT_WRITE), "mprotect");
	s.at[0] = 1;
	DOES_NOT(s);
	DONE(s);
}

CASE(soft_dirty_leaves_it)
{
	int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	ANONYMOUS(s);
	EXPECT(file >= 0 && write(file, "4", 1) == 1, "clear_refs: %d", errno);
	close(file);
	s.at[0] = 1;
	DOES_NOT(s);
	DONE(s);
}

CASE(mlock_leaves_it)
{
	ANONYMOUS(s);
	EXPECT(!mlock(s.at, WATCH_BYTES) && !munlock(s.at, WATCH_BYTES) && !madvise(s.at, WATCH_BYTES, MADV_WILLNEED),
	       "mlock: %d", errno);
	DOES_NOT(s);
	DONE(s);
}

CASE(first_touch_leaves_it)
{
	struct span s;

	span_watch(watch_map(MAP_PRIVATE | MAP_ANONYMOUS, -1), &s);
	CHECK_CASE();
	memset(s.at - WATCH_BYTES, 1, 3 * WATCH_BYTES);
	DOES_NOT(s);
	DONE(s);
}

/* ---- userfaultfd ------------------------------------------------------------------------------ */

static int uffd_open(char *p, uint64_t mode)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .range = { (uintptr_t)p, 3 * WATCH_BYTES }, .mode = mode };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &r)) {
		vmtest_end(VMTEST_FAILED, "userfaultfd: %s", strerror(errno));
		return -1;
	}
	return fd;
}

CASE(userfaultfd_fill_leaves_it)
{
	char *p = watch_map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	static char page[WATCH_PAGE] __attribute__((aligned(WATCH_PAGE)));
	struct uffdio_copy copy = { .src = (uintptr_t)page, .len = WATCH_PAGE };
	struct span s;
	int fd;

	span_watch(p, &s);
	fd = uffd_open(p, UFFDIO_REGISTER_MODE_MISSING);
	CHECK_CASE();
	copy.dst = (uintptr_t)s.at;
	EXPECT(!ioctl(fd, UFFDIO_COPY, &copy), "UFFDIO_COPY: %d", errno);
	DOES_NOT(s);
	close(fd);
	DONE(s);
}

CASE(userfaultfd_protection_leaves_it)
{
	struct uffdio_writeprotect protect = { .range.len = WATCH_BYTES, .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	int fd;

	ANONYMOUS(s);
	fd = uffd_open(s.at - WATCH_BYTES, UFFDIO_REGISTER_MODE_WP);
	CHECK_CASE();
	protect.range.start = (uintptr_t)s.at;
	EXPECT(!ioctl(fd, UFFDIO_WRITEPROTECT, &protect), "UFFDIO_WRITEPROTECT: %d", errno);
	protect.mode = 0;
	EXPECT(!ioctl(fd, UFFDIO_WRITEPROTECT, &protect), "UFFDIO_WRITEPROTECT: %d", errno);
	DOES_NOT(s);
	close(fd);
	DONE(s);
}

CASE(userfaultfd_move_changes_it)
{
	char *to = watch_map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct uffdio_move move = { .dst = (uintptr_t)to, .len = WATCH_BYTES };
	int fd, ret;

	ANONYMOUS(s);
	fd = uffd_open(to, UFFDIO_REGISTER_MODE_MISSING);
	CHECK_CASE();
	move.src = (uintptr_t)s.at;
	ret = ioctl(fd, UFFDIO_MOVE, &move) ? errno : 0;
	close(fd);
	if (ret) {
		span_unwatch(&s);
		SKIP("this kernel has no UFFDIO_MOVE: %s", strerror(ret));
	}
	MUST(s);
	DONE(s);
	munmap(to, 3 * WATCH_BYTES);
}

/* ---- the kernel moves pages -------------------------------------------------------------------- */

static bool set_file(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, value, strlen(value)) == (ssize_t)strlen(value);

	close(file);
	return done;
}

static bool changes_soon(const struct peerpin_watch *w)
{
	for (int i = 0; i < 3000 && watch_lives(w); i++)
		usleep(10000);
	return !watch_lives(w);
}

/* Opens a program that no process has mapped: the kernel reclaims only pages that exactly one process maps. */
static int open_idle_file(void)
{
	char path[512] = "";

	if (readlink("/proc/self/exe", path, sizeof(path) - sizeof("t_watch_host")) < 0)
		return -1;
	strcpy(strrchr(path, '/') + 1, "t_watch_host");
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Clean pages of a file need no swap. */
CASE(reclaim_changes_it)
{
	int file = open_idle_file();
	struct span s;
	char *p;

	EXPECT(file >= 0, "open: %d", errno);
	p = mmap(NULL, 3 * WATCH_BYTES, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
	span_watch(p == MAP_FAILED ? NULL : p, &s);
	CHECK_CASE();
	EXPECT(!madvise(s.at, WATCH_BYTES, MADV_PAGEOUT), "madvise: %d", errno);
	MUST(s);
	DONE(s);
	close(file);
}

/* A disk of compressed memory */
CASE(swap_changes_it)
{
	bool swapped;
	long out;

	if (system("modprobe -q zram"))
		SKIP("this kernel has no zram");
	ANONYMOUS(s);
	memset(s.at, 7, WATCH_BYTES);
	out = vmstat("pswpout");
	swapped = !system("echo 16M >/sys/block/zram0/disksize && mkswap /dev/zram0 >/dev/null && swapon /dev/zram0") &&
		  watch_lives(&s.middle) && !madvise(s.at, WATCH_BYTES, MADV_PAGEOUT);
	vmstat_refresh();
	out = vmstat("pswpout") - out;
	EXPECT(!system("swapoff /dev/zram0 && rmmod zram") && swapped, "swapoff");
	EXPECT(out >= WATCH_BYTES / WATCH_PAGE && s.at[0] == 7, "%ld pages were swapped", out);
	MUST(s);
	DONE(s);
}

/* The pages of the middle range have one content, so KSM merges them. */
CASE(ksm_changes_it)
{
	bool changed;

	if (access("/sys/kernel/mm/ksm/run", F_OK))
		SKIP("this kernel has no KSM");
	ANONYMOUS(s);
	memset(s.at, 7, WATCH_BYTES);
	EXPECT(!madvise(s.at, WATCH_BYTES, MADV_MERGEABLE), "madvise: %d", errno);
	EXPECT(set_file("/sys/kernel/mm/ksm/sleep_millisecs", "0") && set_file("/sys/kernel/mm/ksm/run", "1"), "KSM");
	changed = changes_soon(&s.middle);
	set_file("/sys/kernel/mm/ksm/run", "0");
	EXPECT(changed, "the word has not changed");
	MUST(s);
	DONE(s);
}

/* Address of a range of HUGE bytes, aligned to HUGE; the mapping is twice as long. */
static char *huge_map(int advice)
{
	char *p = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p = (char *)(((uintptr_t)p + HUGE - 1) & -(uintptr_t)HUGE);
	return madvise(p, HUGE, advice) ? NULL : p;
}

/* Bytes of huge pages in this process */
static unsigned long huge_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}

CASE(huge_page_split_may_change_it)
{
	char *p = huge_map(MADV_HUGEPAGE);
	struct peerpin_watch freed, kept;

	EXPECT(p, "madvise: %d", errno);
	memset(p, 1, HUGE);
	if (!huge_bytes())
		SKIP("this kernel gave no huge page");
	EXPECT(!watch_at(watch_fd, p, WATCH_PAGE, &freed) && !watch_at(watch_fd, p + HUGE / 2, WATCH_PAGE, &kept), "watch");
	EXPECT(!munmap(p, WATCH_PAGE), "munmap");
	EXPECT(!watch_lives(&freed), "the word has not changed");
	MAY(&kept);
	EXPECT(!unwatch(watch_fd, freed.out_watch) && !unwatch(watch_fd, kept.out_watch), "unwatch");
	munmap(p, HUGE);
}

CASE(collapse_into_huge_page_changes_it)
{
	char *p = huge_map(MADV_NOHUGEPAGE);
	struct peerpin_watch w;

	EXPECT(p, "madvise: %d", errno);
	memset(p, 1, HUGE);
	EXPECT(!watch_at(watch_fd, p + HUGE / 2, WATCH_PAGE, &w), "watch");
	EXPECT(!madvise(p, HUGE, MADV_HUGEPAGE) && watch_lives(&w), "madvise");
	if (madvise(p, HUGE, MADV_COLLAPSE))
		SKIP("this kernel does not collapse on request: %s", strerror(errno));
	EXPECT(huge_bytes() >= HUGE, "not collapsed");
	EXPECT(!watch_lives(&w) && !unwatch(watch_fd, w.out_watch), "the word has not changed");
	munmap(p, HUGE);
}

CASE(hugetlb_munmap_changes_it)
{
	char *p;
	struct peerpin_watch w;

	set_file("/proc/sys/vm/nr_hugepages", "1");
	p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		SKIP("no huge page is left: %s", strerror(errno));
	*p = 1;
	EXPECT(!watch_at(watch_fd, p, WATCH_PAGE, &w) && !munmap(p, HUGE), "%d", errno);
	EXPECT(!watch_lives(&w) && !unwatch(watch_fd, w.out_watch), "the word has not changed");
	set_file("/proc/sys/vm/nr_hugepages", "0");
}

/* The kernel reports a discard of all hugetlb pages that fork() shares. The pages stay. */
CASE(fork_may_change_hugetlb)
{
	struct peerpin_watch w;
	int end, status;
	pid_t pid;
	char *p;

	set_file("/proc/sys/vm/nr_hugepages", "1");
	p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		SKIP("no huge page is left: %s", strerror(errno));
	*p = 1;
	EXPECT(!watch_at(watch_fd, p, WATCH_PAGE, &w), "%d", errno);
	pid = sleeper(&end);
	EXPECT(pid > 0 && !watch_lives(&w) && *p == 1, "the word has not changed: update the table in doc/lifetimes.md");
	close(end);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	EXPECT(!unwatch(watch_fd, w.out_watch) && !munmap(p, HUGE), "unwatch");
	set_file("/proc/sys/vm/nr_hugepages", "0");
}

/* ---- NUMA: a line of the suite with two nodes --------------------------------------------------- */

static int move_page(void *p, int node)
{
	int status = -1;

	return syscall(SYS_move_pages, 0, 1UL, &p, &node, &status, 2) ? -errno : status;
}

CASE(migration_changes_it)
{
	int ret, node;

	ANONYMOUS(s);
	if (access("/sys/devices/system/node/node1", F_OK)) {
		span_unwatch(&s);
		SKIP("this VM has one NUMA node");
	}
	node = 1 - (syscall(SYS_move_pages, 0, 1UL, &(void *){ s.at }, NULL, &ret, 0) ? 0 : ret);
	ret = move_page(s.at, node);
	EXPECT(ret == node, "move_pages: %d", ret);
	MUST(s);
	DONE(s);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Touches the range until a hundred hinting faults have found their page on the local node. Other memory of the VM is idle. */
static long touch_until_faults(const struct span *s)
{
	long faults = vmstat("numa_hint_faults_local");
	time_t end = time(NULL) + 60;

	while (vmstat("numa_hint_faults_local") < faults + HINTING_FAULTS && time(NULL) < end)
		for (int i = 0; i < 2000; i++)
			memset(s->at - WATCH_BYTES, i, 3 * WATCH_BYTES);
	return vmstat("numa_hint_faults_local") - faults;
}

/*
 * The thread runs on one processor, and its pages are on the node of this processor, so no page migrates. For a process
 * with one thread the kernel skips pages on the local node, so a second thread sleeps.
 */
CASE(hinting_fault_leaves_it)
{
	bool begun, ended;
	pthread_t other;
	cpu_set_t all, one;
	struct span s;
	long faults;

	if (access("/sys/devices/system/node/node1", F_OK) || !set_file("/proc/sys/kernel/numa_balancing", "1"))
		SKIP("this VM has one NUMA node, or this kernel does not balance");
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	begun = !sched_getaffinity(0, sizeof(all), &all) && !sched_setaffinity(0, sizeof(one), &one) &&
		!pthread_create(&other, NULL, wait_for_ever, NULL);
	span_watch(watch_anonymous(), &s);
	faults = begun && vmtest_result == VMTEST_OK ? touch_until_faults(&s) : 0;
	ended = set_file("/proc/sys/kernel/numa_balancing", "0") && begun && !pthread_cancel(other) &&
		!pthread_join(other, NULL) && !sched_setaffinity(0, sizeof(all), &all);
	CHECK_CASE();
	EXPECT(ended && faults >= HINTING_FAULTS, "%ld faults", faults);
	DOES_NOT(s);
	DONE(s);
}

/* ---- the address space ends --------------------------------------------------------------------- */

/* For the case below: a program that was started by exec() with the file and a watch open. */
static int after_exec(int fd, const struct peerpin_watch *old)
{
	static char memory[WATCH_PAGE];
	struct peerpin_watch w;

	watch_words = words_map(fd);
	if (!watch_words || watch_lives(old))
		return 1;
	if (watch_at(fd, memory, 1, &w) != -EACCES)
		return 2;
	return unwatch(fd, old->out_watch) ? 3 : 0;
}

static int before_exec(void)
{
	int fd = open("/dev/peerpin", O_RDWR);	/* stays open */
	char *p = watch_anonymous(), number[3][16];
	struct peerpin_watch w;

	watch_words = words_map(fd);
	if (!p || watch_at(fd, p, WATCH_PAGE, &w) || !watch_lives(&w))
		return 4;
	snprintf(number[0], sizeof(number[0]), "%d", fd);
	snprintf(number[1], sizeof(number[1]), "%u", w.out_slot);
	snprintf(number[2], sizeof(number[2]), "%u", w.out_epoch);
	execl("/proc/self/exe", "t_watch_event", "--after-exec", number[0], number[1], number[2], NULL);
	return 5;
}

CASE(exec_changes_it)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(before_exec());
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
}

/* The exiting process's child still maps the revocation page. */
static int orphan(pid_t parent, const struct peerpin_watch *w)
{
	while (getppid() == parent)
		usleep(1000);
	return !changes_soon(w);
}

static void exiting(int result)
{
	int fd = pin_open();
	struct peerpin_watch w;
	pid_t self = getpid();

	watch_words = words_map(fd);
	if (watch_at(fd, watch_anonymous(), WATCH_PAGE, &w) || !watch_lives(&w))
		_exit(1);
	if (fork())
		_exit(0);
	dprintf(result, "%d", orphan(self, &w));
	_exit(0);
}

CASE(exit_changes_it)
{
	char text[8] = "";
	int pipes[2];
	pid_t pid;

	EXPECT(!pipe(pipes), "pipe");
	pid = fork();
	if (!pid)
		exiting(pipes[1]);
	close(pipes[1]);
	EXPECT(read(pipes[0], text, sizeof(text) - 1) == 1 && text[0] == '0', "the word has not changed: '%s'", text);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
}

int main(int argc, char **argv)
{
	struct peerpin_watch old;

	if (argc == 5 && !strcmp(argv[1], "--after-exec")) {
		old = (struct peerpin_watch){ .out_slot = atoi(argv[3]), .out_epoch = atoi(argv[4]),
					      .out_watch = atoi(argv[3]) - PEERPIN_MAX_REGIONS };
		return after_exec(atoi(argv[2]), &old);
	}
	return argc ? vmtest_main(argv + 1) : 1;
}
