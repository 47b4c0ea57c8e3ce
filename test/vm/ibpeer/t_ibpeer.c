// SPDX-License-Identifier: MIT
/* GPU memory registered with an InfiniBand core: choice of the client, refused devices, and the end. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ibpeer.h"
#include "test/vm/harness/stall.h"

static int mr;

SETUP(everything_is_there)
{
	EXPECT_SHIM();
	mr = mr_open();
	EXPECT(mr_register(mr, GPU_A, PAGE, IB_PEER_CHIP, 0) == -ENXIO, "a client is loaded already");
	EXPECT_CLEAN();
}

/* ---- persistent, the default ---------------------------------------------------- */

static void expect_name(const char *parameters, unsigned int flags, const char *name)
{
	struct ib_peer state;

	EXPECT(!client_load(parameters), "load");
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, flags), "register");
	state = mr_state(mr);
	EXPECT(!strcmp(state.out_name, name), "%s", state.out_name);
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A) && !client_remove(), "remove");
	EXPECT_CLEAN();
}

CASE(client_name_is_nv_mem)
{
	expect_name("", 0, "nv_mem");
	CHECK_CASE();
	expect_name("", IB_PEER_NO_INVALIDATION, "nv_mem");
	CHECK_CASE();
	expect_name("persistent=0", 0, "nv_mem");
	CHECK_CASE();
	expect_name("persistent=0", IB_PEER_NO_INVALIDATION, "nv_mem_nc");
}

/* NVIDIA's driver before 525 has no persistent pins. Here the persistent call fails with the kernel's ENOTSUPP. */
CASE(old_driver_gives_revocable_pins)
{
	EXPECT(!client_load("") && !gpu_alloc(GPU_A), "load");
	mr = mr_open();
	EXPECT(!emu_fail(gpu, 1, -524), "fail");
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
	EXPECT(!strcmp(mr_state(mr).out_name, "nv_mem_inv"), "%s", mr_state(mr).out_name);
	EXPECT(!emu_free(gpu, GPU_A) && mr_state(mr).out_told == 1,
	       "%u invalidations of the user", mr_state(mr).out_told);
	close(mr);
	EXPECT_CLEAN();
}

/* Real InfiniBand cores check for overflow. If a core does not, the client must not take a page for all memory. */
CASE(wrapping_range_is_ENXIO)
{
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(mr_register(mr, GPU_A + 2, ~0ul, IB_PEER_CHIP, 0) == -ENXIO, "registered");
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(a_registration_is_one_pin)
{
	struct emugpu_test before, after;

	EXPECT(!gpu_alloc(GPU_A) && !emu_counts(gpu, &before), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0) && !mr_deregister(mr), "register");
	EXPECT(!emu_counts(gpu, &after), "counts");
	EXPECT(after.counts.out_get_calls == before.counts.out_get_calls + 1 &&
	       after.counts.out_put_calls == before.counts.out_put_calls + 1, "%llu pins, %llu puts",
	       after.counts.out_get_calls - before.counts.out_get_calls,
	       after.counts.out_put_calls - before.counts.out_put_calls);
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

static void expect_refused(enum ib_peer_device device, int error)
{
	int ret;

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	ret = mr_register(mr, GPU_A, BLOCK, device, 0);
	EXPECT(ret == error, "%d", ret);
	EXPECT(mr_state(mr).out_state == IB_PEER_RELEASED && mr_state(mr).out_puts == 1, "the client was not put");
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(register_out_of_reach_is_EIO)
{
	expect_refused(IB_PEER_PLATFORM_24, -EIO);
}

CASE(software_device_is_EOPNOTSUPP)
{
	expect_refused(IB_PEER_SOFTWARE, -EOPNOTSUPP);
	CHECK_CASE();
	expect_refused(IB_PEER_NO_DEVICE, -EOPNOTSUPP);
}

CASE(no_room_in_bar1_is_ENOMEM)
{
	EXPECT(!gpu_alloc(GPU_A) && !emu_bar1_free(gpu, GPU_PAGE), "bar1");
	mr = mr_open();
	EXPECT(mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0) == -ENOMEM, "registered");
	EXPECT(!emu_bar1_free(gpu, ~0ull), "bar1");
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(persistent_registration_outlives_free)
{
	int to = mr_open();

	mr = mr_open();
	EXPECT(!gpu_alloc(GPU_A) && !gpu_alloc(GPU_B), "alloc");
	EXPECT(!emu_fill(gpu, GPU_A, 1, 0x5a, BLOCK) && !emu_fill(gpu, GPU_B, 1, 0, BLOCK), "fill");
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0) && !mr_register(to, GPU_B, BLOCK, IB_PEER_CHIP, 0), "register");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!mr_state(mr).out_invalidated, "invalidated");
	EXPECT(!mr_copy(to, 0, mr, 0, PAGE), "copy");
	close(mr);
	close(to);
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT_CLEAN();
}

static void *register_slowly(void *ret)
{
	*(int *)ret = mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0);
	return NULL;
}

