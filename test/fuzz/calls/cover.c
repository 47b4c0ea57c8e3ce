// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cover.h"

/* The kernel has no header of them for programs. */
#define KCOV_INIT_TRACE _IOR('c', 1, unsigned long)
#define KCOV_ENABLE _IO('c', 100)

enum {
	PLACES = 1 << 14,
	TRACE_PC = 0,
};

void cover_open(struct cover *cover)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	void *places = MAP_FAILED;

	if (fd >= 0 && !ioctl(fd, KCOV_INIT_TRACE, PLACES))
		places = mmap(NULL, PLACES * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cover->places = places != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, TRACE_PC) ? places : NULL;
	/* the mapping keeps the file open */
	if (fd >= 0)
		close(fd);
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
