// SPDX-License-Identifier: MIT
/* No view may outlive its region, even if the view was moved, split or partly unmapped before. */
#include "view.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGES = 32,
	SIZE = PAGES * PAGE,
};

static int gpu, fd, check;
static struct peerpin_pin pin;
static unsigned char *view;

/* Make a block of GPU memory at GPU_A, its region, and a view of the whole region. */
static void begin(void)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	EXPECT(!pin_at(fd, GPU_A, SIZE, &pin), "pin: %u", pin.out_reason);
	view = view_map(fd, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view, "errno %d", errno);
}

static void end(void)
{
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	emu_free(gpu, GPU_A);
	EXPECT(view_pins(gpu) == 0, "%u pins", view_pins(gpu));
}

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	check = check_open();
	EXPECT(gpu >= 0 && fd >= 0 && check >= 0, "gpu %d peerpin %d check %d", gpu, fd, check);
	EXPECT(!view_catch(), "sigaction %d", errno);
}

/* ---- ends of a region ------------------------------------------------------------ */

CASE(free_ends_the_view)
{
	begin();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, 0), "not there");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	EXPECT(view_put(view, 1) == SIGBUS, "written");
	munmap(view, SIZE);
	end();
}

CASE(free_ends_an_untouched_view)
{
	begin();
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view, SIZE, SIGBUS), "readable");
	munmap(view, SIZE);
	end();
}

CASE(revoke_without_free_ends_the_view)
{
	begin();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, 0), "not there");
	EXPECT(!emu_revoke(gpu, GPU_A), "revoke");
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
	end();
}

CASE(unpin_ends_the_view)
{
	begin();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, 0), "not there");
	end();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
}

CASE(view_keeps_the_file_open)
{
	int other = pin_open();

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(other, GPU_A, SIZE, &pin), "pin");
	view = view_map(other, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view, "errno %d", errno);
	close(other);
	EXPECT(view_is(view, SIZE, 0) && view_pins(gpu) == 1, "close unmapped the view");
	munmap(view, PAGE);
	EXPECT(view_is(view + PAGE, SIZE - PAGE, 0) && view_pins(gpu) == 1, "munmap of a part ended the view");
	munmap(view + PAGE, SIZE - PAGE);
	EXPECT(view_pins(gpu) == 0, "%u pins", view_pins(gpu));
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

static int pin_persistent(uint64_t addr, struct peerpin_pin *p)
{
	*p = (struct peerpin_pin){ .size = sizeof(*p), .flags = PEERPIN_PIN_PERSISTENT, .addr = addr, .length = SIZE };
	return ioctl(fd, PEERPIN_IOC_PIN, p) ? -errno : 0;
}

CASE(view_of_persistent_pin_outlives_free)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !emu_fill(gpu, GPU_A, 1, 0x5a, SIZE), "alloc");
	EXPECT(!pin_persistent(GPU_A, &pin), "pin: %d, %u", errno, pin.out_reason);
	view = view_map(fd, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && view[0] == 0x5a, "errno %d", errno);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view, SIZE, 0) && view[SIZE - 1] == 0x5a, "the free ended the view");
	end();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
}

static bool goes_soon(const unsigned char *at)
{
	int ms;

	for (ms = 0; ms < 2000; ms++) {
		if (view_touch(at) == SIGBUS)
			return true;
		usleep(1000);
	}
	return false;
}

/* The views keep the pages. So the views may end a moment after munmap(). */
CASE(munmap_of_host_memory_ends_view)
{
	unsigned char *host = host_memory(SIZE);

	EXPECT(host && !pin_at(fd, (uintptr_t)host, SIZE, &pin), "pin");
	view = view_map(fd, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && view_is(view, SIZE, 0), "errno %d", errno);
	munmap(host, SIZE);
	EXPECT(goes_soon(view) && view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
	end();
}

CASE(unpin_of_host_memory_ends_view)
{
	unsigned char *host = host_memory(SIZE);

	EXPECT(host && !pin_at(fd, (uintptr_t)host, SIZE, &pin), "pin");
	view = view_map(fd, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && view_is(view, SIZE, 0), "errno %d", errno);
	end();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	host[0] = 1;
	munmap(view, SIZE);
	munmap(host, SIZE);
}

static void hold(int file)
{
	struct peer_check c = { .fd = file, .region = pin.out_region, .length = PAGE };

	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register");
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &c), "hold");
}

