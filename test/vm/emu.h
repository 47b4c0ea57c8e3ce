/* SPDX-License-Identifier: MIT */
/* Short forms of the calls of /dev/emugpu; each returns 0 or -errno. */
#ifndef TEST_EMU_H
#define TEST_EMU_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../emu/include/emugpu.h"

#define MIB ((uint64_t)1 << 20)

/* -1 when there is none, which fails every call with EBADF */
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

static inline int emu_counts(int fd, struct emugpu_test *test)
{
	*test = (struct emugpu_test){ .op = EMUGPU_TEST_COUNTS };
	return emu_call(fd, EMUGPU_IOC_TEST, test);
}

static inline int emu_translate(int fd, uint64_t va, struct emugpu_test *test)
{
	*test = (struct emugpu_test){ .op = EMUGPU_TEST_TRANSLATE, .translate.va = va };
	return emu_call(fd, EMUGPU_IOC_TEST, test);
}

static inline int emu_cpu_window(int fd, int mapped)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_CPU_WINDOW, .cpu_window.mapped = mapped };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

static inline int emu_delay_callback(int fd, unsigned int ms)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_DELAY_CALLBACK, .delay.ms = ms };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

static inline int emu_revoke(int fd, uint64_t va)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_REVOKE, .revoke.va = va };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

static inline int emu_peek(int fd, uint64_t vram_page, void *buf, unsigned int offset, unsigned int length)
{
	struct emugpu_test test = {
		.op = EMUGPU_TEST_PEEK,
		.peek = { .vram_page = vram_page, .buf = (uintptr_t)buf, .offset = offset, .length = length },
	};

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

static inline int emu_fail(int fd, unsigned int nth, int error)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_FAIL, .fail = { .nth = nth, .error = error } };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

/* Writes the GPU's PCI address to a file of its driver: "bind" or "unbind" */
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

/* Exit status of a child that runs @fn, or -1 */
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
