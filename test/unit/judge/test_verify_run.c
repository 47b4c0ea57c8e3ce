// SPDX-License-Identifier: MIT
/* peerpin verify as a whole. fake_vm_run replaces emu/vm/run. */
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/unit/unit.h"

#define PEERPIN BUILD "/bin/peerpin"

static char root[] = "/tmp/peerpin-test.XXXXXX";
static char out[1 << 16], err[1 << 14];

/* ---- files ----------------------------------------------------------------------- */

static const char *path(const char *name)
{
	static char paths[4][PATH_MAX];
	static int next;
	char *at = paths[next++ % 4];

	snprintf(at, PATH_MAX, "%s/%s", root, name);
	return at;
}

static void read_file(const char *name, char *text, size_t size)
{
	FILE *file = fopen(path(name), "r");
	size_t length = file ? fread(text, 1, size - 1, file) : 0;

	text[length] = '\0';
	if (file)
		fclose(file);
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(path(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int lines_of(const char *name)
{
	char text[1 << 16];
	const char *p;
	int lines = 0;

	read_file(name, text, sizeof(text));
	for (p = text; (p = strchr(p, '\n')); p++)
		lines++;
	return lines;
}

static void remove_files(void)
{
	static const char *const names[] = { "boots", "ran", "test_args", "odd", "json", "html", "victim" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path(names[i]));
}

/* ---- running --------------------------------------------------------------------- */

static pid_t start(char *const *argv)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	setenv("PEERPIN_ROOT", root, 1);
	unsetenv("KERNEL");	/* of make check; the commands that verify prints name it */
	/* A shell that starts this program in the background ignores these signals. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	dup2(open(path("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
	dup2(open(path("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
	execv(PEERPIN, argv);
	_exit(127);
}

static int finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	read_file("out", out, sizeof(out));
	read_file("err", err, sizeof(err));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* @words: more arguments, separated by blanks */
static pid_t start_verify(const char *words)
{
	static char line[1024];
	char *argv[32], *rest = line;
	int argc = 0;

	snprintf(line, sizeof(line), "peerpin verify --driver %s --test %s%s%s", path("x.ko"), path("test"),
		 *words ? " " : "", words);
	while ((argv[argc] = strsep(&rest, " ")))
		argc++;
	return start(argv);
}

static int verify(const char *words)
{
	return finish(start_verify(words));
}

static int setup_root(void **state)
{
	char from[PATH_MAX];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	mkdir(path("emu"), 0700);
	mkdir(path("emu/vm"), 0700);
	mkdir(path("build"), 0700);
	mkdir(path("build/judge"), 0700);
	write_text("build/judge/guest", "");
	chmod(path("build/judge/guest"), 0700);
	write_text("test", "");
	chmod(path("test"), 0700);
	write_text("x.ko", "");
	return realpath("test/unit/judge/fake_vm_run", from) && !symlink(from, path("emu/vm/run")) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static int setup(void **state)
{
	(void)state;
	remove_files();
	write_text("odd", "");
	return 0;
}

static void says(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in: %s", what, text);
}

static void says_not(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("'%s' is in: %s", what, text);
}

/* ---- cases ----------------------------------------------------------------------- */

static void a_good_driver_is_clean(void **state)
{
	(void)state;
	assert_int_equal(verify(""), 0);
	says(out, "x.ko: clean\n");
	says(out, "rules broken: 0\n");
	says(out, "bus-addresses          13.3     ok\n");
	says_not(out, "BROKEN");
	says_not(out, "again:");
	assert_string_equal(err, "");
}

/*
 * Default boots: the recording; some scenarios of each kind, also with memory beyond 4 GiB and with an IOMMU; the other
 * scenarios of the first boot.
 */
static void each_boot_has_its_options(void **state)
{
	char boots[1 << 14], *first, *second, *other, *high, *iommu, *last, *rest = boots;

	(void)state;
	assert_int_equal(verify("--device nvme --kernel 6.12 -- one two"), 0);
	read_file("boots", boots, sizeof(boots));
	first = strsep(&rest, "\n");
	second = strsep(&rest, "\n");
	other = strsep(&rest, "\n");
	high = strsep(&rest, "\n");
	iommu = strsep(&rest, "\n");
	last = strsep(&rest, "\n");
	assert_string_equal(rest, "");
	says(first, " slub_debug=FZP --peer-type nvme");
	says(first, "--kernel 6.12");
	says(first, "--modules emu/emugpu kmod/peerpin kmod/peerpin_nv emu/judge ");
	says_not(second, "--iommu");
	says_not(second, "--mem");
	says(second, " --nvidia open ");
	says(other, " --nvidia proprietary ");
	says(high, " --mem 3072 ");
	says(high, " --nvidia open ");
	says_not(high, "--iommu");
	says(iommu, " --iommu ");
	says_not(iommu, "--mem");
	says_not(last, "--iommu");
	says_not(last, "--mem");
	read_file("test_args", boots, sizeof(boots));
	assert_string_equal(boots, "one two\n");
}

static void rdma_boots_have_an_adapter(void **state)
{
	char boots[1 << 14];

	(void)state;
	assert_int_equal(verify("--device rdma"), 0);
	read_file("boots", boots, sizeof(boots));
	says(boots, "--modules emu/emugpu kmod/peerpin kmod/peerpin_nv emu/ib_peer_shim emu/emurdma emu/judge ");
	says(boots, "--peers 0 --adapters 1 ");
	says(boots, "/guest --adapter ");
}

static void rdma_boot_of(const char *driver, const char *modules)
{
	char boots[1 << 14], words[PATH_MAX];

	remove_files();
	write_text("odd", "");
	write_text(driver, "");
	snprintf(words, sizeof(words), "--only plain --device rdma --driver %s", path(driver));
	assert_int_equal(verify(words), 0);
	read_file("boots", boots, sizeof(boots));
	says(boots, modules);
}

/* Only the adapter's own driver is loaded as the driver under test, and not before. */
static void adapters_driver_can_be_tested(void **state)
{
	(void)state;
	rdma_boot_of("emurdma.ko", "kmod/peerpin_nv emu/ib_peer_shim kmod/peerpin_ibpeer emu/judge --module-param peerpin_ibpeer.persistent=0 ");
	rdma_boot_of("my_emurdma.ko", "kmod/peerpin_nv emu/ib_peer_shim emu/emurdma emu/judge ");
}

/* If the event of a scenario did not occur, the scenario is no trial of the driver. */
static void missing_event_is_not_tried(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 != plain ] || return\necho \"fired $1 no\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 0);
	says(out, "callback-waits         11.3     not tried\n");
	says(out, "foreign-handle         11.6     not tried\n");
	says(out, "put-of-dead-table      12.3     ok\n");
}

static void test_without_pins_is_incomplete(void **state)
{
	(void)state;
	write_text("odd", "odd() {\necho \"event $1 user 1 close of /dev/x in 9 us\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 2);
	says(out, "x.ko: incomplete\n");
	says(out, "the test program has pinned no GPU memory");
	says(out, "put-of-dead-table      12.3     not tried\n");
	says_not(out, " ok\n");
}

static int verify_trial(const char *words, const char *trial)
{
	char odd[256];

	snprintf(odd, sizeof(odd), "odd() {\n[[ $2 != *=* || $2 = record=1 ]] || return\n"
		 "echo \"trial $1 %s\"; echo \"end $1 clean\"; }\n", trial);
	remove_files();
	write_text("odd", odd);
	return verify(words);
}

/* Only pins by the driver itself prove that the test called the driver. Pins by peerpin do not count. */
static void test_without_calls_is_incomplete(void **state)
{
	(void)state;
	assert_int_equal(verify_trial("", "3 pins 0 own 0 calls 1 devices"), 2);
	says(out, "x.ko: incomplete\n");
	says(out, "no call of the test program on a device of the driver was seen, so the driver was not tested");
	says_not(out, " ok\n");
	assert_int_equal(lines_of("boots"), 1);
	assert_int_equal(verify_trial("--only plain", "3 pins 0 own 0 calls 1 devices"), 2);
	assert_int_equal(verify_trial("", "3 pins 0 own 1 calls 1 devices"), 0);
	says_not(out, "no call");
	assert_int_equal(verify_trial("", "3 pins 0 own 0 calls 0 devices"), 0);
	says_not(out, "no call");
	assert_int_equal(verify_trial("", "3 pins 1 own 0 calls 1 devices"), 0);
	says(out, "x.ko: clean\n");
	says(out, "no call of the test program on a device of the driver was seen, so no fault was injected at a call");
}

static void single_scenario_needs_pins_too(void **state)
{
	static const char *const ids[] = { "plain", "iommu", "plain/copies-2", "plain/version-0x30000", "plain/bar1-65536" };
	char words[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		write_text("odd", "odd() {\necho \"trial $1 0 pins 0 own 7 calls 1 devices\"; echo \"end $1 clean\"; }\n");
		snprintf(words, sizeof(words), "--only %s", ids[i]);
		assert_int_equal(verify(words), 2);
		says(out, "the test program has pinned no GPU memory");
		says_not(out, " ok\n");
		write_text("odd", "");
		assert_int_equal(verify(words), 0);
		says(out, " ok\n");
	}
}

/* A test may skip itself, for example under an IOMMU. */
static void each_boot_needs_its_own_pins(void **state)
{
	(void)state;
	write_text("odd", "odd() {\ncase $1 in\n*iommu) echo \"trial $1 0 pins 0 own 7 calls 1 devices\" ;;\n"
		   "*iommu/*) echo \"fired $1 no\" ;;\n*) return 1\nesac\necho \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 0);
	says(out, "bus-addresses          13.3     not tried\n");
	says(out, "put-of-dead-table      12.3     ok\n");
}

/* A crash of the guest prevents the report of its pins. The crash is the verdict. */
static void crash_counts_without_pins(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain ] || return\n"
		   "echo 'Kernel panic - not syncing: x' >>\"$log\"; exit 70; }\n");
	assert_int_equal(verify("--only plain"), 1);
	says_not(out, "has pinned no GPU memory");
	assert_int_equal(verify(""), 1);
	says_not(out, "has pinned no GPU memory");
	assert_true(lines_of("ran") > 10);
	write_text("odd", "odd() {\n[ $1 = plain ] || return\n"
		   "echo \"finding $1 test-failed x.ko cannot be loaded: y\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify("--only plain"), 1);
	says_not(out, "has pinned no GPU memory");
}

static int line_of(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	int n = 0;

	if (!at)
		fail_msg("%s did not run", line);
	for (; at > text; at--)
		n += at[-1] == '\n';
	return n;
}

/* If the driver damages the VM without a fault, each scenario needs a VM. The scenarios that find most come first. */
static void damaged_vm_puts_off_trials(void **state)
{
	char ran[1 << 14];

	(void)state;
	verify("");
	read_file("ran", ran, sizeof(ran));
	assert_true(line_of(ran, "\nplain/copies-2\n") < line_of(ran, "\nplain/revoke-at-kernel-"));
	remove_files();
	write_text("odd", "odd() {\n[ $1 = plain ] || return\nrecord $1\necho \"trial $1 1 pins 1 own 2 calls 1 devices\"\n"
		   "echo \"finding $1 use-after-free x\"; echo \"end $1 dirty\"; exit 75; }\n");
	assert_int_equal(verify(""), 1);
	read_file("ran", ran, sizeof(ran));
	assert_true(line_of(ran, "\nplain/scatter-0\n") > line_of(ran, "\nplain/revoke-at-kernel-"));
	assert_true(line_of(ran, "\nplain/copies-2\n") > line_of(ran, "\niommu"));
	assert_int_equal(line_of(ran, "\nplain/copies-2\n") - line_of(ran, "\nplain/scatter-0\n"), 2);
}

static void interrupted_run_tried_nothing(void **state)
{
	(void)state;
	write_text("odd", "odd() {\nkill -INT $PPID; exec sleep 60; }\n");
	assert_int_equal(verify(""), 2);
	says(out, "0 scenarios in ");
	says(out, "\n6 of 6 scenarios were not tried: no fault 1 (all), scatter 1 (all), version 1 (all), ");
	says(out, "\n  all:      ");
	says(out, "/test --full\n");
	says(out, "put-of-dead-table      12.3     not tried\n");
	says_not(out, " ok\n");
}

/* nohup(1) ignores SIGHUP in the same way. */
static void ignored_hangup_ends_nothing(void **state)
{
	(void)state;
	write_text("odd", "odd() {\nkill -HUP $PPID; return 1; }\n");
	signal(SIGHUP, SIG_IGN);
	assert_int_equal(verify("--only plain"), 0);
	signal(SIGHUP, SIG_DFL);
	write_text("odd", "odd() {\nkill -HUP $PPID; exec sleep 60; }\n");
	assert_int_equal(verify("--only plain"), 2);
	says(out, "stopped by a signal");
	write_text("odd", "odd() {\nkill -QUIT $PPID; exec sleep 60; }\n");
	assert_int_equal(verify("--only plain"), 2);
	says(out, "stopped by a signal");
}

/* In the VM, driver and test run as root and can make links in the shared directory. */
static void guest_links_are_not_followed(void **state)
{
	char odd[PATH_MAX + 128], text[64];

	(void)state;
	write_text("victim", "mine\n");
	snprintf(odd, sizeof(odd), "odd() {\nfor file in \"${plan%%/*}\"/*; do ln -sf %s \"$file\"; done; return 1; }\n",
		 path("victim"));
	write_text("odd", odd);
	assert_int_equal(verify(""), 0);
	assert_true(lines_of("boots") > 1);
	read_file("victim", text, sizeof(text));
	assert_string_equal(text, "mine\n");
	write_text("odd", "odd() {\nrm \"$plan\"; mkdir -p \"$plan/full\"; return 1; }\n");
	assert_int_equal(verify(""), 0);
}

static void finding_before_interrupt_counts(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain/scatter-0 ] || return\n"
		   "echo \"finding $1 memory-leaked 64 bytes\"; kill -INT $PPID; exec sleep 60; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: memory-leaked: ");
	says(out, "stopped by a signal");
}

static void full_has_every_boot(void **state)
{
	char boots[1 << 14];

	(void)state;
	assert_int_equal(verify("--full --device none"), 0);
	read_file("boots", boots, sizeof(boots));
	/* The 6 boots of --quick, and each boot with more scenarios. The last of --quick is the first of these. */
	assert_int_equal(lines_of("boots"), 6 + 3);
	says(boots, " slub_debug=FZP --iommu --append iommu.strict=0 ");
	says(boots, "--module-param emugpu.bar_sharing=0");
	says(boots, "--peers 0");
}

static void allocation_failures_end_when_unused(void **state)
{
	char ran[1 << 14];

	(void)state;
	assert_int_equal(verify("--full"), 0);
	read_file("ran", ran, sizeof(ran));
	says(ran, "plain/alloc-8\n");
	says_not(ran, "plain/alloc-9\n");
	says_not(out, "not tried:");
}

/* The guest leaves out the scenarios after the first that found no allocation to fail. */
static void skipped_scenarios_are_no_gap(void **state)
{
	char ran[1 << 14];

	(void)state;
	write_text("odd", "skips() {\n[[ $1 = */alloc-[6-9] ]]; }\n");
	assert_int_equal(verify("--full"), 0);
	read_file("ran", ran, sizeof(ran));
	says(ran, "plain/alloc-5\n");
	says_not(ran, "plain/alloc-6\n");
	says(ran, "iommu\n");
	says_not(out, "not tried:");
}

static void broken_rule_is_reported(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n"
		   "[ $1 = plain/revoke-at-kernel-2 ] || return\n"
		   "echo \"finding $1 memory-leaked 64 bytes\"; echo \"finding $1 call-in-callback by x\"\n"
		   "echo \"log $1 a line\"; echo \"fired $1 yes\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify("-- it's"), 1);
	says(out, "x.ko: BROKEN: call-in-callback (11.3): ");
	says(out, "rules broken: 2\n");
	says(out, "memory-leaked                   BROKEN        1  plain/revoke-at-kernel-2\n");
	says(out, "plain/revoke-at-kernel-2: at the driver's event 2 (dma_map_pages by x) the GPU memory is revoked");
	says(out, "--only plain/revoke-at-kernel-2 -- 'it'\\''s'\n");
	says(out, "    a line\n");
}

/* A leak that is harmless with current GPU drivers comes last, and the worst error first, whatever was found first. */
static void worst_defect_is_the_headline(void **state)
{
	const char *splat, *dead, *leak, *table;

	(void)state;
	write_text("odd", "odd() {\n"
		   "case $1 in plain) echo \"finding $1 table-leaked x\" ;;\n"
		   "plain/scatter-0) echo \"finding $1 map-of-dead-table x\"; echo \"log $1 one line\" ;;\n"
		   "plain/copies-2) echo \"finding $1 kernel-splat BUG: x\"; echo \"finding $1 hang y\"\n"
		   "echo \"log $1 two lines\" ;;\n"
		   "*) return 1; esac; echo \"trial $1 1 pins 1 own 2 calls 1 devices\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: kernel-splat: ");
	splat = strstr(out, "\nkernel-splat: ");
	dead = strstr(out, "\nmap-of-dead-table: ");
	leak = strstr(out, "\ntable-leaked: ");
	table = strstr(out, "\nrule ");
	assert_true(splat && dead && leak && table && splat < dead && dead < leak && leak < table);
	says(splat, "  severity: crash or corruption\n");
	says(leak, "  severity: advice\n");
	assert_null(strstr(strstr(out, "two lines") + 1, "two lines"));
	says(dead, "    one line\n");
}

/* @plain: findings in another scenario than plain/copies-2, which has wrong data and a late transfer */
static void headline_is(const char *plain, const char *rule)
{
	char odd[1024], line[64];

	remove_files();
	snprintf(odd, sizeof(odd), "odd() {\ncase $1 in plain) %s ;;\n"
		 "plain/copies-2) echo \"finding $1 data-wrong x\"; echo \"finding $1 dma-after-callback x\" ;;\n"
		 "*) return ;; esac\necho \"end $1 clean\"; }\n", plain);
	write_text("odd", odd);
	assert_int_equal(verify(""), 1);
	snprintf(line, sizeof(line), "x.ko: BROKEN: %s", rule);
	says(out, line);
}

/* The emulator refuses the call. NVIDIA's driver dereferences the NULL pointer, and the kernel oopses. */
static void null_result_counts_as_crash(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain ] || return\necho \"finding $1 pins-left x\"\n"
		   "echo \"finding $1 null-result x\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: null-result: ");
	says(strstr(out, "\nnull-result: "), "  severity: crash or corruption\n");
}

