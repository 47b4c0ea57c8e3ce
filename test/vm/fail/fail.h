/* SPDX-License-Identifier: MIT */
/*
 * Fault injection for allocations and for copies between kernel and process. A call is repeated: in
 * round n its n-th allocation or copy fails, until a round reaches no failure.
 *
 *	FAIL_EACH(f) {
 *		fd = pin_open();
 *		FAIL(f, ret = pin_at(fd, GPU_A, BLOCK, &pin));
 *		EXPECT_PLAUSIBLE(f, ret);
 *		close(fd);
 *	}
 *
 * Only requests of the calling thread fail. Workqueues that serve the call see no failures. With
 * FAIL_LASTING=1 every allocation from the n-th on fails, as when memory has run out. This also
 * covers retries after a failure, and clean-up code that would allocate.
 *
 * The body must begin and end in the same state: after each round the counters of the modules are
 * compared. After the removal of the modules, emu/vm/run looks for leaked memory. With
 * FAIL_VERBOSE=2 the kernel logs each failure with a backtrace, which emu/vm/run takes for a splat.
 */
#ifndef TEST_FAIL_H
#define TEST_FAIL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/kallsyms.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

enum {
	FAIL_MOST = 3000,	/* maximum of rounds; a call that needs more counts as endless */
	FAIL_TEXT = 1 << 16,
};

/**
 * struct fail - a call that is repeated, one failure a round
 * @nth: number of the allocation or copy that fails in this round
 * @fired: true: number @nth was reached and failed
 * @left: if number @nth was not reached, how many were missing
 * @refused: number of rounds in which the call returned an error
 * @before: state of the modules before the first round
 */
struct fail {
	unsigned int nth;
	bool fired;
	unsigned int left;
	unsigned int refused;
	char before[512];
};

static int fail_file = -1;
static int fail_lasting = -1;	/* file make-it-fail of this thread, with FAIL_LASTING=1; else -1 */
static unsigned int fail_calls, fail_rounds;	/* counts of the program: calls, and rounds of all calls */

/* ---- the kernel's side ------------------------------------------------------------- */

