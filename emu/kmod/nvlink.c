// SPDX-License-Identifier: GPL-2.0
/*
 * The NVLinks of the GPUs, which only have a topology: libnvidia-ml reads these parameters in
 * /sys/module/emugpu/parameters.
 */
#include <linux/moduleparam.h>

static unsigned int nvlinks;
module_param(nvlinks, uint, 0444);
MODULE_PARM_DESC(nvlinks, "NVLinks that NVML reports between each pair of GPUs (default 0)");

static unsigned int nvswitch_links;
module_param(nvswitch_links, uint, 0444);
MODULE_PARM_DESC(nvswitch_links, "NVLinks that NVML reports from each GPU to switches (default 0); replaces nvlinks");
