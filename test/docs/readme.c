// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/pci.h>

enum {
	MY_MAX = 4096,
};

struct peerpin_peer;

struct my {
	struct peerpin_peer *peer;
};

int my_engine_write(struct my *my, dma_addr_t bus, u32 len);
int my_engine_write(struct my *my, dma_addr_t bus, u32 len)
{
	return 0;
}

BLOCK

int my_use(struct my *my, struct pci_dev *pdev, int fd);
int my_use(struct my *my, struct pci_dev *pdev, int fd)
{
	return my_attach_device(my, pdev) ?: my_receive(my, fd, 0, 0, 1);
}

MODULE_DESCRIPTION("A block of README.md");
MODULE_LICENSE("GPL");
