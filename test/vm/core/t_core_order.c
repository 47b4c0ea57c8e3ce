// SPDX-License-Identifier: MIT
/*
 * A revocation at every point of a region's life that a provider sees, by the same thread and by
 * another thread. If the core calls the provider out of order, the provider WARNs, and the VM
 * stops.
 */
#include <pthread.h>

#include "core.h"
#include "test/kmod/order_provider.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/harness/stall.h"

enum {
	DEVICE = 0,
	PIN_MS = 2000,	/* more than an unbinding takes */
};

/* Use of a region before the region ends */
enum use { UNUSED, ATTACHED, IN_FLIGHT, USES };

struct life {
	enum order_when when;
	enum order_how how;
	enum order_fail fail;
	enum use use;
	bool lasting;
	bool close;	/* true: the file is closed; false: the region is unpinned */
};

static unsigned int counted(const char *what)
{
	char path[96];
	unsigned int n = ~0u;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/order_provider/parameters/%s", what);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u", &n) != 1)
		n = ~0u;
	if (f)
		fclose(f);
	return n;
}

/* Another revoking thread may put the last reference a moment after the region's end: try for a while. */
static bool all_are_freed(void)
{
	int i;

	for (i = 0; i < 100 && counted("pins") != counted("frees"); i++)
		usleep(10000);
	return counted("pins") == counted("frees");
}

SETUP(everything_is_there)
{
	EXPECT_CORE();
	EXPECT(!module_load("test/order_provider.ko", ""), "order_provider: %s", strerror(errno));
	EXPECT(!core_register(DEVICE), "register");
}

/* -ESTALE is right if the revocation was faster than the call. */
static bool may_be_stale(int ret)
{
	return !ret || ret == -ESTALE;
}

static void check_pinned(const struct life *l, int ret)
{
	bool sure = l->when == ORDER_IN_PIN && l->how != ORDER_BESIDE;

	if (l->fail)
		EXPECT(ret == (sure && l->fail == ORDER_FAIL_LOOK ? -ESTALE : -EIO) ||
		       (l->when == ORDER_IN_PIN && ret == -ESTALE), "pin: %d", ret);
	else if (l->when == ORDER_IN_PIN)
		EXPECT(ret == -ESTALE || (!sure && !ret), "pin: %d", ret);
	else
		EXPECT(!ret, "pin: %d", ret);
}

/* Attach and begin DMA, until a call is refused. */
static void use_it(int fd, const struct life *l)
{
	int ret;

	if (l->use == UNUSED)
		return;
	ret = core_do(fd, CORE_CHECK_ATTACH, DEVICE);
	EXPECT(may_be_stale(ret), "attach: %d", ret);
	EXPECT(ret || l->when != ORDER_IN_EXTENTS, "attached although revoked in between");
	if (ret || l->use == ATTACHED)
		return;
	ret = core_begin_until_stopped(fd, DEVICE, 0, PAGE);
	EXPECT(may_be_stale(ret), "begin: %d", ret);
}

static void live(const struct life *l)
{
	unsigned int flags = l->lasting ? PEERPIN_PIN_PERSISTENT : 0;
	int fd = core_open(), ret;

	ret = core_pin_by(fd, ORDER_ADDR(l->when, l->how, l->fail), PAGE, PEERPIN_PROVIDER_TEGRA, flags);
	check_pinned(l, ret);
	if (!ret)
		use_it(fd, l);
	if (!ret && !l->close)
		EXPECT(!core_do(fd, CORE_CHECK_UNPIN, 0), "unpin");
	close(fd);
}

static void check_life(const struct life *l)
{
	live(l);
	core_expect_clean(__LINE__);
	if (vmtest_result != VMTEST_OK)
		printf("# when %d how %d fail %d use %d lasting %d close %d\n", l->when, l->how, l->fail, l->use,
		       l->lasting, l->close);
}

static bool makes_sense(const struct life *l)
{
	if (l->when == ORDER_IN_LOOK && l->how != ORDER_BESIDE)
		return false;	/* the provider would wait for a lock that the core holds */
	if (l->when == ORDER_IN_EXTENTS && (l->how == ORDER_HERE || (l->how == ORDER_AWAITED && !l->lasting)))
		return false;	/* extents() would wait for a revocation that waits for extents() */
	if (l->fail && (l->use || l->close))
		return false;
	return l->when != ORDER_IN_EXTENTS || l->use != UNUSED;
}

