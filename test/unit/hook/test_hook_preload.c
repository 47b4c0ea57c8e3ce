// SPDX-License-Identifier: MIT
/*
 * libpeerpin-hook by LD_PRELOAD: alone, twice, and beside other interceptors. Each scene runs in a
 * child that is not linked with the hook. The child is this program with the name of the scene as
 * its argument.
 */
#include "hook_case.h"
#include "libpeerpin-hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/unit/unit.h"

#define HOOK BUILD "/lib/libpeerpin-hook.so.1"
#define HOOKED BUILD "/bin/test/fake/hooked/"
#define LIBCUDA HOOKED "libcuda.so.1"
#define VERSIONED HOOKED "libversioned.so"
#define COPY HOOKED "copy.so"
#define OTHER HOOKED "by_other.so"
#define NEXT HOOKED "next.so"
#define PLUGIN HOOKED "plugin.so"

enum { ADDR = 7 * ALLOCATION_SIZE };

/* ---- scenes; each returns 0, or the line that failed -------------------------------------------- */

#define NEED(condition) \
	do { \
		if (!(condition)) \
			return __LINE__; \
	} while (0)

static unsigned int told;

static void note(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg;
	told += addr == ADDR && length == ALLOCATION_SIZE;
}

static int subscribe(void)
{
	int (*add)(void (*)(void *, uint64_t, uint64_t), void *);

	add = (int (*)(void (*)(void *, uint64_t, uint64_t), void *))dlsym(RTLD_DEFAULT, "pp_hook_add");
	return add ? add(note, NULL) : -ENOSYS;
}

static int without_cuda(void)
{
	NEED(!subscribe());
	NEED(!dlsym(RTLD_DEFAULT, "cuMemFree_v2"));
	NEED(dlerror());
	NEED(!dlsym(RTLD_NEXT, "cuMemFree_v2"));
	NEED(dlerror());
	NEED(!dlsym(dlopen(NULL, RTLD_NOW), "cuGetProcAddress"));
	NEED(!dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW));
	dlerror();
	NEED(dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc);
	NEED(!dlsym(RTLD_DEFAULT, "no_such_function"));
	NEED(dlerror());
	NEED(dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5") || dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.17"));
	return 0;
}

/* A successful look-up leaves no error for dlerror(), also the second time. */
static int like_cuda(void)
{
	void *lib = dlopen(VERSIONED, RTLD_NOW | RTLD_LOCAL);

	NEED(lib);
	NEED(dlsym(lib, "cuMemFree_v2") && !dlerror());
	NEED(dlsym(lib, "cuMemFree_v2") && !dlerror());
	return 0;
}

/* The hook defines these symbols even if libcuda is absent. */
static int absent(void)
{
	extern int cuMemFree_v2(uint64_t addr) __attribute__((weak));
	extern int cuGetProcAddress(const char *, void **, int, uint64_t) __attribute__((weak));
	void *fn;

	NEED(cuMemFree_v2 && cuGetProcAddress);
	NEED(cuMemFree_v2(ADDR) == CU_NOT_FOUND);
	NEED(cuGetProcAddress("cuMemFree", &fn, DRIVER, 0) == CU_NOT_FOUND);
	NEED(!subscribe());
	NEED(cuMemFree_v2(ADDR) == CU_NOT_FOUND);
	NEED(dlopen(LIBCUDA, RTLD_NOW | RTLD_LOCAL));
	NEED(!cuMemFree_v2(ADDR));
	NEED(told == 1);
	return 0;
}

/* RTLD_NEXT in another library must find the next definition after this other library. */
static int next_of_others(void)
{
	NEED(getppid() == syscall(SYS_getppid) + 1);
	return 0;
}

/* Look up like the static CUDA runtime. RTLD_LOCAL hides libcuda from other look-ups. */
static int runtime(void)
{
	void *lib = dlopen(LIBCUDA, RTLD_NOW | RTLD_LOCAL), *fn = NULL;
	find_why_fn find;
	int why;

	NEED(lib && !subscribe());
	find = (find_why_fn)dlsym(lib, "cuGetProcAddress_v2");
	NEED(find && !find("cuMemFree", &fn, DRIVER, 0, &why) && fn);
	((free_fn)fn)(ADDR, 0, 0);
	NEED(told == 1);
	NEED(!dlsym(RTLD_DEFAULT, "cuMemFree_v2"));
	return 0;
}

/* RTLD_GLOBAL puts libcuda after the hook in search order. libcuda must stay loaded after dlclose(). */
static int stays(void)
{
	void *lib = dlopen(LIBCUDA, RTLD_NOW | RTLD_GLOBAL);
	free_fn fn;

	NEED(lib && !subscribe());
	fn = (free_fn)dlsym(lib, "cuMemFree_v2");
	NEED(fn && !dlclose(lib));
	NEED(dlopen(LIBCUDA, RTLD_NOLOAD | RTLD_NOW));
	NEED(!fn(ADDR, 0, 0) && told == 1);
	return 0;
}

static int plugin(void)
{
	void *lib = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
	int (*plugin_free)(int, uint64_t);

	NEED(lib && !subscribe());
	plugin_free = (int (*)(int, uint64_t))dlsym(lib, "plugin_free");
	NEED(plugin_free);
	for (int way = 0; way < 3; way++) {
		NEED(!plugin_free(way, ADDR));
		NEED(told == way + 1u);
	}
	return 0;
}

