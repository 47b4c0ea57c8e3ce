// SPDX-License-Identifier: MIT
/*
 * The monitor: the contents of its reports. Tests of the calls check each rule: put, persistent,
 * dma, callback, version, exit, remove, rsync.
 */
#include "test/vm/harness/module.h"
#include "p2p.h"

static char text[64 << 10];

static const char *debugfs(const char *file)
{
	return module_debugfs(file, text, sizeof(text));
}

/* Find a line of a debugfs file with both words. Returns the line, NUL-terminated, or NULL. */
static const char *line_with(const char *file, const char *word, const char *other)
{
	char *line, *rest;

	debugfs(file);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, word) && strstr(line, other))
			return line;
	return NULL;
}

static unsigned long reported(const char *rule)
{
	const char *line = line_with("emugpu/violations", "p2p_check ", rule);

	return line ? strtoul(line, NULL, 10) : 0;
}

static int pin_slowly(unsigned int ms)
{
	return call(P2P_CHECK_GET, (struct p2p_check_call){ .va = VA, .length = PAGE, .sleep_ms = ms });
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

CASE(clean_consumer_breaks_no_rule)
{
	uint64_t before = violations();

	rules_watch(fd);
	two_blocks();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0 && unmap(0, 0) == 0 && put(0) == 0, "pin that is put");
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "pin that is revoked");
	EXPECT(get_flags(1, VA, PAGE, P2P_CHECK_IN_CALLBACK_UNMAP) == 0 && map(1, 0) == 0, "pin, unmapped by callback");
	EXPECT(get_persistent(2, VA + BLOCK, PAGE) == 0 && map(2, 0) == 0, "persistent pin");
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(pins() == 1 && unmap(2, 0) == 0 && put_persistent(2) == 0 && nothing_pinned(), "%u pins", pins());
	EXPECT(put(0) == 0, "a put that lost the race");
	EXPECT(get(0, VA, PAGE) == -EINVAL, "a get that is refused");
	EXPECT_NO_BREACH(fd);
	EXPECT(violations() == before, "%lu", violations() - before);
}

/* ---- slow callbacks ------------------------------------------------------------ */

CASE(callback_above_5_ms_is_reported)
{
	uint64_t before = violations();

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(pin_slowly(100) == 0, "get");
	free_one();
	EXPECT_BROKE(fd, EMUGPU_RULE_SLOW_CALLBACK, 1);
	EXPECT(violations() == before, "the slow callback is in the sum of violations");
}

CASE(slow_callback_limit_is_a_parameter)
{
	rules_watch(fd);
	EXPECT(module_set("emugpu/parameters/callback_ms", "2000") == 0, "parameter");
	one_block();
	CHECK_CASE();
	EXPECT(pin_slowly(30) == 0, "get");
	free_one();
	EXPECT_BROKE(fd, EMUGPU_RULE_SLOW_CALLBACK, 0);
	EXPECT(module_set("emugpu/parameters/callback_ms", "0") == 0, "parameter");
	one_block();
	CHECK_CASE();
	EXPECT(pin_slowly(30) == 0, "get");
	free_one();
	EXPECT_BROKE(fd, EMUGPU_RULE_SLOW_CALLBACK, 0);
	EXPECT(module_set("emugpu/parameters/callback_ms", "5") == 0, "parameter");
}

/* A host that stops the VM now and then makes the callbacks longer: test/host/verify runs this case so. */
CASE(short_callbacks_are_not_slow)
{
	unsigned int i;

	EXPECT(module_set("emugpu/parameters/callback_ms", "150") == 0, "parameter");
	rules_watch(fd);
	for (i = 0; i < 20; i++) {
		one_block();
		CHECK_CASE();
		EXPECT(pin_slowly(60) == 0, "get");
		free_one();
	}
	EXPECT_BROKE(fd, EMUGPU_RULE_SLOW_CALLBACK, 0);
	EXPECT(module_set("emugpu/parameters/callback_ms", "5") == 0, "parameter");
}

CASE(delay_by_control_is_not_reported)
{
	EXPECT(module_set("emugpu/parameters/callback_ms", "1000") == 0, "parameter");
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && emu_delay_callbacks(fd, 1500, 1) == 0, "get");
	free_one();
	EXPECT_BROKE(fd, EMUGPU_RULE_SLOW_CALLBACK, 0);
	EXPECT(module_set("emugpu/parameters/callback_ms", "5") == 0, "parameter");
}

/* ---- contents of the reports --------------------------------------------------------------- */

