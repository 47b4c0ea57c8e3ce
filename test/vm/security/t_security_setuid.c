// SPDX-License-Identifier: MIT
/* A setuid program of root that uses libpeerpin. The user who starts it chooses its environment. */
#include <fcntl.h>
#include <libpeerpin.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "lib/cache/published.h"
#include "user.h"

#define COPY "/run/t_security_setuid"
#define LOG "/run/t_security_setuid.log"

enum {
	PAGE = 4096,
	/* bits of the program's exit status */
	IS_SECURE = 1,
	PUBLISHES = 2,
	FAILED = 4,
};

/* ---- the program --------------------------------------------------------------------- */

static bool has_published_file(void)
{
	char path[32], target[128];
	int fd;

	for (fd = 3; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(target, 0, sizeof(target));
		if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, PP_PUBLISHED_NAME))
			return true;
	}
	return false;
}

/* Registers memory, so that a debug message has a reason. Returns the exit status. */
static int register_once(void)
{
	static unsigned char memory[PAGE];
	const struct pp_cache_attr attr = { 0 };
	const struct pp_cache_entry *entry;
	struct pp_cache *cache;
	struct pp_ctx *ctx;
	int status = getauxval(AT_SECURE) ? IS_SECURE : 0;

	if (pp_open(&ctx) || pp_cache_create_ctx(ctx, &attr, &cache) ||
	    pp_cache_get(cache, memory, sizeof(memory), &entry, NULL))
		return FAILED;
	pp_cache_put(cache, entry);
	return status | (has_published_file() ? PUBLISHES : 0);
}

CASE_BY_NAME(program)
{
	_exit(register_once());
}

/* ---- the user ------------------------------------------------------------------------- */

static bool copy_self(mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(COPY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t n;

	while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	close(from);
	return !close(to) && !n && !chmod(COPY, mode);
}

static void become_program(void)
{
	int log = open(LOG, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	setenv("PEERPIN_PUBLISH", "1", 1);
	setenv("PEERPIN_DEBUG", "1", 1);
	if (dup2(log, STDERR_FILENO) < 0 || setgroups(0, NULL) || setresgid(ALICE, ALICE, ALICE) ||
	    setresuid(ALICE, ALICE, ALICE))
		_exit(FAILED);
	execl(COPY, COPY, "program", NULL);
	_exit(FAILED);
}

/* Alice starts the program, which has @mode and belongs to root. Returns its exit status, or -1. */
static int start(mode_t mode)
{
	pid_t pid;
	int status;

	if (!copy_self(mode))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid)
		become_program();
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool logged(void)
{
	struct stat s;

	return !stat(LOG, &s) && s.st_size > 0;
}

CASE(setuid_program_ignores_its_environment)
{
	int status = start(0755);

	EXPECT(status == PUBLISHES && logged(), "without the setuid bit: status %d, a log: %d", status, logged());
	status = start(04755);
	EXPECT(status == IS_SECURE && !logged(), "status %d, a log: %d", status, logged());
}

VMTEST_MAIN
