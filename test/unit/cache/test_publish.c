// SPDX-License-Identifier: MIT
/* Cache statistics that a process publishes; peerpin top finds and reads them. */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cache/published.h"
#include "cache_case.h"
#include "tool/owners/cache_counts.h"
#include "tool/top/top.h"

enum {
	THREADS = 8,
	GETS = 1000,
};

/* ---- an observer ------------------------------------------------------- */

/* Returns the number of memfds in which this process publishes counts; stores the counts in @out. */
static int observe(struct cache_counts *out)
{
	struct fds fds;
	int seen = 0;
	size_t i;

	assert_int_equal(fds_find(&fds), 0);
	for (i = 0; i < fds.count; i++)
		if (fds.at[i].kind == FD_CACHE && fds.at[i].pid == getpid())
			seen += cache_counts_read(&fds.at[i], out);
	fds_free(&fds);
	return seen;
}

static struct cache_counts counts(void)
{
	struct cache_counts c = { 0 };

	assert_int_equal(observe(&c), 1);
	return c;
}

static int own_fd(void)
{
	char path[64];
	struct fds fds;
	size_t i;
	int fd = -1;

	assert_int_equal(fds_find(&fds), 0);
	for (i = 0; i < fds.count; i++) {
		if (fds.at[i].kind != FD_CACHE || fds.at[i].pid != getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds.at[i].fd);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	fds_free(&fds);
	assert_true(fd >= 0);
	return fd;
}

static void get_and_put(unsigned int page)
{
	pp_cache_put(cache, get(page, 1));
}

static void hits_and_misses_are_published(void **state)
{
	struct cache_counts before = counts(), now;
	struct pp_cache_stats stats;
	int i;

	(void)state;
	for (i = 0; i < 10; i++)
		get_and_put(3);
	now = counts();
	assert_int_equal(now.misses - before.misses, 1);
	assert_int_equal(now.hits - before.hits, 9);
	pp_cache_stats(cache, &stats);
	assert_int_equal(stats.hits, 9);
}

static void *hit_many(void *arg)
{
	int i;

	for (i = 0; i < GETS; i++)
		get_and_put(5);
	return arg;
}

static void ended_threads_still_count(void **state)
{
	struct cache_counts before = counts(), now;
	pthread_t thread[THREADS];
	int i;

	(void)state;
	get_and_put(5);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, hit_many, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	now = counts();
	assert_int_equal(now.hits - before.hits, THREADS * GETS);
	assert_int_equal(now.misses - before.misses, 1);
}

static void counts_never_fall(void **state)
{
	struct cache_counts before = counts(), now;
	struct pp_cache_stats stats;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		make(&mock_host_ops, 0, 0);
		pp_cache_stats(cache, &stats);
		assert_int_equal(stats.hits, 0);
		get_and_put(1);
		get_and_put(1);
		pp_cache_stats(cache, &stats);
		assert_int_equal(stats.hits, 1);
		now = counts();
		assert_int_equal(now.hits - before.hits, 1);
		assert_int_equal(now.misses - before.misses, 1);
		before = now;
	}
}

static uint64_t published_unpins(void)
{
	uint64_t unpins = 0;
	int file = own_fd();

	assert_int_equal(pread(file, &unpins, sizeof(unpins), offsetof(struct pp_published, unpins)), sizeof(unpins));
	close(file);
	return unpins;
}

static void destroy_publishes_its_unpins(void **state)
{
	uint64_t before;

	(void)state;
	make(&mock_host_ops, 0, 0);
	before = published_unpins();
	get_and_put(1);
	get_and_put(2);
	make(&mock_host_ops, 0, 0);	/* destroys the cache with both entries */
	assert_int_equal(published_unpins() - before, 2);
}

