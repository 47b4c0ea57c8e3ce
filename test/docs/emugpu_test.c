// SPDX-License-Identifier: MIT
#include <emugpu.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

int main(void)
{
BLOCK
	return err ? 1 : 0;
}
