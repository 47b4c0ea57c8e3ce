// SPDX-License-Identifier: MIT
/*
 * The guard detects writes to memory, and copies from memory, after its free callback. The stash detects writes by one
 * process to memory that another process has pinned.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "test/vm/core/pin.h"
#include "test/vm/harness/module.h"
#include "thread.h"

enum { WATCH_MS = 600 };

static char contents[BLOCK], seen[BLOCK];
static atomic_bool stop;

static int poke(uint64_t physical)
{
	return call(P2P_CHECK_POKE, (struct p2p_check_call){ .va = physical });
}

static uint64_t physical(unsigned int slot, unsigned int page)
{
	return table_page(slot, page).out_phys;
}

static void *poke_on(void *physical_address)
{
	long bad = 0;

	while (!stop) {
		bad += poke(*(uint64_t *)physical_address) != 0;
		usleep(WATCH_MS * 1000 / 20);
	}
	return (void *)bad;
}

/* Start a thread that writes to @physical_address, like a device, until writer_end(). */
static void writer_begin(pthread_t *writer, uint64_t *physical_address)
{
	stop = false;
	EXPECT(!pthread_create(writer, NULL, poke_on, physical_address), "thread");
}

static void writer_end(pthread_t writer)
{
	void *bad;

	stop = true;
	pthread_join(writer, &bad);
	EXPECT(!bad, "%ld writes failed", (long)bad);
}

static void filled_block(void)
{
	size_t i;

	for (i = 0; i < sizeof(contents); i++)
		contents[i] = i * 7 + i / 4096;
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(emu_write(fd, VA, contents, BLOCK) == 0, "write");
}

static void guarded_block(void)
{
	filled_block();
	CHECK_CASE();
	EXPECT(emu_guard(fd, WATCH_MS) == 0, "guard");
}

static void expect_contents(void)
{
	EXPECT(emu_read(fd, seen, VA, BLOCK) == 0, "read");
	EXPECT(!memcmp(seen, contents, BLOCK), "other contents");
}

static void guard_off_and_free(void)
{
	EXPECT(emu_guard(fd, 0) == 0, "off");
	free_one();
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

/* ---- the guard ---------------------------------------------------------------- */

static void revoke_with_writer(uint64_t physical_address)
{
	pthread_t writer;

	writer_begin(&writer, &physical_address);
	CHECK_CASE();
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	writer_end(writer);
}

CASE(write_after_callback_is_a_breach)
{
	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + PAGE, 3 * PAGE) == 0, "get");
	revoke_with_writer(physical(1, 2));
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	guard_off_and_free();
}

/* Copies 4 KiB at @physical_address to @to, again and again, like a device that is late. */
static struct {
	uint64_t physical_address;
	void *to;
} late;

static void *peek_on(void *unused)
{
	struct p2p_check_call peek = { .va = late.physical_address, .length = (uintptr_t)late.to };
	long bad = 0;

	(void)unused;
	while (!stop) {
		bad += call(P2P_CHECK_PEEK, peek) != 0;
		usleep(WATCH_MS * 1000 / 20);
	}
	return (void *)bad;
}

static void revoke_with_reader(uint64_t physical_address, void *to)
{
	pthread_t reader;

	late.physical_address = physical_address;
	late.to = to;
	stop = false;
	EXPECT(!pthread_create(&reader, NULL, peek_on, NULL), "thread");
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	writer_end(reader);
}

/* A copy may begin at any byte of its destination. */
CASE(copy_after_callback_is_a_breach)
{
	static char to[3 * 4096];

	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + PAGE, 3 * PAGE) == 0, "get");
	revoke_with_reader(physical(1, 2), to + 4096 + 5);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	guard_off_and_free();
}

/* A sanitizer has such memory. A look at each of its pages would take minutes. */
CASE(copy_into_sparse_memory_is_found_soon)
{
	const size_t size = 4ull << 40;
	char *sparse = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	double start;

	EXPECT(sparse != MAP_FAILED, "mmap: %s", strerror(errno));
	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	start = now();
	revoke_with_reader(physical(0, 0), sparse + size - 3 * 4096);
	CHECK_CASE();
	EXPECT(now() - start < 10, "%.1f s", now() - start);
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	munmap(sparse, size);
	guard_off_and_free();
}