static void release(void)
{
	struct peer_check c = { 0 };

	EXPECT(!check_call(check, PEER_CHECK_END, &c), "end");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
}

/* When the drain times out, the driver keeps the pages, but the view must be unmapped. */
CASE(overdue_dma_keeps_pages_not_views)
{
	begin();
	CHECK_CASE();
	hold(fd);
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, 0), "not there");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT(view_pins(gpu) == 1, "the GPU driver lost the pinned pages");
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	release();
	CHECK_CASE();
	munmap(view, SIZE);
	EXPECT(!emu_free(gpu, GPU_A) && view_pins(gpu) == 0, "%u pins", view_pins(gpu));
}

/* The file is closed, but the region ends only with the driver's DMA. */
CASE(overdue_dma_outlives_close)
{
	int other = pin_open();

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(other, GPU_A, SIZE, &pin), "pin");
	view = view_map(other, pin.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(view && view_is(view, SIZE, 0), "errno %d", errno);
	hold(other);
	CHECK_CASE();
	close(other);
	munmap(view, SIZE);
	EXPECT(view_pins(gpu) == 1, "%u pins", view_pins(gpu));
	release();
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A) && view_pins(gpu) == 0, "%u pins", view_pins(gpu));
}

/* ---- changes to a view before the end ------------------------------------------------ */

CASE(free_ends_pieces_after_partial_munmap)
{
	begin();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, 0), "not there");
	EXPECT(!munmap(view, 3 * PAGE) && !munmap(view + 10 * PAGE, PAGE) && !munmap(view + 30 * PAGE, 2 * PAGE),
	       "munmap");
	EXPECT(view_is(view, 3 * PAGE, SIGSEGV) && view_is(view + 3 * PAGE, 7 * PAGE, 0), "first piece");
	EXPECT(view_is(view + 11 * PAGE, 19 * PAGE, 0), "second piece");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view + 3 * PAGE, 7 * PAGE, SIGBUS), "the first piece survives");
	EXPECT(view_is(view + 11 * PAGE, 19 * PAGE, SIGBUS), "the second piece survives");
	munmap(view, SIZE);
	end();
}

CASE(free_ends_pieces_after_mprotect)
{
	begin();
	CHECK_CASE();
	EXPECT(!mprotect(view + 8 * PAGE, 8 * PAGE, PROT_READ), "errno %d", errno);
	EXPECT(view_is(view, SIZE, 0), "not there");
	EXPECT(view_put(view + 8 * PAGE, 1) == SIGSEGV && !view_put(view + 16 * PAGE, 1),
	       "wrong protection of a piece");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
	end();
}

/* A free address range, as the new place of a view. */
static unsigned char *free_place(size_t length)
{
	unsigned char *p = host_memory(length);

	munmap(p, length);
	return p;
}

CASE(free_ends_a_moved_view)
{
	unsigned char *moved;

	begin();
	CHECK_CASE();
	EXPECT(view_is(view, 16 * PAGE, 0) && !view_put(view + 5 * PAGE, 0x77), "not there");
	moved = mremap(view, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, free_place(SIZE));
	EXPECT(moved != MAP_FAILED && moved != view, "errno %d", errno);
	EXPECT(view_is(view, SIZE, SIGSEGV), "still at the old place");
	EXPECT(view_is(moved, SIZE, 0) && moved[5 * PAGE] == 0x77, "the view is not at the new address");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(moved, SIZE, SIGBUS), "survives");
	munmap(moved, SIZE);
	end();
}

