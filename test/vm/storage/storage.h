/* SPDX-License-Identifier: MIT */
/* For the tests of files and GPU memory: a file system on an NVMe disk, and data that shows its origin. */
#ifndef TEST_STORAGE_H
#define TEST_STORAGE_H

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "test/vm/cuda/cu.h"
#include "test/vm/harness/emu.h"
#include "lends.h"
#include "libpeerpin.h"

#define DISK "/dev/nvme0n1"
#define MOUNT "/run/storage"
#define DATA MOUNT "/data"

enum { DATA_SIZE = 24 << 20 };

/* Byte @at of data with the mark @mark. */
static inline unsigned char byte_of(unsigned int mark, uint64_t at)
{
	return (unsigned char)((at * 2654435761u >> 13) ^ (at >> 8) ^ mark * 97);
}

static inline void fill(unsigned char *to, size_t length, unsigned int mark, uint64_t at)
{
	size_t i;

	for (i = 0; i < length; i++)
		to[i] = byte_of(mark, at + i);
}

/* Index of the first byte that differs from byte @at of @mark's data on; @length: none differs. */
static inline size_t differs(const unsigned char *what, size_t length, unsigned int mark, uint64_t at)
{
	size_t i;

	for (i = 0; i < length && what[i] == byte_of(mark, at + i); i++)
		;
	return i;
}

static inline int disk_is_there(void)
{
	int i;

	for (i = 0; i < 100 && access(DISK, F_OK); i++)
		usleep(100000);
	return !access(DISK, F_OK);
}

/* Fill the file DATA with mark 1. */
static inline int make_data(void)
{
	unsigned char *data = malloc(DATA_SIZE);
	int fd = open(DATA, O_RDWR | O_CREAT, 0600), ok;

	fill(data, DATA_SIZE, 1, 0);
	ok = write(fd, data, DATA_SIZE) == DATA_SIZE && !fsync(fd);
	close(fd);
	free(data);
	return ok;
}

static inline int storage_start(void)
{
	static int started;

	if (!started)
		started = !system("modprobe nvme && modprobe ext4") && disk_is_there() &&
			  !system("mkdir -p " MOUNT " && { mountpoint -q " MOUNT " || { mkfs.ext4 -qF " DISK
				  " && mount " DISK " " MOUNT "; }; }") && make_data();
	return started;
}

/* Number of free bytes of GPU memory. */
static inline uint64_t gpu_free(void)
{
	struct emugpu_info info;
	int fd = emu_open(), err = emu_info(fd, 0, &info);

	close(fd);
	return err ? 0 : info.out_vram_free;
}

/* volatile: gcc takes a constant address for an object of 0 bytes */
static inline void *at(CUdeviceptr ptr)
{
	volatile uintptr_t address = ptr;

	return (void *)address;
}

#endif
