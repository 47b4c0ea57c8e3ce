// SPDX-License-Identifier: MIT
/*
 * The GPU memory is unmapped or freed, the process is killed, the disk is reset or removed, or the
 * GPU is unbound, while the disk's DMA writes to the GPU memory. io_uring starts the reads. The
 * disk is slow (emu/vm/run --disk-rate), so reads are in flight for long.
 */
#include <pthread.h>
#include <signal.h>

#include "flight.h"

enum {
	PIECE = 2 << 20,
	PIECES = 160,
};

SETUP(everything_is_there)
{
	EXPECT(start(), "no NVMe disk, or no GPU");
}

CASE(io_uring_reads_into_gpu_memory)
{
	struct flight f;
	int whole;

	NEEDS_PAGES();
	EXPECT(!takeoff(&f), "%s", strerror(errno));
	whole = land(&f);
	EXPECT(whole == READS, "%d reads of %d", whole, READS);
	OK(cuMemcpyDtoH(host, f.gpu, SIZE));
	EXPECT(differs(host, SIZE, 1, 0) == SIZE, "byte %zu", differs(host, SIZE, 1, 0));
	view_close(&f);
	OK(cuMemFree(f.gpu));
}

/* ---- the next owner of the memory -------------------------------------------------- */

static CUdeviceptr others[PIECES];
static int nr_others;

/* Allocate and fill all free GPU memory. */
static int take_the_rest(void)
{
	static unsigned char piece[PIECE];

	fill(piece, PIECE, OTHERS, 0);
	for (nr_others = 0; nr_others < PIECES && !cuMemAlloc(&others[nr_others], PIECE); nr_others++)
		if (cuMemcpyHtoD(others[nr_others], piece, PIECE))
			return -1;
	return 0;
}

static void give_the_rest_back(void)
{
	static unsigned char piece[PIECE];
	int i, bad = 0;

	for (i = 0; i < nr_others; i++) {
		bad += cuMemcpyDtoH(piece, others[i], PIECE) || differs(piece, PIECE, OTHERS, 0) != PIECE;
		cuMemFree(others[i]);
	}
	EXPECT(!bad, "the disk wrote to %d of %d pieces", bad, nr_others);
}

/* True if reads were in flight until all other memory was filled. In a starved VM the reads may end before. */
static bool is_freed_meanwhile;

static void free_meanwhile(void)
{
	unsigned int left;
	struct flight f;
	bool held;

	EXPECT(!takeoff(&f), "%s", strerror(errno));
	view_close(&f);
	OK(cuMemFree(f.gpu));
	held = gpu_free() < free_at_start;
	EXPECT(!take_the_rest(), "copy");
	left = under_way(&f);
	is_freed_meanwhile = land(&f) && left;
	EXPECT(!left || held, "the memory was freed during the reads");
	EXPECT(!left || nr_others * (uint64_t)PIECE < free_at_start, "the memory was allocated again during the reads");
	give_the_rest_back();
	CHECK_CASE();
	all_is_free_in_the_end();
}

CASE(freed_memory_waits_for_the_reads)
{
	NEEDS_PAGES();
	for (int i = 0; i < 10 && !is_freed_meanwhile; i++) {
		free_meanwhile();
		CHECK_CASE();
	}
	EXPECT(is_freed_meanwhile, "no reads in flight when all other memory was filled, or no read completed");
}

CASE(munmap_does_not_stop_the_reads)
{
	struct flight f;
	int whole, i;

	NEEDS_PAGES();
	EXPECT(!takeoff(&f), "%s", strerror(errno));
	view_close(&f);
	whole = land(&f);
	EXPECT(whole, "no read of %d", READS);
	OK(cuMemcpyDtoH(host, f.gpu, SIZE));
	for (i = 0; i < READS; i++)
		EXPECT(f.result[i] != LENGTH || differs(host + i * LENGTH, LENGTH, 1, i * LENGTH) == LENGTH,
		       "wrong data of read %d", i);
	OK(cuMemFree(f.gpu));
	all_is_free_in_the_end();
}

/* Start reads, report to the parent, and wait to be killed. */
static int read_and_wait(int tell)
{
	struct flight f;

	if (!cu_start(0) || takeoff(&f) || write(tell, "", 1) != 1)
		return 1;
	pause();
	return 1;
}

CASE(kill_during_reads_leaves_nothing)
{
	int ends[2], status;
	pid_t pid;
	char c;

	NEEDS_PAGES();
	EXPECT(!pipe(ends), "pipe");
	/* CUDA does not work in a forked child. So the child executes this program again. */
	pid = fork();
	if (!pid) {
		dup2(ends[1], 3);
		execl("/proc/self/exe", "t_storage_flight", "read_until_killed", NULL);
		_exit(1);
	}
	close(ends[1]);
	EXPECT(read(ends[0], &c, 1) == 1, "the child started no reads");
	close(ends[0]);
	kill(pid, SIGKILL);
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "status %#x", status);
	EXPECT(gpu_free() < free_at_start, "no reads in flight");
	EXPECT(!take_the_rest(), "copy");
	while (gpu_free() + nr_others * (uint64_t)PIECE < free_at_start)
		usleep(50000);
	give_the_rest_back();
	CHECK_CASE();
	all_is_free_in_the_end();
}

