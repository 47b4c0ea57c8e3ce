// SPDX-License-Identifier: MIT
/* Each allocation of the client fails once. judge.ko checks for leaks. */
#include "ibpeer.h"

enum { TEXT = 4096 };

static int control(const char *file, const char *value)
{
	char path[64];
	int node, err;

	snprintf(path, sizeof(path), "/sys/kernel/debug/judge/%s", file);
	node = open(path, O_WRONLY | O_CLOEXEC);
	err = write(node, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -errno;
	close(node);
	return err;
}

static int fail_nth(unsigned int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	return control("fail", text);
}

static unsigned int failed(void)
{
	unsigned int allocations = 0, n = 0;
	char text[64];

	sscanf(module_debugfs("judge/fail", text, sizeof(text)), "%u allocations, %u failed", &allocations, &n);
	return n;
}

/* Lines that begin with '#' are notes of the judge, not leaks. */
static void expect_no_leak(unsigned int nth)
{
	static char text[TEXT];
	const char *line, *next;

	module_debugfs("judge/leaks", text, sizeof(text));
	for (line = text; *line; line = next) {
		EXPECT(*line == '#', "allocation %u: %s", nth, line);
		next = strchr(line, '\n');
		next = next ? next + 1 : "";
	}
}

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	EXPECT(!control("module", "peerpin_ibpeer"), "type: emu/vm/run ... --insmod build/KERNEL/emu/judge.ko ...");
	EXPECT_CLEAN();
}

/* Register twice with one device, then invalidate or close. Returns 0 if both registrations succeeded. */
static int use(bool freed)
{
	int mr = mr_open(), other = mr_open();
	int ret = gpu_alloc(GPU_A) ?: mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0);

	if (!ret)
		ret = mr_register(other, GPU_A + PAGE, PAGE, IB_PEER_CHIP, IB_PEER_OLD_CORE);
	if (freed)
		emu_free(gpu, GPU_A);
	close(other);
	close(mr);
	if (!freed)
		emu_free(gpu, GPU_A);
	return ret;
}

/* Without an error: if the persistent client fails, the revocable client may take the memory. */
static unsigned int sweep(const char *parameters, bool freed)
{
	unsigned int nth = 0, refused = 0;
	int ret;

	do {
		control("reset", "1");
		fail_nth(++nth);
		ret = client_load(parameters);
		if (!ret) {
			refused += !!use(freed);
			ret = client_remove();
			if (ret)
				vmtest_end(VMTEST_FAILED, "allocation %u: remove: %d", nth, ret);
		}
		expect_no_leak(nth);
		ibpeer_expect_clean(__LINE__);
	} while (failed() && nth < 100 && vmtest_result == VMTEST_OK);
	fail_nth(0);
	printf("# %u allocations, %u registrations refused\n", nth - 1, refused);
	return nth - 1;
}

CASE(each_allocation_fails_persistent)
{
	unsigned int n = sweep("", false);

	CHECK_CASE();
	EXPECT(n >= 5, "%u allocations", n);
}

CASE(each_allocation_fails_revocable)
{
	unsigned int n = sweep("persistent=0", true);

	CHECK_CASE();
	EXPECT(n >= 5, "%u allocations", n);
}

VMTEST_MAIN
