// SPDX-License-Identifier: MIT
/* The rsync calls. A GPU is in use while /dev/emugpu is open. So each case opens the node itself. */
#include "test/kmod/rsync_check.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "rule.h"
#include "test/vm/harness/vmtest.h"

static int node = -1;

static int rsync(struct rsync_check *req)
{
	return ioctl(node, RSYNC_CHECK_IOC, req) ? -errno : 0;
}

static int rsync_op(enum rsync_check_op op, enum rsync_check_fault fault)
{
	struct rsync_check req = { .op = op, .fault = fault };

	return rsync(&req);
}

static int register_with(enum rsync_check_fault fault)
{
	return rsync_op(RSYNC_CHECK_REGISTER, fault);
}

static int unregister_with(enum rsync_check_fault fault)
{
	return rsync_op(RSYNC_CHECK_UNREGISTER, fault);
}

static struct rsync_check look(void)
{
	struct rsync_check req = { .op = RSYNC_CHECK_LOOK };

	if (rsync(&req))
		req.out_gets = -1;
	return req;
}

static void watch(void)
{
	int fd = emu_open();

	rules_culprit = "rsync_check";
	rules_watch(fd);
	close(fd);
}

/* Check the number of mismatches since watch(). */
static void check_mismatches(int times)
{
	int fd = emu_open();

	rules_check(fd, __LINE__, EMUGPU_RULE_RSYNC_MISMATCH, times);
	close(fd);
}

SETUP(node_is_there)
{
	node = open("/dev/rsync_check", O_RDWR | O_CLOEXEC);
	EXPECT(node >= 0, "no /dev/rsync_check; type: emu/vm/run --insmod build/KERNEL/test/rsync_check.ko ...");
}

CASE(register_of_bad_driver_is_einval)
{
	enum rsync_check_fault fault;

	for (fault = RSYNC_CHECK_NULL; fault <= RSYNC_CHECK_NO_WAIT; fault++)
		EXPECT(register_with(fault) == -EINVAL, "fault %u", fault);
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "a bad driver was registered");
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
}

CASE(register_twice_is_ebusy)
{
	watch();
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "register");
	EXPECT(register_with(RSYNC_CHECK_VALID) == -EBUSY, "twice");
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "again");
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
	check_mismatches(0);
}

CASE(register_during_use_is_ebusy)
{
	int fd = emu_open();

	EXPECT(register_with(RSYNC_CHECK_VALID) == -EBUSY, "in use");
	close(fd);
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "not in use");
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
}

CASE(first_open_gets_last_close_puts)
{
	struct rsync_check before = look(), now;
	int first, second;

	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "register");
	now = look();
	EXPECT(now.out_gets == before.out_gets, "get was called before the first open");
	first = emu_open();
	second = emu_open();
	now = look();
	EXPECT(now.out_gets == before.out_gets + 1 && now.out_puts == before.out_puts, "%u gets, %u puts",
	       now.out_gets - before.out_gets, now.out_puts - before.out_puts);
	close(first);
	EXPECT(look().out_puts == before.out_puts, "put was called at the first close");
	close(second);
	now = look();
	EXPECT(now.out_gets == before.out_gets + 1 && now.out_puts == before.out_puts + 1, "%u gets, %u puts",
	       now.out_gets - before.out_gets, now.out_puts - before.out_puts);
	EXPECT(now.out_mode == 1, "mode %d; any non-zero mode is stored as 1", now.out_mode);
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
}

CASE(open_returns_the_drivers_error)
{
	struct rsync_check answer = { .op = RSYNC_CHECK_ANSWER, .error = -ENXIO };
	unsigned int puts = look().out_puts;

	EXPECT(register_with(RSYNC_CHECK_VALID) == 0 && rsync(&answer) == 0, "register");
	EXPECT(emu_open() == -1 && errno == ENXIO, "%s", strerror(errno));
	answer.error = 0;
	EXPECT(rsync(&answer) == 0, "answer");
	EXPECT(look().out_puts == puts, "put was called after a failed get");
	EXPECT(close(emu_open()) == 0, "open: %s", strerror(errno));
	EXPECT(look().out_puts == puts + 1, "%u", look().out_puts);
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
}

CASE(unregistered_driver_is_not_called)
{
	unsigned int gets = look().out_gets;

	EXPECT(register_with(RSYNC_CHECK_VALID) == 0 && unregister_with(RSYNC_CHECK_VALID) == 0, "register");
	EXPECT(close(emu_open()) == 0, "open");
	EXPECT(look().out_gets == gets, "%u", look().out_gets);
}

CASE(unregister_of_another_driver_is_reported)
{
	watch();
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "register");
	EXPECT(unregister_with(RSYNC_CHECK_OTHER_DATA) == 0, "unregister");
	check_mismatches(1);
}

CASE(bad_unregister_keeps_the_driver)
{
	enum rsync_check_fault fault;

	watch();
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "register");
	for (fault = RSYNC_CHECK_NULL; fault <= RSYNC_CHECK_NO_WAIT; fault++) {
		EXPECT(unregister_with(fault) == 0, "unregister");
		EXPECT(register_with(RSYNC_CHECK_VALID) == -EBUSY, "fault %u", fault);
	}
	check_mismatches(RSYNC_CHECK_NO_WAIT);
	CHECK_CASE();
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
	check_mismatches(0);
}

CASE(unregister_of_none_is_reported)
{
	watch();
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0 && unregister_with(RSYNC_CHECK_NULL) == 0, "unregister");
	check_mismatches(2);
}

CASE(unregister_while_in_use_is_reported)
{
	unsigned int puts = look().out_puts;
	int fd;

	watch();
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "register");
	fd = emu_open();
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
	close(fd);
	EXPECT(look().out_puts == puts, "the driver was called after unregister");
	check_mismatches(1);
}

CASE(removal_without_unregister_is_reported)
{
	watch();
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "register");
	close(node);
	EXPECT(module_remove("rsync_check") == 0, "%s", strerror(errno));
	check_mismatches(1);
	CHECK_CASE();
	EXPECT(module_load("test/rsync_check.ko", "") == 0, "%s", strerror(errno));
	node = open("/dev/rsync_check", O_RDWR | O_CLOEXEC);
	EXPECT(register_with(RSYNC_CHECK_VALID) == 0, "the removed module is still registered");
	EXPECT(unregister_with(RSYNC_CHECK_VALID) == 0, "unregister");
}

/* NVIDIA's driver warns, too: test/host/real_nvidia. */
CASE_BY_NAME(unregister_of_null_warns)
{
	EXPECT(unregister_with(RSYNC_CHECK_NULL) == 0, "unregister");
}

VMTEST_MAIN
