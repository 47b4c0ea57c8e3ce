// SPDX-License-Identifier: MIT
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "world.h"

enum { MEMORY = 1 << 20 };

void world_init(struct world *world, const int friend[2])
{
	memset(world, 0, sizeof(*world));
	memset(world->fds, -1, sizeof(world->fds));
	pthread_mutex_init(&world->lock, NULL);
	world->memory = memfd_create("calls", MFD_CLOEXEC);
	if (ftruncate(world->memory, MEMORY))
		world->memory = -1;
	world->integrated = !access("/sys/module/emugpu_tegra", F_OK);
	memcpy(world->friend, friend, sizeof(world->friend));
}

/* Store @new in *@slot and return the old value. */
#define EXCHANGE(world, slot, new) ({		\
	__typeof__(slot) slot_ = (slot);	\
	__typeof__(*slot_) old_;		\
						\
	pthread_mutex_lock(&(world)->lock);	\
	old_ = *slot_;				\
	*slot_ = (new);				\
	pthread_mutex_unlock(&(world)->lock);	\
	old_;					\
})

#define READ(world, slot) ({			\
	__typeof__(slot) at_ = (slot);		\
	__typeof__(*at_) now_;			\
						\
	pthread_mutex_lock(&(world)->lock);	\
	now_ = *at_;				\
	pthread_mutex_unlock(&(world)->lock);	\
	now_;					\
})

int world_fd(struct world *world, enum fd_kind kind, struct choices *c)
{
	return READ(world, &world->fds[kind][choose(c, FDS)]);
}

void world_put_fd(struct world *world, enum fd_kind kind, struct choices *c, int fd)
{
	int old = EXCHANGE(world, &world->fds[kind][choose(c, FDS)], fd);

	if (old >= 0)
		close(old);
}

struct range world_range(struct world *world, enum range_kind kind, struct choices *c)
{
	return READ(world, &world->ranges[kind][choose(c, RANGES)]);
}

struct range world_put_range(struct world *world, enum range_kind kind, struct choices *c, struct range range)
{
	return EXCHANGE(world, &world->ranges[kind][choose(c, RANGES)], range);
}

struct pin world_pin(struct world *world, struct choices *c)
{
	return READ(world, &world->pins[choose(c, PINS)]);
}

struct pin world_put_pin(struct world *world, struct choices *c, struct pin pin)
{
	return EXCHANGE(world, &world->pins[choose(c, PINS)], pin);
}

struct key world_key(struct world *world, struct choices *c)
{
	return READ(world, &world->keys[choose(c, KEYS)]);
}

void world_put_key(struct world *world, struct choices *c, struct key key)
{
	(void)EXCHANGE(world, &world->keys[choose(c, KEYS)], key);
}

void world_put_child(struct world *world, struct choices *c, pid_t child)
{
	pid_t old = EXCHANGE(world, &world->children[choose(c, CHILDREN)], child);

	if (old <= 0)
		return;
	kill(old, SIGKILL);
	waitpid(old, NULL, 0);
}

/* Choose usually the whole range, sometimes a part or a larger range. */
static struct range part(struct range whole, struct choices *c)
{
	uint64_t skip = choose_rarely(c, 4) ? choose(c, 1 << 16) * 512 % (whole.size + 1) : 0;
	uint64_t length = whole.size - skip;

	if (choose_rarely(c, 4))
		length = choose(c, 1 << 16) * 512 % (length + 1);
	if (choose_rarely(c, 16))
		length += choose(c, 1 << 16) * 512;
	return (struct range){ whole.at + skip, length };
}

struct range choose_memory(struct world *world, struct choices *c)
{
	enum range_kind often = world->integrated ? RANGE_VIEW : RANGE_BLOCK;
	enum range_kind seldom = world->integrated ? RANGE_BLOCK : RANGE_VIEW;
	uint64_t kind = choose(c, 8);

	if (!kind)
		return (struct range){ choose_number(c), choose_number(c) };
	return part(world_range(world, kind < 3 ? RANGE_HOST : kind < 4 ? seldom : often, c), c);
}
