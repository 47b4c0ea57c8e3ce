// SPDX-License-Identifier: MIT
/* libgdrapi: the end of pins and mappings must leave nothing. */
#include "gdr.h"

enum {
	SIZE = 2 << 20,
	MARK = 0x5C,
};

static int gpu = -1;

SETUP(everything_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	gpu = emu_open();
	EXPECT(gpu >= 0 && !view_catch(), "gpu %d", gpu);
}

static gdr_t open_persistent(void)
{
	return gdr_open();
}

static void begin(gdr_t (*open)(void), struct mapped *m)
{
	CUdeviceptr mem;
	gdr_t g = open();
	int ret;

	EXPECT(g, "gdr_open: %s", strerror(errno));
	OK(cuMemAlloc(&mem, SIZE));
	OK(gdr_fill(mem, MARK, SIZE));
	ret = gdr_get(g, mem, SIZE, m);
	EXPECT(!ret, "pin or map: %d", ret);
	EXPECT(m->view[0] == MARK && m->view[SIZE - 1] == MARK, "other bytes");
}

static void end(const struct mapped *m)
{
	EXPECT(!gdr_close(m->g), "close");
	EXPECT(pins_left(gpu) == 0, "%u pins are left", pins_left(gpu));
}

/* ---- freed memory -------------------------------------------------------------- */

CASE(free_raises_sigbus_and_callback_flag)
{
	struct mapped m;
	void *view;
	int flag = -1;

	begin(gdr_open_revocable, &m);
	CHECK_CASE();
	EXPECT(!gdr_get_callback_flag(m.g, m.mh, &flag) && flag == 0, "%d", flag);
	OK(cuMemFree(m.gpu));
	EXPECT(!gdr_get_callback_flag(m.g, m.mh, &flag) && flag == 1, "%d", flag);
	EXPECT(view_is(m.view, SIZE, SIGBUS), "the freed view can be touched");
	EXPECT(!gdr_unmap(m.g, m.mh, m.view, SIZE), "unmap");
	EXPECT(gdr_map(m.g, m.mh, &view, SIZE) == ESTALE, "mapped again");
	EXPECT(!gdr_unpin_buffer(m.g, m.mh), "unpin");
	end(&m);
}

CASE(persistent_mapping_outlives_free)
{
	struct mapped m;
	CUdeviceptr other;
	int flag = -1;

	begin(open_persistent, &m);
	CHECK_CASE();
	OK(cuMemFree(m.gpu));
	OK(cuMemAlloc(&other, SIZE));
	OK(gdr_fill(other, ~MARK, SIZE));
	EXPECT(!gdr_get_callback_flag(m.g, m.mh, &flag) && flag == 0, "%d", flag);
	EXPECT(m.view[0] == MARK && m.view[SIZE - 1] == MARK, "the pinned memory was allocated again");
	EXPECT(!gdr_put(&m), "put");
	EXPECT(view_is(m.view, SIZE, SIGSEGV), "the ended view can be touched");
	OK(cuMemFree(other));
	end(&m);
}

CASE(free_ends_only_its_mapping)
{
	struct mapped a, b;
	CUdeviceptr mem;

	begin(gdr_open_revocable, &a);
	CHECK_CASE();
	OK(cuMemAlloc(&mem, SIZE));
	OK(gdr_fill(mem, MARK + 1, SIZE));
	EXPECT(!gdr_get(a.g, mem, SIZE, &b), "get");
	OK(cuMemFree(a.gpu));
	EXPECT(view_touch(a.view) == SIGBUS, "freed");
	EXPECT(b.view[0] == MARK + 1, "%#x", b.view[0]);
	EXPECT(!gdr_unpin_buffer(b.g, b.mh), "unpin");
	OK(cuMemFree(mem));
	end(&a);
}

/* ---- calls out of order -------------------------------------------------------------- */

CASE(unpin_ends_the_mapping)
{
	struct mapped m;
	gdr_info_t info;

	begin(open_persistent, &m);
	CHECK_CASE();
	EXPECT(!gdr_unpin_buffer(m.g, m.mh), "unpin");
	EXPECT(view_is(m.view, SIZE, SIGSEGV), "the ended view can be touched");
	EXPECT(gdr_unmap(m.g, m.mh, m.view, SIZE) == EINVAL, "unmap after unpin");
	EXPECT(gdr_unpin_buffer(m.g, m.mh) == EINVAL, "unpinned twice");
	EXPECT(gdr_get_info(m.g, m.mh, &info) == EINVAL, "info after unpin");
	OK(cuMemFree(m.gpu));
	end(&m);
}

CASE(close_ends_all_mappings)
{
	struct mapped m;

	begin(open_persistent, &m);
	CHECK_CASE();
	end(&m);
	CHECK_CASE();
	EXPECT(view_is(m.view, SIZE, SIGSEGV), "the ended view can be touched");
	OK(cuMemFree(m.gpu));
}

CASE(two_mappings_of_the_same_memory)
{
	struct mapped a, b;

	begin(open_persistent, &a);
	CHECK_CASE();
	EXPECT(!gdr_get(a.g, a.gpu + PAGE, SIZE - PAGE, &b), "get");
	a.view[PAGE] = 7;
	EXPECT(b.view[0] == 7, "%#x", b.view[0]);
	EXPECT(!gdr_put(&a) && !view_touch(b.view), "the other mapping is gone");
	OK(cuMemFree(a.gpu));
	end(&a);
}

/* ---- processes ----------------------------------------------------------------------------- */

static int child_is_refused(void *arg)
{
	struct mapped *m = arg, other;
	gdr_info_t info;
	char byte = 0;
	int flag;

	if (view_touch(m->view) != SIGSEGV)
		return 1;
	if (gdr_get(m->g, m->gpu, SIZE, &other) != EACCES || gdr_get_info(m->g, m->mh, &info) != EACCES)
		return 2;
	if (gdr_unmap(m->g, m->mh, m->view, SIZE) != EACCES || gdr_unpin_buffer(m->g, m->mh) != EACCES)
		return 3;
	if (gdr_get_callback_flag(m->g, m->mh, &flag) != EACCES)
		return 4;
	if (gdr_copy_to_mapping(m->mh, m->view, &byte, 1) != EACCES ||
	    gdr_copy_from_mapping(m->mh, &byte, m->view, 1) != EACCES)
		return 5;
	return gdr_close(m->g) ? 6 : 0;
}

CASE(child_can_neither_use_nor_end)
{
	struct mapped m;
	int status;

	begin(open_persistent, &m);
	CHECK_CASE();
	status = cu_in_child(child_is_refused, &m);
	EXPECT(!status, "status %#x", status);
	EXPECT(m.view[0] == MARK && !gdr_put(&m), "the parent's mapping is gone");
	OK(cuMemFree(m.gpu));
	end(&m);
}

static int child_maps_and_is_killed(void *arg)
{
	int own = emu_open();
	gdr_t g = gdr_open();
	struct mapped m;

	(void)arg;
	if (own < 0 || !g || emu_alloc(own, GPU_A, SIZE) || gdr_get(g, GPU_A, SIZE, &m))
		return 1;
	m.view[0] = 1;
	return raise(SIGKILL);
}

CASE(a_killed_process_leaves_nothing)
{
	int status = cu_in_child(child_maps_and_is_killed, NULL);

	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	EXPECT(pins_left(gpu) == 0, "%u pins are left", pins_left(gpu));
}

VMTEST_MAIN
