// SPDX-License-Identifier: MIT
/* The VM has one GPU more than the driver has numbers for. */
#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum { BLOCK = 2 << 20, ONE = 3 };

static int fd;
static struct hotplug one, surplus;

CASE(all_gpu_numbers_are_used)
{
	struct emugpu_info info;
	unsigned int gpu;

	fd = emu_open();
	for (gpu = 0; gpu < EMUGPU_GPUS_MAX; gpu++) {
		EXPECT(!emu_info(fd, gpu, &info), "GPU %u; type: emu/vm/run --gpus %u --bar1 16 ...", gpu,
		       EMUGPU_GPUS_MAX + 1);
		if (gpu == ONE)
			one = hotplug_gpu(&info);
	}
	info.out_device++;
	surplus = hotplug_gpu(&info);
	EXPECT(emu_info(fd, EMUGPU_GPUS_MAX, &info) == -ENODEV, "GPU %u", gpu);
}

CASE(surplus_gpu_is_refused)
{
	struct emugpu_info before, after;

	EXPECT(!emu_info(fd, EMUGPU_GPUS_MAX - 1, &before), "info");
	EXPECT(hotplug_bind("emugpu", &surplus) < 0, "the surplus GPU was bound");
	EXPECT(!emu_info(fd, EMUGPU_GPUS_MAX - 1, &after), "info");
	EXPECT(!memcmp(&before, &after, sizeof(before)), "the last GPU has changed");
	EXPECT(!emu_alloc(fd, GPU_A, BLOCK) && !emu_free(fd, GPU_A), "GPU 0 cannot be used");
}

static void gives_its_number_to(const struct hotplug *from, const struct hotplug *to)
{
	struct emugpu_info info;

	EXPECT(!hotplug_unbind("emugpu", from), "unbind %s", from->address);
	EXPECT(!hotplug_bind("emugpu", to), "bind %s", to->address);
	EXPECT(!emu_info(fd, ONE, &info), "info");
	EXPECT(!strcmp(hotplug_gpu(&info).address, to->address), "%s", hotplug_gpu(&info).address);
	EXPECT(hotplug_bind("emugpu", from) < 0, "%s was bound", from->address);
}

CASE(unbound_gpus_number_is_reused)
{
	gives_its_number_to(&one, &surplus);
}

CASE(first_gpu_gets_its_number_back)
{
	gives_its_number_to(&surplus, &one);
}

VMTEST_MAIN
