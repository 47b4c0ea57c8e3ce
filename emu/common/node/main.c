// SPDX-License-Identifier: GPL-2.0
/*
 * emugpu: an ivshmem device as a GPU that shares its memory with PCIe peers; and
 * emugpu_tegra: a GPU that uses the CPU's memory (see emu/tegra).
 *
 * Third-party drivers call the exported nvidia_p2p_* functions of NVIDIA's driver; the
 * emulated CUDA library uses /dev/emugpu. Open files and pins hold references to the
 * module, so none are left at exit. Both modules export the same names, so only one
 * of them can be loaded.
 */
#include <linux/module.h>

#include "emugpu.h"
#include "control.h"
#include "event.h"
#include "gpu.h"
#include "tombstone.h"
#include "monitor.h"
#include "stash.h"

static int __init emugpu_init(void)
{
	int err;

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
	emugpu_gpu_unregister();
	emugpu_monitor_exit();
	emugpu_tombstones_clear(NULL);
}
module_exit(emugpu_exit);

MODULE_VERSION(EMUGPU_DRIVER_VERSION);
MODULE_LICENSE("GPL");
