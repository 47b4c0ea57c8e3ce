// SPDX-License-Identifier: MIT
/*
 * Answers of the GPU driver to calls that need no GPU memory. test/host/real_nvidia runs this program on NVIDIA's
 * nvidia.ko 535 in a VM without a GPU, and the suite runs it on the emulator that plays this version. So both drivers
 * must give the same answers. On NVIDIA's driver the kernel needs slub_debug=P, because the test recognises a freed
 * table by the poison of the allocator.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "test/kmod/p2p_check.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE 65536ull
#define POISON 0x6b6b6b6bu
#define NULL_TABLE P2P_CHECK_NULL_TABLE
#define WILD_TABLE P2P_CHECK_WILD_TABLE
#define WILD_MAP P2P_CHECK_WILD_MAP

enum { UNTOUCHED = P2P_CHECK_UNTOUCHED, ANY = 0 };	/* else POISON */

/**
 * struct row - a call of slot 0
 * @answer: result of the call
 * @stored: version of the page table that the call's result points at
 */
struct row {
	const char *what;
	unsigned long cmd;
	struct p2p_check_call call;
	int answer;
	unsigned int stored;
};

#define GET(...) P2P_CHECK_GET, { __VA_ARGS__ }
#define GET_PERSISTENT(...) P2P_CHECK_GET_PERSISTENT, { __VA_ARGS__ }
#define PUT(...) P2P_CHECK_PUT, { .va = VA, __VA_ARGS__ }
#define PUT_PERSISTENT(...) P2P_CHECK_PUT_PERSISTENT, { .va = VA, __VA_ARGS__ }
#define WITH(cmd, flags_) P2P_CHECK_##cmd, { .flags = flags_ }

static int check;

SETUP(node_is_there)
{
	check = open("/dev/p2p_check", O_RDWR | O_CLOEXEC);
	EXPECT(check >= 0, "no /dev/p2p_check; type: emu/vm/run --insmod build/KERNEL/test/p2p_check.ko ...");
}

static unsigned int stored(void)
{
	struct p2p_check_table table = { .slot = 0 };

	return ioctl(check, P2P_CHECK_TABLE, &table) ? ANY : table.out_version;
}

static int call(unsigned long cmd, struct p2p_check_call arg)
{
	return ioctl(check, cmd, &arg) ? -errno : 0;
}

static void check_row(const struct row *row)
{
	int answer = call(row->cmd, row->call);
	unsigned int table = stored();

	EXPECT(answer == row->answer, "%s: %d, not %d", row->what, answer, row->answer);
	EXPECT(row->stored == ANY || table == row->stored, "%s: table %#x, not %#x", row->what, table, row->stored);
}

static void check_rows(const struct row *rows, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		check_row(&rows[i]);
		CHECK_CASE();
	}
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

/* The calls that fail late leave the address of a table that the driver has freed. */
CASE(get_pages_answers)
{
	static const struct row rows[] = {
		{ "no callback", GET(.va = VA, .length = PAGE, .flags = P2P_CHECK_NO_CALLBACK), -EINVAL, UNTOUCHED },
		{ "unknown memory", GET(.va = VA, .length = PAGE), -EINVAL, POISON },
		{ "address 0", GET(.va = 0, .length = PAGE), -EINVAL, POISON },
		{ "length 0", GET(.va = VA, .length = 0), -EINVAL, POISON },
		{ "unaligned address", GET(.va = VA + 4096, .length = PAGE), -EINVAL, POISON },
		{ "unaligned length", GET(.va = VA, .length = 4096), -EINVAL, POISON },
		{ "range that wraps", GET(.va = -PAGE, .length = 2 * PAGE), -EINVAL, POISON },
		{ "negative length", GET(.va = VA, .length = -PAGE), -ENOMEM, POISON },
		{ "2^32 pages", GET(.va = VA, .length = PAGE << 32), -EINVAL, POISON },
		{ "unknown token", GET(.va = VA, .length = PAGE, .token = 1), -EINVAL, POISON },
		{ "unknown tokens", GET(.va = VA, .length = PAGE, .token = 1, .va_space = 1), -EINVAL, POISON },
		{ "va_space only", GET(.va = VA, .length = PAGE, .va_space = 1), -EINVAL, POISON },
	};

	CHECK_ROWS(rows);
}

CASE(get_pages_persistent_answers)
{
	static const struct row rows[] = {
		{ "flag 1", GET_PERSISTENT(.va = VA, .length = PAGE, .nv_flags = 1), -EINVAL, UNTOUCHED },
		{ "flag 2", GET_PERSISTENT(.va = VA, .length = PAGE, .nv_flags = 2), -EINVAL, UNTOUCHED },
		{ "unknown memory", GET_PERSISTENT(.va = VA, .length = PAGE), -EINVAL, POISON },
		{ "length 0", GET_PERSISTENT(.va = VA, .length = 0), -EINVAL, POISON },
		{ "unaligned address", GET_PERSISTENT(.va = VA + 4096, .length = PAGE), -EINVAL, POISON },
		{ "unaligned length", GET_PERSISTENT(.va = VA, .length = 4096), -EINVAL, POISON },
		{ "negative length", GET_PERSISTENT(.va = VA, .length = -PAGE), -ENOMEM, POISON },
	};

	CHECK_ROWS(rows);
}