/* Binds peerpin_lsi to the second LSI chip only: the shim has DMA memory of the first chip. */
static bool bind_second_chip(void)
{
	bool loaded = !system("echo 0 >/sys/bus/pci/drivers_autoprobe") && !module_load("kmod/peerpin_lsi.ko", "");

	return !system("echo 1 >/sys/bus/pci/drivers_autoprobe") && loaded &&
	       !system("lspci -D -d 1000:0012 | sed -n '2s/ .*//p' >/sys/bus/pci/drivers/peerpin_lsi/bind") &&
	       !access("/dev/lsi0", F_OK);
}

/*
 * The unbinding of any PCI driver fails a persistent pin in progress, because the core does not know yet whether the pages
 * are in a BAR of that device.
 */
CASE(unbind_of_other_device_leaves_registration_persistent)
{
	static int ret = -EDEADLK;
	struct emugpu_test before, after;
	pthread_t thread;
	int stalled = 0;

	mr = mr_open();
	EXPECT(!gpu_alloc(GPU_A) && !emu_counts(gpu, &before), "alloc: %d", errno);
	EXPECT(bind_second_chip(), "peerpin_lsi has no second chip");
	EXPECT(!stall("nvidia_p2p_get_pages_persistent", 8000) && !pthread_create(&thread, NULL, register_slowly, &ret),
	       "stall: %d", errno);
	for (double end = now() + 60; !stalled && now() < end; usleep(1000))
		stalled = stall_count();
	EXPECT(stalled == 1 && !module_remove("peerpin_lsi") && ret == -EDEADLK, "%d pins in progress", stalled);
	EXPECT(!stall_end() && !pthread_join(thread, NULL) && !ret, "register: %d", ret);
	EXPECT(!strcmp(mr_state(mr).out_name, "nv_mem"), "%s", mr_state(mr).out_name);
	EXPECT(!emu_counts(gpu, &after) && after.counts.out_get_calls == before.counts.out_get_calls + 2, "%llu pins",
	       after.counts.out_get_calls - before.counts.out_get_calls);
	EXPECT(!emu_free(gpu, GPU_A) && !mr_state(mr).out_invalidated, "invalidated");
	close(mr);
	EXPECT_CLEAN();
}

static void expect_end_by_unbind(unsigned int told)
{
	struct emugpu_info there;

	EXPECT(!gpu_alloc(GPU_A) && !emu_info(gpu, 0, &there), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
	EXPECT(!emu_sysfs(&there, "unbind"), "unbind");
	EXPECT(mr_state(mr).out_told == told, "%u invalidations of the user", mr_state(mr).out_told);
	EXPECT(!mr_deregister(mr), "deregister");
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A) && !emu_sysfs(&there, "bind"), "bind");
	EXPECT_CLEAN();
}

/* The InfiniBand core cannot invalidate a persistent registration. So unbinding waits for drain_timeout_ms. */
CASE(gpu_unbind_ends_persistent_registration)
{
	expect_end_by_unbind(0);
}

/* ---- ends of a registration --------------------------------------------------------- */

CASE(registration_keeps_the_module)
{
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
	EXPECT(client_remove() == -EAGAIN, "removed");
	EXPECT(!mr_deregister(mr) && !client_remove(), "remove");
	EXPECT(mr_register(mr_open(), GPU_A, BLOCK, IB_PEER_CHIP, 0) == -ENXIO, "registered without a client");
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
	EXPECT(!client_load("persistent=0"), "load");
}

static void in_child(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void deregister_as_child(void)
{
	mr_deregister(mr);
}

CASE(free_unmaps_the_registration)
{
	struct ib_peer list = { .device = IB_PEER_CHIP };
	struct emugpu_test t;
	bool iommu;

	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0) && !mr_call(mr, IB_PEER_LIST, &list), "register");
	EXPECT(!emu_translate(gpu, GPU_A, &t), "translate");
	EXPECT(mr_leads_to(mr, list.out_bus[0], IB_PEER_CHIP) == t.translate.out_phys, "%#llx", list.out_bus[0]);
	iommu = list.out_bus[0] != t.translate.out_phys;
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(mr_state(mr).out_told == 1, "%u invalidations of the user", mr_state(mr).out_told);
	EXPECT(mr_copy(mr, 0, mr, PAGE, PAGE) == -ESTALE, "copied");
	EXPECT(!iommu || !mr_leads_to(mr, list.out_bus[0], IB_PEER_CHIP), "the freed memory is still mapped");
	close(mr);
	EXPECT_CLEAN();
}

CASE(gpu_unbind_ends_revocable_registration)
{
	expect_end_by_unbind(1);
}

/* The GPU driver ignores a put by another process. So the pin ends when the memory is freed. */
CASE(child_may_deregister)
{
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
	in_child(deregister_as_child);
	EXPECT(mr_state(mr).out_state == IB_PEER_RELEASED, "state %u", mr_state(mr).out_state);
	close(mr);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(child_may_deregister_after_free)
{
	EXPECT(!gpu_alloc(GPU_A), "alloc");
	mr = mr_open();
	EXPECT(!mr_register(mr, GPU_A, BLOCK, IB_PEER_CHIP, 0), "register");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(mr_state(mr).out_told == 1, "%u invalidations of the user", mr_state(mr).out_told);
	in_child(deregister_as_child);
	close(mr);
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	EXPECT(!client_remove(), "remove");
	EXPECT_CLEAN();
}

VMTEST_MAIN
