// SPDX-License-Identifier: MIT
/*
 * The part of `peerpin verify` that runs in the virtual machine. It runs the scenarios
 * of a plan in order and prints the findings. Exit status:
 *	0	all scenarios ran
 *	2	error
 *	75	the remaining scenarios need a fresh VM
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "driver.h"
#include "emulator.h"
#include "emu/judge/log/kmsg.h"
#include "plan.h"
#include "scenario.h"
#include "test.h"

enum {
	EXIT_CANNOT = 2,
	EXIT_DIRTY = 75,
};

__attribute__((format(printf, 1, 2), noreturn))
static void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("judge: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_CANNOT);
}

static void must(int ret, const char *what)
{
	if (ret)
		die("%s: %s", what, strerror(-ret));
}

static FILE *open_all(const char *plan, const char *test)
{
	FILE *file = fopen(plan, "re");

	if (!file)
		die("%s: %s", plan, strerror(errno));
	if (strchr(test, '/') && access(test, X_OK))
		die("%s: %s", test, strerror(errno));
	must(emulator_open(), "/dev/emugpu (is emugpu.ko loaded?)");
	must(access("/sys/kernel/debug/judge/leaks", R_OK) ? -errno : 0, "judge.ko (is it loaded?)");
	must(kmsg_open(), "/dev/kmsg");
	return file;
}

/* Returns whether the VM can run another scenario. */
static int run_line(char *line, const struct driver *driver, char **test)
{
	static struct scenario scenario;
	char why[PLAN_WHY_MAX];
	int ret;

	line[strcspn(line, "\n")] = '\0';
	ret = plan_parse(line, &scenario, why);
	if (ret < 0)
		die("plan: %s", why);
	if (ret)
		return 1;
	ret = scenario_run(&scenario, driver, test);
	if (ret < 0)
		die("%s: %s", scenario.id, strerror(-ret));
	return !ret;
}

int main(int argc, char **argv)
{
	char line[PLAN_LINE_MAX];
	struct driver driver;
	int fit = 1;
	FILE *plan;

	if (argc > 2 && !strcmp(argv[1], "--adapter")) {
		adapter_init(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (argc < 4)
		die("usage: guest [--adapter SCRIPT] PLAN \"DRIVER.ko K=V...\" TEST [ARG]...");
	must(driver_init(&driver, argv[2]), argv[2]);
	plan = open_all(argv[1], argv[3]);
	if (driver_is_loaded(&driver))
		die("%s is already loaded; type: rmmod %s", driver.name, driver.name);
	must(tests_init(), "children in /proc (is CONFIG_PROC_CHILDREN set?)");
	while (fit && fgets(line, sizeof(line), plan))
		fit = run_line(line, &driver, argv + 3);
	fclose(plan);
	return fit ? 0 : EXIT_DIRTY;
}
