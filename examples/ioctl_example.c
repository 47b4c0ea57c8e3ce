// SPDX-License-Identifier: MIT
/*
 * /dev/peerpin without the library, by peerpin.h only: pin host memory, let a peer device copy
 * inside of it, query it, and see munmap() revoke it.
 */
#include <errno.h>
#include <fcntl.h>
#include <peerpin.h>
#include <peerpin_lsi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SIZE = 64 << 10,
	HALF = SIZE / 2,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "ioctl: %s: %s\n", what, why);
	exit(1);
}

static void *map(int fd, size_t size, int prot, int flags)
{
	void *at = mmap(NULL, size, prot, flags, fd, 0);

	need(at != MAP_FAILED, "mmap", strerror(errno));
	return at;
}

static void call(int fd, const char *what, unsigned long command, void *arg)
{
	int ret = ioctl(fd, command, arg);

	need(!ret, what, strerror(errno));
}

static struct peerpin_query query(int fd, uint32_t region)
{
	struct peerpin_query q = { .size = sizeof(q), .region = region };

	call(fd, "PEERPIN_IOC_QUERY", PEERPIN_IOC_QUERY, &q);
	printf("region %u: %s, %llu bytes in %u pieces, %u devices\n", region,
	       q.out_state == PEERPIN_STATE_LIVE ? "live" : "revoked", (unsigned long long)q.out_length, q.out_extents,
	       q.out_attached);
	return q;
}

static void pin(int fd, void *memory, struct peerpin_pin *p)
{
	*p = (struct peerpin_pin){ .size = sizeof(*p), .addr = (uintptr_t)memory, .length = SIZE };
	call(fd, "PEERPIN_IOC_PIN", PEERPIN_IOC_PIN, p);
	need(p->out_provider == PEERPIN_PROVIDER_HOST && p->out_length == SIZE, "PEERPIN_IOC_PIN", "wrong region");
}

static void device_copies(int fd, uint32_t region, const char *memory)
{
	struct peerpin_lsi_copy copy = {
		.size = sizeof(copy),
		.dst = { .fd = fd, .region = region, .offset = HALF },
		.src = { .fd = fd, .region = region },
		.length = HALF,
	};
	int lsi = open("/dev/lsi0", O_RDWR | O_CLOEXEC);

	need(lsi >= 0, "/dev/lsi0", strerror(errno));
	call(lsi, "PEERPIN_LSI_IOC_COPY", PEERPIN_LSI_IOC_COPY, &copy);
	need(!memcmp(memory, memory + HALF, HALF), "copy", "wrong bytes arrived");
	close(lsi);
}

/* One load, no system call. The load pairs with the release store by which the kernel revokes. */
static int valid(const uint32_t *page, const struct peerpin_pin *p)
{
	return __atomic_load_n(&page[p->out_slot], __ATOMIC_ACQUIRE) == p->out_epoch;
}

int main(void)
{
	char *memory = map(-1, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	int fd = open("/dev/peerpin", O_RDWR | O_CLOEXEC);
	struct peerpin_unpin unpin = { .size = sizeof(unpin) };
	const uint32_t *page;
	struct peerpin_pin p;

	need(fd >= 0, "/dev/peerpin", strerror(errno));
	page = map(fd, PEERPIN_MAX_REGIONS * sizeof(*page), PROT_READ, MAP_SHARED);
	memset(memory, 0x2a, HALF);
	pin(fd, memory, &p);
	device_copies(fd, p.out_region, memory);
	need(valid(page, &p) && query(fd, p.out_region).out_attached == 1, "region", "not live, or not attached once");

	munmap(memory, SIZE);
	need(!valid(page, &p), "region", "valid after munmap()");
	need(query(fd, p.out_region).out_state == PEERPIN_STATE_REVOKED, "region", "live after munmap()");
	unpin.region = p.out_region;
	call(fd, "PEERPIN_IOC_UNPIN", PEERPIN_IOC_UNPIN, &unpin);
	need(ioctl(fd, PEERPIN_IOC_UNPIN, &unpin) && errno == ENOENT, "a second unpin", "did not fail with ENOENT");
	puts("ioctl: OK");
	return 0;
}
