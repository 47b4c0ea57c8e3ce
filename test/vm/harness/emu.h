/* SPDX-License-Identifier: MIT */
/* Short forms of the calls of /dev/emugpu. Each returns 0 or -errno. */
#ifndef TEST_EMU_H
#define TEST_EMU_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/include/emugpu.h"

#define MIB ((uint64_t)1 << 20)

/* Open /dev/emugpu; -1 without a device. Each call on -1 fails with EBADF. */
static inline int emu_open(void)
{
	return open("/dev/emugpu", O_RDWR | O_CLOEXEC);
}

static inline int emu_call(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

static inline int emu_info(int fd, unsigned int gpu, struct emugpu_info *info)
{
	*info = (struct emugpu_info){ .gpu = gpu };
	return emu_call(fd, EMUGPU_IOC_INFO, info);
}

static inline int emu_alloc_on(int fd, unsigned int gpu, uint64_t va, uint64_t size)
{
	struct emugpu_alloc alloc = { .gpu = gpu, .va = va, .size = size };

	return emu_call(fd, EMUGPU_IOC_ALLOC, &alloc);
}

static inline int emu_alloc(int fd, uint64_t va, uint64_t size)
{
	return emu_alloc_on(fd, 0, va, size);
}

/* Allocate in @context (0: no context). Map @memory from @offset on; @memory 0: new memory. */
static inline int emu_alloc_in(int fd, uint32_t context, uint64_t va, uint64_t size)
{
	struct emugpu_alloc alloc = { .va = va, .size = size, .context = context };

	return emu_call(fd, EMUGPU_IOC_ALLOC, &alloc);
}

static inline int emu_alloc_memory(int fd, uint32_t memory, uint64_t offset, uint64_t va, uint64_t size)
{
	struct emugpu_alloc alloc = { .va = va, .size = size, .memory = memory, .offset = offset };

	return emu_call(fd, EMUGPU_IOC_ALLOC, &alloc);
}

static inline int emu_memory(int fd, uint64_t size, uint32_t *memory)
{
	struct emugpu_memory_new arg = { .size = size };
	int err = emu_call(fd, EMUGPU_IOC_MEMORY, &arg);

	*memory = arg.out_memory;
	return err;
}

static inline int emu_context(int fd, struct emugpu_context_new *context)
{
	*context = (struct emugpu_context_new){ .gpu = 0 };
	return emu_call(fd, EMUGPU_IOC_CONTEXT, context);
}

static inline int emu_drop(int fd, uint32_t id)
{
	struct emugpu_drop arg = { .id = id };

	return emu_call(fd, EMUGPU_IOC_DROP, &arg);
}

static inline int emu_free(int fd, uint64_t va)
{
	struct emugpu_free arg = { .va = va };

	return emu_call(fd, EMUGPU_IOC_FREE, &arg);
}

static inline int emu_copy(int fd, enum emugpu_copy_kind kind, uint64_t dst, uint64_t src, uint64_t length)
{
	struct emugpu_copy copy = { .kind = kind, .dst = dst, .src = src, .length = length };

	return emu_call(fd, EMUGPU_IOC_COPY, &copy);
}

static inline int emu_write(int fd, uint64_t dst, const void *src, uint64_t length)
{
	return emu_copy(fd, EMUGPU_COPY_HTOD, dst, (uintptr_t)src, length);
}

static inline int emu_read(int fd, void *dst, uint64_t src, uint64_t length)
{
	return emu_copy(fd, EMUGPU_COPY_DTOH, (uintptr_t)dst, src, length);
}

static inline int emu_fill(int fd, uint64_t dst, unsigned int elem, uint64_t pattern, uint64_t length)
{
	struct emugpu_copy copy = { .kind = EMUGPU_FILL, .elem = elem, .dst = dst, .src = pattern, .length = length };

	return emu_call(fd, EMUGPU_IOC_COPY, &copy);
}

static inline int emu_test(int fd, struct emugpu_test *test)
{
	return emu_call(fd, EMUGPU_IOC_TEST, test);
}

static inline int emu_counts_of(int fd, unsigned int gpu, struct emugpu_test *test)
{
	*test = (struct emugpu_test){ .op = EMUGPU_TEST_COUNTS, .gpu = gpu };
	return emu_test(fd, test);
}

static inline int emu_counts(int fd, struct emugpu_test *test)
{
	return emu_counts_of(fd, 0, test);
}

static inline int emu_translate(int fd, uint64_t va, struct emugpu_test *test)
{
	*test = (struct emugpu_test){ .op = EMUGPU_TEST_TRANSLATE, .translate.va = va };
	return emu_test(fd, test);
}

static inline int emu_cpu_window(int fd, int mapped)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_CPU_WINDOW, .cpu_window.mapped = mapped };

	return emu_test(fd, &test);
}

