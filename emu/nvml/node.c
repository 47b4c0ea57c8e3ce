// SPDX-License-Identifier: MIT
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int open_node(void)
{
	return open("/dev/emugpu", O_RDWR | O_CLOEXEC);
}

bool node_present(void)
{
	int fd = open_node();

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

nvmlReturn_t node_info(unsigned int gpu, struct emugpu_info *info)
{
	int err, fd = open_node();

	if (fd < 0)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	*info = (struct emugpu_info){ .gpu = gpu };
	err = ioctl(fd, EMUGPU_IOC_INFO, info) ? errno : 0;
	close(fd);
	if (err == ENODEV)
		return NVML_ERROR_GPU_IS_LOST;
	return err ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}
