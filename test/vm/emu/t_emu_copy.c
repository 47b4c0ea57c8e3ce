// SPDX-License-Identifier: MIT
/* The copy engine of the emulated GPU. */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE EMUGPU_PAGE_SIZE
#define BLOCK EMUGPU_BLOCK_SIZE

static int fd;
static unsigned char *host, *back;	/* @host and @back: 4 MiB each */

enum { HOST_SIZE = 4 << 20 };

static void fill_random(unsigned char *p, size_t n)
{
	static unsigned int state = 1;
	size_t i;

	for (i = 0; i < n; i++) {
		state = state * 1103515245 + 12345;
		p[i] = state >> 16;
	}
}

SETUP(node_is_there)
{
	fd = emu_open();
	host = malloc(HOST_SIZE);
	back = malloc(HOST_SIZE);
	EXPECT(fd >= 0, "%s", strerror(errno));
	EXPECT(host && back, "no memory");
	fill_random(host, HOST_SIZE);
}

static void round_trip(uint64_t offset, uint64_t length)
{
	EXPECT(emu_fill(fd, VA, 1, 0x5a, 2 * BLOCK) == 0, "fill");
	EXPECT(emu_write(fd, VA + offset, host, length) == 0, "write");
	EXPECT(emu_read(fd, back, VA, 2 * BLOCK) == 0, "read");
	EXPECT(!memcmp(back + offset, host, length), "offset %lu length %lu", offset, length);
	EXPECT(!offset || back[offset - 1] == 0x5a, "byte before offset %lu", offset);
	EXPECT(offset + length == 2 * BLOCK || back[offset + length] == 0x5a, "byte after");
}

CASE(copies_at_every_alignment)
{
	static const uint64_t lengths[] = { 0, 1, 3, 4095, 4097, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE + 7 };
	static const uint64_t offsets[] = { 0, 1, 7, 4095, PAGE - 1, PAGE, 3 * PAGE + 511 };
	size_t i, j;

	EXPECT(emu_alloc(fd, VA, 2 * BLOCK) == 0, "alloc");
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (j = 0; j < sizeof(offsets) / sizeof(*offsets); j++) {
			round_trip(offsets[j], lengths[i]);
			CHECK_CASE();
		}
	round_trip(0, 2 * BLOCK);
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(device_to_device)
{
	uint64_t a = VA, b = VA + 8 * BLOCK;

	EXPECT(emu_alloc(fd, a, BLOCK) == 0 && emu_alloc(fd, b, BLOCK) == 0, "alloc");
	EXPECT(emu_write(fd, a, host, BLOCK) == 0, "write");
	EXPECT(emu_fill(fd, b, 1, 0, BLOCK) == 0, "fill");
	EXPECT(emu_copy(fd, EMUGPU_COPY_DTOD, b + 12345, a + 777, 10 * PAGE) == 0, "copy");
	EXPECT(emu_read(fd, back, b, BLOCK) == 0, "read");
	EXPECT(!memcmp(back + 12345, host + 777, 10 * PAGE), "bytes");
	EXPECT(!back[12344] && !back[12345 + 10 * PAGE], "neighbours");
	EXPECT(emu_free(fd, a) == 0 && emu_free(fd, b) == 0, "free");
}

CASE(fills_of_each_width)
{
	uint16_t *half = (uint16_t *)back;
	uint32_t *word = (uint32_t *)back;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_fill(fd, VA, 2, 0x1234, 2 * PAGE) == 0, "16");
	EXPECT(emu_read(fd, back, VA, 2 * PAGE) == 0, "read");
	EXPECT(half[0] == 0x1234 && half[PAGE - 1] == 0x1234, "%#x", half[0]);
	EXPECT(emu_fill(fd, VA + 4, 4, 0xdeadbeef, 2 * PAGE) == 0, "32");
	EXPECT(emu_read(fd, back, VA, 3 * PAGE) == 0, "read");
	EXPECT(word[0] == 0x12341234 && word[1] == 0xdeadbeef && word[PAGE / 2] == 0xdeadbeef, "%#x", word[1]);
	EXPECT(emu_fill(fd, VA, 8, 0, PAGE) == -EINVAL, "width 8");
	EXPECT(emu_fill(fd, VA, 0, 0, PAGE) == -EINVAL, "width 0");
	EXPECT(emu_fill(fd, VA, 1, 0x100, PAGE) == -EINVAL, "pattern wider than its width");
	EXPECT(emu_fill(fd, VA + 2, 4, 0, PAGE) == -EINVAL, "alignment");
	EXPECT(emu_fill(fd, VA, 4, 0, 6) == -EINVAL, "length");
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(bad_copies_are_refused)
{
	struct emugpu_copy copy = { .kind = EMUGPU_COPY_HTOD, .elem = 1, .dst = VA, .src = VA, .length = 1 };

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "alloc");
	EXPECT(emu_call(fd, EMUGPU_IOC_COPY, &copy) == -EINVAL, "elem");
	EXPECT(emu_copy(fd, EMUGPU_FILL + 1, VA, VA, 1) == -EINVAL, "kind");
	EXPECT(emu_write(fd, VA - 1, host, 1) == -ENOENT, "before");
	EXPECT(emu_write(fd, VA + 2 * BLOCK, host, 1) == -ENOENT, "after");
	EXPECT(emu_write(fd, VA, host, BLOCK + 1) == -EINVAL, "across two blocks");
	EXPECT(emu_read(fd, back, VA + 1, UINT64_MAX) == -EINVAL, "length that overflows");
	EXPECT(emu_copy(fd, EMUGPU_COPY_DTOD, VA, VA - BLOCK, 1) == -ENOENT, "source");
	EXPECT(emu_write(fd, VA, (void *)16, PAGE) == -EFAULT, "from an unmapped address");
	EXPECT(emu_read(fd, (void *)16, VA, PAGE) == -EFAULT, "to an unmapped address");
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, VA + BLOCK) == 0, "free");
}

