/* SPDX-License-Identifier: MIT */
/* Calls of /dev/core_check, and checks that the core holds nothing. Each call returns 0 or -errno. */
#ifndef TEST_CORE_H
#define TEST_CORE_H

#include <stdbool.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "pin.h"
#include "test/vm/harness/vmtest.h"
#include "test/kmod/core_check.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 65536,
	BLOCK = 2 << 20,
};

static int gpu, core;

static inline int core_open(void)
{
	return open("/dev/core_check", O_RDWR | O_CLOEXEC);
}

/* The first case of each program calls this: both device nodes must be open. */
#define EXPECT_CORE() \
	EXPECT(gpu >= 0 && core >= 0, "%d %d; type: emu/vm/run --insmod build/KERNEL/test/core_check.ko ...", gpu, core)

/* Opens the nodes before any case, so that each case can run alone. */
__attribute__((constructor)) static void core_open_nodes(void)
{
	gpu = emu_open();
	core = core_open();
}

static inline int core_call(int fd, enum core_check_op op, struct core_check *c)
{
	c->op = op;
	return ioctl(fd, CORE_CHECK_IOC, c) ? -errno : 0;
}

/* Calls on the device @peer that have no result except an error. */
static inline int core_do(int fd, enum core_check_op op, unsigned int peer)
{
	struct core_check c = { .peer = peer };

	return core_call(fd, op, &c);
}

static inline int core_do_in_irq(int fd, enum core_check_op op, unsigned int peer)
{
	struct core_check c = { .peer = peer, .in_irq = 1 };

	return core_call(fd, op, &c);
}

static inline int core_register(unsigned int peer)
{
	return core_do(core, CORE_CHECK_REGISTER, peer);
}

static inline int core_unregister(unsigned int peer)
{
	return core_do(core, CORE_CHECK_UNREGISTER, peer);
}

static inline unsigned int core_stops(unsigned int peer)
{
	struct core_check c = { .peer = peer };

	return core_call(core, CORE_CHECK_STOPS, &c) ? ~0u : c.out_count;
}

static inline int core_pin(int fd, uint64_t addr, uint64_t length)
{
	struct core_check c = { .addr = addr, .length = length };

	return core_call(fd, CORE_CHECK_PIN, &c);
}

static inline int core_pin_by(int fd, uint64_t addr, uint64_t length, unsigned int provider, unsigned int flags)
{
	struct core_check c = { .addr = addr, .length = length, .provider = provider, .flags = flags };

	return core_call(fd, CORE_CHECK_PIN, &c);
}

static inline int core_get(int fd, int peerpin, uint32_t region)
{
	struct core_check c = { .fd = peerpin, .region = region };

	return core_call(fd, CORE_CHECK_GET, &c);
}

static inline int core_begin(int fd, unsigned int peer, unsigned int flight, uint64_t offset, uint64_t length)
{
	struct core_check c = { .peer = peer, .flight = flight, .offset = offset, .length = length };

	return core_call(fd, CORE_CHECK_BEGIN, &c);
}

static inline int core_begin_until_stopped(int fd, unsigned int peer, unsigned int flight, uint64_t length)
{
	struct core_check c = { .peer = peer, .flight = flight, .length = length, .end_in_stop = 1 };

	return core_call(fd, CORE_CHECK_BEGIN, &c);
}

/* @times transfers of a page, each with look-ups. @turns: transfers that followed one of another processor */
static inline int core_transfers(int fd, int peerpin, uint32_t region, unsigned int peer, unsigned int times,
				 unsigned int *turns)
{
	struct core_check c = { .fd = peerpin, .region = region, .peer = peer, .length = PAGE, .max = times };
	int ret = core_call(fd, CORE_CHECK_TRANSFERS, &c);

	*turns = c.out_count;
	return ret;
}

static inline int core_end(int fd, unsigned int flight)
{
	struct core_check c = { .flight = flight };

	return core_call(fd, CORE_CHECK_END, &c);
}

/* 1: stale; 0: not stale; or -errno */
static inline int core_stale(int fd, unsigned int flight)
{
	struct core_check c = { .flight = flight };

	return core_call(fd, CORE_CHECK_STALE, &c) ?: (int)c.out_count;
}

/* ---- tracing ---- */

#define TRACING "/sys/kernel/tracing/"

/* Write @text to a file, opened with @flags too. */
static inline int text_to(const char *path, const char *text, int flags)
{
	int node = open(path, O_WRONLY | O_CLOEXEC | flags);
	int ret = node >= 0 && write(node, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;

	close(node);
	return ret;
}

/* ---- leftovers ---- */

static inline bool core_regions_are_none(void)
{
	static char text[1 << 16];

	return !strchr(strchrnul(module_debugfs("peerpin/regions", text, sizeof(text)), '\n') + 1, '\n');
}

/* The file has lines of "PID BYTES ..."; the last line is "all BYTES ...". */
static inline bool core_accounts_are_0(void)
{
	static char text[1 << 16];
	const char *line = module_debugfs("peerpin/accounts", text, sizeof(text));
	unsigned long bytes = ~0ul;

	while ((line = strchr(line, '\n')) && sscanf(++line, "%*s %lu", &bytes) == 1)
		if (bytes)
			return false;
	return bytes == 0;
}

static inline bool core_is_clean(void)
{
	struct emugpu_info info;
	struct emugpu_test t;

	return !emu_counts(gpu, &t) && !t.counts.out_pins && !emu_info(gpu, 0, &info) && !info.out_bar1_used &&
	       core_regions_are_none() && core_accounts_are_0();
}

/* Work items may still run for a moment, so try for a while. */
static inline bool core_gets_clean(void)
{
	int i;

	for (i = 0; i < 200 && !core_is_clean(); i++)
		usleep(10000);
	return core_is_clean();
}

static inline void core_expect_clean(int line)
{
	struct emugpu_test t;

	if (core_gets_clean())
		return;
	emu_counts(gpu, &t);
	vmtest_end(VMTEST_FAILED, "line %d: left: %u pins of the GPU, regions %d, accounts %d", line, t.counts.out_pins,
		   !core_regions_are_none(), !core_accounts_are_0());
}

#define EXPECT_CLEAN() \
	do { \
		core_expect_clean(__LINE__); \
		CHECK_CASE(); \
	} while (0)

#endif
