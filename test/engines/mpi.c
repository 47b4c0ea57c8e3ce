/* SPDX-License-Identifier: MIT */
/*
 * Process 0 sends a buffer to process 1 in each round. After each round both free their buffers by a raw system call
 * and map other memory at the address.
 *
 *	mpi ROUNDS PAUSE_MS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

/* The kernel gives this address to no other mapping. */
static unsigned char *const at = (unsigned char *)0x600000000000;

static void map(int byte)
{
	if (mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(at, byte, SIZE);
}

static int receive(int byte)
{
	int wrong = 0, i;

	map(0);
	MPI_Recv(at, SIZE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < SIZE; i++)
		wrong += at[i] != byte;
	return wrong > 0;
}

int main(int argc, char **argv)
{
	int rounds, pause_ms, rank, round, wrong = 0;

	MPI_Init(&argc, &argv);
	rounds = argc > 1 ? atoi(argv[1]) : 20;
	pause_ms = argc > 2 ? atoi(argv[2]) : 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (round = 1; round <= rounds; round++) {
		if (rank == 1) {
			wrong += receive(round);
		} else {
			map(round);
			MPI_Send(at, SIZE, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		syscall(SYS_munmap, at, (size_t)SIZE);
		usleep(pause_ms * 1000);
	}
	if (rank == 1)
		printf("%d wrong of %d\n", wrong, rounds);
	MPI_Finalize();
	return 0;
}
