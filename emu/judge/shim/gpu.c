// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/include/emugpu.h"
#include "gpu.h"

enum {
	EVENTS_MAX = 256,
};

/* Uses syscall(): the shim replaces ioctl() and close(). */
int gpu_open(void)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "/dev/emugpu", O_RDWR | O_CLOEXEC, 0);

	return fd < 0 ? -errno : (int)fd;
}

void gpu_close(int gpu)
{
	syscall(SYS_close, gpu);
}

static int ask(int gpu, struct emugpu_test *test)
{
	return syscall(SYS_ioctl, gpu, EMUGPU_IOC_TEST, test) ? -errno : 0;
}

static int ask_once(struct emugpu_test *test)
{
	int gpu = gpu_open(), ret;

	if (gpu < 0)
		return gpu;
	ret = ask(gpu, test);
	gpu_close(gpu);
	return ret;
}

/** struct sum - numbers for all GPUs: free callbacks and notifications that have run, and present pins and imports */
struct sum {
	uint64_t callbacks;
	uint64_t pins;
};

/* Each GPU's out_callbacks is the number for all GPUs. GPU numbers may have gaps (-ENODEV). */
static int add_up(int gpu, struct sum *out)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_COUNTS };
	uint64_t imports = 0;
	int ret = 0;

	*out = (struct sum) { 0 };
	for (; !ret && test.gpu < EMUGPU_GPUS_MAX; test.gpu++) {
		ret = ask(gpu, &test);
		if (!ret) {
			out->callbacks = test.counts.out_callbacks + test.counts.out_notified;
			out->pins += test.counts.out_pins;
			imports = test.counts.out_imports;
		}
		if (ret == -ENODEV)
			ret = 0;
	}
	out->pins += imports;
	return ret;
}

bool gpu_has_pins(void)
{
	struct sum now = { 0 };
	int gpu = gpu_open();

	if (gpu < 0)
		return false;
	if (add_up(gpu, &now))
		now.pins = 0;
	gpu_close(gpu);
	return now.pins;
}

static int revoke_all(int gpu, bool oldest_first)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_REVOKE_ALL, .revoke_all.oldest_first = oldest_first };
	int ret = 0;

	for (; !ret && test.gpu < EMUGPU_GPUS_MAX; test.gpu++) {
		ret = ask(gpu, &test);
		if (ret == -ENODEV)	/* a gap in the GPU numbers */
			ret = 0;
	}
	return ret;
}

int gpu_callbacks(int gpu, uint64_t *out)
{
	struct sum now = { 0 };
	int ret = add_up(gpu, &now);

	*out = now.callbacks;
	return ret;
}

int gpu_revoke(int gpu, bool oldest_first, uint64_t before, bool *out_told)
{
	uint64_t after;
	int ret = revoke_all(gpu, oldest_first);

	if (!ret)
		ret = gpu_callbacks(gpu, &after);
	*out_told = !ret && after != before;
	return ret;
}

int gpu_pins(uint32_t *out)
{
	static __thread struct emugpu_event events[EVENTS_MAX];
	struct emugpu_test test = {
		.op = EMUGPU_TEST_EVENTS,
		.events = { .buf = (uintptr_t)events, .max = EVENTS_MAX },
	};
	int ret = ask_once(&test);
	uint32_t i;

	*out = 0;
	if (!ret && test.events.out_count > EVENTS_MAX)
		ret = -EOVERFLOW;
	for (i = 0; !ret && i < test.events.out_count; i++)
		*out += events[i].kind == EMUGPU_EVENT_PIN || events[i].kind == EMUGPU_EVENT_PIN_PERSISTENT ||
			events[i].kind == EMUGPU_EVENT_IMPORT;
	return ret;
}

int gpu_hide(int gpu, uint32_t pid)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_STASH, .stash = { .on = 1, .pid = pid } };

	return ask(gpu, &test);
}

int gpu_show(int gpu, uint32_t *out_changed)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_STASH };
	int ret = ask(gpu, &test);

	*out_changed = ret ? 0 : test.stash.out_changed;
	return ret;
}
