// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of NVIDIA's driver that peerpin_nv calls. Symbol versions (CRCs)
 * come from the types in that driver's header and in this kernel's headers. So they
 * equal the versions in the driver's module, even before that module is built.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <nv-p2p.h>

int nvidia_p2p_get_pages(uint64_t p2p_token, uint32_t va_space, uint64_t address, uint64_t length,
			 struct nvidia_p2p_page_table **table, void (*free_callback)(void *data), void *data)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL(nvidia_p2p_get_pages);

int nvidia_p2p_put_pages(uint64_t p2p_token, uint32_t va_space, uint64_t address, struct nvidia_p2p_page_table *table)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL(nvidia_p2p_put_pages);

int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *table)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL(nvidia_p2p_free_page_table);

#ifdef NVIDIA_P2P_CAP_GET_PAGES_PERSISTENT_API
int nvidia_p2p_get_pages_persistent(uint64_t address, uint64_t length, struct nvidia_p2p_page_table **table,
				    uint32_t flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL(nvidia_p2p_get_pages_persistent);

int nvidia_p2p_put_pages_persistent(uint64_t address, struct nvidia_p2p_page_table *table, uint32_t flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL(nvidia_p2p_put_pages_persistent);
#endif

MODULE_DESCRIPTION("The names of NVIDIA's driver, for the build only");
MODULE_LICENSE("GPL");