static int late(void)
{
	int (*add)(void (*)(void *, uint64_t, uint64_t), void *);
	void *lib = dlopen(HOOK, RTLD_NOW | RTLD_GLOBAL);

	NEED(lib);
	add = (int (*)(void (*)(void *, uint64_t, uint64_t), void *))dlsym(lib, "pp_hook_add");
	NEED(add && add(note, NULL) == -EOPNOTSUPP);
	return 0;
}

static int behind_libcuda(void)
{
	NEED(subscribe() == -EOPNOTSUPP);
	return 0;
}

static const struct scene {
	const char *name;
	int (*play)(void);
} scenes[] = {
	{ "without_cuda", without_cuda },
	{ "like_cuda", like_cuda },
	{ "absent", absent },
	{ "next_of_others", next_of_others },
	{ "runtime", runtime },
	{ "stays", stays },
	{ "plugin", plugin },
	{ "late", late },
	{ "behind_libcuda", behind_libcuda },
};

/* Print the failing line: a line number does not fit into an exit status. */
static int play(const char *name)
{
	for (unsigned int i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		int line = strcmp(scenes[i].name, name) ? 0 : scenes[i].play();

		if (line)
			fprintf(stderr, "%s: line %d\n", name, line);
		if (line || !strcmp(scenes[i].name, name))
			return line != 0;
	}
	return 1;
}

/* ---- the tests ------------------------------------------------------------------------------ */

static const char *self;
static char *others;	/* LD_PRELOAD of this process: libraries of test/host/preload */

static void run_with(const char *preload, const char *program, const char *scene)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		alarm(60);
		execl(program, program, scene, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("%s, LD_PRELOAD=%s: status %x", scene ? scene : program, preload, status);
}

/* With @others, run the program twice: once with @others before the libraries of @preload, once after. */
static void run(const char *preload, const char *program, const char *scene)
{
	char list[1024];

	if (!others || !preload) {
		run_with(preload, program, scene);
		return;
	}
	snprintf(list, sizeof(list), "%s:%s", others, preload);
	run_with(list, program, scene);
	snprintf(list, sizeof(list), "%s:%s", preload, others);
	run_with(list, program, scene);
}

static void process_without_cuda_is_unchanged(void **state)
{
	(void)state;
	run(HOOK, self, "without_cuda");
	run(HOOK ":" COPY, self, "without_cuda");
	run(HOOK, self, "like_cuda");
}

static void absent_cuda_gives_not_found(void **state)
{
	(void)state;
	run(HOOK, self, "absent");
	run(HOOK ":" COPY, self, "absent");
}

static void other_library_keeps_its_rtld_next(void **state)
{
	(void)state;
	run(NEXT, self, "next_of_others");
	run(HOOK ":" NEXT, self, "next_of_others");
	run(NEXT ":" HOOK, self, "next_of_others");
	run(HOOK ":" COPY ":" NEXT, self, "next_of_others");
}

static void static_runtime_is_intercepted(void **state)
{
	(void)state;
	run(HOOK, self, "runtime");
	run(COPY ":" HOOK, self, "runtime");
}

static void looked_up_library_stays_loaded(void **state)
{
	(void)state;
	run(HOOK, self, "stays");
	run(HOOK ":" COPY, self, "stays");
}

static void plugin_is_intercepted(void **state)
{
	(void)state;
	run(HOOK, self, "plugin");
	run(HOOK ":" COPY, self, "plugin");
}

static void late_load_is_reported(void **state)
{
	(void)state;
	run(NULL, self, "late");
	run(LIBCUDA ":" HOOK, self, "behind_libcuda");
}

/* ---- test_hook again, with other libraries --------------------------------------------------------- */

#define AGAIN HOOKED "../../test_hook"

static void double_load_acts_once(void **state)
{
	(void)state;
	run(HOOK, AGAIN, NULL);
}

static void copy_of_hook_works_too(void **state)
{
	(void)state;
	run(COPY, AGAIN, NULL);
}

static void earlier_interceptor_sees_every_free(void **state)
{
	(void)state;
	setenv("MUST_SEE_FREES", "1", 1);
	run(OTHER, AGAIN, NULL);
	run(OTHER ":" HOOK, AGAIN, NULL);
	unsetenv("MUST_SEE_FREES");
}

static void later_interceptor_sees_every_free(void **state)
{
	(void)state;
	setenv("MUST_SEE_FREES", "1", 1);
	run(HOOK ":" OTHER, AGAIN, NULL);
	run(COPY ":" OTHER ":" HOOK, AGAIN, NULL);
	unsetenv("MUST_SEE_FREES");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_without_cuda_is_unchanged),
		cmocka_unit_test(absent_cuda_gives_not_found),
		cmocka_unit_test(other_library_keeps_its_rtld_next),
		cmocka_unit_test(static_runtime_is_intercepted),
		cmocka_unit_test(looked_up_library_stays_loaded),
		cmocka_unit_test(plugin_is_intercepted),
		cmocka_unit_test(late_load_is_reported),
		cmocka_unit_test(double_load_acts_once),
		cmocka_unit_test(copy_of_hook_works_too),
		cmocka_unit_test(earlier_interceptor_sees_every_free),
		cmocka_unit_test(later_interceptor_sees_every_free),
	};

	if (argc > 1)
		return play(argv[1]);
	self = argv[0];
	others = getenv("LD_PRELOAD") ? strdup(getenv("LD_PRELOAD")) : NULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
