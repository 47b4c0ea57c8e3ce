// SPDX-License-Identifier: MIT
/*
 * libpeerpin-hook, linked before a mock libcuda. Every call that frees memory must invalidate
 * before the free, in whatever way the caller found the function. test_hook_preload runs this
 * program again, with the library loaded twice and beside other interceptors.
 */
#include "hook_case.h"
#include "libpeerpin-hook.h"

#include <dlfcn.h>
#include <string.h>
#include "test/unit/unit.h"

#define VERSIONED BUILD "/bin/test/fake/hooked/libversioned.so"

#define N(array) (sizeof(array) / sizeof(*(array)))

extern struct fake_cuda fake_cuda;
int cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *why);

enum what { ALLOCATION, RANGE, ALL };

#define DECLARE(symbol, ...) int symbol(uint64_t a, uint64_t b, uint64_t c);
HOOK_CASES(DECLARE)

#define ROW(symbol, name, since, per_thread, what) { #symbol, #name, since, per_thread, what, symbol },
static const struct row {
	const char *symbol;
	const char *name;
	int since;
	int per_thread;
	enum what what;
	free_fn linked;
} rows[] = { HOOK_CASES(ROW) };

enum {
	ADDR = 5 * ALLOCATION_SIZE + 4096,
	LENGTH = 8192,
	THIRD = 77,
	ANSWER = 719,
};

/* ---- a subscriber that records its calls --------------------------------------- */

static struct {
	unsigned int times;
	unsigned int early;	/* calls of the subscriber before the driver's free */
	uint64_t addr;
	uint64_t length;
} told;
static unsigned int frees_before;

static void note(void *arg, uint64_t addr, uint64_t length)
{
	assert_ptr_equal(arg, &told);
	told.times++;
	told.early += fake_cuda.frees == frees_before;
	told.addr = addr;
	told.length = length;
}

static void forget(void)
{
	memset(&told, 0, sizeof(told));
	frees_before = fake_cuda.frees;
}

static int subscribe(void **state)
{
	(void)state;
	fake_cuda.answer = ANSWER;
	return pp_hook_add(note, &told);
}

static int unsubscribe(void **state)
{
	(void)state;
	fake_cuda.answer = 0;
	return pp_hook_remove(note, &told);
}

static void *libcuda(void)
{
	static void *lib;

	if (!lib)
		lib = dlopen("libcuda.so.1", RTLD_NOW);
	assert_non_null(lib);
	return lib;
}

/* ---- each way to find a function --------------------------------------------------------- */

static free_fn by_link(const struct row *row)
{
	return row->linked;
}

static free_fn by_handle(const struct row *row)
{
	return (free_fn)dlsym(libcuda(), row->symbol);
}

static free_fn by_program(const struct row *row)
{
	void *program = dlopen(NULL, RTLD_NOW);
	free_fn fn = (free_fn)dlsym(program, row->symbol);

	dlclose(program);
	return fn;
}

static free_fn by_default(const struct row *row)
{
	return (free_fn)dlsym(RTLD_DEFAULT, row->symbol);
}

static free_fn by_next(const struct row *row)
{
	return (free_fn)dlsym(RTLD_NEXT, row->symbol);
}

static free_fn by_find(const struct row *row, find_fn find)
{
	void *fn = NULL;

	assert_int_equal(find(row->name, &fn, row->since, row->per_thread ? CU_PER_THREAD : 0), 0);
	return (free_fn)fn;
}

static free_fn by_find_why(const struct row *row, find_why_fn find)
{
	void *fn = NULL;
	int why = -1;

	assert_int_equal(find(row->name, &fn, row->since, row->per_thread ? CU_PER_THREAD : 0, &why), 0);
	assert_int_equal(why, 0);
	return (free_fn)fn;
}

static free_fn by_proc(const struct row *row)
{
	return by_find(row, cuGetProcAddress);
}

static free_fn by_proc_why(const struct row *row)
{
	return by_find_why(row, cuGetProcAddress_v2);
}

/* Find the function like the static and the shared CUDA runtime. */
static free_fn by_runtime(const struct row *row)
{
	return by_find(row, (find_fn)dlsym(libcuda(), "cuGetProcAddress"));
}

static free_fn by_runtime_why(const struct row *row)
{
	return by_find_why(row, (find_why_fn)dlsym(libcuda(), "cuGetProcAddress_v2"));
}

