// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cover.h"

/* Values of KCOV, which has no uAPI header. */
#define KCOV_INIT_TRACE _IOR('c', 1, unsigned long)
#define KCOV_ENABLE _IO('c', 100)

enum {
	PLACES = 1 << 14,
	TRACE_PC = 0,
};

void cover_open(struct cover *cover)
{
	void *places = MAP_FAILED;

	cover->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (cover->fd >= 0 && !ioctl(cover->fd, KCOV_INIT_TRACE, PLACES))
		places = mmap(NULL, PLACES * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, cover->fd, 0);
	cover->places = places != MAP_FAILED ? places : NULL;
}

void cover_begin(struct cover *cover)
{
	if (cover->places && ioctl(cover->fd, KCOV_ENABLE, TRACE_PC))
		cover->places = NULL;
	/* The mapping keeps the file open. */
	if (cover->fd >= 0)
		close(cover->fd);
}

void cover_start(struct cover *cover)
{
	if (cover->places)
		__atomic_store_n(&cover->places[0], 0, __ATOMIC_RELAXED);
}

bool cover_is_new(struct cover *cover, struct corpus *corpus)
{
	uint64_t i, count = cover->places ? __atomic_load_n(&cover->places[0], __ATOMIC_RELAXED) : 0;
	bool new = false;

	for (i = 1; i <= count && i < PLACES; i++)
		new |= corpus_reached(corpus, cover->places[i]);
	return new;
}
