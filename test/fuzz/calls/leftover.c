// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "emu/include/emugpu.h"
#include "leftover.h"

enum { WAIT_S = 10 };

static int test(int fd, struct emugpu_test *args)
{
	return ioctl(fd, EMUGPU_IOC_TEST, args) ? -errno : 0;
}

/* Reset the settings: they outlive the programs that made them. */
static void quieten(int fd)
{
	struct emugpu_test ops[] = {
		{ .op = EMUGPU_TEST_FAIL, .fail.call = EMUGPU_CALL_GET_PAGES },
		{ .op = EMUGPU_TEST_FAIL, .fail.call = EMUGPU_CALL_DMA_MAP_PAGES },
		{ .op = EMUGPU_TEST_PLAN },
		{ .op = EMUGPU_TEST_DELAY_CALLBACK },
		{ .op = EMUGPU_TEST_BAR1_FREE, .bar1_free.bytes = ~0ull },
		{ .op = EMUGPU_TEST_CPU_WINDOW, .cpu_window.mapped = 1 },
		{ .op = EMUGPU_TEST_GUARD },
		{ .op = EMUGPU_TEST_STASH },
		{ .op = EMUGPU_TEST_STASH, .gpu = 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		test(fd, &ops[i]);
}

/* The one client that may remain is this process. */
static bool gpu_is_empty(int fd, uint32_t gpu, char *why)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_COUNTS, .gpu = gpu };
	int err = test(fd, &args);

	snprintf(why, LEFTOVER_MAX, "GPU %u: error %d, %u pins, %u DMA maps, %u blocks, %u clients", gpu, err,
		 args.counts.out_pins, args.counts.out_dma_maps, args.counts.out_blocks, args.counts.out_clients);
	if (err == -ENODEV && gpu)
		return true;
	return !err && !args.counts.out_pins && !args.counts.out_dma_maps && !args.counts.out_blocks &&
	       args.counts.out_clients == 1;
}

static bool gpus_are_empty(int fd, char *why)
{
	uint32_t gpu;

	for (gpu = 0; gpu < EMUGPU_GPUS_MAX; gpu++)
		if (!gpu_is_empty(fd, gpu, why))
			return false;
	return true;
}

/* The kernel releases files a moment after the end of their process. */
static bool gpus_get_empty(int fd, char *why)
{
	int tries;

	for (tries = 0; tries < WAIT_S * 10; tries++) {
		if (gpus_are_empty(fd, why))
			return true;
		usleep(100000);
	}
	return false;
}

/* Ignore the rule on slow callbacks: with so many processes a callback waits for a CPU. */
static bool no_rule_is_broken(int fd, char *why)
{
	struct emugpu_test args;
	uint32_t rule;

	for (rule = 0; rule < EMUGPU_RULES; rule++) {
		args = (struct emugpu_test){ .op = EMUGPU_TEST_VIOLATIONS, .violations.rule = rule };
		if (test(fd, &args)) {
			snprintf(why, LEFTOVER_MAX, "emulator: cannot read the violations of rule %u: %s", rule,
				 strerror(errno));
			return false;
		}
		if (rule == EMUGPU_RULE_SLOW_CALLBACK || !args.violations.out_count)
			continue;
		snprintf(why, LEFTOVER_MAX, "rule %u of the emulator was broken %llu times, by %.48s", rule,
			 (unsigned long long)args.violations.out_count, args.violations.out_module);
		return false;
	}
	return true;
}

/* Read a file of debugfs without the heading. */
static void read_below(const char *file, char *text, size_t room)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/peerpin/%s", file);
	f = fopen(path, "re");
	snprintf(text, room, "%s", f && fgets(line, sizeof(line), f) ? "" : "cannot be read");
	while (f && fgets(line, sizeof(line), f))
		snprintf(text + strlen(text), room - strlen(text), "%s", line);
	if (f)
		fclose(f);
}

static bool core_is_empty(char *why)
{
	char regions[96], accounts[96];

	read_below("regions", regions, sizeof(regions));
	read_below("accounts", accounts, sizeof(accounts));
	snprintf(why, LEFTOVER_MAX, "regions: %s accounts: %s", regions, accounts);
	return !*regions && !strcmp(accounts, "all 0 - - - -\n");
}

void leftover_tell(void)
{
	struct emugpu_test args = { .op = EMUGPU_TEST_COUNTS };
	int fd = open("/dev/emugpu", O_RDWR | O_CLOEXEC);

	if (!test(fd, &args))
		printf("# the GPU: %llu pins requested, %llu put, %llu revoked\n",
		       (unsigned long long)args.counts.out_get_calls, (unsigned long long)args.counts.out_put_calls,
		       (unsigned long long)args.counts.out_callbacks);
	if (fd >= 0)
		close(fd);
}

bool leftover_none(char why[LEFTOVER_MAX])
{
	int fd = open("/dev/emugpu", O_RDWR | O_CLOEXEC);
	bool none;

	quieten(fd);
	none = gpus_get_empty(fd, why) && core_is_empty(why) && no_rule_is_broken(fd, why);
	if (fd >= 0)
		close(fd);
	return none;
}