static free_fn by_found_finder(const struct row *row)
{
	void *find = NULL;

	assert_int_equal(cuGetProcAddress("cuGetProcAddress", &find, 11030, 0), 0);
	return by_find(row, (find_fn)find);
}

static free_fn by_found_finder_why(const struct row *row)
{
	void *find = NULL;

	assert_int_equal(cuGetProcAddress("cuGetProcAddress", &find, 12000, 0), 0);
	return by_find_why(row, (find_why_fn)find);
}

static void expect_told(const struct row *row)
{
	static const uint64_t addr[] = { 5 * ALLOCATION_SIZE, ADDR, 0 };
	static const uint64_t length[] = { ALLOCATION_SIZE, LENGTH, UINT64_MAX };

	if (!told.early || told.addr != addr[row->what] || told.length != length[row->what])
		fail_msg("%s: %u callbacks, %u of them before the free, last range %lx + %lx", row->symbol, told.times,
			 told.early, told.addr, told.length);
}

/* Check the call. Only some functions use the second and third argument. */
static void expect_done(const struct row *row)
{
	assert_int_equal(fake_cuda.frees, frees_before + 1);
	assert_string_equal(fake_cuda.last, row->symbol);
	assert_int_equal(fake_cuda.args[0], ADDR);
	if (row->what == RANGE || strstr(row->symbol, "Async") || strstr(row->symbol, "TrimTo"))
		assert_int_equal(fake_cuda.args[1], LENGTH);
	if (strstr(row->symbol, "UnmapResources"))
		assert_int_equal(fake_cuda.args[2], THIRD);
}

static void call_all(free_fn (*find)(const struct row *row))
{
	for (unsigned int i = 0; i < N(rows); i++) {
		free_fn fn = find(&rows[i]);

		assert_non_null(fn);
		forget();
		assert_int_equal(fn(ADDR, LENGTH, THIRD), ANSWER);
		expect_told(&rows[i]);
		expect_done(&rows[i]);
	}
}

#define WAY(way) \
	static void way##_notifies_first(void **state) \
	{ \
		(void)state; \
		call_all(way); \
	}

WAY(by_link)
WAY(by_handle)
WAY(by_program)
WAY(by_default)
WAY(by_next)
WAY(by_proc)
WAY(by_proc_why)
WAY(by_runtime)
WAY(by_runtime_why)
WAY(by_found_finder)
WAY(by_found_finder_why)

/*
 * Each function must have one address. cuMemFree_v2() is excluded: another library may replace it
 * for some ways of look-up only.
 */
static void a_function_has_one_address(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < N(rows); i++) {
		if (rows[i].linked == cuMemFree_v2)
			continue;
		assert_ptr_equal(by_handle(&rows[i]), rows[i].linked);
		assert_ptr_equal(by_default(&rows[i]), rows[i].linked);
		assert_ptr_equal(by_proc(&rows[i]), rows[i].linked);
	}
}

/* A library of another name may define these symbols, too. A look-up in that library must find its own symbols. */
static void libraries_with_equal_symbols_stay_apart(void **state)
{
	void *lib = dlopen(VERSIONED, RTLD_NOW | RTLD_LOCAL);
	struct fake_cuda *other = dlsym(lib, "fake_cuda");
	free_fn fn = (free_fn)dlsym(lib, "cuMemUnmap");
	free_fn versioned = (free_fn)dlvsym(lib, "cuMemUnmap", "libversioned.so");

	(void)state;
	assert_non_null(other);
	assert_non_null(fn);
	assert_ptr_equal(fn, versioned);
	forget();
	fn(ADDR, LENGTH, THIRD);
	assert_int_equal(fake_cuda.frees, frees_before);
	assert_int_equal(other->frees, 1);
	assert_int_equal(told.addr, ADDR);
	by_handle(&rows[7])(ADDR, LENGTH, THIRD);
	assert_int_equal(fake_cuda.frees, frees_before + 1);
	assert_int_equal(other->frees, 1);
}

static void a_library_in_use_stays_loaded(void **state)
{
	void *lib = dlopen(VERSIONED, RTLD_NOW | RTLD_LOCAL);
	free_fn fn = (free_fn)dlsym(lib, "cuMemPoolTrimTo");

	(void)state;
	dlclose(lib);
	dlclose(lib);
	fn(ADDR, LENGTH, THIRD);
	assert_non_null(dlopen(VERSIONED, RTLD_NOW | RTLD_NOLOAD));
}

