// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "leak.h"
#include "log.h"

#define KMEMLEAK "/sys/kernel/debug/kmemleak"

enum {
	/* what is younger than five seconds is not reported */
	AGE_SECONDS = 6,
	/* nor is what has changed since the scan before */
	SCANS = 2,
};

static int scan(int fd)
{
	return write(fd, "scan", 4) == 4 ? 0 : -1;
}

static void copy(int fd)
{
	char block[4096];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) > 0)
		fwrite(block, 1, n, stderr);
}

void leaks_tell(void)
{
	int fd = open(KMEMLEAK, O_RDWR | O_CLOEXEC);
	int scans;

	if (fd < 0)
		return;
	sleep(AGE_SECONDS);
	for (scans = 0; scans < SCANS; scans++)
		if (scan(fd))
			log_line("vm: BUG: kmemleak does not scan");
	copy(fd);
	close(fd);
}
