// SPDX-License-Identifier: MIT
#include <errno.h>
#include <peerpin.h>
#include <peerpin_lsi.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

#define A ((void *)0x100000000)
#define B ((void *)0x200000000)

enum {
	LENGTH = 10000,
};

static struct pp_ctx *ctx;
static struct pp_cache *cache;
static struct pp_peer *peer;
static uint32_t next_region;
static struct peerpin_lsi_copy asked;	/* argument of the last COPY */

/* The library probes a device with a bad copy. Only a peer device refuses the copy with EBADF. */
static int probe_ok(void *arg)
{
	struct peerpin_lsi_copy *copy = arg;

	assert_int_equal(copy->size, sizeof(*copy));
	assert_int_equal(copy->length, 0);
	assert_int_equal(copy->dst.fd, -1);
	return -EBADF;
}

static int probe_unknown(void *arg)
{
	(void)arg;
	return -ENOTTY;
}

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_cuda_loaded = false;
	next_region = 0;
	if (pp_open(&ctx) || pp_cache_create_ctx(ctx, NULL, &cache))
		return -1;
	mock_expect(PEERPIN_LSI_IOC_COPY, probe_ok);
	return pp_peer_open("lsi0", cache, &peer);
}

static int unpin_ok(void *arg)
{
	(void)arg;
	return 0;
}

static int teardown(void **state)
{
	struct pp_cache_stats s;

	(void)state;
	pp_peer_close(peer);
	pp_cache_stats(cache, &s);
	while (s.entries--)
		mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	pp_cache_destroy(cache);
	pp_close(ctx);
	mock_done();
	return 0;
}

/* The length must be rounded up to 64 KiB, like GPU memory. */
static int pin_ok(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_region = ++next_region;
	pin->out_slot = next_region;
	pin->out_epoch = 1;
	pin->out_addr = pin->addr & ~0xffffull;
	pin->out_length = 0x40000;
	mock_epochs[next_region] = 1;
	return 0;
}

static int pin_no_room(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_reason = PEERPIN_REASON_NO_BAR1;
	pin->out_needed = 65536;
	return -ENOMEM;
}

static int pin_not_mapped(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_reason = PEERPIN_REASON_NOT_MAPPED;
	return -EINVAL;
}

static int copy_ok(void *arg)
{
	struct peerpin_lsi_copy *copy = arg;

	asked = *copy;
	copy->out_ns = 4321;
	return 0;
}

/* Another thread frees the destination's memory during the copy. */
static int copy_revoked(void *arg)
{
	struct peerpin_lsi_copy *copy = arg;

	mock_epochs[copy->dst.region]++;
	return -ESTALE;
}

static int copy_broken(void *arg)
{
	(void)arg;
	return -EIO;
}

static void expect_pins(int count)
{
	while (count--)
		mock_expect(PEERPIN_IOC_PIN, pin_ok);
}

static void copy_pins_both_ends(void **state)
{
	struct pp_copy_result r;

	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_ok);
	assert_int_equal(pp_peer_copy(peer, (char *)B + 0x12345, A, LENGTH, &r),
			 0);
	assert_int_equal(asked.size, sizeof(asked));
	assert_int_equal(asked.flags, 0);
	assert_int_equal(asked.length, LENGTH);
	assert_int_equal(asked.src.fd, MOCK_FD);
	assert_int_equal(asked.src.region, 1);
	assert_int_equal(asked.src.offset, 0);
	assert_int_equal(asked.dst.fd, MOCK_FD);
	assert_int_equal(asked.dst.region, 2);
	assert_int_equal(asked.dst.offset, 0x2345);
	assert_int_equal(r.bytes, LENGTH);
	assert_int_equal(r.engine_ns, 4321);
	assert_int_equal(r.pins, 2);
	assert_true(r.total_ns >= r.pin_ns);
}

static void second_copy_is_one_command(void **state)
{
	struct pp_copy_result r;

	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_ok);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, NULL), 0);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_ok);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, &r), 0);
	assert_int_equal(r.pins, 0);
	assert_int_equal(r.pin_ns, 0);
}

static void revoked_copy_is_retried(void **state)
{
	struct pp_copy_result r;

	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_revoked);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	expect_pins(1);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_ok);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, &r), 0);
	assert_int_equal(r.pins, 3);
	assert_int_equal(asked.dst.region, 3);
}

static void second_revocation_fails_copy(void **state)
{
	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_revoked);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	expect_pins(1);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_revoked);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, NULL), -ESTALE);
}

static void memory_freed_during_copy_fails(void **state)
{
	struct pp_copy_result r;

	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_revoked);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, &r), -ESTALE);
	assert_int_equal(r.why.reason, PEERPIN_REASON_NOT_MAPPED);
	assert_int_equal(r.bytes, 0);
}