/* Wrong data without a late transfer have another cause. */
static void cause_precedes_wrong_data(void **state)
{
	const char *cause, *symptom;

	(void)state;
	headline_is("return", "dma-after-callback");
	cause = strstr(out, "\ndma-after-callback: ");
	symptom = strstr(out, "\ndata-wrong: ");
	assert_true(cause && symptom && cause < symptom);
	says(out, "\ndma-after-callback     11.3     BROKEN        1  plain/copies-2\n"
	     "data-wrong             11.7     BROKEN        1  plain/copies-2\n");
	headline_is("echo \"finding $1 data-wrong x\"", "data-wrong");
	headline_is("echo \"finding $1 kernel-splat x\"", "kernel-splat");
}

/* A driver that calls no dma_map_pages could not break the rules about mappings. */
static void unused_calls_are_not_tried(void **state)
{
	(void)state;
	assert_int_equal(verify(""), 0);
	says(out, "unmap-of-dead-mapping  13.3     ok\n");
	says(out, "regions-left                    not tried\n");
	write_text("odd", "odd() {\n[ $1 = plain ] || return\necho \"event $1 kernel 1 get_pages by peerpin_nv\"\n"
		   "echo \"trial $1 1 pins 1 own 2 calls 1 devices\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 0);
	says(out, "unmap-of-dead-mapping  13.3     not tried\n");
	says(out, "regions-left                    ok\n");
}

/* Runs with this line of the guest about each revocation. */
static void verify_revoked(const char *revoked)
{
	char odd[256];

	remove_files();
	snprintf(odd, sizeof(odd), "odd() {\n[[ $2 = *event=* ]] || return\n"
		 "echo \"fired $1 yes\"; echo \"revoked $1 %s\"; echo \"end $1 clean\"; }\n", revoked);
	write_text("odd", odd);
	assert_int_equal(verify(""), 0);
}

/* A mapping of another driver's device, or one that was gone at each revocation, shows nothing. */
static void mapping_must_live_at_revocation(void **state)
{
	(void)state;
	verify_revoked("1 callbacks 0 notified 0 mapped");
	says(out, "dma-after-callback     11.3     ok\n");
	says(out, "mapped-after-callback  11.3     not tried\n");
	verify_revoked("1 callbacks 0 notified 1 mapped");
	says(out, "mapped-after-callback  11.3     ok\n");
}

/* A revocation of persistent pins runs no free callback. */
static void persistent_pins_try_no_callback(void **state)
{
	static const char *const rules[] = { "call-in-callback       11.3", "callback-waits         11.3",
					     "slow-callback          11.3", "table-leaked           11.3" };
	char line[64];
	size_t i;

	(void)state;
	verify_revoked("0 callbacks 0 notified 1 mapped");
	says(out, "dma-after-callback     11.3     not tried\n");
	says(out, "mapped-after-callback  11.3     not tried\n");
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		snprintf(line, sizeof(line), "%s     not tried\n", rules[i]);
		says(out, line);
	}
	says(out, "put-of-dead-table      12.3     ok\n");
}

