// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ask.h"
#include "process.h"

enum { ANSWER_MS = 6000 };

static struct share *share;

/* Priority 101: this runs before the constructors of the test's libraries, which may open a device. */
__attribute__((constructor(101)))
static void map_share(void)
{
	const char *path = getenv(SHARE_ENV);
	long fd, at;

	if (!path)
		return;
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	at = syscall(SYS_mmap, NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (at != -1)
		share = (struct share *)at;
}

struct share *ask_share(void)
{
	return share;
}

bool ask_guest(enum share_ask ask)
{
	long fd = syscall(SYS_openat, AT_FDCWD, share->requests, O_WRONLY | O_CLOEXEC, 0);
	const char letter = (char)ask;
	int ms;

	if (fd < 0)
		return false;
	syscall(SYS_write, fd, &letter, 1);
	syscall(SYS_close, fd);
	for (ms = 0; ms < ANSWER_MS && !__atomic_load_n(&share->answered, __ATOMIC_ACQUIRE); ms++)
		process_nap();
	return __atomic_load_n(&share->answered, __ATOMIC_ACQUIRE) == SHARE_DONE;
}
