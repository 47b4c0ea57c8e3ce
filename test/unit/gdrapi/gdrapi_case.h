/* SPDX-License-Identifier: MIT */
/* A mock kernel for the tests of libgdrapi. It answers PIN and records the last request. */
#ifndef GDRAPI_CASE_H
#define GDRAPI_CASE_H

#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "gdrapi.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

enum {
	ID = 5,
	EPOCH = 3,
	GPU_PAGE = 65536,
	PAGE = 4096,
};

static const unsigned long base __attribute__((unused)) = 0x7000040000;
static struct peerpin_pin asked;	/* argument of the last PIN */
static int refusal;				/* error of the next pin; 0: it succeeds */
static uint32_t reason, caching;
static gdr_t g;
static gdr_mh_t mh;

/* ---- the kernel's answers ------------------------------------------------------- */

static inline int answer_pin(void *arg)
{
	struct peerpin_pin *pin = arg;

	asked = *pin;
	pin->out_reason = reason;
	if (refusal)
		return refusal;
	pin->out_region = ID;
	pin->out_slot = ID;
	pin->out_epoch = EPOCH;
	pin->out_provider = pin->provider;
	pin->out_addr = pin->addr & -GPU_PAGE;
	pin->out_length = ((pin->addr + pin->length + GPU_PAGE - 1) & -GPU_PAGE) - pin->out_addr;
	pin->out_page_size = GPU_PAGE;
	pin->out_caching = caching;
	return 0;
}

static inline int answer_unpin(void *arg)
{
	const struct peerpin_unpin *unpin = arg;

	assert_int_equal(unpin->region, ID);
	return 0;
}

static inline int no_such_memory(void *arg)
{
	asked = *(struct peerpin_pin *)arg;
	return -EINVAL;
}

/* ---- calls of libgdrapi ------------------------------------------------------- */

static inline void open_with(int (*answer)(void *))
{
	mock_expect(PEERPIN_IOC_PIN, answer);
	g = gdr_open();
	assert_non_null(g);
}

static inline void pin_at(unsigned long addr, size_t size)
{
	mock_expect(PEERPIN_IOC_PIN, answer_pin);
	assert_int_equal(gdr_pin_buffer(g, addr, size, 0, 0, &mh), 0);
}

static inline int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_epochs[ID] = EPOCH;
	refusal = 0;
	reason = 0;
	caching = PEERPIN_CACHING_COMBINED;
	return 0;
}

static inline int setup_open(void **state)
{
	setup(state);
	open_with(no_such_memory);
	return 0;
}

static inline int setup_pinned(void **state)
{
	setup_open(state);
	pin_at(base, GPU_PAGE);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	assert_int_equal(gdr_close(g), 0);
	mock_done();
	return 0;
}

static inline int teardown_pinned(void **state)
{
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	return teardown(state);
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup_open, teardown)
#define PINNED(test) cmocka_unit_test_setup_teardown(test, setup_pinned, teardown_pinned)
#define LEAVES_A_PIN(test) cmocka_unit_test_setup_teardown(test, setup_open, teardown_pinned)

#endif