/* An importer is notified; it has no free callback. */
static void notified_importers_try_no_callback(void **state)
{
	(void)state;
	verify_revoked("0 callbacks 2 notified 0 mapped");
	says(out, "dma-after-callback     11.3     ok\n");
	says(out, "slow-callback          11.3     not tried\n");
}

/* A revocation without an IOMMU, and an IOMMU without a revocation, find no DMA mapping that is left. */
static void one_scenario_must_try_all(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[[ $1 = iommu*/* ]] || return\necho \"fired $1 no\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 0);
	says(out, "bus-addresses          13.3     ok\n");
	says(out, "dma-after-callback     11.3     ok\n");
	says(out, "dma-mapped-after-callback 11.3     not tried\n");
}

static void same_bytes_are_noted(void **state)
{
	char odd[512];
	int same;

	(void)state;
	for (same = 0; same < 2; same++) {
		snprintf(odd, sizeof(odd), "odd() {\ncase $1 in plain) sum=1f ;; plain/scatter-0) sum=%s ;; *) return 1; esac\n"
			 "echo \"trial $1 1 pins 1 own 2 calls 1 devices\"; echo \"bytes $1 $sum\"\n"
			 "echo \"end $1 clean\"; }\n", same ? "1f" : "20");
		remove_files();
		write_text("odd", odd);
		assert_int_equal(verify(""), 0);
		assert_int_equal(!!strstr(out, "note: the test copies the same bytes to the GPU in each process"), same);
	}
}

/* The kernel refuses a module that uses symbols for GPL modules and symbols of a proprietary driver. */
static void refusal_is_only_a_note(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = other-nvidia ] || return\n[ \"$2\" = may-refuse=1 ] || return\n"
		   "echo \"refused $1 x: Unknown symbol put_pid (err -2)\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 0);
	says(out, "x.ko: clean\n");
	says(out, "\nnote: the kernel does not load the driver beside NVIDIA's proprietary driver: x: Unknown symbol put_pid ");
	assert_int_equal(verify("--nvidia proprietary"), 0);
	says(out, "\nnote: the kernel does not load the driver beside NVIDIA's open driver: ");
	assert_int_equal(verify("--nvidia closed"), 2);
}

static void a_splat(const char *log, const char *rule)
{
	char odd[1024], row[64];

	remove_files();
	snprintf(odd, sizeof(odd), "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		 "printf '%%s\\n' %s >>\"$log\"; exit 70; }\n", log);
	write_text("odd", odd);
	assert_int_equal(verify(""), 1);
	snprintf(row, sizeof(row), "x.ko: BROKEN: %s", rule);
	says(out, row);
	assert_int_equal(lines_of("boots"), 6 + 1);
}

static void dead_vm_is_judged_by_log(void **state)
{
	(void)state;
	a_splat("'[  1.3] BUG: kernel NULL pointer dereference'", "kernel-splat");
	says(out, "  found:    BUG: kernel NULL pointer dereference\n");
	a_splat("'[  1.3] BUG kmalloc-64 (Tainted: G): Poison overwritten' '[ 1.4] BUG: x'", "use-after-free");
	a_splat("'[  1.3] general protection fault, for address 0x6b6b6b6b6b6b6b6b'", "use-after-free");
	a_splat("'[  1.3] BUG kmalloc-64: Object already free'", "double-free");
	a_splat("'[  1.3] refcount_t: underflow; use-after-free.'", "refcount");
	a_splat("'[  1.3] emugpu: violation by x, f+0x1/0x2 [x]: put-of-dead-table: put (12.3)' '[ 1.4] BUG: x'",
		"kernel-splat: ");
	says(out, "put-of-dead-table      12.3     BROKEN ");
}

static void silent_vm_end_is_a_hang(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] && exit 124; return 1; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: hang");
	says(out, "    kernel: booted\n");
}

/* Name of the last scenario in the last VM. */
static const char *last_scenario(void)
{
	static char text[1 << 16];
	char *end;

	read_file("ran", text, sizeof(text));
	end = strrchr(text, '\n');
	assert_non_null(end);
	*end = '\0';
	end = strrchr(text, '\n');
	return end ? end + 1 : text;
}

static void log_in(const char *id, const char *line)
{
	char odd[512];

	snprintf(odd, sizeof(odd), "odd() {\n[ $1 != %s ] || echo '[    9.1] %s' >>\"$log\"; return 1; }\n", id, line);
	remove_files();
	write_text("odd", odd);
}

/* The guest itself reports a splat during the scenario. This splat comes after the end of the scenario. */
static void splat_after_scenario_end_counts(void **state)
{
	char last[64];

	(void)state;
	assert_int_equal(verify(""), 0);
	snprintf(last, sizeof(last), "%.60s", last_scenario());
	log_in(last, "BUG: unable to handle page fault for address: 0");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: kernel-splat");
	says(out, last);
	says(out, "    BUG: unable to handle");
	log_in(last, "DMAR: [DMA Write] fault addr 0x0");
	assert_int_equal(verify(""), 0);
	log_in(last, "all is well");
	assert_int_equal(verify(""), 0);
}

static void splat_before_scenario_is_ignored(void **state)
{
	(void)state;
	write_text("odd", "echo 'WARNING: at boot' >>\"$log\"\nodd() { return 1; }\n");
	assert_int_equal(verify("--only plain"), 0);
	write_text("odd", "odd() {\n[ $1 != plain ] || echo 'WARNING: at once' >>\"$log\"; return 1; }\n");
	assert_int_equal(verify("--only plain"), 1);
}

/* Log and report arrive on different paths. Here the report comes a second after the log. */
static void splat_may_precede_begin_line(void **state)
{
	(void)state;
	write_text("odd", "echo() {\n[ \"$1\" = 'begin plain/copies-2' ] || { builtin echo \"$@\"; return; }\n"
		   "printf '%s\\n' '[ 1.0] judge: a scenario begins' '[ 1.3] BUG: x' >>\"$log\"\n"
		   "sleep 1; builtin echo \"$1\"; exit 70; }\nodd() { return 1; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: kernel-splat");
}

/* emu/vm/run exits with status 70 if a log line looks like a splat. */
static void guest_failure_is_no_verdict(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo 'x 0000: WARNING: no firmware' >>\"$log\"; echo 'judge: no test' >&2; exit 70; }\n");
	assert_int_equal(verify(""), 2);
	says(err, "    judge: no test");
	remove_files();
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo 'WARNING: CPU: 0 at x.c:1' >>\"$log\"; echo 'judge: no /dev/emugpu' >&2; exit 70; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: kernel-splat");
}