CASE(free_ends_a_moved_piece)
{
	unsigned char *moved;

	begin();
	CHECK_CASE();
	EXPECT(!view_put(view + 9 * PAGE, 0x78), "not there");
	moved = mremap(view + 8 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free_place(4 * PAGE));
	EXPECT(moved != MAP_FAILED, "errno %d", errno);
	EXPECT(view_is(moved, 4 * PAGE, 0) && moved[PAGE] == 0x78, "not at the new place");
	EXPECT(view_is(view, 8 * PAGE, 0) && view_is(view + 12 * PAGE, 20 * PAGE, 0), "the rest of the view");
	end();
	CHECK_CASE();
	EXPECT(view_is(moved, 4 * PAGE, SIGBUS) && view_is(view, 8 * PAGE, SIGBUS) &&
	       view_is(view + 12 * PAGE, 20 * PAGE, SIGBUS), "survives");
	munmap(moved, 4 * PAGE);
	munmap(view, SIZE);
}

CASE(mremap_cannot_enlarge_a_view)
{
	unsigned char *more;

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, SIZE, &pin), "pin");
	view = view_map(fd, pin.out_region, 0, SIZE - PAGE, PROT_READ);
	EXPECT(view && view_is(view, SIZE - PAGE, 0), "errno %d", errno);
	more = mremap(view, SIZE - PAGE, SIZE, MREMAP_MAYMOVE);
	EXPECT(more == MAP_FAILED && errno == EFAULT, "grown, errno %d", errno);
	more = mremap(view, 0, PAGE, MREMAP_MAYMOVE);
	EXPECT(more == MAP_FAILED && errno == EFAULT, "doubled, errno %d", errno);
	more = mremap(view, SIZE - PAGE, 4 * PAGE, 0);
	EXPECT(more == view && view_is(view + 4 * PAGE, SIZE - 5 * PAGE, SIGSEGV), "not shrunk, errno %d", errno);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view, 4 * PAGE, SIGBUS), "survives");
	munmap(view, 4 * PAGE);
	end();
}

static int child_sees_nothing(void)
{
	return !view_is(view, SIZE, SIGSEGV);
}

CASE(child_of_fork_has_no_view)
{
	begin();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, 0), "not there");
	EXPECT(!emu_in_child(child_sees_nothing), "the child reads the view");
	EXPECT(view_is(view, SIZE, 0), "the parent's view is gone");
	end();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
}

CASE(old_view_hides_reused_region_id)
{
	uint32_t id;
	unsigned char *old;

	begin();
	CHECK_CASE();
	id = pin.out_region;
	old = view;
	EXPECT(view_is(old, SIZE, 0), "not there");
	end();
	begin();
	CHECK_CASE();
	EXPECT(pin.out_region == id, "id %u is not used again", id);
	EXPECT(view_is(view, SIZE, 0), "the new view");
	EXPECT(view_is(old, SIZE, SIGBUS), "the old view shows the new region");
	munmap(old, SIZE);
	EXPECT(view_is(view, SIZE, 0), "munmap of the old view ended the new view");
	end();
	CHECK_CASE();
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	munmap(view, SIZE);
}

CASE(other_regions_keep_their_views)
{
	struct peerpin_pin p;
	unsigned char *other;

	begin();
	CHECK_CASE();
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, SIZE, &p), "pin");
	other = view_map(fd, p.out_region, 0, SIZE, PROT_READ | PROT_WRITE);
	EXPECT(other && view_is(other, SIZE, 0) && !view_put(other, 0x21), "errno %d", errno);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(view_is(view, SIZE, SIGBUS), "survives");
	EXPECT(view_is(other, SIZE, 0) && other[0] == 0x21, "the other region's view is gone");
	munmap(view, SIZE);
	EXPECT(!unpin(fd, p.out_region) && !emu_free(gpu, GPU_B), "unpin");
	munmap(other, SIZE);
	end();
}

VMTEST_MAIN