/* The destination is pinned memory of GPU 1. The CPU stands for a device that writes to its BAR. */
CASE(copy_to_other_gpu_is_a_breach)
{
	void *to;

	guarded_block();
	CHECK_CASE();
	EXPECT(emu_alloc_on(fd, 1, VA + BLOCK, BLOCK) == 0, "no GPU 1; type: emu/vm/run --gpus 2 ...");
	EXPECT(get(0, VA, PAGE) == 0 && get_persistent(1, VA + BLOCK, PAGE) == 0, "get");
	to = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, check, physical(1, 0));
	EXPECT(to != MAP_FAILED, "mmap: %d", errno);
	revoke_with_reader(physical(0, 0), to);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	EXPECT(munmap(to, PAGE) == 0 && put_persistent(1) == 0 && emu_guard(fd, 0) == 0, "put");
	free_both();
}

CASE(copy_of_neighbour_is_no_breach)
{
	static char to[4096];

	guarded_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, 2 * PAGE) == 0 && get(1, VA, PAGE) == 0, "get");
	revoke_with_reader(physical(0, 1), to);
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	EXPECT(put_persistent(0) == 0, "put");
	guard_off_and_free();
}

CASE(guard_without_writes_changes_nothing)
{
	double start;

	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0 && get(1, VA + PAGE, PAGE) == 0 && map(0, 0) == 0, "get, map");
	start = now();
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	EXPECT(now() - start > WATCH_MS / 2000.0, "%.3f s", now() - start);
	expect_contents();
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	EXPECT(get(0, VA, PAGE) == 0 && emu_revoke_range(fd, VA, PAGE) == 0, "one pin");
	expect_contents();
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	guard_off_and_free();
}

/* The guard must watch freed memory even before it is allocated again. */
CASE(write_to_freed_memory_is_breach)
{
	uint64_t physical_address;
	pthread_t writer;

	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	physical_address = physical(0, 0);
	writer_begin(&writer, &physical_address);
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
	writer_end(writer);
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	EXPECT(emu_guard(fd, 0) == 0, "off");
}

CASE(write_to_neighbour_is_no_breach)
{
	guarded_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, 2 * PAGE) == 0 && get(1, VA, PAGE) == 0, "get");
	revoke_with_writer(physical(0, 1));
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	EXPECT(put_persistent(0) == 0, "put");
	guard_off_and_free();
}

CASE(write_to_other_pin_is_allowed)
{
	guarded_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0 && get(1, VA, 2 * PAGE) == 0, "get");
	revoke_with_writer(physical(0, 0));
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	EXPECT(get(1, VA, 2 * PAGE) == 0, "get");
	revoke_with_writer(physical(1, 1));
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	EXPECT(put_persistent(0) == 0, "put");
	guard_off_and_free();
}

/* The guard cannot find the device that wrote. So both drivers must get a breach. */
CASE(write_to_shared_page_blames_both)
{
	struct peerpin_pin pin;
	int peerpin = pin_open();

	guarded_block();
	CHECK_CASE();
	EXPECT(pin_at(peerpin, VA, PAGE, &pin) == 0 && get(0, VA, 2 * PAGE) == 0, "pin");
	revoke_with_writer(physical(0, 0));
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 2);
	EXPECT(pin_at(peerpin, VA, PAGE, &pin) == 0 && get(0, VA, 2 * PAGE) == 0, "pin");
	revoke_with_writer(physical(0, 1));
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	close(peerpin);
	guard_off_and_free();
}

CASE(no_guard_reports_no_breach)
{
	filled_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	revoke_with_writer(physical(0, 0));
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	free_one();
}

static void *revoke_block(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)emu_revoke(fd, VA);
}

