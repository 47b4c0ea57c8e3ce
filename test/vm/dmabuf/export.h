/* SPDX-License-Identifier: MIT */
/* dma-bufs of regions, and the importer dmabuf_check.ko. A slot is an attachment. */
#ifndef TEST_EXPORT_H
#define TEST_EXPORT_H

#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"

#include "dmabuf.h"	/* last: parameters in the other headers have the names of variables in this header */

static int peerpin, kernel_log;

/* Opens the node before any case, so that each case can run alone. */
__attribute__((constructor)) static void open_peerpin(void)
{
	peerpin = pin_open();
	kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static inline int export_by_file(int file, uint32_t region, uint64_t offset, uint64_t length)
{
	struct peerpin_export c = { .size = sizeof(c), .region = region, .offset = offset, .length = length };

	return ioctl(file, PEERPIN_IOC_EXPORT, &c) ? -errno : c.out_fd;
}

static inline int export_part(uint32_t region, uint64_t offset, uint64_t length)
{
	return export_by_file(peerpin, region, offset, length);
}

static inline int pin_persistent(int file, uint64_t addr, uint64_t length, struct peerpin_pin *pin)
{
	*pin = (struct peerpin_pin){
		.size = sizeof(*pin), .addr = addr, .length = length, .flags = PEERPIN_PIN_PERSISTENT,
	};
	return ioctl(file, PEERPIN_IOC_PIN, pin) ? -errno : 0;
}

/* Attach and map. The importer's notify callback takes @notify_ms. */
static inline int import_slowly(unsigned int slot, int dmabuf, unsigned int notify_ms)
{
	struct dmabuf_check_attach arg = {
		.slot = slot, .fd = dmabuf, .kind = DMABUF_CHECK_DYNAMIC, .notify_ms = notify_ms,
	};

	return emu_call(check, DMABUF_CHECK_ATTACH, &arg) ?: map(slot);
}

static inline int import_as(unsigned int slot, int dmabuf, enum dmabuf_check_kind kind, bool unmap_in_notify)
{
	return attach_as(slot, dmabuf, kind, unmap_in_notify) ?: map(slot);
}

static inline int hold_lock(unsigned int slot, unsigned int ms)
{
	struct dmabuf_check_hold arg = { .slot = slot, .ms = ms };

	return emu_call(check, DMABUF_CHECK_HOLD, &arg);
}

/* Number of pins of GPU memory. */
static inline unsigned int gpu_pins(void)
{
	struct emugpu_test test;

	return emu_counts(fd, &test) ? ~0u : test.counts.out_pins;
}

static inline int drain_timeout(const char *ms)
{
	return module_set("peerpin/parameters/drain_timeout_ms", ms);
}

/*
 * Since Linux 7.1 an importer with invalidate_mappings() may pin revocable memory, and the end of a region waits
 * until such an importer has unmapped.
 */
static inline bool importers_are_revocable(void)
{
	return kernel_since(7, 1);
}

/* The importers of many cases stay mapped. Let each of them delay the end only so long. */
static inline int shorten_waits(void)
{
	return importers_are_revocable() ? drain_timeout("200") : 0;
}

/* Programs before this one have used up the lines that the kernel's rate limit allows in 5 s. */
static inline void await_log(void)
{
	if (importers_are_revocable())
		sleep(5);
}

static inline void log_skip(void)
{
	lseek(kernel_log, 0, SEEK_END);
}

/* Number of log lines with both strings since log_skip() or the last call. */
static inline unsigned int log_lines(const char *what, const char *and)
{
	unsigned int found = 0;
	char line[1024];
	ssize_t n;

	while ((n = read(kernel_log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[n > 0 ? n : 0] = '\0';
		found += strstr(line, what) && strstr(line, and);
	}
	return found;
}

static inline bool log_has(const char *what, const char *and)
{
	return log_lines(what, and) > 0;
}

static inline uint64_t ms_since(uint64_t start_ns)
{
	return (now_ns() - start_ns) / 1000000;
}

#define EXPECT_EXPORT_NODES() \
	do { \
		EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ..."); \
		EXPECT(peerpin >= 0, "no /dev/peerpin; type: emu/vm/run --insmod build/KERNEL/kmod/peerpin.ko ..."); \
		EXPECT(check >= 0, "no /dev/dmabuf_check; type: emu/vm/run --no-default-modules " \
		       "--insmod build/KERNEL/test/dmabuf_check.ko ..."); \
		EXPECT(kernel_log >= 0, "no /dev/kmsg"); \
	} while (0)

#endif
