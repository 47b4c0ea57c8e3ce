// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../include/emugpu.h"
#include "gpu.h"

enum {
	EVENTS_MAX = 256,
};

/* By number: the functions of the same names are the shim's own. */
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

/* The free callbacks that have run, of all GPUs: whoever counts asks the first that there is. */
static int callbacks(int gpu, uint64_t *out)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_COUNTS };
	int ret = -ENODEV;

	for (; ret == -ENODEV && test.gpu < EMUGPU_GPUS_MAX; test.gpu++)
		ret = ask(gpu, &test);
	*out = test.counts.out_callbacks;
	return ret;
}

static int revoke_all(int gpu)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_REVOKE_ALL };
	int ret = 0;

	for (; !ret && test.gpu < EMUGPU_GPUS_MAX; test.gpu++) {
		ret = ask(gpu, &test);
		if (ret == -ENODEV)	/* but there may be one behind it */
			ret = 0;
	}
	return ret;
}

int gpu_revoke(int gpu)
{
	uint64_t before, after;
	int ret = callbacks(gpu, &before);

	if (!ret)
		ret = revoke_all(gpu);
	if (!ret)
		ret = callbacks(gpu, &after);
	if (!ret && before == after)
		ret = -ENOENT;
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
		*out += events[i].kind == EMUGPU_EVENT_PIN || events[i].kind == EMUGPU_EVENT_PIN_PERSISTENT;
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