static void check_lives(enum order_when when)
{
	struct life l = { .when = when };
	unsigned int i, lives = 0;

	for (i = 0; i < ORDER_HOWS * ORDER_FAILS * USES * 4 && vmtest_result == VMTEST_OK; i++) {
		l.how = i % ORDER_HOWS;
		l.fail = i / ORDER_HOWS % ORDER_FAILS;
		l.use = i / ORDER_HOWS / ORDER_FAILS % USES;
		l.lasting = i / ORDER_HOWS / ORDER_FAILS / USES & 1;
		l.close = i / ORDER_HOWS / ORDER_FAILS / USES & 2;
		if (!makes_sense(&l))
			continue;
		check_life(&l);
		lives++;
	}
	CHECK_CASE();
	printf("# %u lives\n", lives);
	EXPECT(all_are_freed(), "%u pins, %u frees", counted("pins"), counted("frees"));
}

CASE(unrevoked_regions_stay_live)
{
	unsigned int before = counted("revokes");

	check_lives(ORDER_NEVER);
	CHECK_CASE();
	EXPECT(counted("revokes") == before, "revoked");
}

/* Fail without revocations: the case would have checked nothing. */
#define REVOKED(when) \
	do { \
		unsigned int before = counted("revokes"); \
		check_lives(when); \
		CHECK_CASE(); \
		EXPECT(counted("revokes") > before + 10, "%u revocations", counted("revokes") - before); \
	} while (0)

CASE(revoke_before_pin_returns)
{
	REVOKED(ORDER_IN_PIN);
}

CASE(revoke_while_the_table_is_read)
{
	REVOKED(ORDER_IN_LOOK);
}

CASE(revoke_during_attach)
{
	REVOKED(ORDER_IN_EXTENTS);
}

CASE(revoke_during_unpin)
{
	REVOKED(ORDER_IN_UNPIN);
}

CASE(revoke_during_cleanup)
{
	REVOKED(ORDER_IN_CLEANUP);
}

CASE(revoke_after_all_steps)
{
	REVOKED(ORDER_AFTER_ALL);
}

static void *pin_persistent(void *fd)
{
	return (void *)(long)core_pin_by(*(int *)fd, ORDER_ADDR(ORDER_NEVER, 0, 0), PAGE, PEERPIN_PROVIDER_TEGRA,
					 PEERPIN_PIN_PERSISTENT);
}

/* The core does not know yet whether the memory lies in the device. */
CASE(unbind_during_persistent_pin_is_ESTALE)
{
	struct hotplug chip = hotplug_of_node("lsi0");
	int fd = core_open(), i, err;
	pthread_t thread;
	void *ret;

	EXPECT(!stall("order_pin_lasting", PIN_MS) && !pthread_create(&thread, NULL, pin_persistent, &fd), "%d", errno);
	for (i = 0; i < PIN_MS && !stall_count(); i++)
		usleep(1000);
	err = hotplug_unbind("peerpin_lsi", &chip) ?: hotplug_bind("peerpin_lsi", &chip);
	pthread_join(thread, &ret);
	close(fd);
	EXPECT(!stall_end() && !err, "unbind or bind: %d", err);
	EXPECT((long)ret == -ESTALE, "pin: %ld", (long)ret);
	core_expect_clean(__LINE__);
	EXPECT(all_are_freed(), "%u pins, %u frees", counted("pins"), counted("frees"));
}

CASE(region_keeps_the_provider_module)
{
	EXPECT(!core_pin_by(core, ORDER_ADDR(ORDER_NEVER, 0, 0), PAGE, PEERPIN_PROVIDER_TEGRA, 0), "pin");
	EXPECT(module_remove("order_provider") == -EAGAIN, "the module was removed");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
}

CASE(nothing_is_left)
{
	EXPECT(!core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
	EXPECT(counted("cleanups") && counted("releases") && counted("unpins"),
	       "cleanup, release or unpin was never called");
	EXPECT(!module_remove("order_provider"), "remove");
}

VMTEST_MAIN