CASE(put_pages_answers)
{
	static const struct row rows[] = {
		{ "NULL", PUT(.flags = NULL_TABLE), 0, ANY },
		{ "no table", PUT(.flags = WILD_TABLE), 0, ANY },
		{ "no table, with a token", PUT(.flags = WILD_TABLE, .token = 1), 0, ANY },
		{ "get_pages", GET(.va = VA, .length = PAGE), -EINVAL, POISON },
		{ "table of the failed call", PUT(.flags = 0), 0, ANY },
		{ "table of the failed call, again", PUT(.flags = 0), 0, ANY },
	};

	CHECK_ROWS(rows);
}

CASE(put_pages_persistent_answers)
{
	static const struct row rows[] = {
		{ "NULL", PUT_PERSISTENT(.flags = NULL_TABLE), 0, ANY },
		{ "NULL with a flag", PUT_PERSISTENT(.flags = NULL_TABLE, .nv_flags = 1), -EINVAL, ANY },
		{ "no table, with a flag", PUT_PERSISTENT(.flags = WILD_TABLE, .nv_flags = 1), -EINVAL, ANY },
	};

	CHECK_ROWS(rows);
}

/* The wrong pointer leads to a table of zeros, which has no UUID. */
CASE(dma_map_pages_answers)
{
	static const struct row rows[] = {
		{ "no device", WITH(MAP, P2P_CHECK_NULL_PEER | WILD_TABLE), -EINVAL, ANY },
		{ "no table", WITH(MAP, NULL_TABLE), -EINVAL, ANY },
		{ "no result", WITH(MAP, P2P_CHECK_NULL_RESULT | WILD_TABLE), -EINVAL, ANY },
		{ "table of zeros", WITH(MAP, WILD_TABLE), -EINVAL, ANY },
		{ "unmap for no device", WITH(UNMAP, P2P_CHECK_NULL_PEER | WILD_TABLE | WILD_MAP), -EINVAL, ANY },
		{ "unmap of no table", WITH(UNMAP, NULL_TABLE | WILD_MAP), -EINVAL, ANY },
		{ "unmap of no mapping", WITH(UNMAP, WILD_TABLE), -EINVAL, ANY },
	};

	CHECK_ROWS(rows);
}

CASE(free_calls_answer_0)
{
	static const struct row rows[] = {
		{ "NULL", WITH(FREE_TABLE, NULL_TABLE), 0, ANY },
		{ "no table", WITH(FREE_TABLE, WILD_TABLE), 0, ANY },
		{ "NULL mapping", WITH(FREE_MAP, 0), 0, ANY },
		{ "no mapping", WITH(FREE_MAP, WILD_MAP), 0, ANY },
	};

	CHECK_ROWS(rows);
}

CASE(obsolete_calls_answer)
{
	static const struct row rows[] = {
		{ "init_mapping", WITH(INIT_MAPPING, 0), -P2P_CHECK_ENOTSUPP, ANY },
		{ "destroy_mapping", WITH(DESTROY_MAPPING, 0), -P2P_CHECK_ENOTSUPP, ANY },
		{ "get_rsync_registers of NULL", WITH(GET_RSYNC_REGISTERS, P2P_CHECK_NULL_RESULT), -EINVAL, ANY },
		{ "get_rsync_registers", WITH(GET_RSYNC_REGISTERS, 0), -ENODEV, ANY },
	};

	CHECK_ROWS(rows);
}

/* peerpin_nv translates the answers. */
CASE(peerpin_refuses_unknown_memory)
{
	struct peerpin_pin pin;
	int node = pin_open(), err;

	EXPECT(node >= 0, "no /dev/peerpin");
	err = pin_by(node, VA, PAGE, PEERPIN_PROVIDER_NV, &pin);
	EXPECT(err == -EINVAL && pin.out_reason == PEERPIN_REASON_VENDOR_REFUSED, "%d: reason %u", err, pin.out_reason);
	pin = (struct peerpin_pin){ .size = sizeof(pin), .addr = VA, .length = PAGE, .provider = PEERPIN_PROVIDER_NV,
				    .flags = PEERPIN_PIN_PERSISTENT };
	err = ioctl(node, PEERPIN_IOC_PIN, &pin) ? -errno : 0;
	EXPECT(err == -EINVAL && pin.out_reason == PEERPIN_REASON_VENDOR_REFUSED, "persistent: %d: reason %u", err,
	       pin.out_reason);
	close(node);
}

/* ---- calls that crash NVIDIA's driver; the emulator reports a violation --------------------------------------- */

CASE_BY_NAME(get_pages_without_result)
{
	static const struct row row = {
		"NULL", GET(.va = VA, .length = PAGE, .flags = P2P_CHECK_NULL_RESULT), -EINVAL, ANY
	};

	check_row(&row);
}

CASE_BY_NAME(put_pages_persistent_of_no_table)
{
	static const struct row row = { "no table", PUT_PERSISTENT(.flags = WILD_TABLE), -EINVAL, ANY };

	check_row(&row);
}

VMTEST_MAIN
