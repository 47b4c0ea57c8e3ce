// SPDX-License-Identifier: MIT
/* Threads use and make views while the region of the views ends. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "view.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGES = 32,
	SIZE = PAGES * PAGE,
	FREES = 300,
	RACES = 1000,
	ENOUGH = 20,		/* minimum number of views that show the memory, and of refused views */
	MOST = 100 * RACES,
};

static int gpu, fd;
static unsigned char *view;

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	EXPECT(gpu >= 0 && fd >= 0, "gpu %d peerpin %d", gpu, fd);
	EXPECT(!view_catch(), "sigaction %d", errno);
}

static atomic_int go;		/* number of the round that may read; 0: no round; -1: the thread ends */
static atomic_int gone;	/* number of the round whose memory is freed */
static atomic_int late;		/* reads that succeeded after the free */
static atomic_ulong reads;

/* Read page after page, in pseudo-random order, until a fault or one read after the free. */
static void read_until_gone(int round)
{
	unsigned int i;
	int over, sig;

	for (i = round; ; i = i * 5 + 1) {
		over = atomic_load(&gone) == round;
		sig = view_touch(view + i % PAGES * PAGE);
		if (sig)
			return;
		atomic_fetch_add(&reads, 1);
		if (over)
			atomic_fetch_add(&late, 1);
		if (over)
			return;
	}
}

static void *reader(void *unused)
{
	int round;

	while ((round = atomic_load(&go)) >= 0) {
		if (!round) {
			sched_yield();
			continue;
		}
		read_until_gone(round);
		atomic_store(&go, 0);
	}
	return unused;
}

static void free_under_the_reader(int round)
{
	struct peerpin_pin pin;

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, SIZE, &pin), "pin");
	view = view_map(fd, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view, "errno %d", errno);
	atomic_store(&go, round);
	usleep(round * 37 % 700);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	atomic_store(&gone, round);
	while (atomic_load(&go))
		sched_yield();
	EXPECT(!atomic_load(&late), "round %d: freed memory was read", round);
	munmap(view, SIZE);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(free_races_with_a_read)
{
	int round, frees = vmtest_rounds(FREES);
	pthread_t thread;

	EXPECT(!pthread_create(&thread, NULL, reader, NULL), "thread");
	for (round = 1; round <= frees && vmtest_result == VMTEST_OK; round++)
		free_under_the_reader(round);
	atomic_store(&go, -1);
	pthread_join(thread, NULL);
	CHECK_CASE();
	EXPECT(atomic_load(&reads) > (unsigned long)frees, "%lu reads only", atomic_load(&reads));
}

static atomic_int stop;

static void *pin_and_unpin(void *unused)
{
	struct peerpin_pin p;

	while (!atomic_load(&stop)) {
		if (pin_at(fd, GPU_A, SIZE, &p))
			continue;
		usleep(rand() % 2000);
		unpin(fd, p.out_region);
	}
	return unused;
}

static unsigned int views, refused;	/* @views: views that could be read; @refused: mmap() calls that failed */

/* Make and read a view. 0: a racing unpin allows the result; otherwise errno */
static int view_at_any_time(uint32_t region)
{
	unsigned char *p = view_map(fd, region, 0, SIZE, PROT_READ);
	int sig;

	refused += !p;
	if (!p)
		return errno == ENOENT || errno == ESTALE ? 0 : errno;
	sig = view_touch(p);
	views += !sig;
	munmap(p, SIZE);
	return sig == SIGSEGV ? EFAULT : 0;
}

CASE(unpin_races_with_mmap)
{
	struct peerpin_pin p;
	pthread_t thread;
	int i, error = 0;

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, SIZE, &p) && !unpin(fd, p.out_region), "pin");
	EXPECT(!pthread_create(&thread, NULL, pin_and_unpin, NULL), "thread");
	for (i = 0; !error && i < MOST && (i < vmtest_rounds(RACES) || views < ENOUGH || refused < ENOUGH); i++)
		error = view_at_any_time(p.out_region);
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	EXPECT(!error, "errno %d", error);
	printf("# of %d views, %u were refused, and %u showed the memory\n", i, refused, views);
	EXPECT(views >= ENOUGH && refused >= ENOUGH, "%u views, %u refused", views, refused);
	EXPECT(!emu_free(gpu, GPU_A) && view_pins(gpu) == 0, "%u pins", view_pins(gpu));
}

static int child_waits_to_be_killed(int ready)
{
	int own = pin_open(), own_gpu = emu_open();
	struct peerpin_pin p;
	unsigned char *mine;

	if (emu_alloc(own_gpu, GPU_A, BLOCK) || pin_at(own, GPU_A, SIZE, &p))
		return 1;
	mine = view_map(own, p.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	if (!mine || !view_is(mine, SIZE, 0) || write(ready, "r", 1) != 1)
		return 2;
	for (;;)
		view_put(mine, 1);
}

CASE(killed_process_leaves_no_pin)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	EXPECT(!pipe(ready), "pipe");
	pid = fork();
	if (!pid)
		_exit(child_waits_to_be_killed(ready[1]));
	close(ready[1]);
	EXPECT(read(ready[0], &byte, 1) == 1 && view_pins(gpu) == 1, "the child has no view");
	EXPECT(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "kill");
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", status);
	EXPECT(view_pins(gpu) == 0, "%u pins", view_pins(gpu));
	close(ready[0]);
}

VMTEST_MAIN
