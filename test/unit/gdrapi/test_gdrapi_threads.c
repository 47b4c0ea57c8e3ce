// SPDX-License-Identifier: MIT
/*
 * Many threads call libgdrapi at once, on a mock kernel that knows the pinned regions. Each region
 * must be unpinned once, and no view may be left. The sanitizers of test/host/sanitize find data
 * races.
 */
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "gdrapi.h"
#include "lib/sys/sys.h"
#include "test/unit/unit.h"

enum {
	THREADS = 4,
	ROUNDS = 2000,
	REGIONS = 64,
	GPU_PAGE = 65536,
};

/* ---- the kernel ------------------------------------------------------------------ */

static uint32_t epochs[PEERPIN_MAX_REGIONS];
static _Atomic(int) pinned[REGIONS];
static _Atomic(int) views, bad_unpins;

int pp_sys_open(const char *path)
{
	(void)path;
	return 1000;
}

void pp_sys_close(int fd)
{
	(void)fd;
}

static int pin(struct peerpin_pin *pin)
{
	unsigned int id;
	int free_one;

	for (id = 0; id < REGIONS; id++) {
		free_one = 0;
		if (!atomic_compare_exchange_strong(&pinned[id], &free_one, 1))
			continue;
		pin->out_region = id;
		pin->out_slot = id;
		pin->out_addr = pin->addr;
		pin->out_length = GPU_PAGE;
		pin->out_page_size = GPU_PAGE;
		pin->out_caching = PEERPIN_CACHING_COMBINED;
		return 0;
	}
	return -EDQUOT;
}

static int unpin(const struct peerpin_unpin *unpin)
{
	if (unpin->region < REGIONS && atomic_exchange(&pinned[unpin->region], 0))
		return 0;
	bad_unpins++;
	return -ENOENT;
}

int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	(void)fd;
	if (cmd == PEERPIN_IOC_UNPIN)
		return unpin(arg);
	return ((struct peerpin_pin *)arg)->addr ? pin(arg) : -EINVAL;
}

int pp_sys_map(int fd, size_t length, void **out)
{
	(void)fd;
	(void)length;
	*out = epochs;
	return 0;
}

int pp_sys_map_at(int fd, uint64_t offset, size_t length, int prot, void **out)
{
	(void)fd;
	(void)offset;
	(void)prot;
	*out = aligned_alloc(4096, length);
	views += !!*out;
	return *out ? 0 : -ENOMEM;
}

int pp_sys_unmap(void *at, size_t length)
{
	(void)length;
	if (at == epochs)
		return 0;
	views--;
	free(at);
	return 0;
}

/* ---- the threads ------------------------------------------------------------------ */

static gdr_t g;
static gdr_mh_t shared;
static _Atomic(int) wrong, ended;

/* Accept every result that some order of the calls can give. */
static void use_shared(void)
{
	gdr_info_t info;
	void *view;
	int flag, ret;

	wrong += !!gdr_get_info(g, shared, &info);
	wrong += !!gdr_get_callback_flag(g, shared, &flag);
	ret = gdr_map(g, shared, &view, GPU_PAGE);
	if (ret)
		wrong += ret != EAGAIN;
	else
		wrong += !!gdr_unmap(g, shared, view, GPU_PAGE);
}

static void copy_both_ways(gdr_mh_t mh, char *at, unsigned char byte)
{
	unsigned char out[100], in[100];

	memset(out, byte, sizeof(out));
	wrong += !!gdr_copy_to_mapping(mh, at, out, sizeof(out));
	wrong += !!gdr_copy_from_mapping(mh, in, at, sizeof(in));
	wrong += !!memcmp(in, out, sizeof(in));
}

static void use_own(unsigned char byte)
{
	gdr_mh_t mh;
	void *view;

	if (gdr_pin_buffer(g, GPU_PAGE, GPU_PAGE, 0, 0, &mh) || gdr_map(g, mh, &view, GPU_PAGE)) {
		wrong++;
		return;
	}
	copy_both_ways(mh, (char *)view + byte, byte);
	if (byte % 2)
		wrong += !!gdr_unmap(g, mh, view, GPU_PAGE);
	wrong += !!gdr_unpin_buffer(g, mh);
}

static void *work(void *arg)
{
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		use_own((uintptr_t)arg + round);
		use_shared();
	}
	return NULL;
}

static void *unpin_shared(void *arg)
{
	(void)arg;
	ended += !gdr_unpin_buffer(g, shared);
	return NULL;
}

static void run(void *(*fn)(void *))
{
	pthread_t threads[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fn, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void each_pin_is_unpinned_once(void **state)
{
	unsigned int i;

	(void)state;
	g = gdr_open();
	assert_non_null(g);
	assert_int_equal(gdr_pin_buffer(g, GPU_PAGE, GPU_PAGE, 0, 0, &shared), 0);
	run(work);
	assert_int_equal(wrong, 0);
	run(unpin_shared);
	assert_int_equal(ended, 1);
	assert_int_equal(gdr_close(g), 0);
	assert_int_equal(bad_unpins, 0);
	assert_int_equal(views, 0);
	for (i = 0; i < REGIONS; i++)
		assert_int_equal(pinned[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pin_is_unpinned_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
