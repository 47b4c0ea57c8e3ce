// SPDX-License-Identifier: MIT
#include <errno.h>
#include <peerpin.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

static struct pp_ctx *ctx;

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	return pp_open(&ctx);
}

static int teardown(void **state)
{
	(void)state;
	pp_close(ctx);
	mock_done();
	return 0;
}

static int pin_ok(void *arg)
{
	struct peerpin_pin *pin = arg;

	assert_int_equal(pin->size, sizeof(*pin));
	assert_int_equal(pin->flags, 0);
	assert_int_equal(pin->addr, 0x12345);
	assert_int_equal(pin->length, 100);
	assert_int_equal(pin->p2p_token, 0);
	assert_int_equal(pin->va_space_token, 0);
	pin->out_region = 5;
	pin->out_slot = 5;
	pin->out_epoch = 3;
	pin->out_provider = PEERPIN_PROVIDER_HOST;
	pin->out_addr = 0x12000;
	pin->out_length = 0x1000;
	pin->out_page_size = 0x1000;
	mock_epochs[5] = 3;
	return 0;
}

static int pin_no_bar1(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_reason = PEERPIN_REASON_NO_BAR1;
	pin->out_needed = 65536;
	return -ENOMEM;
}

static int pin_dmabuf_ok(void *arg)
{
	struct peerpin_pin *pin = arg;

	assert_int_equal(pin->size, sizeof(*pin));
	assert_int_equal(pin->provider, PEERPIN_PROVIDER_DMABUF);
	assert_int_equal(pin->fd, 77);
	assert_int_equal(pin->addr, 0x3000);
	assert_int_equal(pin->length, 0x2000);
	pin->out_region = 5;
	pin->out_provider = PEERPIN_PROVIDER_DMABUF;
	pin->out_addr = 0x3000;
	pin->out_length = 0x2000;
	return 0;
}

static int pin_no_dmabuf(void *arg)
{
	struct peerpin_pin *pin = arg;

	pin->out_reason = PEERPIN_REASON_NOT_DMABUF;
	return -EBADF;
}

static int unpins;	/* number of unpins of region 5 */

static int unpin_5(void *arg)
{
	struct peerpin_unpin *unpin = arg;

	unpins++;
	assert_int_equal(unpin->size, sizeof(*unpin));
	assert_int_equal(unpin->region, 5);
	return 0;
}

static int unpin_unknown(void *arg)
{
	(void)arg;
	return -ENOENT;
}

static void pin(struct pp_region *r)
{
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	assert_int_equal(pp_pin(ctx, (void *)0x12345, 100, r, NULL), 0);
}

static void pins_and_unpins(void **state)
{
	struct pp_region r;

	(void)state;
	pin(&r);
	assert_int_equal(r.id, 5);
	assert_int_equal(r.addr, 0x12000);
	assert_int_equal(r.length, 0x1000);
	assert_int_equal(r.page_size, 0x1000);
	assert_int_equal(r.provider, PEERPIN_PROVIDER_HOST);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);
	assert_int_equal(pp_unpin(ctx, &r), 0);
}

static void validity_follows_the_epoch(void **state)
{
	struct pp_region r;

	(void)state;
	pin(&r);
	assert_int_equal(pp_region_valid(ctx, &r), 1);
	mock_epochs[5] = 4;
	assert_int_equal(pp_region_valid(ctx, &r), 0);
	mock_epochs[5] = 5;	/* epoch of the next region in this slot */
	assert_int_equal(pp_region_valid(ctx, &r), 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);	/* pp_close() unpins the region */
}

static void failed_pin_gives_reason(void **state)
{
	struct pp_region r;
	struct pp_why why;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_no_bar1);
	errno = 1234;
	assert_int_equal(pp_pin(ctx, (void *)1, 1, &r, &why), -ENOMEM);
	assert_int_equal(why.reason, PEERPIN_REASON_NO_BAR1);
	assert_int_equal(why.needed, 65536);
	assert_int_equal(errno, 1234);
}

static int pin_no_provider(void *arg)
{
	struct peerpin_pin *pin = arg;

	assert_int_equal(pin->provider, PEERPIN_PROVIDER_NV);
	pin->out_reason = PEERPIN_REASON_NO_PROVIDER;
	return -EOPNOTSUPP;
}

static int pin_not_lent(void *arg)
{
	struct peerpin_pin *pin = arg;

	assert_int_equal(pin->provider, PEERPIN_PROVIDER_TEGRA);
	assert_int_equal(pin->addr, 1);
	pin->out_reason = PEERPIN_REASON_VENDOR_REFUSED;
	return -EINVAL;
}

static void integrated_gpu_gives_refusal_reason(void **state)
{
	struct pp_region r;
	struct pp_why why;

	(void)state;
	mock_allocations[0] = (struct mock_allocation) { .size = 4096, .id = 7 };
	mock_expect(PEERPIN_IOC_PIN, pin_no_provider);
	mock_expect(PEERPIN_IOC_PIN, pin_not_lent);
	assert_int_equal(pp_pin(ctx, (void *)1, 1, &r, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_VENDOR_REFUSED);
}

static void pins_a_dmabuf(void **state)
{
	struct pp_region r;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_dmabuf_ok);
	assert_int_equal(pp_pin_dmabuf(ctx, 77, 0x3000, 0x2000, &r, NULL), 0);
	assert_int_equal(r.id, 5);
	assert_int_equal(r.provider, PEERPIN_PROVIDER_DMABUF);
	assert_int_equal(r.addr, 0x3000);
	assert_int_equal(r.length, 0x2000);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);	/* pp_close() unpins the region */
}

