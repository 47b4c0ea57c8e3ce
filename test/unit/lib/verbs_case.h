/* SPDX-License-Identifier: MIT */
/* Shared by the tests of libpeerpin-verbs: answers of the mock kernel, and helpers that register. */
#ifndef VERBS_CASE_H
#define VERBS_CASE_H

#include <errno.h>
#include <peerpin.h>
#include <string.h>
#include "libpeerpin-verbs.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/mock/mock_verbs.h"
#include "test/unit/unit.h"

#define MIB (1ull << 20)
#define GPU 0x200000000ull
#define HOST 0x555500000000ull

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	OTHER_ERROR = 999,	/* a CUDA error without a special meaning */
};

static struct pp_verbs *verbs;
static struct peerpin_pin pinned;	/* argument of the last PIN */
static struct peerpin_watch watched;	/* argument of the last WATCH */
static struct peerpin_export exported;	/* argument of the last EXPORT */
static uint32_t next_region;
static struct pp_mr_why why;

/* ---- the kernel -------------------------------------------------------------------- */

static int live_at_unpin;

static inline int unpin_ok(void *arg)
{
	(void)arg;
	live_at_unpin = mock_verbs.live;
	return 0;
}

static inline int pin_ok(void *arg)
{
	struct peerpin_pin *pin = arg;
	uint64_t mask = (pin->provider == PEERPIN_PROVIDER_NV ? 65536 : 4096) - 1;

	pin->out_provider = pin->provider ? pin->provider : PEERPIN_PROVIDER_HOST;
	pin->out_region = ++next_region;
	pin->out_slot = next_region;
	pin->out_epoch = 1;
	pin->out_page_size = mask + 1;
	pin->out_addr = pin->addr & ~mask;
	pin->out_length = ((pin->addr + pin->length + mask) & ~mask) - pin->out_addr;
	mock_epochs[next_region] = 1;
	pinned = *pin;
	return 0;
}

static inline int unwatch_ok(void *arg)
{
	(void)arg;
	live_at_unpin = mock_verbs.live;
	return 0;
}

static inline int watch_ok(void *arg)
{
	struct peerpin_watch *watch = arg;

	watch->out_watch = ++next_region;
	watch->out_slot = next_region;
	watch->out_epoch = 1;
	mock_epochs[next_region] = 1;
	watched = *watch;
	return 0;
}

static inline int watch_not_mapped(void *arg)
{
	((struct peerpin_watch *)arg)->out_reason = PEERPIN_REASON_NOT_MAPPED;
	return -EINVAL;
}

static inline int watch_over_limit(void *arg)
{
	((struct peerpin_watch *)arg)->out_reason = PEERPIN_REASON_LIMIT;
	return -EDQUOT;
}





static inline int export_ok(void *arg)
{
	struct peerpin_export *export = arg;

	export->out_fd = MOCK_DMABUF_FD;
	exported = *export;
	return 0;
}

/* ---- every test ---------------------------------------------------------------------- */

static inline int open_verbs(void)
{
	return pp_verbs_open(&mock_pd, ACCESS, NULL, &verbs);
}

static inline int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_cuda_fd = MOCK_DMABUF_FD;
	mock_verbs = (struct mock_verbs){ 0 };
	next_region = 0;
	return open_verbs();
}

static inline int setup_without_module(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_cuda_fd = MOCK_DMABUF_FD;
	mock_verbs = (struct mock_verbs){ 0 };
	mock_open_error = -ENOENT;
	return open_verbs();
}

/* The close deregisters idle regions. A test with kernel regions uses teardown_unpinning(). */
static inline int teardown(void **state)
{
	(void)state;
	pp_verbs_close(verbs);
	mock_done();
	assert_int_equal(mock_verbs.live, 0);
	return 0;
}

static inline int teardown_unpinning(void **state)
{
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	return teardown(state);
}

/* For a test that has watched, or tried to: pp_close() ends all watches. */
static inline int teardown_host(void **state)
{
	mock_expect(PEERPIN_IOC_UNWATCH, unwatch_ok);
	return teardown(state);
}

static inline int reg(uint64_t addr, uint64_t length, const struct pp_mr **out)
{
	int ret;

	errno = 77;
	ret = pp_verbs_reg(verbs, (void *)(uintptr_t)addr, length, out, &why);
	assert_int_equal(errno, 77);
	return ret;
}

static inline const struct pp_mr *must_reg(uint64_t addr, uint64_t length)
{
	const struct pp_mr *mr;

	assert_int_equal(reg(addr, length, &mr), 0);
	assert_true(mr->addr <= addr && mr->addr + mr->length >= addr + length);
	assert_int_equal((uintptr_t)mr->mr->addr, mr->addr);
	assert_int_equal(mr->mr->length, mr->length);
	assert_int_equal(mock_verbs.last.access, ACCESS);
	return mr;
}

static inline const struct pp_mr *once(uint64_t addr, uint64_t length)
{
	const struct pp_mr *mr = must_reg(addr, length);

	pp_verbs_unreg(verbs, mr);
	return mr;
}

static inline int error_of(uint64_t addr, uint64_t length)
{
	const struct pp_mr *mr;

	return reg(addr, length, &mr);
}

static inline void allocate(int slot, uint64_t base, uint64_t size, uint64_t id)
{
	mock_allocations[slot] = (struct mock_allocation){ .base = base, .size = size, .id = id };
}

static inline void explains(int error, const char *wanted)
{
	char text[512];
	int length = pp_verbs_explain(text, sizeof(text), error, &why);

	assert_string_equal(text, wanted);
	assert_int_equal(length, strlen(wanted));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_PINNED(f) cmocka_unit_test_setup_teardown(f, setup, teardown_unpinning)
#define TEST_HOST(f) cmocka_unit_test_setup_teardown(f, setup, teardown_host)
#define TEST_BARE(f) cmocka_unit_test_setup_teardown(f, setup_without_module, teardown)

#endif
