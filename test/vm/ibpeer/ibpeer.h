/* SPDX-License-Identifier: MIT */
/* /dev/ib_peer_shim and its client peerpin_ibpeer. Calls return 0 or -errno. */
#ifndef TEST_IBPEER_H
#define TEST_IBPEER_H

#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"
#include "emu/peer_mem/ib_peer_shim.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 65536,
	BLOCK = 2 << 20,
};

static int gpu;

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Allocate GPU memory for peers; on an integrated GPU this is host memory. */
static inline int gpu_alloc_in(int file, uint64_t va)
{
	struct emugpu_alloc alloc = { .va = va, .size = BLOCK };
	struct emugpu_info info;

	if (!emu_info(file, 0, &info) && info.out_integrated)
		alloc.flags = EMUGPU_ALLOC_HOST;
	return emu_call(file, EMUGPU_IOC_ALLOC, &alloc);
}

static inline int gpu_alloc(uint64_t va)
{
	return gpu_alloc_in(gpu, va);
}

static inline int mr_open(void)
{
	return open("/dev/ib_peer_shim", O_RDWR | O_CLOEXEC);
}

static inline int mr_call(int mr, enum ib_peer_op op, struct ib_peer *arg)
{
	arg->op = op;
	return ioctl(mr, IB_PEER_IOC, arg) ? -errno : 0;
}

static inline int mr_step(int mr, enum ib_peer_op op)
{
	struct ib_peer arg = { 0 };

	return mr_call(mr, op, &arg);
}

static inline int mr_register(int mr, uint64_t addr, uint64_t length, enum ib_peer_device device, unsigned int flags)
{
	struct ib_peer arg = { .addr = addr, .length = length, .device = device, .flags = flags };

	return mr_call(mr, IB_PEER_REGISTER, &arg);
}

static inline int mr_deregister(int mr)
{
	return mr_step(mr, IB_PEER_DEREGISTER);
}

static inline struct ib_peer mr_state(int mr)
{
	struct ib_peer arg = { 0 };

	if (mr_call(mr, IB_PEER_STATE, &arg))
		arg.out_overdue = ~0u;
	return arg;
}

static inline int mr_copy(int to, uint64_t offset, int from, uint64_t from_offset, uint64_t length)
{
	struct ib_peer arg = { .from = from, .offset = offset, .from_offset = from_offset, .length = length };

	return mr_call(to, IB_PEER_COPY, &arg);
}

/* Physical address to which a device's bus address leads; 0: none. */
static inline uint64_t mr_leads_to(int mr, uint64_t bus, enum ib_peer_device device)
{
	struct ib_peer arg = { .addr = bus, .device = device };
	int ret = mr_call(mr, IB_PEER_LOOK, &arg);

	return ret == -ENODATA ? bus : ret ? 0 : arg.out_phys;
}

/* ---- the client: peerpin_ibpeer, or any other: CLIENT=FILE.ko, CLIENT_PARAMETERS="K=V ..." ---- */

static inline bool client_is_ours(void)
{
	return !getenv("CLIENT");
}

static inline int client_load_other(const char *path)
{
	int node = open(path, O_RDONLY | O_CLOEXEC);
	int err = syscall(SYS_finit_module, node, getenv("CLIENT_PARAMETERS") ?: "", 0) ? -errno : 0;

	close(node);
	return err;
}

/* Load the client. @parameters: "" for persistent pins (the default), or "persistent=0". */
static inline int client_load(const char *parameters)
{
	const char *other = getenv("CLIENT");

	return other ? client_load_other(other) : module_load("kmod/peerpin_ibpeer.ko", parameters);
}

static inline int client_remove(void)
{
	const char *file = strrchr(getenv("CLIENT") ?: "/peerpin_ibpeer.ko", '/') + 1;
	char name[64];
	char *dash;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(file, "."), file);
	while ((dash = strchr(name, '-')))
		*dash = '_';
	return module_remove(name);
}

/* Check for the first case of each program. */
#define EXPECT_SHIM() \
	EXPECT(gpu >= 0 && !access("/dev/ib_peer_shim", F_OK), \
	       "/dev/emugpu is %d, or no shim; type: emu/vm/run --no-default-modules --insmod " \
	       "build/KERNEL/emu/ib_peer_shim.ko --insmod ... -- COMMAND, as test/vm/suite does", gpu)

__attribute__((constructor)) static void gpu_open(void)
{
	gpu = emu_open();
}

/* ---- leftovers ---- */

static inline bool ibpeer_lists_are_empty(void)
{
	static char regions[1 << 16], peers[1 << 16];

	if (module_refs("peerpin") < 0)
		return true;	/* another client is loaded, which needs no peerpin */
	module_debugfs("peerpin/regions", regions, sizeof(regions));
	module_debugfs("peerpin/peers", peers, sizeof(peers));
	return !strchr(strchrnul(regions, '\n') + 1, '\n') && *peers && !strchr(strchrnul(peers, '\n') + 1, '\n');
}

static inline bool ibpeer_is_clean(void)
{
	struct emugpu_info info;
	struct emugpu_test t;

	return !emu_counts(gpu, &t) && !t.counts.out_pins && !t.counts.out_blocks && !emu_info(gpu, 0, &info) &&
	       !info.out_bar1_used && ibpeer_lists_are_empty();
}

static inline void ibpeer_expect_clean(int line)
{
	struct emugpu_test t;
	int i;

	for (i = 0; i < 200 && !ibpeer_is_clean(); i++)
		usleep(10000);
	if (i < 200)
		return;
	emu_counts(gpu, &t);
	vmtest_end(VMTEST_FAILED, "line %d: left: %u pins and %u blocks of the GPU, lists empty: %d", line,
		   t.counts.out_pins, t.counts.out_blocks, ibpeer_lists_are_empty());
}

#define EXPECT_CLEAN() \
	do { \
		ibpeer_expect_clean(__LINE__); \
		CHECK_CASE(); \
	} while (0)

#endif