CASE(copies_need_the_cpu_window)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(emu_write(fd, VA, host, PAGE) == 0, "write");
	EXPECT(emu_cpu_window(fd, 0) == 0, "close");
	EXPECT(emu_cpu_window(fd, 0) == 0, "close again");
	EXPECT(emu_read(fd, back, VA, PAGE) == -EBUSY, "read");
	EXPECT(emu_write(fd, VA, back, PAGE) == -EBUSY, "write");
	EXPECT(emu_fill(fd, VA, 1, 0, PAGE) == -EBUSY, "fill");
	EXPECT(emu_copy(fd, EMUGPU_COPY_DTOD, VA, VA + PAGE, PAGE) == -EBUSY, "copy");
	EXPECT(emu_peek(fd, 0, back, 0, 1) == -EBUSY, "peek");
	EXPECT(emu_cpu_window(fd, 1) == 0, "open");
	EXPECT(emu_cpu_window(fd, 1) == 0, "open again");
	EXPECT(emu_read(fd, back, VA, PAGE) == 0, "read");
	EXPECT(!memcmp(back, host, PAGE), "bytes");
	EXPECT(emu_free(fd, VA) == 0, "free");
}

/* Make a page that stays missing until deliver(). NULL: there is no userfaultfd. */
static void *page_to_come(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (uintptr_t)p;
	range.range.len = 4096;
	*uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (p == MAP_FAILED || ioctl(*uffd, UFFDIO_API, &api) || ioctl(*uffd, UFFDIO_REGISTER, &range))
		return NULL;
	return p;
}

static int deliver(int uffd, void *p)
{
	struct uffdio_zeropage page = { .range = { .start = (uintptr_t)p, .len = 4096 } };

	return ioctl(uffd, UFFDIO_ZEROPAGE, &page) ? -errno : 0;
}

static atomic_bool copied;

static void *copy_page(void *p)
{
	int err = emu_write(fd, VA, p, 4096);

	copied = true;
	return (void *)(intptr_t)err;
}

/* An unbind of the GPU closes the window. The close must wait only for the current steps of copies. */
CASE(missing_page_delays_only_its_copy)
{
	pthread_t thread;
	void *p, *err;
	int uffd;

	p = page_to_come(&uffd);
	if (!p && uffd < 0)
		SKIP("this kernel has no userfaultfd");
	EXPECT(p, "userfaultfd: %s", strerror(errno));
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(!pthread_create(&thread, NULL, copy_page, p), "thread");
	usleep(200000);
	EXPECT(!copied, "the copy did not wait for the page");
	EXPECT(emu_cpu_window(fd, 0) == 0 && emu_cpu_window(fd, 1) == 0, "window");
	EXPECT(emu_write(fd, VA + PAGE, host, PAGE) == 0, "another copy");
	EXPECT(!copied, "the copy did not wait for the page");
	EXPECT(deliver(uffd, p) == 0, "%s", strerror(errno));
	pthread_join(thread, &err);
	EXPECT(!err, "the copy: %ld", (long)(intptr_t)err);
	EXPECT(emu_free(fd, VA) == 0, "free");
	munmap(p, 4096);
	close(uffd);
}

static atomic_bool stop;

static void *copy_for_ever(void *arg)
{
	long bad = 0;
	int err;

	while (!stop) {
		err = emu_read(fd, arg, VA, BLOCK);
		bad += err && err != -ENOENT;
	}
	return (void *)bad;
}

CASE(free_races_with_copies)
{
	pthread_t thread;
	void *bad;
	int i;

	stop = false;
	EXPECT(!pthread_create(&thread, NULL, copy_for_ever, back), "thread");
	for (i = 0; i < 300; i++)
		if (emu_alloc(fd, VA, BLOCK) || emu_write(fd, VA, host, 3 * PAGE) || emu_free(fd, VA))
			break;
	stop = true;
	pthread_join(thread, &bad);
	EXPECT(i == 300, "stopped at %d", i);
	EXPECT(!bad, "%ld copies failed otherwise than by ENOENT", (long)bad);
}

CASE(copy_between_two_gpus)
{
	struct emugpu_info info;
	uint64_t b = VA + BLOCK;

	if (emu_info(fd, 1, &info))
		SKIP("one GPU only; type: emu/vm/run --gpus 2 ...");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc_on(fd, 1, b, BLOCK) == 0, "alloc");
	EXPECT(emu_write(fd, VA, host, BLOCK) == 0, "write");
	EXPECT(emu_copy(fd, EMUGPU_COPY_DTOD, b, VA, BLOCK) == 0, "copy");
	EXPECT(emu_read(fd, back, b, BLOCK) == 0, "read");
	EXPECT(!memcmp(back, host, BLOCK), "bytes");
	EXPECT(emu_cpu_window(fd, 0) == 0, "close the window of GPU 0");
	EXPECT(emu_copy(fd, EMUGPU_COPY_DTOD, b, VA, BLOCK) == -EBUSY, "copy from GPU 0");
	EXPECT(emu_cpu_window(fd, 1) == 0, "open");
	EXPECT(emu_free(fd, VA) == 0 && emu_free(fd, b) == 0, "free");
}

VMTEST_MAIN