static inline void fail_set(const char *directory, const char *name, const char *value)
{
	char path[384];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		vmtest_end(VMTEST_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
}

static inline void fail_attribute(const char *which, const char *name, const char *value)
{
	char directory[64];

	snprintf(directory, sizeof(directory), "/sys/kernel/debug/%s", which);
	fail_set(directory, name, value);
}

static inline void fail_bound(const char *name, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	fail_attribute("failslab", name, text);
	fail_attribute("fail_page_alloc", name, text);
}

/* Allocations with @function in their call chain never fail. */
static inline void fail_spare(const char *function)
{
	struct text text = text_of(function);

	fail_bound("reject-start", text.start);
	fail_bound("reject-end", text.end);
}

/* Without memory for an entry, DMA-API debugging turns itself off and would miss later errors. */
static inline void fail_spare_books(void)
{
	fail_spare("add_dma_entry");
}

/*
 * The kernel itself does not survive failures of these caches. It warns when it removes a partly
 * made /proc directory of an interrupt. ACPI's interpreter frees objects after it failed to
 * reference them.
 */
static inline bool fail_spares(const char *cache)
{
	return !strncmp(cache, "Acpi-", strlen("Acpi-")) || !strcmp(cache, "proc_dir_entry");
}

/* Let the allocations of all other slab caches fail. */
static inline void fail_caches(void)
{
	DIR *caches = opendir("/sys/kernel/slab");
	struct dirent *cache;
	char name[320];

	if (!caches) {
		vmtest_end(VMTEST_FAILED, "/sys/kernel/slab: %s", strerror(errno));
		return;
	}
	while ((cache = readdir(caches))) {
		snprintf(name, sizeof(name), "%s/failslab", cache->d_name);
		if (cache->d_name[0] != '.' && !fail_spares(cache->d_name))
			fail_set("/sys/kernel/slab", name, "1");
	}
	closedir(caches);
	fail_attribute("failslab", "cache-filter", "Y");
}

/* True if memory allocation profiling is on. Without memory for its counters, the kernel warns. */
static inline bool fail_counts(void)
{
	FILE *f = fopen("/proc/sys/vm/mem_profiling", "re");
	int on = 0;

	if (f && fscanf(f, "%d", &on) != 1)
		on = 1;
	if (f)
		fclose(f);
	return on;
}

/* By default only allocations that may not sleep and orders above 0 fail. Each failure has a long log message. */
static inline void fail_open_up(void)
{
	const char *verbose = getenv("FAIL_VERBOSE") ?: "0";

	fail_attribute("failslab", "ignore-gfp-wait", "N");
	fail_attribute("failslab", "verbose", verbose);
	fail_attribute("fail_page_alloc", "ignore-gfp-wait", "N");
	fail_attribute("fail_page_alloc", "ignore-gfp-highmem", "N");
	fail_attribute("fail_page_alloc", "min-order", "0");
	fail_attribute("fail_page_alloc", "verbose", verbose);
	fail_attribute("fail_usercopy", "verbose", verbose);
	fail_spare_books();
	fail_caches();
}

static inline int fail_thread_file(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Let failures last. The kernel reads these settings when fail-nth is 0, for threads that set make-it-fail. */
static inline void fail_let_last(void)
{
	fail_lasting = fail_thread_file("make-it-fail");
	if (fail_lasting < 0) {
		vmtest_end(VMTEST_FAILED, "make-it-fail: %s", strerror(errno));
		return;
	}
	fail_bound("task-filter", true);
	fail_attribute("failslab", "times", "-1");
	fail_attribute("fail_page_alloc", "times", "-1");
	fail_bound("probability", 100);
}

/* Writing to fail-nth copies from the process. So an armed failure may hit the write itself: try again. */
static inline void fail_write(int file, const char *text)
{
	while (pwrite(file, text, strlen(text), 0) < 0)
		;
}

static inline unsigned int fail_left(void)
{
	char text[16] = "";

	return pread(fail_file, text, sizeof(text) - 1, 0) > 0 ? strtoul(text, NULL, 10) : 1;
}

static inline void fail_arm(struct fail *f)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", f->nth);
	fail_rounds++;
	fail_write(fail_file, text);
}

static inline void fail_disarm(struct fail *f)
{
	f->left = fail_left();
	f->fired = !f->left;
	fail_write(fail_file, "0");
}

static inline void fail_lasts(const char *yes)
{
	if (fail_lasting >= 0)
		fail_write(fail_lasting, yes);
}

/* The kernel retries an access of the process until its page fault succeeds. So failures must not last here. */
#define FAIL_ACCESS(f, access) \
	do { \
		fail_arm(&(f)); \
		access; \
		fail_disarm(&(f)); \
	} while (0)

/* Only @call runs with failures armed. @call must save errno. */
#define FAIL(f, call) \
	do { \
		fail_lasts("1"); \
		FAIL_ACCESS(f, call); \
		fail_lasts("0"); \
	} while (0)

/* Check fault injection itself: the first of two calls must fail; the second fails only if failures last. */
static inline void fail_try(void)
{
	struct fail f = { .nth = 1 };
	int first, second;

	FAIL(f, first = eventfd(0, EFD_CLOEXEC); second = eventfd(0, EFD_CLOEXEC));
	if (first >= 0 || (second < 0) != (fail_lasting >= 0))
		vmtest_end(VMTEST_FAILED, "fault injection fails: two eventfd() calls gave %d, %d", first, second);
	close(first);
	close(second);
}

/* Failures are armed by a thread for itself only. */
static inline void fail_start(void)
{
	fail_file = fail_thread_file("fail-nth");
	if (fail_file < 0) {
		vmtest_end(VMTEST_SKIPPED, "this kernel fails no allocation on demand; type: make check-debug");
		return;
	}
	if (fail_counts()) {
		vmtest_end(VMTEST_FAILED, "allocations are counted; type: emu/vm/run --append sysctl.vm.mem_profiling=never ...");
		return;
	}
	fail_open_up();
	if (getenv("FAIL_LASTING"))
		fail_let_last();
	mlockall(MCL_CURRENT);	/* without this, page faults during a call would count */
	if (vmtest_result == VMTEST_OK)
		fail_try();
}

/* ---- the state ----------------------------------------------------------------------- */

static inline unsigned int fail_lines(const char *file)
{
	unsigned int n = 0;
	char path[128];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", file);
	f = fopen(path, "re");
	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static inline long fail_bytes_pinned(void)
{
	static char text[FAIL_TEXT];
	const char *p = strstr(module_debugfs("peerpin/accounts", text, sizeof(text)), "all ");

	return p ? atol(p + 4) : -1;
}

static inline int fail_dmabufs(void)
{
	static char text[FAIL_TEXT];
	const char *total = module_debugfs("dma_buf/bufinfo", text, sizeof(text));
	int n = -1;

	while ((total = strstr(total, "\nTotal ")))
		sscanf(++total, "Total %d", &n);
	return n;
}

static inline unsigned int fail_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static inline int fail_gpu_look(char *text, size_t size)
{
	struct emugpu_info info = { 0 };
	struct emugpu_test t = { 0 };
	int gpu = emu_open();

	if (!emu_info(gpu, 0, &info))
		emu_counts(gpu, &t);
	close(gpu);
	return snprintf(text, size, "vram %llu bar1 %llu pins %u maps %u blocks %u clients %u breaches %llu",
			info.out_vram_free, info.out_bar1_used, t.counts.out_pins, t.counts.out_dma_maps,
			t.counts.out_blocks, t.counts.out_clients, t.counts.out_violations);
}

/* State that a refused call must not change. Parts that this kernel lacks always read the same. */
static inline void fail_look(char *text, size_t size)
{
	int n = fail_gpu_look(text, size);

	n += snprintf(text + n, size - n, " regions %u bytes %ld peers %u dmabufs %d", fail_lines("peerpin/regions"),
		      fail_bytes_pinned(), fail_lines("peerpin/peers"), fail_dmabufs());
	snprintf(text + n, size - n, " files %u nodes %u; users of peerpin %d nv %d emugpu %d",
		 fail_entries("/proc/self/fd"), fail_entries("/sys/class/misc"), module_refs("peerpin"),
		 module_refs("peerpin_nv"), module_refs("emugpu"));
}

/* Work items may still run for a moment, so compare for a while. */
static inline void fail_compare(const struct fail *f)
{
	char now[sizeof(f->before)];
	int i;

	for (i = 0; i < 300; i++) {
		fail_look(now, sizeof(now));
		if (!strcmp(now, f->before))
			return;
		usleep(10000);
	}
	printf("# before: %s\n# now:    %s\n", f->before, now);
	vmtest_end(VMTEST_FAILED, "allocation %u: the call left other state behind", f->nth);
}

/* ---- the loop over failures ----------------------------------------------------------- */

static inline bool fail_ready(void)
{
	if (fail_file < 0)
		fail_start();
	return vmtest_result == VMTEST_OK;
}

static inline bool fail_first(struct fail *f)
{
	if (!fail_ready())
		return false;
	fail_look(f->before, sizeof(f->before));
	fail_calls++;
	f->nth = 1;
	return true;
}

static inline bool fail_next(struct fail *f)
{
	if (!f->nth)
		return fail_first(f);
	if (vmtest_result == VMTEST_OK)
		fail_compare(f);
	if (vmtest_result == VMTEST_OK && f->fired && f->nth < FAIL_MOST) {
		f->nth++;
		return true;
	}
	if (vmtest_result == VMTEST_OK && f->fired)
		vmtest_end(VMTEST_FAILED, "the call still allocates after %u failures", f->nth);
	printf("# %u allocations failed; the call returned an error in %u rounds\n", f->nth - !f->fired, f->refused);
	return false;
}

#define FAIL_EACH(f) for (struct fail f = { 0 }; fail_next(&f);)

/* A call may fail only after an injected failure, and only with -ENOMEM or -EFAULT. */
static inline bool fail_plausible(struct fail *f, int ret)
{
	f->refused += ret < 0;
	return ret >= 0 || (f->fired && (ret == -ENOMEM || ret == -EFAULT));
}

#define EXPECT_PLAUSIBLE(f, ret) \
	EXPECT(fail_plausible(&(f), ret), "allocation %u, %s: %d", (f).nth, (f).fired ? "failed" : "not reached", ret)

/* For calls that must succeed even if an allocation fails. */
#define EXPECT_DONE(f, ret) \
	EXPECT((ret) >= 0, "allocation %u, %s: %d", (f).nth, (f).fired ? "failed" : "not reached", ret)

__attribute__((destructor)) static inline void fail_sum(void)
{
	printf("# %u calls, made %u times\n", fail_calls, fail_rounds);
}

#endif
