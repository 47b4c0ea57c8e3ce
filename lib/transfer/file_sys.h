/* SPDX-License-Identifier: MIT */
/* The system calls that reach files, weak as those of sys.h. All return -errno on failure. */
#ifndef PP_FILE_SYS_H
#define PP_FILE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct pp_file_facts - of an open file
 * @size: bytes now
 * @memory_align: of the memory that direct I/O takes; 0: the file takes none, or does not say
 * @offset_align: of its offset and length
 */
struct pp_file_facts {
	bool is_regular;
	bool is_block;
	uint64_t size;
	uint32_t memory_align;
	uint32_t offset_align;
};

int pp_file_sys_facts(int fd, struct pp_file_facts *out);

/* F_GETFL */
int pp_file_sys_flags(int fd);

/* The same file with a position and flags of its own */
int pp_file_sys_reopen(int fd, int flags);
int pp_file_sys_dup(int fd);

ssize_t pp_file_sys_read(int fd, void *to, size_t length, uint64_t offset);
ssize_t pp_file_sys_write(int fd, const void *from, size_t length, uint64_t offset);

#endif