/* Run @run in a child of fork() and return its result. */
static int in_child(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int see_nothing(void)
{
	struct cache_counts c;

	return observe(&c);
}

static int see_own(void)
{
	struct cache_counts c = { 0 };

	cache = NULL;
	if (pp_cache_create(&mock_host_ops, &mem, NULL, &cache))
		return 100;
	get_and_put(2);
	get_and_put(2);
	return observe(&c) == 1 && c.hits == 1 && c.misses == 1 ? 0 : 101;
}

static void child_publishes_its_own_counts(void **state)
{
	struct cache_counts before, now;

	(void)state;
	get_and_put(2);
	before = counts();
	assert_int_equal(in_child(see_nothing), 0);
	assert_int_equal(in_child(see_own), 0);
	now = counts();
	assert_int_equal(now.hits, before.hits);
	assert_int_equal(now.misses, before.misses);
}

/* Hits of this process in peerpin top; -1: not shown */
static int hits_on_top(void)
{
	struct top top = { 0 };
	int hits = -1;
	size_t i;

	top_next(&top);
	for (i = 0; i < top.now.nr_processes; i++)
		if (top.now.processes[i].pid == getpid() && top.now.processes[i].publishes)
			hits = (int)top.now.processes[i].counted[TOP_HITS];
	top_end(&top);
	return hits;
}

static int see_own_on_top(void)
{
	return see_own() ? 100 : hits_on_top();
}

/* The child inherits the parent's memfd. top finds that memfd first and must not show it for the child. */
static void top_shows_forked_child(void **state)
{
	(void)state;
	get_and_put(2);
	assert_true(hits_on_top() >= 0);
	assert_int_equal(in_child(see_own_on_top), 1);
}

static int not_asked(const char *value)
{
	struct cache_counts c;

	setenv("PEERPIN_PUBLISH", value, 1);
	cache = NULL;
	if (pp_cache_create(&mock_host_ops, &mem, NULL, &cache))
		return 100;
	get_and_put(2);
	return observe(&c);
}

static int asked_for_0(void)
{
	return not_asked("0");
}

static int asked_for_nothing(void)
{
	return not_asked("");
}

static void nothing_is_published_unless_asked(void **state)
{
	(void)state;
	assert_int_equal(in_child(asked_for_0), 0);
	assert_int_equal(in_child(asked_for_nothing), 0);
}

static const char *value;

static int asked_by_value(void)
{
	return not_asked(value);
}

static void malformed_variable_publishes_nothing(void **state)
{
	static const char *const values[] = { "1 ", "01", "-1", "11", "yes", "\xff\x01", "1=1" };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		value = values[i];
		assert_int_equal(in_child(asked_by_value), 0);
	}
}

/* glibc's secure_getenv() finds no variable in a setuid program. */
static bool is_setuid;

char *secure_getenv(const char *name)
{
	return is_setuid ? NULL : getenv(name);
}

static int asked_as_setuid(void)
{
	is_setuid = true;
	return not_asked("1");
}

static void setuid_program_publishes_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(asked_as_setuid), 0);
}

/* The kernel ends a process that grows a file beyond RLIMIT_FSIZE. A memfd is a file. */
static int asked_within_file_limit(void)
{
	const struct rlimit limit = { 65536, 65536 };

	return setrlimit(RLIMIT_FSIZE, &limit) ? 102 : not_asked("1");
}

static void file_size_limit_publishes_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(asked_within_file_limit), 0);
}

/* ---- hostile observers ---------------------------------------------------- */

static void published_file_is_read_only(void **state)
{
	int fd = own_fd();

	(void)state;
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
}

/* Start more threads at a time than there are returned slots. */
static pthread_barrier_t all;

static void *get_once(void *unused)
{
	get_and_put(3);
	pthread_barrier_wait(&all);
	return unused;
}

