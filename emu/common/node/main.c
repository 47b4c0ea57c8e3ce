// SPDX-License-Identifier: GPL-2.0
/*
 * Two modules are built from these files. Both modules export the same names, so only
 * one module can be loaded.
 *	emugpu: a discrete GPU; an ivshmem device with memory that PCIe peers can access
 *	emugpu_tegra: an integrated GPU, which uses the CPU's memory (see emu/tegra)
 *
 * Third-party drivers call the exported nvidia_p2p_* functions, as with NVIDIA's driver. The
 * emulated CUDA library uses /dev/emugpu. Open files and live pins hold references to the module,
 * so the module exits without open files and live pins.
 */
#include <linux/module.h>

#include "emugpu.h"
#include "control.h"
#include "event.h"
#include "flavour.h"
#include "gpu.h"
#include "tombstone.h"
#include "monitor.h"
#include "move.h"
#include "stash.h"

static int __init emugpu_init(void)
{
	int err;

	err = emugpu_flavour_init();
	if (!err)
		err = emugpu_monitor_init();
	if (err)
		return err;
	err = emugpu_gpu_register();
	if (err)
		goto err_monitor;
	err = emugpu_control_register();
	if (err)
		goto err_gpu;
	return 0;

err_gpu:
	emugpu_gpu_unregister();
err_monitor:
	emugpu_monitor_exit();
	return err;
}
module_init(emugpu_init);

static void __exit emugpu_exit(void)
{
	emugpu_control_unregister();
	emugpu_event_exit();
	emugpu_stash_exit();
	emugpu_move_exit();
	emugpu_gpu_unregister();
	emugpu_monitor_exit();
	emugpu_tombstones_clear(NULL);
}
module_exit(emugpu_exit);

MODULE_VERSION(EMUGPU_DRIVER_VERSION);
MODULE_LICENSE("GPL");
