// SPDX-License-Identifier: GPL-2.0
#include <linux/miscdevice.h>
#include <linux/module.h>
#include "providers/dmabuf.h"
#include "providers/host.h"
#include "core/node/debugfs.h"
#include "core/dma/export.h"
#include "core/node/file.h"
#include "core/node/proc.h"
#include "core/node/watch.h"
#include "core/region/unplug.h"
#include "core/space/space.h"

static struct miscdevice pp_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "peerpin",
	.mode = 0666,	/* pins are counted and limited for each process */
	.fops = &pp_fops,
};

static int __init pp_init(void)
{
	int ret;

	ret = pp_region_init();
	if (ret)
		return ret;
	ret = pp_space_init();
	if (ret)
		goto err_region;
	ret = pp_watch_init();
	if (ret)
		goto err_space;
	ret = pp_provider_register(&pp_host_provider);
	if (ret)
		goto err_watch;
	ret = pp_provider_register(&pp_dmabuf_provider);
	if (ret)
		goto err_host;
	ret = pp_unplug_init();
	if (ret)
		goto err_dmabuf;
	ret = misc_register(&pp_misc);
	if (ret)
		goto err_unplug;
	pp_debugfs_init();
	pp_proc_init();
	return 0;

err_unplug:
	pp_unplug_exit();
err_dmabuf:
	pp_provider_unregister(&pp_dmabuf_provider);
err_host:
	pp_provider_unregister(&pp_host_provider);
err_watch:
	pp_watch_exit();
err_space:
	pp_space_exit();
err_region:
	pp_region_exit();
	return ret;
}

static void __exit pp_exit(void)
{
	pp_proc_exit();
	pp_debugfs_exit();
	misc_deregister(&pp_misc);
	pp_unplug_exit();
	pp_provider_unregister(&pp_dmabuf_provider);
	pp_provider_unregister(&pp_host_provider);
	pp_export_exit();
	pp_watch_exit();
	pp_space_exit();
	pp_region_exit();
}

module_init(pp_init);
module_exit(pp_exit);
MODULE_DESCRIPTION("Pin GPU or host memory for any PCIe device");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("post: peerpin_nv peerpin_tegra");