/* ---- cuGetProcAddress() ------------------------------------------------- */

static void the_version_chooses_the_variant(void **state)
{
	void *fn = NULL;

	(void)state;
	assert_int_equal(cuGetProcAddress("cuMemFree", &fn, 3010, 0), 0);
	((free_fn)fn)(ADDR, 0, 0);
	assert_string_equal(fake_cuda.last, "cuMemFree");
	assert_int_equal(cuGetProcAddress("cuMemFree", &fn, DRIVER, 0), 0);
	((free_fn)fn)(ADDR, 0, 0);
	assert_string_equal(fake_cuda.last, "cuMemFree_v2");
	assert_int_equal(cuGetProcAddress("cuMemFreeAsync", &fn, DRIVER, CU_PER_THREAD), 0);
	((free_fn)fn)(ADDR, 0, 0);
	assert_string_equal(fake_cuda.last, "cuMemFreeAsync_ptsz");
}

static void failed_lookup_stays_failed(void **state)
{
	void *fn = &fn;
	int why = -1;

	(void)state;
	assert_int_equal(cuGetProcAddress("cuMemFree", &fn, 1000, 0), CU_NOT_FOUND);
	assert_ptr_equal(fn, &fn);
	assert_int_equal(cuGetProcAddress_v2("cuMemFree", &fn, 1000, 0, &why), 0);
	assert_null(fn);
	assert_int_equal(why, 1);
	assert_int_equal(cuGetProcAddress("cuFakeFree", &fn, DRIVER, 0), 0);
	assert_ptr_equal(fn, dlsym(libcuda(), "fake_free"));
}

static void missing_symbol_sets_dlerror(void **state)
{
	(void)state;
	dlerror();
	assert_null(dlsym(libcuda(), "cuNoSuchFunction"));
	assert_non_null(dlerror());
	assert_null(dlvsym(libcuda(), "cuMemFree_v2", "NO_SUCH_VERSION"));
	assert_non_null(dlerror());
}

/* ---- the range ------------------------------------------------------------------------- */

static void unknown_address_invalidates_everything(void **state)
{
	(void)state;
	forget();
	cuMemFree_v2(UNKNOWN_ADDR, 0, 0);	/* the query for the range fails */
	assert_int_equal(told.length, UINT64_MAX);
	forget();
	cuMemFree_v2(UNKNOWN_ADDR + 1, 0, 0);	/* the query returns no range */
	assert_int_equal(told.length, UINT64_MAX);
	forget();
	cuMemFreeHost(0, 0, 0);
	assert_int_equal(told.times, 0);
	assert_int_equal(fake_cuda.frees, frees_before + 1);
}

static void without_subscribers_cuda_is_not_asked(void **state)
{
	unsigned int queries = fake_cuda.queries;

	(void)state;
	forget();
	cuMemFree_v2(ADDR, 0, 0);
	assert_int_equal(fake_cuda.queries, queries);
	assert_int_equal(fake_cuda.frees, frees_before + 1);
	assert_int_equal(told.times, 0);
}

int main(void)
{
#define TOLD(test) cmocka_unit_test_setup_teardown(test, subscribe, unsubscribe)
#define TOLD_WAY(way) TOLD(way##_notifies_first)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_subscribers_cuda_is_not_asked),
		TOLD_WAY(by_link),
		TOLD_WAY(by_handle),
		TOLD_WAY(by_program),
		TOLD_WAY(by_default),
		TOLD_WAY(by_next),
		TOLD_WAY(by_proc),
		TOLD_WAY(by_proc_why),
		TOLD_WAY(by_runtime),
		TOLD_WAY(by_runtime_why),
		TOLD_WAY(by_found_finder),
		TOLD_WAY(by_found_finder_why),
		cmocka_unit_test(a_function_has_one_address),
		TOLD(libraries_with_equal_symbols_stay_apart),
		TOLD(a_library_in_use_stays_loaded),
		TOLD(the_version_chooses_the_variant),
		TOLD(failed_lookup_stays_failed),
		TOLD(missing_symbol_sets_dlerror),
		TOLD(unknown_address_invalidates_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
