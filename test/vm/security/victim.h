/* SPDX-License-Identifier: MIT */
/*
 * Alice is an ordinary user. Her process has a secret in GPU memory and in host memory, and both
 * are pinned. The process gives away its descriptors and the numbers of all its objects. In the end
 * its state must be unchanged.
 */
#ifndef TEST_VICTIM_H
#define TEST_VICTIM_H

#include "test/vm/harness/emu.h"
#include "test/vm/core/pin.h"
#include "user.h"

enum {
	BLOCK = 2 << 20,
	GPU_PAGE = 65536,
	PAGE = 4096,
	SECRET = 0x5ec2e7,
};

/* What an attacker knows of Alice */
struct victim {
	struct user *user;
	int socket;		/* end of the attacker; victim_socket is the other end */
	int peerpin, emu;	/* descriptors of Alice, received by SCM_RIGHTS */
	struct victim_facts {
		pid_t pid;
		int peerpin;	/* number of the descriptor in Alice's process */
		uint32_t gpu_region, host_region;
		uint64_t host;
		struct emugpu_context_new context;
	} *facts;
};

static struct victim alice;
static int victim_socket;	/* end of Alice */

static inline bool victim_has(unsigned char *host, int emu)
{
	static unsigned char gpu[PAGE], want[PAGE];

	pattern_fill(want, SECRET, PAGE);
	return !emu_read(emu, gpu, GPU_A, PAGE) && !memcmp(gpu, want, PAGE) && !memcmp(host, want, PAGE);
}

static inline int victim_prepare(int emu, unsigned char *host)
{
	struct emugpu_context_new *context = &alice.facts->context;

	pattern_fill(host, SECRET, PAGE);
	return emu_context(emu, context) || emu_alloc_in(emu, context->out_context, GPU_A, BLOCK) ||
	       emu_write(emu, GPU_A, host, PAGE);
}

/* Wait until the other end is closed. */
static inline void victim_wait(void)
{
	char byte;

	while (recv(victim_socket, &byte, 1, 0) > 0)
		;
}

static inline void victim_main(void)
{
	unsigned char *host = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int emu = emu_open(), fd = pin_open();
	struct peerpin_pin a, b;
	struct peerpin_query q;

	close(alice.socket);
	EXPECT(!victim_prepare(emu, host), "Alice has no memory: %s", strerror(errno));
	EXPECT(!pin_at(fd, GPU_A, BLOCK, &a) && !pin_at(fd, (uintptr_t)host, PAGE, &b), "Alice cannot pin");
	alice.facts->pid = getpid();
	alice.facts->peerpin = fd;
	alice.facts->gpu_region = a.out_region;
	alice.facts->host_region = b.out_region;
	alice.facts->host = (uintptr_t)host;
	EXPECT(!fd_send(victim_socket, fd) && !fd_send(victim_socket, emu), "Alice cannot send");
	victim_wait();
	EXPECT(!query(fd, a.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE && !q.out_attached,
	       "Alice's GPU region was changed");
	EXPECT(!query(fd, b.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE, "Alice's host memory is not pinned");
	EXPECT(victim_has(host, emu), "Alice's data was changed");
	EXPECT(!unpin(fd, a.out_region) && !unpin(fd, b.out_region), "unpin");
}

static inline void victim_start(void)
{
	int ends[2];

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "%s", strerror(errno));
	alice.facts = user_shared(sizeof(*alice.facts));
	alice.socket = ends[0];
	victim_socket = ends[1];
	alice.user = user_start(ALICE, victim_main);
	close(ends[1]);
	alice.peerpin = fd_receive(alice.socket);
	alice.emu = fd_receive(alice.socket);
}

static inline void victim_end(void)
{
	close(alice.peerpin);
	close(alice.emu);
	close(alice.socket);
	user_join(alice.user);
	munmap(alice.facts, sizeof(*alice.facts));
}

/* Run @attack as Mallory while Alice's process holds the secret. */
#define ATTACK(attack) \
	do { \
		victim_start(); \
		user_join(user_start(MALLORY, attack)); \
		victim_end(); \
		CHECK_CASE(); \
	} while (0)

#endif
