// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <peerpin.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "calls.h"

enum { PAGE = 4096 };

static void open_core(struct world *world, struct choices *c)
{
	static const int modes[] = { O_RDWR, O_RDONLY, O_WRONLY, O_PATH };
	int mode = modes[choose_rarely(c, 8) ? choose(c, 4) : 0];

	world_put_fd(world, FD_CORE, c, open("/dev/peerpin", mode | O_CLOEXEC));
}

static void end_pin(struct pin pin)
{
	struct peerpin_unpin args = { .size = sizeof(args), .region = pin.region };

	ioctl(pin.fd, PEERPIN_IOC_UNPIN, &args);
}

static void keep(struct world *world, struct choices *c, int fd, const struct peerpin_pin *args)
{
	end_pin(world_put_pin(world, c, (struct pin){ fd, args->out_region, args->out_length }));
}

static void pin(struct world *world, struct choices *c)
{
	struct range memory = choose_memory(world, c);
	struct peerpin_pin args = { .size = sizeof(args), .addr = memory.at, .length = memory.size };
	int fd = world_fd(world, FD_CORE, c);

	args.flags = choose_rarely(c, 4) ? PEERPIN_PIN_PERSISTENT : 0;
	args.provider = choose_rarely(c, 4) ? (uint32_t)choose(c, PEERPIN_PROVIDER_DMABUF + 2) : 0;
	if (!ioctl(fd, PEERPIN_IOC_PIN, &args))
		keep(world, c, fd, &args);
}

static void pin_by_token(struct world *world, struct choices *c)
{
	struct range memory = world_range(world, RANGE_BLOCK, c);
	struct key key = world_key(world, c);
	struct peerpin_pin args = {
		.size = sizeof(args), .addr = memory.at, .length = memory.size, .provider = PEERPIN_PROVIDER_NV,
		.p2p_token = key.token, .va_space_token = key.va_space,
	};
	int fd = world_fd(world, FD_CORE, c);

	if (!ioctl(fd, PEERPIN_IOC_PIN, &args))
		keep(world, c, fd, &args);
}

static void pin_dmabuf(struct world *world, struct choices *c)
{
	struct peerpin_pin args = {
		.size = sizeof(args), .provider = PEERPIN_PROVIDER_DMABUF, .fd = world_fd(world, FD_DMABUF, c),
		.addr = choose(c, 4) * PAGE, .length = (1 + choose(c, 512)) * PAGE,
	};
	int fd = world_fd(world, FD_CORE, c);

	if (!ioctl(fd, PEERPIN_IOC_PIN, &args))
		keep(world, c, fd, &args);
}

/* Random arguments; some have the right size. */
static void pin_junk(struct world *world, struct choices *c)
{
	struct peerpin_pin args = {
		.size = choose_rarely(c, 2) ? (uint32_t)choose_number(c) : sizeof(args),
		.flags = (uint32_t)choose(c, 4), .addr = choose_number(c), .length = choose_number(c),
		.provider = (uint32_t)choose(c, 8), .fd = (int)choose_number(c), .p2p_token = choose_number(c),
		.va_space_token = (uint32_t)choose_number(c),
	};
	int fd = world_fd(world, FD_CORE, c);

	if (!ioctl(fd, PEERPIN_IOC_PIN, &args))
		keep(world, c, fd, &args);
}

static void unpin(struct world *world, struct choices *c)
{
	end_pin(choose_rarely(c, 4) ? world_pin(world, c) : world_put_pin(world, c, (struct pin){ .fd = -1 }));
}

static void unpin_guessed(struct world *world, struct choices *c)
{
	end_pin((struct pin){ .fd = world_fd(world, FD_CORE, c), .region = (uint32_t)choose_number(c) });
}

static void query(struct world *world, struct choices *c)
{
	struct pin pin = world_pin(world, c);
	struct peerpin_query args = { .size = sizeof(args), .region = pin.region };

	ioctl(pin.fd, PEERPIN_IOC_QUERY, &args);
}

static void export(struct world *world, struct choices *c)
{
	struct pin pin = world_pin(world, c);
	struct peerpin_export args = {
		.size = sizeof(args), .region = pin.region, .length = pin.length,
		.offset = choose_rarely(c, 4) ? choose(c, 64) * PAGE : 0,
	};

	if (args.offset && args.offset < pin.length)
		args.length = pin.length - args.offset;
	if (!ioctl(pin.fd, PEERPIN_IOC_EXPORT, &args))
		world_put_fd(world, FD_DMABUF, c, args.out_fd);
}

static void map(struct world *world, struct choices *c, int fd, uint64_t offset, uint64_t length)
{
	int prot = choose_rarely(c, 4) ? (int)choose(c, 8) : PROT_READ | PROT_WRITE;
	int flags = choose_rarely(c, 8) ? MAP_PRIVATE : MAP_SHARED;

	memory_keep(world, c, RANGE_VIEW, mmap(NULL, length, prot, flags, fd, (off_t)offset), length);
}

static void map_region(struct world *world, struct choices *c)
{
	struct pin pin = world_pin(world, c);
	uint64_t skip = choose_rarely(c, 2) ? choose(c, 256) * PAGE : 0;

	map(world, c, pin.fd, PEERPIN_MMAP_OFFSET(pin.region) + skip, pin.length > skip ? pin.length - skip : PAGE);
}

static void map_epochs(struct world *world, struct choices *c)
{
	map(world, c, world_fd(world, FD_CORE, c), choose_rarely(c, 4) ? choose_number(c) & ~(uint64_t)(PAGE - 1) : 0,
	    choose_rarely(c, 2) ? choose(c, 256) * PAGE :
	    (PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES) * sizeof(uint32_t));
}

static void watch(struct world *world, struct choices *c)
{
	struct range memory = choose_memory(world, c);
	struct peerpin_watch args = {
		.size = choose_rarely(c, 16) ? (uint32_t)choose_number(c) : sizeof(args),
		.flags = choose_rarely(c, 16) ? (uint32_t)choose(c, 4) : 0,
		.addr = choose_rarely(c, 8) ? choose_number(c) : memory.at,
		.length = choose_rarely(c, 8) ? choose_number(c) : memory.size,
	};

	ioctl(world_fd(world, FD_CORE, c), PEERPIN_IOC_WATCH, &args);
}

/* Ids are small, because the kernel gives the id that was freed last. */
static void unwatch(struct world *world, struct choices *c)
{
	struct peerpin_unwatch args = { .size = sizeof(args), .watch = (uint32_t)choose(c, 16) };

	if (choose_rarely(c, 16))
		args.watch = choose_rarely(c, 2) ? PEERPIN_WATCH_ALL : (uint32_t)choose_number(c);
	ioctl(world_fd(world, FD_CORE, c), PEERPIN_IOC_UNWATCH, &args);
}

const struct call core_calls[] = {
	{ 6, open_core },
	{ 30, pin },
	{ 4, pin_by_token },
	{ 10, pin_dmabuf },
	{ 4, pin_junk },
	{ 16, unpin },
	{ 2, unpin_guessed },
	{ 6, query },
	{ 10, export },
	{ 10, map_region },
	{ 2, map_epochs },
	{ 12, watch },
	{ 8, unwatch },
	{ 0, NULL },
};
