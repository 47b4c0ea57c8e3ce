// SPDX-License-Identifier: MIT
/* Takes the place of a function of libc and needs RTLD_NEXT to mean what comes after itself. */
#include <dlfcn.h>
#include <unistd.h>

pid_t getppid(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "getppid");

	return real() + 1;
}