CASE(violations_are_listed_per_module)
{
	unsigned long before = reported("unaligned: ");

	EXPECT(!strncmp(debugfs("emugpu/violations"), "count module where rule\n", 24), "%.40s", text);
	EXPECT(get(0, VA + 1, PAGE) == -EINVAL && get(0, VA, 1) == -EINVAL, "get");
	EXPECT(reported("unaligned: ") == before + 2, "%lu", reported("unaligned: ") - before);
	EXPECT(line_with("emugpu/violations", "[p2p_check]", "unaligned: "), "no module in the line");
	EXPECT(line_with("emugpu/violations", "(12.2)", "unaligned: "), "no section of the guide in the line");
}

CASE(each_breach_is_logged)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned int lines = 0;
	ssize_t n;

	EXPECT(log >= 0 && lseek(log, 0, SEEK_END) == 0, "%s", strerror(errno));
	EXPECT(get(0, VA + 1, PAGE) == -EINVAL, "get");
	while ((n = read(log, text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		lines += strstr(text, "emugpu: violation by p2p_check, ") && strstr(text, "unaligned: ");
	}
	close(log);
	EXPECT(lines == 1, "%u", lines);
}

/* Load @name. Returns the name of the module that the monitor reports; "" if the load failed. */
static const char *breaks_as_it_is_loaded(const char *name)
{
	static char module[48];
	char file[64];

	snprintf(file, sizeof(file), "test/%s.ko", name);
	if (module_load(file, ""))
		return "";
	usleep(300000);		/* let a worker free the module's init memory */
	emu_violations(fd, EMUGPU_RULE_UNALIGNED, module);
	return module;
}

/* The init memory of the second module gets the addresses of the first module's freed init memory. */
CASE(calls_in_init_name_the_module)
{
	const char *module = breaks_as_it_is_loaded("p2p_check_init");

	EXPECT(!strcmp(module, "p2p_check_init"), "'%s'", module);
	module = breaks_as_it_is_loaded("p2p_check_init_too");
	EXPECT(!strcmp(module, "p2p_check_init_too"), "'%s'", module);
	EXPECT(!module_remove("p2p_check_init") && !module_remove("p2p_check_init_too"), "%s", strerror(errno));
}

static const char *pin_line(uint64_t va, uint64_t length, const char *kind, unsigned int mappings)
{
	static char wanted[128];

	snprintf(wanted, sizeof(wanted), "p2p_check %d %#llx %#llx %s %u", getpid(), (unsigned long long)va,
		 (unsigned long long)length, kind, mappings);
	return wanted;
}

static bool shows_pin(uint64_t va, uint64_t length, const char *kind, unsigned int mappings)
{
	return line_with("emugpu/pins", pin_line(va, length, kind, mappings), "");
}

CASE(each_pin_has_a_line)
{
	struct emugpu_context_new context;

	EXPECT(emu_context(fd, &context) == 0 && emu_alloc_in(fd, context.out_context, VA, BLOCK) == 0, "alloc");
	EXPECT(!strcmp(debugfs("emugpu/pins"), "module process address length kind mappings\n"), "%.200s", text);
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0 && map(0, 1) == 0, "get, map");
	EXPECT(get_token(1, context.out_p2p_token, 0, VA + PAGE, 2 * PAGE) == 0, "get by token");
	EXPECT(get_persistent(2, VA + 3 * PAGE, PAGE) == 0, "get persistent");
	EXPECT(shows_pin(VA, PAGE, "process", 2), "%s", debugfs("emugpu/pins"));
	EXPECT(shows_pin(VA + PAGE, 2 * PAGE, "token", 0), "%s", debugfs("emugpu/pins"));
	EXPECT(shows_pin(VA + 3 * PAGE, PAGE, "persistent", 0), "%s", debugfs("emugpu/pins"));
	EXPECT(put_persistent(2) == 0 && !shows_pin(VA + 3 * PAGE, PAGE, "persistent", 0), "put");
	EXPECT(emu_free(fd, VA) == 0 && emu_drop(fd, context.out_context) == 0, "free");
	EXPECT(!strcmp(debugfs("emugpu/pins"), "module process address length kind mappings\n"), "%.200s", text);
}

/* The call WARNs: the suite line must expect a splat. */
CASE_BY_NAME(strict_makes_a_breach_a_warning)
{
	EXPECT(module_set("emugpu/parameters/strict", "1") == 0, "parameter");
	rules_watch(fd);
	EXPECT(get(0, VA + 1, PAGE) == -EINVAL, "get");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 1);
}

VMTEST_MAIN