/* Copies of the GPU itself must wait: the guard would take a write of the GPU for a late DMA. */
CASE(copies_wait_for_the_guard)
{
	pthread_t thread;
	void *result;
	double start;

	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0, "get");
	start = now();
	EXPECT(!pthread_create(&thread, NULL, revoke_block, NULL), "thread");
	while (!callback(0).out_count)
		usleep(1000);
	usleep(WATCH_MS * 1000 / 4);
	contents[0]++;
	EXPECT(emu_write(fd, VA, contents, 1) == 0, "write");
	EXPECT(now() - start > WATCH_MS / 2000.0, "%.3f s", now() - start);
	pthread_join(thread, &result);
	EXPECT(!result, "revoke");
	expect_contents();
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	guard_off_and_free();
}

CASE(closed_window_disables_the_guard)
{
	guarded_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && emu_cpu_window(fd, 0) == 0, "get, close");
	revoke_with_writer(physical(0, 0));
	CHECK_CASE();
	EXPECT_NO_BREACH(fd);
	EXPECT(emu_cpu_window(fd, 1) == 0, "open");
	guard_off_and_free();
}

CASE(unbound_gpu_is_not_watched)
{
	struct emugpu_info info;

	guarded_block();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0 && get(0, VA, PAGE) == 0, "get");
	EXPECT(emu_sysfs(&info, "unbind") == 0 && callback(0).out_count == 1, "unbind");
	EXPECT(emu_sysfs(&info, "bind") == 0, "bind");
	EXPECT_NO_BREACH(fd);
	guard_off_and_free();
}

/* The block has twice the capacity of the guard. The guard watches a sample, which includes the last page. */
CASE(guard_samples_large_memory)
{
	struct emugpu_test counted;

	rules_watch(fd);
	EXPECT(emu_alloc(fd, VA, 128 * MIB) == 0 && get(0, VA, 128 * MIB) == 0, "alloc, get");
	EXPECT(emu_guard(fd, 1) == 0 && emu_revoke(fd, VA) == 0, "revoke");
	EXPECT(emu_counts(fd, &counted) == 0 && counted.counts.out_pins == 0, "pins are left");
	EXPECT_NO_BREACH(fd);
	EXPECT(get(0, VA, 128 * MIB) == 0 && emu_guard(fd, WATCH_MS) == 0, "get");
	revoke_with_writer(physical(0, 128 * MIB / PAGE - 1));
	CHECK_CASE();
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	guard_off_and_free();
}

enum { ROUNDS = 10 };

static void *revoke_large(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)emu_revoke(fd, VA);
}

/*
 * Revoke 64 MiB while this thread writes to the first page for @soon seconds after the callback. Returns 0 or -errno.
 * @took: seconds from the callback to the end of the revocation
 */
static int revoke_and_write(double soon, double *took)
{
	pthread_t thread;
	uint64_t address;
	void *result;
	double start;

	if (get(0, VA, 64 * MIB))
		return -EIO;
	address = physical(0, 0);
	if (callback(0).out_count || pthread_create(&thread, NULL, revoke_large, NULL))
		return -EAGAIN;
	while (!callback(0).out_count)
		usleep(100);
	for (start = now(); now() - start < soon;)
		poke(address);
	pthread_join(thread, &result);
	*took = now() - start;
	return (int)(intptr_t)result;
}

static uint64_t late_writes(void)
{
	char module[48];

	return emu_violations(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, module);
}

/*
 * The guard has marked all pages after a twentieth of the time that a revocation takes, and fills the first page after a
 * third. A writer that stops after an eighth writes to a mark, and stops before the page is filled. A busy host may stop
 * the writer for the whole time.
 */
CASE(write_soon_after_callback_is_seen)
{
	uint64_t before = late_writes();
	double took, again;
	unsigned int i;
	int ret;

	EXPECT(emu_alloc(fd, VA, 64 * MIB) == 0 && emu_guard(fd, 1) == 0, "alloc, guard");
	ret = revoke_and_write(0, &took);
	for (i = 0; i < ROUNDS && !ret && late_writes() == before; i++)
		ret = revoke_and_write(took / 8, &again);
	guard_off_and_free();
	EXPECT(!ret, "revoke: %d", ret);
	EXPECT(late_writes() > before, "not seen in the first eighth of %.0f ms", took * 1e3);
}