/* The program closed the library's descriptor, and its number now belongs to another file. */
static void closed_publication_leaves_other_files_alone(void **state)
{
	int other = memfd_create("other", MFD_CLOEXEC);
	struct fds fds;
	pthread_t t[3 * THREADS];
	struct stat st;
	size_t i;

	(void)state;
	assert_int_equal(fds_find(&fds), 0);
	for (i = 0; i < fds.count; i++)
		if (fds.at[i].kind == FD_CACHE && fds.at[i].pid == getpid())
			assert_true(dup2(other, fds.at[i].fd) >= 0);
	fds_free(&fds);
	pthread_barrier_init(&all, NULL, 3 * THREADS);
	for (i = 0; i < 3 * THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, get_once, NULL), 0);
	for (i = 0; i < 3 * THREADS; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&all);
	assert_int_equal(fstat(other, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(other);
}

/* ---- malformed publications ---------------------------------------------- */

static const struct pp_published good = {
	.magic = PP_PUBLISHED_NAME, .version = PP_PUBLISHED_VERSION, .slots_at = 4096, .slot_size = 128,
	.hits_at = 64, .slots = 3, .pid = 77, .hits = 5, .misses = 6,
};

static bool parse(const struct pp_published *h, size_t length, struct cache_counts *out)
{
	int fd = memfd_create("nonsense", MFD_CLOEXEC);
	uint64_t one = 1000;
	uint32_t pid = 0;
	bool ok;
	int i;

	assert_int_equal(pwrite(fd, h, sizeof(*h), 0), sizeof(*h));
	for (i = 0; i < 3; i++)
		assert_int_equal(pwrite(fd, &one, sizeof(one), 4096 + i * 128 + 64), sizeof(one));
	assert_int_equal(ftruncate(fd, (off_t)length), 0);
	ok = cache_counts_parse(fd, out, &pid);
	assert_true(!ok || pid == 77);
	close(fd);
	return ok;
}

static void valid_publication_is_read(void **state)
{
	struct cache_counts c = { 0 };

	(void)state;
	assert_true(parse(&good, 4096 + 3 * 128, &c));
	assert_int_equal(c.hits, 3005);
	assert_int_equal(c.misses, 6);
}

static void truncated_publication_is_read_safely(void **state)
{
	struct cache_counts c = { 0 };
	size_t length;

	(void)state;
	for (length = 0; length < sizeof(good); length++)
		assert_false(parse(&good, length, &c));
	assert_true(parse(&good, sizeof(good), &c));
	assert_int_equal(c.hits, 5);
	assert_true(parse(&good, 4096 + 2 * 128 + 127, &c));
	assert_int_equal(c.hits, 2005);
}

#define REFUSED(field, value) \
	do { \
		struct pp_published bad = good; \
		bad.field = value; \
		assert_false(parse(&bad, 8192, &c)); \
	} while (0)

static void malformed_publication_is_refused(void **state)
{
	struct pp_published far = good;
	struct cache_counts c;

	(void)state;
	REFUSED(magic[0], 'q');
	REFUSED(magic[15], 'q');
	REFUSED(version, 2);
	REFUSED(slot_size, 0);
	REFUSED(slot_size, 7);
	REFUSED(slot_size, UINT32_MAX);
	REFUSED(hits_at, 121);
	REFUSED(hits_at, UINT32_MAX);
	REFUSED(slots, UINT32_MAX);
	far.slots_at = UINT32_MAX;
	far.slots = 65536;
	assert_true(parse(&far, 8192, &c));
	assert_int_equal(c.hits, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hits_and_misses_are_published, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_threads_still_count, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_never_fall, setup, teardown),
		cmocka_unit_test_setup_teardown(destroy_publishes_its_unpins, setup, teardown),
		cmocka_unit_test_setup_teardown(child_publishes_its_own_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(top_shows_forked_child, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_published_unless_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(malformed_variable_publishes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(setuid_program_publishes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(file_size_limit_publishes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(published_file_is_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_publication_leaves_other_files_alone, setup, teardown),	/* last */
		cmocka_unit_test(valid_publication_is_read),
		cmocka_unit_test(truncated_publication_is_read_safely),
		cmocka_unit_test(malformed_publication_is_refused),
	};

	setenv("PEERPIN_PUBLISH", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
