// SPDX-License-Identifier: GPL-2.0
/* Calls the GPU driver wrongly from __init text, which the kernel frees after loading. */
#include <linux/module.h>

#include <nv-p2p.h>

static void callback(void *data)
{
}

static int __init p2p_check_init_init(void)
{
	struct nvidia_p2p_page_table *table;
	int err = nvidia_p2p_get_pages(0, 0, 1, 1, &table, callback, NULL);

	return err == -EINVAL ? 0 : -EIO;
}
module_init(p2p_check_init_init);

static void __exit p2p_check_init_exit(void)
{
}
module_exit(p2p_check_init_exit);

MODULE_DESCRIPTION("A call of nv-p2p.h while it is loaded, for tests");
MODULE_LICENSE("GPL");