CASE(bad_times_are_einval)
{
	EXPECT(emu_guard(fd, 10001) == -EINVAL, "too long");
	EXPECT(emu_guard_mappings(fd, 2) == -EINVAL, "neither on nor off");
}

/* No process writes, but one could. */
CASE(kept_cpu_mapping_is_a_breach)
{
	struct emugpu_test at;
	void *view;

	filled_block();
	CHECK_CASE();
	EXPECT(!emu_translate(fd, VA, &at), "translate");
	view = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, check, at.translate.out_phys);
	EXPECT(view != MAP_FAILED, "mmap: %d", errno);
	EXPECT(emu_guard_mappings(fd, 1) == 0 && get(0, VA, PAGE) == 0 && emu_revoke(fd, VA) == 0, "revoke");
	EXPECT_BROKE(fd, EMUGPU_RULE_MAPPED_AFTER_CALLBACK, 1);
	EXPECT(get(0, VA + PAGE, PAGE) == 0 && emu_revoke(fd, VA) == 0, "neighbour");
	EXPECT_NO_BREACH(fd);
	EXPECT(get_persistent(1, VA, PAGE) == 0 && get(0, VA, PAGE) == 0 && emu_revoke(fd, VA) == 0, "two pins");
	EXPECT_NO_BREACH(fd);
	EXPECT(put_persistent(1) == 0 && munmap(view, PAGE) == 0, "unmap");
	EXPECT(get(0, VA, PAGE) == 0 && emu_revoke(fd, VA) == 0, "no mapping");
	EXPECT_NO_BREACH(fd);
	EXPECT(emu_guard_mappings(fd, 0) == 0, "off");
	free_one();
}

/* A compiler may read a member more than once, so the number of breaches is not known. */
static void read_dead_table(unsigned int slot)
{
	char module[48];
	uint64_t before = emu_violations(fd, EMUGPU_RULE_USE_OF_DEAD_TABLE, module);

	version(slot);
	EXPECT(emu_violations(fd, EMUGPU_RULE_USE_OF_DEAD_TABLE, module) > before, "not seen");
	EXPECT(!strcmp(module, "p2p_check"), "by %s", module);
	rules_watch(fd);
}

CASE(read_of_dead_table_is_a_breach)
{
	unsigned int i;

	filled_block();
	CHECK_CASE();
	EXPECT(emu_guard_mappings(fd, 1) == 0, "on");
	for (i = 0; i < 5; i++) {
		EXPECT(get(0, VA, PAGE) == 0 && version(0) == 0x20000, "live");
		EXPECT_NO_BREACH(fd);
		EXPECT((i % 2 ? put(0) : emu_revoke(fd, VA)) == 0, "end");
		EXPECT_NO_BREACH(fd);
		read_dead_table(0);
		CHECK_CASE();
	}
	EXPECT(emu_guard_mappings(fd, 0) == 0, "off");
	version(0);
	EXPECT_NO_BREACH(fd);
	free_one();
}

/* More tables die than can be watched, and the table of the call in progress is the first of them. */
CASE(read_of_table_of_call_in_progress_is_a_breach)
{
	uint64_t va = VA;
	unsigned int slot;

	rules_watch(fd);
	EXPECT(emu_guard_mappings(fd, 1) == 0 && emu_plan(fd, 4, EMUGPU_ACT_REVOKE) == 0, "plan");
	for (slot = 0; slot < 4; slot++, va += 2 * BLOCK)
		EXPECT(emu_alloc(fd, va, BLOCK) == 0 && get(slot, va, PAGE) == 0, "get");
	EXPECT(pins() == 0, "%u pins", pins());
	EXPECT_NO_BREACH(fd);
	read_dead_table(3);
	CHECK_CASE();
	EXPECT(emu_guard_mappings(fd, 0) == 0, "off");
	for (va = VA; va < VA + 8 * BLOCK; va += 2 * BLOCK)
		EXPECT(emu_free(fd, va) == 0, "free");
}