static void unseen_events_are_no_verdict(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo \"untold $1 too many\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 2);
	says(out, "x.ko: incomplete");
	says(out, "rules broken: 0; 1 scenario may have missed a violation: too many");
	remove_files();
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo \"untold $1 too many\"; echo \"begin $1\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 0);
	remove_files();
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo \"untold $1 too many\"; echo \"finding $1 hang it hangs\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 1);
}

/* If QEMU crashes by itself, the scenario runs again. If QEMU crashes in every run, the scenario is reported. */
static void qemu_crash_is_retried(void **state)
{
	static const char *const where[] = { "plain", "plain/copies-2", "iommu" };
	char odd[512];
	int clean;
	size_t i;

	(void)state;
	assert_int_equal(verify(""), 0);
	clean = lines_of("ran");
	for (i = 0; i < 3; i++) {
		remove_files();
		unlink(path("crashed"));
		snprintf(odd, sizeof(odd), "odd() {\n[ $1 = %s ] && ! [ -e \"$root/crashed\" ] || return\n"
			 "record $1; >\"$root/crashed\"\n"
			 "echo 'watch: QEMU was ended by signal 11 (Segmentation fault)' >&2; exit 70; }\n", where[i]);
		write_text("odd", odd);
		assert_int_equal(verify(""), 0);
		assert_int_equal(lines_of("ran"), clean + 1);
		assert_int_equal(lines_of("boots"), 6 + 1);
	}
	remove_files();
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo 'watch: QEMU was ended by signal 6 (Aborted)' >&2; exit 70; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "x.ko: BROKEN: hang");
	assert_int_equal(lines_of("ran"), clean + 1);
}

