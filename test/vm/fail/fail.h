/* SPDX-License-Identifier: MIT */
/*
 * Allocations, and copies to and from the process, that fail one by one: the n-th
 * that a call makes, for each n until none does.
 *
 *	FAIL_EACH(f) {
 *		fd = pin_open();
 *		FAIL(f, ret = pin_at(fd, GPU_A, BLOCK, &pin));
 *		EXPECT_PLAUSIBLE(f, ret);
 *		close(fd);
 *	}
 *
 * What fails is what the calling thread asks for: work that it leaves to others, as to
 * workqueues, is not swept. With FAIL_LASTING=1 nothing is allocated from the n-th on, as
 * when memory has run out: so are swept the second attempts of what is tried in two ways,
 * and ends that would allocate.
 *
 * The body begins and ends with the same world: what modules say of themselves is
 * compared after each round. For memory that nobody has any more emu/vm/run looks
 * when the modules have gone. FAIL_VERBOSE=2 has the kernel say where each failure
 * is, with a backtrace, which emu/vm/run takes for a splat.
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
	FAIL_MOST = 3000,	/* rounds: a call that takes more never ends */
	FAIL_TEXT = 1 << 16,
};

/**
 * struct fail - a call that is made again and again
 * @nth: which allocation fails in this round
 * @fired: it did
 * @left: if not, how many more would have had to come
 * @refused: rounds whose call said so
 * @before: the world before the first one
 */
struct fail {
	unsigned int nth;
	bool fired;
	unsigned int left;
	unsigned int refused;
	char before[512];
};

static int fail_file = -1;
static int fail_lasting = -1;	/* make-it-fail, where failures last */
static unsigned int fail_calls, fail_rounds;	/* of the program: calls, and how often they were made */

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

/* What that calls gets its memory. */
static inline void fail_spare(const char *function)
{
	struct text text = text_of(function);

	fail_bound("reject-start", text.start);
	fail_bound("reject-end", text.end);
}

/* Without memory for its books DMA-API debugging would end, and find nothing any more. */
static inline void fail_spare_books(void)
{
	fail_spare("add_dma_entry");
}

/*
 * The kernel does not survive a lack of these itself: it warns when it removes the
 * directory of an interrupt in whose making it ran out, and ACPI's interpreter frees what
 * it could not count.
 */
static inline bool fail_spares(const char *cache)
{
	return !strncmp(cache, "Acpi-", strlen("Acpi-")) || !strcmp(cache, "proc_dir_entry");
}

/* What is allocated from other caches that there are */
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

/* Nor may the kernel count what modules allocate: it warns where it has no memory for that. */
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

/* As a kernel comes, only what must not wait fails, and only several pages at once; and it says so at length. */
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

/* Looked at only where nothing is left to count, and of a thread that has asked for it */
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

/* Each of these copies from or to the process itself, which may be what fails: then it has not failed before. */
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

/* The process makes an access again until there is a page: without one for ever, if failures last. */
#define FAIL_ACCESS(f, access) \
	do { \
		fail_arm(&(f)); \
		access; \
		fail_disarm(&(f)); \
	} while (0)

/* Nothing but the call between the two; what it wants from errno it takes itself. */
#define FAIL(f, call) \
	do { \
		fail_lasts("1"); \
		FAIL_ACCESS(f, call); \
		fail_lasts("0"); \
	} while (0)

/* What is swept is what was meant: the first of two calls fails, and the second where failures last. */
static inline void fail_try(void)
{
	struct fail f = { .nth = 1 };
	int first, second;

	FAIL(f, first = eventfd(0, EFD_CLOEXEC); second = eventfd(0, EFD_CLOEXEC));
	if (first >= 0 || (second < 0) != (fail_lasting >= 0))
		vmtest_end(VMTEST_FAILED, "failures do not come as they must: %d, %d", first, second);
	close(first);
	close(second);
}

/* Of this thread, and for it */
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
	mlockall(MCL_CURRENT);	/* a page that comes late would count */
	if (vmtest_result == VMTEST_OK)
		fail_try();
}

/* ---- the world ----------------------------------------------------------------------- */

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

/* What a call that was refused must leave as it was; what is not there is the same each time */
static inline void fail_look(char *text, size_t size)
{
	int n = fail_gpu_look(text, size);

	n += snprintf(text + n, size - n, " regions %u bytes %ld peers %u dmabufs %d", fail_lines("peerpin/regions"),
		      fail_bytes_pinned(), fail_lines("peerpin/peers"), fail_dmabufs());
	snprintf(text + n, size - n, " files %u nodes %u; users of peerpin %d nv %d emugpu %d",
		 fail_entries("/proc/self/fd"), fail_entries("/sys/class/misc"), module_refs("peerpin"),
		 module_refs("peerpin_nv"), module_refs("emugpu"));
}

/* Work items may be a moment late. */
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
	vmtest_end(VMTEST_FAILED, "allocation %u: the call has left something", f->nth);
}

/* ---- the loop ------------------------------------------------------------------------- */

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
		vmtest_end(VMTEST_FAILED, "%u allocations, and no end", f->nth);
	printf("# %u allocations failed, %u of which the call did not survive\n", f->nth - !f->fired, f->refused);
	return false;
}

#define FAIL_EACH(f) for (struct fail f = { 0 }; fail_next(&f);)

/* Something failed, so the call may; but it says what a lack of memory is called, or of a page of the process. */
static inline bool fail_plausible(struct fail *f, int ret)
{
	f->refused += ret < 0;
	return ret >= 0 || (f->fired && (ret == -ENOMEM || ret == -EFAULT));
}

#define EXPECT_PLAUSIBLE(f, ret) \
	EXPECT(fail_plausible(&(f), ret), "allocation %u, %s: %d", (f).nth, (f).fired ? "failed" : "there is none", ret)

/* Calls that cannot fail, whatever they lack */
#define EXPECT_DONE(f, ret) \
	EXPECT((ret) >= 0, "allocation %u, %s: %d", (f).nth, (f).fired ? "failed" : "there is none", ret)

__attribute__((destructor)) static inline void fail_sum(void)
{
	printf("# %u calls, made %u times\n", fail_calls, fail_rounds);
}

#endif