static unsigned int revocations_logged(int kernel_log)
{
	unsigned int n = 0;
	char line[512];
	ssize_t length;

	while ((length = read(kernel_log, line, sizeof(line) - 1)) > 0) {
		line[length] = '\0';
		n += strstr(line, "emugpu: " EMUGPU_REVOKED) != NULL;
	}
	return n;
}

/* The line comes once after each call of emu_guard_mappings(). */
CASE(first_revocation_is_logged)
{
	int kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned int i;

	EXPECT(kernel_log >= 0 && lseek(kernel_log, 0, SEEK_END) >= 0, "the kernel log");
	one_block();
	CHECK_CASE();
	for (i = 0; i < 2; i++) {
		EXPECT(emu_guard_mappings(fd, 1) == 0 && get(0, VA, PAGE) == 0 && put(0) == 0, "on");
		EXPECT(emu_revoke(fd, VA) == 0 && revocations_logged(kernel_log) == 0, "a revocation of nothing");
		EXPECT(get(0, VA, PAGE) == 0 && emu_revoke(fd, VA) == 0 && revocations_logged(kernel_log) == 1, "the first");
		EXPECT(get(0, VA, PAGE) == 0 && emu_revoke(fd, VA) == 0 && revocations_logged(kernel_log) == 0, "the second");
	}
	EXPECT(emu_guard_mappings(fd, 0) == 0, "off");
	EXPECT(get(0, VA, PAGE) == 0 && emu_revoke(fd, VA) == 0 && revocations_logged(kernel_log) == 0, "without a guard");
	free_one();
	close(kernel_log);
}

static int get_of_version(const char *number)
{
	int err = module_set("emugpu/parameters/table_version", number);

	if (err)
		return err;
	err = get(0, VA, 2 * PAGE);
	return module_set("emugpu/parameters/table_version", "0x20000") ?: err;
}

/* P2P_CHECK_REVERSE reads the member pages. */
CASE(use_of_incompatible_table_is_a_breach)
{
	char module[48];
	uint64_t before = emu_violations(fd, EMUGPU_RULE_NO_VERSION_CHECK, module);

	filled_block();
	CHECK_CASE();
	EXPECT(emu_guard_mappings(fd, 1) == 0 && get_of_version("0x10002") == 0 && version(0) == 0x10002, "get");
	EXPECT_NO_BREACH(fd);
	EXPECT(with_flags(P2P_CHECK_REVERSE, 0, 0) == 0, "use");
	EXPECT(emu_violations(fd, EMUGPU_RULE_NO_VERSION_CHECK, module) > before, "not seen");
	EXPECT(!strcmp(module, "p2p_check"), "by %s", module);
	rules_watch(fd);
	EXPECT(put(0) == 0, "put");
	EXPECT_NO_BREACH(fd);
	read_dead_table(0);
	CHECK_CASE();
	EXPECT(get_of_version("0x20000") == 0 && with_flags(P2P_CHECK_REVERSE, 0, 0) == 0 && put(0) == 0, "compatible");
	EXPECT_NO_BREACH(fd);
	EXPECT(emu_guard_mappings(fd, 0) == 0, "off");
	free_one();
}

CASE(neighbour_of_dead_table_is_no_breach)
{
	unsigned int i;

	filled_block();
	CHECK_CASE();
	EXPECT(emu_guard_mappings(fd, 1) == 0, "on");
	for (i = 0; i < 4; i++) {
		EXPECT(get(0, VA, PAGE) == 0 && put(0) == 0, "pin");
		EXPECT(call(P2P_CHECK_WRITE_NEIGHBOURS, (struct p2p_check_call){ 0 }) == 0, "write");
		EXPECT_NO_BREACH(fd);
	}
	EXPECT(emu_guard_mappings(fd, 0) == 0, "off");
	free_one();
}

