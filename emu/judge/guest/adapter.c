// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapter.h"
#include "child.h"
#include "file.h"

#define NODE "/sys/class/infiniband_verbs/uverbs0/dev"
#define REGISTER_MS "/sys/module/emurdma/parameters/register_ms"
#define DRAIN_MS "/sys/module/peerpin/parameters/drain_timeout_ms"

enum {
	MAKE_MS = 60000,	/* it loads ten modules of the kernel, on a machine that may be busy */
	DRAIN_USUAL_MS = 1000,
};

static const char *script;

void adapter_init(const char *new_script)
{
	script = new_script;
	setenv("LD_PRELOAD", "libemurdma.so", 1);
}

static int run_script(const void *unused)
{
	(void)unused;
	execl(script, script, "10.0.0.1", NULL);
	return -errno;
}

static int write_ms(const char *path, uint32_t ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", ms);
	return file_write(path, text);
}

/* A client may wait for a registration. On a busy host this takes longer than peerpin allows by default. */
static int set_register_ms(uint32_t ms)
{
	int ret = write_ms(REGISTER_MS, ms);

	return ret ? ret : write_ms(DRAIN_MS, DRAIN_USUAL_MS + 20 * ms);
}

int adapter_make(struct share *share, uint32_t register_ms)
{
	struct share_device *device = &share->devices[share->nr_devices];
	char number[32];
	int ret = 0;

	if (!script)
		return 0;
	if (access(NODE, F_OK))
		ret = child_call(run_script, NULL, MAKE_MS);
	if (!ret)
		ret = set_register_ms(register_ms);
	if (!ret)
		ret = file_read(NODE, number, sizeof(number));
	if (ret || share->nr_devices == SHARE_DEVICES_MAX)
		return ret;
	if (sscanf(number, "%u:%u", &device->major, &device->minor) != 2)
		return -EIO;
	share->nr_devices++;
	return 0;
}
