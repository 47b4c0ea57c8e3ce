// SPDX-License-Identifier: GPL-2.0
/*
 * emugpu_tegra: the GPU of a Tegra, which shares the memory of the CPU.
 *
 * It has the same control node and the same rules as emugpu, which see, and
 * exports the same names with other prototypes; one of the two can be loaded.
 */
#include <linux/module.h>

#include "../include/emugpu.h"
#include "control.h"
#include "gpu.h"
#include "monitor.h"
#include "pin.h"

static int __init emugpu_tegra_init(void)
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
module_init(emugpu_tegra_init);

static void __exit emugpu_tegra_exit(void)
{
	emugpu_control_unregister();
	emugpu_gpu_unregister();
	emugpu_monitor_exit();
	emugpu_pin_exit();
}
module_exit(emugpu_tegra_exit);

MODULE_DESCRIPTION("Emulated integrated GPU, with the GPUDirect RDMA kernel interface of Tegra");
MODULE_VERSION(EMUGPU_DRIVER_VERSION);
MODULE_LICENSE("GPL");