/* ---- the stash ------------------------------------------------------------------ */

CASE(stash_hides_and_restores_pinned_memory)
{
	unsigned int changed, i, same = 0;

	filled_block();
	CHECK_CASE();
	EXPECT(get(0, VA, 2 * PAGE) == 0 && get_persistent(1, VA + PAGE, 2 * PAGE) == 0, "get");
	EXPECT(emu_stash(fd, 1, &changed) == 0, "on");
	EXPECT(emu_read(fd, seen, VA, BLOCK) == 0, "read");
	for (i = 0; i < 3 * PAGE; i++)
		same += seen[i] == contents[i];
	EXPECT(same < 3 * PAGE / 64, "%u of %lu bytes can be seen", same, 3 * PAGE);
	EXPECT(!memcmp(seen + 3 * PAGE, contents + 3 * PAGE, BLOCK - 3 * PAGE), "unpinned memory changed");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 0, "%u pages changed", changed);
	expect_contents();
	CHECK_CASE();
	EXPECT(put(0) == 0 && put_persistent(1) == 0, "put");
	EXPECT_NO_BREACH(fd);
	free_one();
}

/* The GPU writes a whole word: a single byte may equal the byte of the stash's random pattern. */
CASE(changed_pages_are_counted_once)
{
	unsigned int changed;

	filled_block();
	CHECK_CASE();
	EXPECT(get(0, VA, 4 * PAGE) == 0 && get(1, VA, 4 * PAGE) == 0, "get");
	EXPECT(emu_stash(fd, 1, &changed) == 0, "on");
	EXPECT(poke(physical(0, 1)) == 0 && poke(physical(0, 1) + 1) == 0 && poke(physical(0, 3) + PAGE - 1) == 0,
	       "poke");
	EXPECT(emu_write(fd, VA + 2 * PAGE, "stranger", 8) == 0, "the GPU writes");
	EXPECT(emu_copy(fd, EMUGPU_COPY_DTOD, VA, VA + 3 * PAGE, 16) == 0, "the GPU copies one pattern to another");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 4, "%u pages changed", changed);
	expect_contents();
	CHECK_CASE();
	EXPECT(put(0) == 0 && put(1) == 0, "put");
	free_one();
}

CASE(pins_may_end_during_a_stash)
{
	unsigned int changed;

	filled_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + PAGE, PAGE) == 0, "get");
	EXPECT(emu_stash(fd, 1, &changed) == 0, "on");
	EXPECT(put(0) == 0 && emu_guard(fd, 1) == 0 && emu_revoke(fd, VA) == 0, "put, revoke");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 0, "%u pages changed", changed);
	expect_contents();
	CHECK_CASE();
	EXPECT(get(0, VA, BLOCK) == 0 && emu_stash(fd, 1, &changed) == 0, "on");
	guard_off_and_free();
	CHECK_CASE();
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 0, "%u pages changed", changed);
	EXPECT_NO_BREACH(fd);
}

CASE(second_stash_is_EBUSY)
{
	unsigned int changed;

	EXPECT(emu_stash(fd, 0, &changed) == -ENOENT, "off at first");
	EXPECT(emu_stash(fd, 1, &changed) == 0 && emu_stash(fd, 1, &changed) == -EBUSY, "on twice");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && emu_stash(fd, 0, &changed) == -ENOENT, "off twice");
	EXPECT(emu_stash(fd, 2, &changed) == -EINVAL, "invalid value 2");
}

static int stash_process(pid_t pid)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_STASH, .stash = { .on = 1, .pid = (uint32_t)pid } };

	return emu_test(fd, &test);
}

static int pin_own_for_ever(void)
{
	return emu_alloc(emu_open(), VA, BLOCK) || get_persistent(1, VA, PAGE);
}