static void memory_freed_before_copy_fails(void **state)
{
	struct pp_copy_result r;

	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_ok);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, NULL), 0);
	mock_epochs[2]++;
	mock_expect(PEERPIN_IOC_UNPIN, unpin_ok);
	mock_expect(PEERPIN_IOC_PIN, pin_not_mapped);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, &r), -ESTALE);
	assert_int_equal(r.why.reason, PEERPIN_REASON_NOT_MAPPED);
}

static void full_bar1_fails_copy(void **state)
{
	struct pp_copy_result r;

	(void)state;
	expect_pins(1);
	mock_expect(PEERPIN_IOC_PIN, pin_no_room);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, &r), -ENOMEM);
	assert_int_equal(r.why.reason, PEERPIN_REASON_NO_BAR1);
	assert_int_equal(r.why.needed, 65536);
	assert_int_equal(r.pins, 1);
}

static void engine_errors_are_not_retried(void **state)
{
	(void)state;
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_broken);
	assert_int_equal(pp_peer_copy(peer, B, A, LENGTH, NULL), -EIO);
}

static void empty_copy_is_refused(void **state)
{
	(void)state;
	assert_int_equal(pp_peer_copy(peer, B, A, 0, NULL), -EINVAL);
}

static void open_errors_are_passed_on(void **state)
{
	struct pp_peer *other;

	(void)state;
	mock_open_error = -ENOENT;
	assert_int_equal(pp_peer_open("lsi7", cache, &other), -ENOENT);
	mock_open_error = 0;
	mock_expect(PEERPIN_LSI_IOC_COPY, probe_unknown);
	assert_int_equal(pp_peer_open("/dev/null", cache, &other), -ENOTTY);
	assert_int_equal(mock_closed, 1);
}

static int probed;

static int probe_answers(void *arg)
{
	(void)arg;
	return probed;
}

static int open_probed(int answer)
{
	struct pp_peer *other;
	int ret;

	probed = answer;
	mock_closed = 0;
	mock_expect(PEERPIN_LSI_IOC_COPY, probe_answers);
	ret = pp_peer_open("other", cache, &other);
	assert_int_equal(mock_closed, ret != 0);
	return ret;
}

static void other_devices_are_no_peer(void **state)
{
	(void)state;
	assert_int_equal(open_probed(-EINVAL), -ENOTTY);	/* error of /dev/urandom, which is no peer */
	assert_int_equal(open_probed(0), -ENOTTY);
	assert_int_equal(open_probed(-EINTR), -EINTR);
	assert_int_equal(open_probed(-ENODEV), -ENODEV);
}

static void peer_needs_region_cache(void **state)
{
	const struct pp_cache_ops ops = {
		.pin = (void *)unpin_ok, .unpin = (void *)unpin_ok,
	};
	struct pp_cache *plain;
	struct pp_peer *other;

	(void)state;
	assert_int_equal(pp_cache_create(&ops, NULL, NULL, &plain), 0);
	assert_int_equal(pp_peer_open("lsi0", plain, &other), -EINVAL);
	pp_cache_destroy(plain);
}

/* The library itself compares the addresses: the driver gets two regions and could not see the overlap. */
static void overlapping_ranges_are_refused(void **state)
{
	char *at = B;

	(void)state;
	assert_int_equal(pp_peer_copy(peer, at, at + 0xfff, 0x1000, NULL), -EINVAL);
	assert_int_equal(pp_peer_copy(peer, at + 0xfff, at, 0x1000, NULL), -EINVAL);
	assert_int_equal(pp_peer_copy(peer, at, at, 1, NULL), -EINVAL);
	expect_pins(2);
	mock_expect(PEERPIN_LSI_IOC_COPY, copy_ok);
	assert_int_equal(pp_peer_copy(peer, at + 0x1000, at, 0x1000, NULL), 0);
}

static void a_child_is_refused(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(pp_peer_copy(peer, B, A, 1, NULL) != -EACCES || pp_peer_open("lsi0", cache, &peer) != -EACCES ||
		      pp_cache_create_ctx(ctx, NULL, &cache) != -EACCES);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copy_pins_both_ends),
		TEST(second_copy_is_one_command),
		TEST(revoked_copy_is_retried),
		TEST(second_revocation_fails_copy),
		TEST(memory_freed_during_copy_fails),
		TEST(memory_freed_before_copy_fails),
		TEST(full_bar1_fails_copy),
		TEST(engine_errors_are_not_retried),
		TEST(empty_copy_is_refused),
		TEST(open_errors_are_passed_on),
		TEST(other_devices_are_no_peer),
		TEST(peer_needs_region_cache),
		TEST(overlapping_ranges_are_refused),
		TEST(a_child_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
