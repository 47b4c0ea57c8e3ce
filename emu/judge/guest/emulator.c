// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "emulator.h"
#include "file.h"

#define PARAMETERS "/sys/module/emugpu/parameters/"
#define PINS "/sys/kernel/debug/emugpu/pins"

enum {
	/* A busy host can stop a VM's CPU for longer than the emulator's default of 5 ms, but not for 250 ms. */
	CALLBACK_MS = 250,
	PARAMETER_MAX = 64,
	MODULE_LEN = 48,
	KERNEL_ENOTSUPP = 524,	/* userspace does not define this errno of the kernel */
};

static int control = -1;
static char version[PARAMETER_MAX];
static uint32_t scattered;

static int ask(struct emugpu_test *test)
{
	return ioctl(control, EMUGPU_IOC_TEST, test) ? -errno : 0;
}

int emulator_open(void)
{
	char text[PARAMETER_MAX];
	int ret;

	control = open("/dev/emugpu", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return -errno;
	ret = file_read(PARAMETERS "table_version", version, sizeof(version));
	if (!ret)
		ret = file_read(PARAMETERS "scatter", text, sizeof(text));
	scattered = *text == 'Y';
	return ret;
}

/* A callback may wait for a registration that is in progress, as for other DMA. */
static int set_callback_ms(uint32_t register_ms)
{
	char text[PARAMETER_MAX];

	snprintf(text, sizeof(text), "%u", CALLBACK_MS + 2 * register_ms);
	return file_write(PARAMETERS "callback_ms", text);
}

static int set_scatter(uint32_t on)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_SCATTER, .scatter.on = on };

	return ask(&test);
}

static int set_bar1(uint64_t bytes)
{
	struct emugpu_test test = {
		.op = EMUGPU_TEST_BAR1_FREE,
		.bar1_free.bytes = bytes ? bytes : UINT64_MAX,
	};

	return ask(&test);
}

static int set_version(const char *text)
{
	return file_write(PARAMETERS "table_version", text);
}

static int set_delay(uint32_t ms)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_DELAY_CALLBACK, .delay.ms = ms };

	return ask(&test);
}

static int set_guard(uint32_t ms)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_GUARD, .guard = { .ms = ms, .mapped = 1 } };

	return ask(&test);
}

/*
 * With dynamic dma-bufs a free revokes the memory from importers that can be notified, as from pins. With static
 * dma-bufs, as in NVIDIA's driver, the importers keep freed memory. Also, old kernels map a static dma-buf once, when a
 * dynamic importer attaches, so the importer's own map calls do not reach the emulator.
 */
static int set_dynamic(bool on)
{
	return file_write(PARAMETERS "dmabuf_dynamic", on ? "1" : "0");
}

static int set_move(uint32_t ms)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_MOVE, .move.ms = ms };

	return ask(&test);
}

static int set_fail(uint32_t call, uint32_t nth, int error, uint32_t *left)
{
	struct emugpu_test test = {
		.op = EMUGPU_TEST_FAIL,
		.fail = { .call = call, .nth = nth, .error = error },
	};
	int ret = ask(&test);

	*left = test.fail.out_left;
	return ret;
}

/* The calls that a failure is for: by nv-p2p.h, and by a dma-buf */
static const uint32_t failing[][2] = {
	[PLAN_FAIL_GET_PAGES] = { EMUGPU_CALL_GET_PAGES, EMUGPU_CALL_GET_PAGES },
	[PLAN_FAIL_DMA_MAP] = { EMUGPU_CALL_DMA_MAP_PAGES, EMUGPU_CALL_IMPORT },
	[PLAN_FAIL_FAR_PEER] = { EMUGPU_CALL_DMA_MAP_PAGES, EMUGPU_CALL_ATTACH },
};

/* NVIDIA's driver refuses a peer without a bridge in common with the GPU, if the driver does not know the chipset. */
static int error_of(enum plan_fail fail)
{
	if (fail == PLAN_FAIL_FAR_PEER)
		return -KERNEL_ENOTSUPP;
	return fail == PLAN_FAIL_GET_PAGES ? -ENOMEM : -EIO;
}

static int set_fails(enum plan_fail fail, uint32_t nth)
{
	uint32_t call, left;
	int ret = 0;

	for (call = EMUGPU_CALL_GET_PAGES; call <= EMUGPU_CALL_IMPORT && !ret; call++)
		ret = set_fail(call, 0, 0, &left);
	if (fail == PLAN_FAIL_NONE)
		return ret;
	for (call = 0; call < 2 && !ret; call++)
		ret = set_fail(failing[fail][call], nth, error_of(fail), &left);
	return ret;
}