CASE(stash_can_cover_one_process)
{
	unsigned int changed;

	filled_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && emu_in_child(pin_own_for_ever) == 0, "get");
	EXPECT(stash_process(1 << 22) == -ESRCH, "process 1 << 22 does not exist");
	EXPECT(stash_process(getpid()) == 0, "on");
	EXPECT(poke(physical(0, 0)) == 0 && poke(physical(1, 0)) == 0, "poke");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 1, "%u pages changed", changed);
	expect_contents();
	CHECK_CASE();
	EXPECT(put_persistent(1) == 0 && put(0) == 0, "put");
	free_one();
}

static struct emugpu_context_new context;

static int pin_by_token(void)
{
	return get_token(1, context.out_p2p_token, 0, VA, PAGE);
}

/* Writes through the pin of the process itself are no breach, and must be kept. */
CASE(stash_spares_memory_pinned_by_both)
{
	unsigned int changed;

	EXPECT(emu_context(fd, &context) == 0 && emu_alloc_in(fd, context.out_context, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 1, 7, BLOCK) == 0, "fill");
	EXPECT(get(0, VA, 2 * PAGE) == 0 && emu_in_child(pin_by_token) == 0, "get");
	EXPECT(stash_process(getpid()) == 0, "on");
	EXPECT(poke(physical(0, 0)) == 0 && poke(physical(0, 1)) == 0, "poke");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 1, "%u pages changed", changed);
	EXPECT(emu_read(fd, seen, VA, 2 * PAGE) == 0 && seen[0] == 8 && seen[PAGE] == 7, "%d %d", seen[0], seen[PAGE]);
	EXPECT(emu_free(fd, VA) == 0 && emu_drop(fd, context.out_context) == 0 && nothing_pinned(), "free");
}

static int stash_of(unsigned int gpu, unsigned int on)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_STASH, .gpu = gpu, .stash.on = on };

	return emu_test(fd, &test);
}

CASE(one_stash_covers_all_gpus)
{
	struct emugpu_info info;
	unsigned int changed;

	if (emu_info(fd, 1, &info))
		SKIP("one GPU only; type: emu/vm/run --gpus 2 ...");
	one_block();
	EXPECT(emu_alloc_on(fd, 1, VA + BLOCK, BLOCK) == 0, "alloc");
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && get(1, VA + BLOCK, PAGE) == 0, "get");
	EXPECT(stash_of(0, 1) == 0 && stash_of(1, 1) == -EBUSY, "on");
	EXPECT(poke(physical(1, 0)) == 0, "poke");
	EXPECT(emu_stash(fd, 0, &changed) == 0 && changed == 1, "%u pages changed", changed);
	EXPECT(stash_of(1, 0) == -ENOENT && stash_of(1, 1) == 0 && stash_of(0, 0) == 0, "the other GPU");
	free_both();
}

/* The unbind of the GPU must drop the stash. */
CASE(gpu_may_unbind_during_a_stash)
{
	struct emugpu_info info;

	filled_block();
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &info) == 0 && get(0, VA, PAGE) == 0 && stash_of(0, 1) == 0, "on");
	EXPECT(emu_sysfs(&info, "unbind") == 0 && emu_sysfs(&info, "bind") == 0, "unbind, bind");
	EXPECT(stash_of(0, 0) == 0 && stash_of(0, 1) == 0 && stash_of(0, 0) == 0, "off, on and off");
	free_one();
}

CASE(stash_needs_the_cpu_window)
{
	unsigned int changed;

	filled_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && emu_cpu_window(fd, 0) == 0, "get, close");
	EXPECT(emu_stash(fd, 1, &changed) == -EBUSY, "on");
	EXPECT(emu_cpu_window(fd, 1) == 0 && emu_stash(fd, 1, &changed) == 0, "on");
	EXPECT(emu_cpu_window(fd, 0) == 0, "close");
	EXPECT(emu_stash(fd, 0, &changed) == -EBUSY, "off");
	EXPECT(emu_cpu_window(fd, 1) == 0 && emu_stash(fd, 0, &changed) == 0, "off");
	expect_contents();
	CHECK_CASE();
	EXPECT(put(0) == 0, "put");
	free_one();
}

VMTEST_MAIN
