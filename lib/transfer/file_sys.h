/* SPDX-License-Identifier: MIT */
/* System calls on files, as weak functions like those of sys.h. All return -errno on failure. */
#ifndef PP_FILE_SYS_H
#define PP_FILE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct pp_file_facts - facts about an open file
 * @size: present size in bytes
 * @memory_align: alignment of memory for direct I/O; 0: no direct I/O, or alignment not reported
 * @offset_align: alignment of the offset and length of direct I/O
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

/* New descriptors of the same file. One from pp_file_sys_reopen() has its own position and flags */
int pp_file_sys_reopen(int fd, int flags);
int pp_file_sys_dup(int fd);

ssize_t pp_file_sys_read(int fd, void *to, size_t length, uint64_t offset);
ssize_t pp_file_sys_write(int fd, const void *from, size_t length, uint64_t offset);

#endif
