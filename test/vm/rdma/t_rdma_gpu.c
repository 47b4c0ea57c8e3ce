// SPDX-License-Identifier: MIT
/* Removal of the GPU during RDMA: unbind and hot-unplug */
#include "removal.h"

static struct hotplug gpu;

static int gpu_unbind(void) { return hotplug_unbind("emugpu", &gpu); }
static int gpu_bind(void) { return hotplug_bind("emugpu", &gpu); }
static int gpu_unplug(void) { return hotplug_remove(&gpu); }

SETUP(gpu_is_there)
{
	struct emugpu_info info;
	int fd = emu_open();

	EXPECT(!emu_info(fd, 0, &info), "no GPU");
	gpu = hotplug_gpu(&info);
	close(fd);
	EXPECT(!child_works() && all_is_free(), "the adapter does not work");
}

static void removed_gpu(int (*remove)(void), int (*restore)(void))
{
	struct removal r;
	struct child c;
	struct use u;
	int way, op;

	EXPECT(!child_start(&c, use_until_gpu_error), "child");
	removal_start(&r, remove);
	CHECK_CASE();
	removal_end(&r);
	CHECK_CASE();
	EXPECT(!r.err, "removal: %d", r.err);
	EXPECT(read(c.from, &u, sizeof(u)) == sizeof(u) && !u.err, "report: %d", u.err);
	EXPECT(!child_end(&c), "child");
	for (way = 0; way < ENDING_WAYS; way++)
		for (op = 0; op < OPS; op++)
			EXPECT(u.status[way][op] == (op == 3 ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR), "way %d, operation %d: %d",
			       way, op, u.status[way][op]);
	EXPECT(u.event == -1, "event %d", u.event);
	EXPECT(!restore(), "return: %d", errno);
	EXPECT(all_is_free(), "memory or pins are left");
	EXPECT(!child_works() && all_is_free(), "the GPU does not work with the adapter");
}

CASE(gpu_unbind_ends_rdma)
{
	removed_gpu(gpu_unbind, gpu_bind);
}

CASE(gpu_unplug_ends_rdma)
{
	removed_gpu(gpu_unplug, hotplug_rescan);
}

VMTEST_MAIN