static void other_file_is_no_dmabuf(void **state)
{
	struct pp_region r;
	struct pp_why why;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, pin_no_dmabuf);
	errno = 1234;
	assert_int_equal(pp_pin_dmabuf(ctx, 1, 0, 4096, &r, &why), -EBADF);
	assert_int_equal(why.reason, PEERPIN_REASON_NOT_DMABUF);
	assert_int_equal(errno, 1234);
}

static void unpin_reports_errors(void **state)
{
	struct pp_region r = { .id = 9 };

	(void)state;
	mock_expect(PEERPIN_IOC_UNPIN, unpin_unknown);
	assert_int_equal(pp_unpin(ctx, &r), -ENOENT);
}

static int in_child(const struct pp_region *r)
{
	struct pp_region other;

	if (pp_pin(ctx, (void *)1, 1, &other, NULL) != -EACCES)
		return 1;
	if (pp_unpin(ctx, r) != -EACCES)
		return 2;
	if (pp_pin_dmabuf(ctx, 3, 0, 4096, &other, NULL) != -EACCES)
		return 3;
	if (pp_region_valid(ctx, r))
		return 4;
	return 0;
}

static void a_child_is_refused(void **state)
{
	struct pp_region r;
	int status;
	pid_t pid;

	(void)state;
	pin(&r);
	pid = fork();
	if (!pid)
		_exit(in_child(&r));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);
	assert_int_equal(pp_unpin(ctx, &r), 0);
}

/* CUDA does not work in a child of fork(), so the library must not call CUDA there. */
static void child_is_refused_before_cuda_call(void **state)
{
	struct pp_region r;
	int status;
	pid_t pid;

	(void)state;
	mock_cuda_calls = 0;
	pid = fork();
	if (!pid) {
		pp_pin(ctx, (void *)0x12345, 100, &r, NULL);
		_exit(mock_cuda_calls);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int child_opens_its_own(void)
{
	struct pp_region r;

	if (pp_open(&ctx))
		return 1;
	mock_expect(PEERPIN_IOC_PIN, pin_ok);
	return pp_pin(ctx, (void *)0x12345, 100, &r, NULL) ? 2 : 0;
}

static void a_child_may_open_its_own(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(child_opens_its_own());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void close_closes_the_file(void **state)
{
	struct pp_ctx *other;

	(void)state;
	assert_int_equal(pp_open(&other), 0);
	assert_string_equal(mock_opened, "/dev/peerpin");
	assert_int_equal(pp_fd(other), MOCK_FD);
	pp_close(other);
	assert_int_equal(mock_closed, 1);
	pp_close(NULL);
}

/* pp_close() must unpin: a child of fork() may keep the file open for long. */
static void close_unpins_remaining_regions(void **state)
{
	struct pp_region r;

	(void)state;
	pin(&r);
	unpins = 0;
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);
	pp_close(ctx);
	assert_int_equal(unpins, 1);
	assert_int_equal(mock_closed, 1);
	assert_int_equal(pp_open(&ctx), 0);
}

static void close_unpins_nothing_twice(void **state)
{
	struct pp_region r;

	(void)state;
	pin(&r);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);
	assert_int_equal(pp_unpin(ctx, &r), 0);
	pp_close(ctx);
	assert_int_equal(pp_open(&ctx), 0);
}

static int unpin_interrupted(void *arg)
{
	(void)arg;
	return -EINTR;
}

static void close_retries_failed_unpin(void **state)
{
	struct pp_region r;

	(void)state;
	pin(&r);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_interrupted);
	assert_int_equal(pp_unpin(ctx, &r), -EINTR);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);
}

static void close_in_a_child_unpins_nothing(void **state)
{
	struct pp_region r;
	int status;
	pid_t pid;

	(void)state;
	pin(&r);
	pid = fork();
	if (!pid) {
		pp_close(ctx);	/* the mock kernel expects no command: any command fails the child */
		_exit(mock_epochs_unmapped);	/* 0: the child did not unmap the page */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_5);
}

static void open_errors_are_passed_on(void **state)
{
	struct pp_ctx *other;

	(void)state;
	mock_open_error = -ENOENT;
	assert_int_equal(pp_open(&other), -ENOENT);
	assert_int_equal(mock_closed, 0);
	mock_open_error = 0;
	mock_map_error = -ENOMEM;
	assert_int_equal(pp_open(&other), -ENOMEM);
	assert_int_equal(mock_closed, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pins_and_unpins),
		TEST(validity_follows_the_epoch),
		TEST(failed_pin_gives_reason),
		TEST(integrated_gpu_gives_refusal_reason),
		TEST(pins_a_dmabuf),
		TEST(other_file_is_no_dmabuf),
		TEST(unpin_reports_errors),
		TEST(a_child_is_refused),
		TEST(a_child_may_open_its_own),
		TEST(child_is_refused_before_cuda_call),
		TEST(close_closes_the_file),
		TEST(close_unpins_remaining_regions),
		TEST(close_unpins_nothing_twice),
		TEST(close_retries_failed_unpin),
		TEST(close_in_a_child_unpins_nothing),
		TEST(open_errors_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