/* After a crash or a dirty end, another VM runs the remaining scenarios, each once. */
static void every_scenario_runs_exactly_once(void **state)
{
	char ran[1 << 14], id[64], *rest = ran;
	const char *at;
	int clean;

	(void)state;
	assert_int_equal(verify(""), 0);
	clean = lines_of("ran");
	remove_files();
	write_text("odd", "odd() {\n"
		   "case $1 in plain/scatter-0) echo \"end $1 dirty\"; exit 75 ;;\n"
		   "plain/alloc-2 | iommu) exit 70 ;; esac; return 1; }\n");
	assert_int_equal(verify(""), 1);
	assert_int_equal(lines_of("ran"), clean);
	assert_int_equal(lines_of("boots"), 6 + 3);
	read_file("ran", ran, sizeof(ran));
	while ((at = strsep(&rest, "\n")) && *at && rest) {
		snprintf(id, sizeof(id), "\n%s\n", at);
		assert_null(strstr(rest, id));
	}
}

/* If the IOMMU stops the device before any revocation, the bus addresses were wrong from the start. */
static void iommu_fault_names_broken_rule(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[[ $1 = iommu* ]] || return\n"
		   "echo \"finding $1 late-iommu-fault x\"; echo \"fired $1 yes\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "BROKEN: dma-after-callback (11.3)");
	says(out, "bus-addresses          13.3     ok\n");
	write_text("odd", "odd() {\n[[ $1 = iommu* ]] || return\n[ $1 = iommu ] || late=late-\n"
		   "echo \"finding $1 ${late-}iommu-fault x\"; echo \"fired $1 yes\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(""), 1);
	says(out, "BROKEN: bus-addresses (13.3)");
	says(out, "dma-after-callback     11.3     ok\n");
}

static void unknown_rule_is_reported_as_other(void **state)
{
	(void)state;
	write_text("odd", "odd() {\necho \"finding $1 new-rule what\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify("--only plain"), 1);
	says(out, "BROKEN: other");
	says(out, "new-rule: what\n");
}

static void failed_boot_is_no_verdict(void **state)
{
	(void)state;
	write_text("odd", "echo 'no such kernel; type: x' >&2; exit 1\n");
	assert_int_equal(verify("--json " "/dev/null"), 2);
	says(err, "no such kernel; type: x\n");
	says_not(out, "clean");
	assert_int_equal(lines_of("boots"), 1);
}

/*
 * `TMPDIR= peerpin ...` sets an empty TMPDIR. It must not mean /: a directory there needs root and
 * is hard to find.
 */
static void empty_tmpdir_means_tmp(void **state)
{
	char boots[2048];

	(void)state;
	setenv("TMPDIR", "", 1);
	assert_int_equal(verify("--only plain"), 0);
	unsetenv("TMPDIR");
	read_file("boots", boots, sizeof(boots));
	says(boots, " --share /tmp/peerpin-verify.");
}

static void first_option_stops_at_finding(void **state)
{
	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo \"finding $1 data-wrong x\"; echo \"end $1 clean\"; sleep 100; }\n");
	assert_int_equal(verify("--first"), 1);
	says(out, "--first");
	assert_int_equal(lines_of("boots"), 1);
}

static void only_option_runs_one_scenario(void **state)
{
	char ran[256], boots[2048];

	(void)state;
	assert_int_equal(verify("--only iommu/during-1+300us"), 0);
	read_file("ran", ran, sizeof(ran));
	assert_string_equal(ran, "iommu/during-1+300us\n");
	read_file("boots", boots, sizeof(boots));
	says(boots, " slub_debug=FZPU ");
	says(out, "1 scenario in ");
	says(out, "foreign-handle         11.6     not tried\n");
	assert_int_equal(verify("--only iommu/during"), 2);
	says(err, "iommu/during");
}

/* After a change, a test may no longer reach the event. Then there is no verdict. */
static void only_option_reports_missing_event(void **state)
{
	(void)state;
	write_text("odd", "odd() {\necho \"fired $1 no\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify("--only plain/revoke-at-kernel-30"), 2);
	says(out, "x.ko: incomplete\n");
	says(out, "the test does not come so far");
	write_text("odd", "odd() {\necho \"finding $1 data-wrong x\"; echo \"fired $1 no\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify("--only plain/revoke-at-kernel-30"), 1);
}

static bool wait_for(const char *name, int lines)
{
	int i;

	for (i = 0; i < 500 && lines_of(name) < lines; i++)
		usleep(10000);
	return i < 500;
}

static int interrupt(int signo)
{
	pid_t pid = start_verify("");

	assert_true(wait_for("ran", 3));
	kill(pid, signo);
	return finish(pid);
}

static void interrupt_gives_partial_report(void **state)
{
	static const char sleeps[] = "trap 'echo >>\"$root/ended\"; exit 143' TERM\n"
		"odd() {\n[ $1 != plain ] || %s\n[ $1 = plain/version-0x30000 ] || return\nsleep 100 & wait; }\n";
	char odd[512];

	(void)state;
	snprintf(odd, sizeof(odd), sleeps, "return");
	write_text("odd", odd);
	assert_int_equal(interrupt(SIGINT), 2);
	says(out, "x.ko: incomplete\n2 scenarios in ");
	says(out, "stopped by a signal");
	assert_true(wait_for("ended", 1));
	snprintf(odd, sizeof(odd), sleeps, "echo \"finding $1 hang x\"");
	write_text("odd", odd);
	unlink(path("ran"));
	assert_int_equal(interrupt(SIGTERM), 1);
	says(out, "x.ko: BROKEN: hang");
	unlink(path("ran"));
	assert_int_equal(interrupt(SIGHUP), 1);
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(o, key, &value))
		fail_msg("%s is missing", key);
	return value;
}

static const char *text_of(struct json_object *o, const char *key)
{
	return json_object_get_string(member(o, key));
}

static void json_and_html_are_complete(void **state)
{
	struct json_object *o, *rule;
	char words[PATH_MAX];

	(void)state;
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\n"
		   "echo \"finding $1 bus-addresses say \\\"<x>\\\"\"; echo \"log $1 <b>\"; echo \"end $1 clean\"; }\n");
	snprintf(words, sizeof(words), "--json %s --html %s", path("json"), path("html"));
	assert_int_equal(verify(words), 1);
	o = json_object_from_file(path("json"));
	assert_non_null(o);
	assert_string_equal(text_of(o, "verdict"), "violations");
	assert_string_equal(text_of(o, "headline"), "bus-addresses");
	assert_null(member(o, "stopped"));
	assert_int_equal(json_object_array_length(member(o, "scenarios")), lines_of("ran"));
	rule = json_object_array_get_idx(member(o, "rules"), 0);
	assert_string_equal(text_of(rule, "verdict"), "BROKEN");
	assert_string_equal(text_of(rule, "section"), "13.3");
	assert_string_equal(text_of(rule, "scenario"), "plain/copies-2");
	assert_string_equal(text_of(rule, "finding"), "say \"<x>\"");
	says(text_of(rule, "repeat"), "--only plain/copies-2");
	json_object_put(o);
	read_file("html", out, sizeof(out));
	says(out, "say &quot;&lt;x&gt;&quot;");
	says(out, "&lt;b&gt;");
	says_not(out, "<b>");
	says(out, "<p class=\"verdict\">The driver broke 1 rule, first of all bus-addresses (crash or corruption): ");
	says(out, "</html>\n");
	write_text("odd", "odd() {\n[ $1 = plain/copies-2 ] || return\necho \"untold $1 <b>\"; echo \"end $1 clean\"; }\n");
	assert_int_equal(verify(words), 2);
	read_file("html", out, sizeof(out));
	says(out, "&lt;b&gt;");
	says_not(out, "<b>");
}

/* The position of @what in @text after @from */
static const char *after(const char *from, const char *what)
{
	const char *at = strstr(from, what);

	if (!at)
		fail_msg("'%s' is missing or too early", what);
	return at;
}

/* plain/scatter-0 runs before plain/copies-2, but its finding is of less severity. */
static void html_has_findings_before_rules(void **state)
{
	const char *at;
	char words[PATH_MAX];

	(void)state;
	write_text("odd", "odd() {\ncase $1 in plain/scatter-0) echo \"finding $1 pins-left x\" ;;\n"
		   "plain/copies-2) echo \"finding $1 use-after-free y\" ;;\n*) return 1; esac; echo \"end $1 clean\"; }\n");
	snprintf(words, sizeof(words), "--html %s", path("html"));
	assert_int_equal(verify(words), 1);
	read_file("html", out, sizeof(out));
	at = after(out, "<p class=\"verdict\">The driver broke 2 rules, first of all use-after-free (crash or corruption): ");
	at = after(at, "<h2 id=\"use-after-free\">");
	at = after(at, "a run of the --only command below may also show which functions allocated and freed "
		       "this memory");
	at = after(at, " --only plain/copies-2</pre>");
	at = after(at, "<h2 id=\"pins-left\">");
	at = after(at, "<p>lasting leak: ");
	at = after(at, " --only plain/scatter-0</pre>");
	at = after(at, "<h2>All rules</h2>");
	at = after(at, "<a href=\"#use-after-free\">plain/copies-2</a>");
	after(at, "<a href=\"#pins-left\">plain/scatter-0</a>");
	says_not(after(out, "<h2>All rules</h2>"), "<h2 ");
}

static void unwritable_report_is_no_verdict(void **state)
{
	(void)state;
	assert_int_equal(verify("--only plain --json /no/such/file"), 2);
	says(err, "/no/such/file could not be written");
	assert_int_equal(lines_of("boots"), 0);
	assert_int_equal(verify("--only plain --html /dev/full"), 2);
	remove_files();
	assert_int_equal(verify("--only plain --json /tmp"), 2);
	says(err, "/tmp could not be written: Is a directory");
	assert_int_equal(verify("--only plain --json  --html x"), 2);
	says(err, "a file without a name could not be written");
	assert_int_equal(verify("--only plain --html /tmp/no/"), 2);
	assert_int_equal(verify("--only plain --json /dev/null --html /dev/null"), 2);
	says(err, "give each its own file");
	assert_int_equal(lines_of("boots"), 0);
}

/* The reader of the pipe must get the whole report, without an early end of file. */
static void report_may_go_into_pipe(void **state)
{
	char command[2 * PATH_MAX], text[1 << 16];
	FILE *reader;

	(void)state;
	assert_int_equal(mkfifo(path("json"), 0600), 0);
	snprintf(command, sizeof(command), "timeout 60 cat %s", path("json"));
	reader = popen(command, "r");
	assert_non_null(reader);
	snprintf(command, sizeof(command), "--only plain --json %s", path("json"));
	assert_int_equal(verify(command), 0);
	text[fread(text, 1, sizeof(text) - 1, reader)] = '\0';
	assert_int_equal(pclose(reader), 0);
	says(text, "\"verdict\":\"clean\"");
}

/* After "| head" or in a closed terminal, verify must still write the report files. */
static void closed_stdout_spares_report_files(void **state)
{
	char command[3 * PATH_MAX], text[1 << 16];

	(void)state;
	/* Make a report that is larger than the buffer of stdio. */
	write_text("odd", "odd() {\necho \"finding $1 data-wrong x\"\n"
		   "for i in {1..40}; do echo \"log $1 $(printf %0190d $i)\"; done; echo \"end $1 clean\"; }\n");
	snprintf(command, sizeof(command), "PEERPIN_ROOT=%s %s verify --only plain --driver %s --test %s --json %s --html %s "
		 "2>%s | true", root, PEERPIN, path("x.ko"), path("test"), path("json"), path("html"), "/dev/null");
	assert_int_equal(system(command), 0);
	read_file("json", text, sizeof(text));
	says(text, "\"verdict\":\"violations\"");
	read_file("html", text, sizeof(text));
	says(text, "</html>");
}

static void bad_command_lines_are_refused(void **state)
{
	char *const no_driver[] = { (char *)"peerpin", (char *)"verify", NULL };

	(void)state;
	assert_int_equal(finish(start(no_driver)), 2);
	says(err, "--driver FILE.ko");
	assert_int_equal(verify("--test /no/such/test"), 2);
	says(err, "/no/such/test");
	assert_int_equal(verify("--driver /no/such.ko"), 2);
	says(err, "/no/such.ko");
	assert_int_equal(verify("--device floppy"), 2);
	says(err, "not floppy");
	assert_int_equal(verify("word"), 2);
	says(err, "after --");
	assert_int_equal(verify("--nonsense"), 2);
	says(err, "does not know --nonsense");
	assert_int_equal(verify("--json"), 2);
	says(err, "--json needs a value");
	assert_int_equal(lines_of("boots"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_good_driver_is_clean, setup),
		cmocka_unit_test_setup(each_boot_has_its_options, setup),
		cmocka_unit_test_setup(rdma_boots_have_an_adapter, setup),
		cmocka_unit_test_setup(adapters_driver_can_be_tested, setup),
		cmocka_unit_test_setup(missing_event_is_not_tried, setup),
		cmocka_unit_test_setup(test_without_pins_is_incomplete, setup),
		cmocka_unit_test_setup(test_without_calls_is_incomplete, setup),
		cmocka_unit_test_setup(single_scenario_needs_pins_too, setup),
		cmocka_unit_test_setup(each_boot_needs_its_own_pins, setup),
		cmocka_unit_test_setup(crash_counts_without_pins, setup),
		cmocka_unit_test_setup(damaged_vm_puts_off_trials, setup),
		cmocka_unit_test_setup(interrupted_run_tried_nothing, setup),
		cmocka_unit_test_setup(ignored_hangup_ends_nothing, setup),
		cmocka_unit_test_setup(guest_links_are_not_followed, setup),
		cmocka_unit_test_setup(finding_before_interrupt_counts, setup),
		cmocka_unit_test_setup(full_has_every_boot, setup),
		cmocka_unit_test_setup(allocation_failures_end_when_unused, setup),
		cmocka_unit_test_setup(skipped_scenarios_are_no_gap, setup),
		cmocka_unit_test_setup(worst_defect_is_the_headline, setup),
		cmocka_unit_test_setup(null_result_counts_as_crash, setup),
		cmocka_unit_test_setup(cause_precedes_wrong_data, setup),
		cmocka_unit_test_setup(unused_calls_are_not_tried, setup),
		cmocka_unit_test_setup(mapping_must_live_at_revocation, setup),
		cmocka_unit_test_setup(persistent_pins_try_no_callback, setup),
		cmocka_unit_test_setup(notified_importers_try_no_callback, setup),
		cmocka_unit_test_setup(one_scenario_must_try_all, setup),
		cmocka_unit_test_setup(same_bytes_are_noted, setup),
		cmocka_unit_test_setup(refusal_is_only_a_note, setup),
		cmocka_unit_test_setup(broken_rule_is_reported, setup),
		cmocka_unit_test_setup(dead_vm_is_judged_by_log, setup),
		cmocka_unit_test_setup(silent_vm_end_is_a_hang, setup),
		cmocka_unit_test_setup(splat_after_scenario_end_counts, setup),
		cmocka_unit_test_setup(splat_before_scenario_is_ignored, setup),
		cmocka_unit_test_setup(splat_may_precede_begin_line, setup),
		cmocka_unit_test_setup(guest_failure_is_no_verdict, setup),
		cmocka_unit_test_setup(unseen_events_are_no_verdict, setup),
		cmocka_unit_test_setup(qemu_crash_is_retried, setup),
		cmocka_unit_test_setup(every_scenario_runs_exactly_once, setup),
		cmocka_unit_test_setup(iommu_fault_names_broken_rule, setup),
		cmocka_unit_test_setup(unknown_rule_is_reported_as_other, setup),
		cmocka_unit_test_setup(failed_boot_is_no_verdict, setup),
		cmocka_unit_test_setup(empty_tmpdir_means_tmp, setup),
		cmocka_unit_test_setup(first_option_stops_at_finding, setup),
		cmocka_unit_test_setup(only_option_runs_one_scenario, setup),
		cmocka_unit_test_setup(only_option_reports_missing_event, setup),
		cmocka_unit_test_setup(interrupt_gives_partial_report, setup),
		cmocka_unit_test_setup(json_and_html_are_complete, setup),
		cmocka_unit_test_setup(html_has_findings_before_rules, setup),
		cmocka_unit_test_setup(unwritable_report_is_no_verdict, setup),
		cmocka_unit_test_setup(report_may_go_into_pipe, setup),
		cmocka_unit_test_setup(closed_stdout_spares_report_files, setup),
		cmocka_unit_test_setup(bad_command_lines_are_refused, setup),
	};

	return cmocka_run_group_tests(tests, setup_root, remove_root);
}
