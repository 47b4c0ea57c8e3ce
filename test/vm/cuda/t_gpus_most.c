// SPDX-License-Identifier: MIT
/* More GPUs than the driver has numbers for: one more. */
#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum { BLOCK = 2 << 20, ONE = 3 };

static int fd;
static struct hotplug one, surplus;

CASE(all_numbers_are_given)
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

CASE(one_more_is_refused_and_harms_nobody)
{
	struct emugpu_info before, after;

	EXPECT(!emu_info(fd, EMUGPU_GPUS_MAX - 1, &before), "info");
	EXPECT(hotplug_bind("emugpu", &surplus) < 0, "it was bound");
	EXPECT(!emu_info(fd, EMUGPU_GPUS_MAX - 1, &after), "info");
	EXPECT(!memcmp(&before, &after, sizeof(before)), "the last one is not what it was");
	EXPECT(!emu_alloc(fd, GPU_A, BLOCK) && !emu_free(fd, GPU_A), "the first one cannot be used");
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

CASE(who_goes_leaves_its_number)
{
	gives_its_number_to(&one, &surplus);
}

CASE(and_has_it_again)
{
	gives_its_number_to(&surplus, &one);
}

VMTEST_MAIN
