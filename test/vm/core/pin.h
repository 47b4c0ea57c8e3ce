/* SPDX-License-Identifier: MIT */
/* Short forms of the calls of /dev/peerpin, /dev/lsi0 and /dev/peer_check. Each returns 0 or -errno. */
#ifndef TEST_PIN_H
#define TEST_PIN_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <peerpin.h>
#include <peerpin_lsi.h>
#include "test/kmod/peer_check.h"

#define GPU_A 0x200000000ull
#define GPU_B 0x240000000ull

static inline int pin_open(void)
{
	return open("/dev/peerpin", O_RDWR | O_CLOEXEC);
}

static inline int lsi_open(void)
{
	return open("/dev/lsi0", O_RDWR | O_CLOEXEC);
}

static inline int pin_by(int fd, uint64_t addr, uint64_t length, unsigned int provider, struct peerpin_pin *pin)
{
	*pin = (struct peerpin_pin){
		.size = sizeof(*pin), .addr = addr, .length = length, .provider = provider,
	};
	return ioctl(fd, PEERPIN_IOC_PIN, pin) ? -errno : 0;
}

static inline int pin_at(int fd, uint64_t addr, uint64_t length, struct peerpin_pin *pin)
{
	return pin_by(fd, addr, length, PEERPIN_PROVIDER_AUTO, pin);
}

static inline int unpin(int fd, uint32_t region)
{
	struct peerpin_unpin c = { .size = sizeof(c), .region = region };

	return ioctl(fd, PEERPIN_IOC_UNPIN, &c) ? -errno : 0;
}

static inline int query(int fd, uint32_t region, struct peerpin_query *c)
{
	*c = (struct peerpin_query){ .size = sizeof(*c), .region = region };
	return ioctl(fd, PEERPIN_IOC_QUERY, c) ? -errno : 0;
}

/* bytes of the whole revocation page: words of regions, then of watches */
#define EPOCH_BYTES ((PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES) * sizeof(uint32_t))

/* the words of the regions */
static inline volatile const uint32_t *epochs_map(int fd)
{
	void *p = mmap(NULL, PEERPIN_MAX_REGIONS * sizeof(uint32_t), PROT_READ, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct end {
	int fd;
	uint32_t region;
	uint64_t offset;
};

static inline int lsi_copy_ns(int lsi, struct end dst, struct end src, uint64_t length, uint64_t *ns)
{
	struct peerpin_lsi_copy c = {
		.size = sizeof(c),
		.dst = { .fd = dst.fd, .region = dst.region, .offset = dst.offset },
		.src = { .fd = src.fd, .region = src.region, .offset = src.offset },
		.length = length,
	};
	int ret = ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) ? -errno : 0;

	*ns = c.out_ns;
	return ret;
}

static inline int lsi_copy(int lsi, struct end dst, struct end src, uint64_t length)
{
	uint64_t ns;

	return lsi_copy_ns(lsi, dst, src, length, &ns);
}

static inline int lsi_copy_pointers(int lsi, uint64_t dst, uint64_t src, uint64_t length)
{
	struct peerpin_lsi_copy c = {
		.size = sizeof(c),
		.flags = PEERPIN_LSI_DST_POINTER | PEERPIN_LSI_SRC_POINTER,
		.dst.offset = dst,
		.src.offset = src,
		.length = length,
	};

	return ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) ? -errno : 0;
}

static inline int check_open(void)
{
	return open("/dev/peer_check", O_RDWR | O_CLOEXEC);
}

static inline int check_call(int fd, unsigned int op, struct peer_check *c)
{
	c->op = op;
	return ioctl(fd, PEER_CHECK_IOC, c) ? -errno : 0;
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* A byte that depends on @seed and @at and is cheap to compute. */
static inline unsigned char pattern(uint64_t seed, uint64_t at)
{
	return (at * 2654435761u + seed * 97 + (at >> 13)) >> 7;
}

static inline void pattern_fill(unsigned char *p, uint64_t seed, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		p[i] = pattern(seed, i);
}

#endif