/* Delay the next @count callbacks; 0: all callbacks */
static inline int emu_delay_callbacks(int fd, unsigned int ms, unsigned int count)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_DELAY_CALLBACK, .delay = { .ms = ms, .count = count } };

	return emu_test(fd, &test);
}

static inline int emu_delay_callback(int fd, unsigned int ms)
{
	return emu_delay_callbacks(fd, ms, 0);
}

static inline int emu_revoke_range(int fd, uint64_t va, uint64_t length)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_REVOKE, .revoke = { .va = va, .length = length } };

	return emu_test(fd, &test);
}

/* Revoke every pin of the block. */
static inline int emu_revoke(int fd, uint64_t va)
{
	return emu_revoke_range(fd, va, 0);
}

static inline int emu_peek(int fd, uint64_t vram_page, void *buf, unsigned int offset, unsigned int length)
{
	struct emugpu_test test = {
		.op = EMUGPU_TEST_PEEK,
		.peek = { .vram_page = vram_page, .buf = (uintptr_t)buf, .offset = offset, .length = length },
	};

	return emu_test(fd, &test);
}

static inline int emu_fail_call(int fd, enum emugpu_test_call call, unsigned int nth, int error)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_FAIL, .fail = { .nth = nth, .error = error, .call = call } };

	return emu_test(fd, &test);
}

static inline int emu_fail(int fd, unsigned int nth, int error)
{
	return emu_fail_call(fd, EMUGPU_CALL_GET_PAGES, nth, error);
}

static inline int emu_scatter(int fd, unsigned int on)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_SCATTER, .scatter.on = on };

	return emu_test(fd, &test);
}

static inline int emu_bar1_free(int fd, uint64_t left)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_BAR1_FREE, .bar1_free.bytes = left };

	return emu_test(fd, &test);
}

static inline int emu_plan(int fd, unsigned int nth, enum emugpu_event_action action)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_PLAN, .plan = { .nth = nth, .action = action } };

	return emu_test(fd, &test);
}

/* Store up to @max events in @events, and the number of all events in @count. */
static inline int emu_events(int fd, struct emugpu_event *events, unsigned int max, unsigned int *count)
{
	struct emugpu_test test = {
		.op = EMUGPU_TEST_EVENTS,
		.events = { .buf = (uintptr_t)events, .max = max },
	};
	int err = emu_test(fd, &test);

	*count = test.events.out_count;
	return err;
}

static inline int emu_revoke_all(int fd, unsigned int gpu)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_REVOKE_ALL, .gpu = gpu };

	return emu_test(fd, &test);
}

static inline int emu_guard(int fd, unsigned int ms)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_GUARD, .guard.ms = ms };

	return emu_test(fd, &test);
}

static inline int emu_guard_mappings(int fd, unsigned int on)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_GUARD, .guard.mapped = on };

	return emu_test(fd, &test);
}

/* @changed: with @on 0, the number of pages written since the stash began */
static inline int emu_stash(int fd, unsigned int on, unsigned int *changed)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_STASH, .stash.on = on };
	int err = emu_test(fd, &test);

	*changed = test.stash.out_changed;
	return err;
}

/* Number of violations of @rule; -1: the call failed. @module (48 bytes) gets the last module that broke @rule. */
static inline uint64_t emu_violations(int fd, enum emugpu_rule rule, char *module)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_VIOLATIONS, .violations.rule = rule };

	if (emu_test(fd, &test))
		return -1;
	memcpy(module, test.violations.out_module, sizeof(test.violations.out_module));
	return test.violations.out_count;
}

/* Write the GPU's PCI address to the driver's sysfs file @file, "bind" or "unbind". */
static inline int emu_sysfs(const struct emugpu_info *info, const char *file)
{
	char path[64], address[32];
	int n, err, sysfs;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/emugpu/%s", file);
	n = snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", info->out_domain, info->out_bus,
		     info->out_device, info->out_function);
	sysfs = open(path, O_WRONLY);
	err = write(sysfs, address, n) == n ? 0 : -errno;
	close(sysfs);
	return err;
}

/* Run @fn in a child. Returns the exit status, or -1. */
static inline int emu_in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#endif
