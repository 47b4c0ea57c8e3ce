/* SPDX-License-Identifier: MIT */
/*
 * Ordinary users. A function that runs as a user may use EXPECT. If the EXPECT fails, the case that
 * started the function fails with the same message:
 *
 *	CASE(pin_by_mallory_is_refused)
 *	{
 *		AS_USER(MALLORY, try_to_pin);
 *	}
 */
#ifndef TEST_USER_H
#define TEST_USER_H

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/vm/harness/vmtest.h"

enum {
	ALICE = 1001,	/* user ids; a user has one group, with the same number */
	MALLORY = 1002,
};

/* State of a user, in memory shared with the process that started the user */
struct user {
	pid_t pid;
	enum vmtest_result result;
	char why[sizeof(vmtest_why)];
};

static inline bool user_has_no_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	return !syscall(SYS_capget, &header, data) && !data[0].effective && !data[1].effective &&
	       !data[0].permitted && !data[1].permitted;
}

/* A change of user makes a process undumpable. Make the process dumpable, like other processes of the user. */
static inline bool user_become(unsigned int uid)
{
	return !setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid) &&
	       !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_DUMPABLE, 1) && user_has_no_capability();
}

static inline void user_main(struct user *u, unsigned int uid, void (*fn)(void))
{
	if (uid && !user_become(uid))
		vmtest_end(VMTEST_FAILED, "cannot become user %u", uid);
	else
		fn();
	u->result = vmtest_result;
	memcpy(u->why, vmtest_why, sizeof(u->why));
	_exit(0);
}

static inline void *user_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Run @fn in a child as user @uid; @uid 0: as root */
static inline struct user *user_start(unsigned int uid, void (*fn)(void))
{
	struct user *u = user_shared(sizeof(*u));
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		user_main(u, uid, fn);
	u->pid = pid;
	return u;
}

/* Wait for the user. The case ends with the user's result. */
static inline void user_join(struct user *u)
{
	int status;

	if (waitpid(u->pid, &status, 0) != u->pid || status)
		vmtest_end(VMTEST_FAILED, "the process of the user has the wait status %#x", status);
	if (u->result != VMTEST_OK)
		vmtest_end(u->result, "%s", u->why);
	munmap(u, sizeof(*u));
}

#define AS_USER(uid, fn) \
	do { \
		user_join(user_start(uid, fn)); \
		CHECK_CASE(); \
	} while (0)

/* ---- descriptors between two users ------------------------------------------------- */

static inline int fd_send(int socket, int file)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(file));
	memcpy(CMSG_DATA(c), &file, sizeof(file));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
}

static inline int fd_receive(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int file = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&file, CMSG_DATA(c), sizeof(file));
	return file;
}

#endif