CASE_BY_NAME(read_until_killed)
{
	EXPECT(!read_and_wait(3), "not killed");
}

CASE(dynamic_dmabuf_waits_for_reads_too)
{
	struct flight f;
	int err, whole;
	unsigned int left;

	NEEDS_PAGES();
	EXPECT(set_dynamic("1"), "parameter");
	err = takeoff(&f);
	set_dynamic("0");
	EXPECT(!err, "%d", err);
	OK(cuMemFree(f.gpu));
	EXPECT(!take_the_rest(), "copy");
	left = under_way(&f);
	whole = land(&f);
	EXPECT(left && whole, "%u reads in flight, %d of %d completed", left, whole, READS);
	give_the_rest_back();
	CHECK_CASE();
	view_close(&f);
	all_is_free_in_the_end();
}

/* ---- removal of devices -------------------------------------------------------------------------- */

static int put_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY), ok = write(fd, line, strlen(line)) == (ssize_t)strlen(line);

	close(fd);
	return ok;
}

CASE(reset_of_disk_repeats_its_reads)
{
	struct flight f;
	int whole;

	NEEDS_PAGES();
	EXPECT(!takeoff(&f), "%s", strerror(errno));
	EXPECT(under_way(&f), "all reads completed before the reset");
	EXPECT(put_line("/sys/class/nvme/nvme0/reset_controller", "1"), "reset: %s", strerror(errno));
	whole = land(&f);
	EXPECT(whole == READS, "%d reads of %d", whole, READS);
	OK(cuMemcpyDtoH(host, f.gpu, SIZE));
	EXPECT(differs(host, SIZE, 1, 0) == SIZE, "byte %zu", differs(host, SIZE, 1, 0));
	view_close(&f);
	OK(cuMemFree(f.gpu));
	all_is_free_in_the_end();
}

/* At removal the kernel waits for reads or fails them. Afterwards the library must return an error. */
CASE(removal_of_disk_leaves_nothing)
{
	struct pp_cache *views;
	struct pp_file *file;
	struct flight f;
	int whole, err, disk = open(DISK, O_RDONLY);

	NEEDS_PAGES();
	EXPECT(!pp_cache_create_view(NULL, &views) && !pp_file_open(disk, views, &file), "open");
	close(disk);
	EXPECT(!takeoff(&f), "%s", strerror(errno));
	EXPECT(under_way(&f), "all reads completed before the removal");
	EXPECT(put_line("/sys/class/nvme/nvme0/device/remove", "1"), "remove: %s", strerror(errno));
	EXPECT(!under_way(&f), "%u reads in flight on a removed disk", under_way(&f));
	err = pp_file_read(file, at(f.gpu), LENGTH, 0, NULL);
	EXPECT(err == -EIO || err == -ENODEV || err == -ENXIO, "%d", err);
	pp_file_close(file);
	pp_cache_destroy(views);
	whole = land(&f);
	EXPECT(whole >= 0, "%d", whole);
	view_close(&f);
	OK(cuMemFree(f.gpu));
	all_is_free_in_the_end();
	CHECK_CASE();
	EXPECT(put_line("/sys/bus/pci/rescan", "1") && disk_is_there(), "rescan: %s", strerror(errno));
}

static struct emugpu_info info;
static volatile int unbound;

static void *unbind(void *unused)
{
	(void)unused;
	emu_sysfs(&info, "unbind");
	unbound = 1;
	return NULL;
}

/* This case must be the last: afterwards CUDA has no GPU in this process. */
CASE(unbind_of_gpu_waits_for_reads)
{
	struct flight f;
	pthread_t thread;
	int emu = emu_open(), whole, early, touched;

	NEEDS_PAGES();
	EXPECT(!emu_info(emu, 0, &info), "info");
	EXPECT(!takeoff(&f), "%s", strerror(errno));
	EXPECT(!pthread_create(&thread, NULL, unbind, NULL), "thread");
	usleep(100000);
	early = unbound;
	whole = land(&f);
	pthread_join(thread, NULL);
	EXPECT(!early && whole, "%d, %d reads of %d", early, whole, READS);
	touched = touch(f.view);
	EXPECT(touched == -EFAULT, "the view of an unbound GPU: %d", touched);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, f.dmabuf, 0) == MAP_FAILED && errno == ENODEV,
	       "mmap after the unbind");
	view_close(&f);
	EXPECT(!emu_sysfs(&info, "bind") && lends_pages(), "bind");
	close(emu);
}

VMTEST_MAIN