bool emulator_has_failed(enum plan_fail fail)
{
	uint32_t by_pages = 1, by_dmabuf = 1;

	if (set_fail(failing[fail][1], 0, 0, &by_dmabuf))
		return false;
	if (failing[fail][0] == failing[fail][1])
		return !by_dmabuf;
	return !set_fail(failing[fail][0], 0, 0, &by_pages) && (!by_pages || !by_dmabuf);
}

static int set_plan(uint32_t nth, uint32_t action)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_PLAN, .plan = { .nth = nth, .action = action } };

	return ask(&test);
}

int emulator_set(const struct scenario *s)
{
	int ret = set_scatter(s->scatter < 0 ? scattered : (uint32_t)s->scatter);

	if (!ret)
		ret = set_bar1(s->bar1);
	if (!ret)
		ret = set_version(*s->version ? s->version : version);
	if (!ret)
		ret = set_delay(s->delay_ms);
	if (!ret)
		ret = set_callback_ms(s->register_ms);
	if (!ret)
		ret = set_guard(s->guard_ms);
	if (!ret)
		ret = set_dynamic(s->guard_ms || s->move_ms || s->fail);
	if (!ret)
		ret = set_move(s->move_ms);
	if (!ret)
		ret = set_fails(s->fail, s->fail_nth);
	return ret ? ret : set_plan(s->kernel_nth, s->kernel_action);
}

/* Restores hidden pages: the process that hid the pages may have been killed earlier. -ENOENT: no pages are hidden. */
static int end_stash(void)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_STASH };
	int ret = ask(&test);

	return ret == -ENOENT ? 0 : ret;
}

int emulator_reset(void)
{
	static const struct scenario plain = { .scatter = -1, .version = "" };
	int ret = emulator_set(&plain);

	return ret ? ret : end_stash();
}

int emulator_events(struct emugpu_event *out, uint32_t *out_count)
{
	struct emugpu_test test = {
		.op = EMUGPU_TEST_EVENTS,
		.events = { .buf = (uintptr_t)out, .max = EMULATOR_EVENTS_MAX },
	};
	int ret = ask(&test);

	*out_count = test.events.out_count;
	return ret;
}

int emulator_count(struct emulator_counts *out)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_COUNTS };
	int ret = ask(&test);

	*out = (struct emulator_counts) {
		.asked = test.counts.out_get_calls + test.counts.out_import_calls,
		.callbacks = test.counts.out_callbacks,
		.notified = test.counts.out_notified,
	};
	return ret;
}

const char *emulator_event_name(uint32_t kind)
{
	static const char *const names[] = {
		[EMUGPU_EVENT_PIN] = "get_pages",
		[EMUGPU_EVENT_PIN_PERSISTENT] = "get_pages_persistent",
		[EMUGPU_EVENT_MAP] = "dma_map_pages",
		[EMUGPU_EVENT_UNMAP] = "dma_unmap_pages",
		[EMUGPU_EVENT_UNPIN] = "put_pages",
		[EMUGPU_EVENT_UNPIN_PERSISTENT] = "put_pages_persistent",
		[EMUGPU_EVENT_ATTACH] = "dma_buf_attach",
		[EMUGPU_EVENT_IMPORT] = "dma_buf_map_attachment",
		[EMUGPU_EVENT_UNIMPORT] = "dma_buf_unmap_attachment",
		[EMUGPU_EVENT_DETACH] = "dma_buf_detach",
	};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "a call";
}

/* A line begins with the module's name, which the emulator truncates. */
static bool is_pin_of(const char *line, const char *module)
{
	size_t length = strcspn(line, " ");

	return !module || (!strncmp(line, module, length) && (!module[length] || length == MODULE_LEN - 1));
}

int emulator_pins(struct emulator_pins *out, const char *module)
{
	FILE *file = fopen(PINS, "re");
	char line[sizeof(out->first)];

	*out = (struct emulator_pins){ 0 };
	if (!file)
		return -errno;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (is_pin_of(line, module) && !out->nr++)
			snprintf(out->first, sizeof(out->first), "%.*s", (int)strcspn(line, "\n"), line);
	fclose(file);
	return 0;
}
