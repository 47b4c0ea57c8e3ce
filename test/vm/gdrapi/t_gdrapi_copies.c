// SPDX-License-Identifier: MIT
/*
 * The copy functions of libgdrapi on the CPU of the VM. No CPU of QEMU has LS64, so on arm64 a signal handler
 * executes its instructions.
 */
#include <signal.h>
#include <ucontext.h>

#include "test/vm/harness/vmtest.h"

#define COPIES_WRONG(...) EXPECT(false, __VA_ARGS__)
#define COPIES_SIZES 130	/* two lines; a signal for each line takes time */
#include "test/unit/gdrapi/copies.h"

#ifdef __aarch64__
enum { REGISTERS_FIRST = 8, REGISTER_ADDRESS = 16 };

static const uint32_t st64b = 0xf83f9208, ld64b = 0xf83fd208;	/* x8 to x15 to or from [x16] */

static void execute(int number, siginfo_t *info, void *context)
{
	mcontext_t *cpu = &((ucontext_t *)context)->uc_mcontext;
	void *line = (void *)cpu->regs[REGISTER_ADDRESS], *registers = &cpu->regs[REGISTERS_FIRST];
	uint32_t instruction = *(const uint32_t *)cpu->pc;

	(void)info;
	if ((uintptr_t)line % STREAM_LINE || (instruction != st64b && instruction != ld64b)) {
		signal(number, SIG_DFL);
		return;
	}
	if (instruction == st64b)
		memcpy(line, registers, STREAM_LINE);
	else
		memcpy(registers, line, STREAM_LINE);
	cpu->pc += 4;
}

static bool emulates(const struct stream *s)
{
	return !strcmp(s->name, "ls64");
}

static int catch_instructions(void)
{
	struct sigaction action = { .sa_sigaction = execute, .sa_flags = SA_SIGINFO };

	return sigaction(SIGILL, &action, NULL);
}
#else
static bool emulates(const struct stream *s)
{
	(void)s;
	return false;
}

static int catch_instructions(void)
{
	return 0;
}
#endif

SETUP(there_is_memory)
{
	EXPECT(copies_start() && !catch_instructions(), "no memory");
}

CASE(every_alignment_and_size_is_copied)
{
	every_way(in_the_middle, emulates);
}

CASE(copies_touch_nothing_outside_their_pages)
{
	every_way(at_both_ends, emulates);
}

CASE(long_copies_are_exact)
{
	every_way(big, emulates);
}

VMTEST_MAIN
