// SPDX-License-Identifier: MIT
/* libgdrapi on a mock kernel: its requests, and its results for the answers of the kernel. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "compat/gdrapi/dmabuf.h"
#include "gdrapi_case.h"
#include "lib/sys/sys.h"

enum {
	TOKEN = 77,
	VA_SPACE = 8,
};

/* ---- failing allocations ----------------------------------------------------------- */

static int callocs_left = -1;	/* number of callocs before one fails; -1: none fails */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (callocs_left < 0 || callocs_left--)
		return __real_calloc(n, size);
	return NULL;
}

/* ---- a mock of the back end without peerpin.ko, in place of compat/gdrapi/dmabuf.c ---- */

static int dmabuf_error = -EOPNOTSUPP;	/* result of opening the back end */
static unsigned int dmabuf_flags;	/* flags of its last pin */

int gdr_dmabuf_open(void)
{
	return dmabuf_error;
}

int gdr_dmabuf_pin(struct gdr_handle *h, uint64_t addr, size_t size, uint32_t flags)
{
	h->addr = addr;
	h->region = (struct pp_region) { .addr = addr & -PAGE, .length = size, .page_size = PAGE };
	h->fd = MOCK_DMABUF_FD;
	h->caching = PEERPIN_CACHING_COMBINED;
	dmabuf_flags = flags;
	return 0;
}

int gdr_dmabuf_map(struct gdr_handle *h, uint64_t offset, size_t length, void **out)
{
	return pp_sys_map_at(h->fd, offset, length, PROT_READ | PROT_WRITE, out);
}

static int no_such_api(void *arg)
{
	asked = *(struct peerpin_pin *)arg;
	return -EOPNOTSUPP;
}

/* ---- open ------------------------------------------------------------------------- */

static void failed_open_sets_errno(void **state)
{
	(void)state;
	mock_open_error = -ENOENT;
	errno = 0;
	assert_null(gdr_open());
	assert_int_equal(errno, ENOENT);
}

static int is_persistent(void)
{
	int value = -1;

	assert_int_equal(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &value), 0);
	return value;
}

static void close_unused(void)
{
	assert_int_equal(gdr_close(g), 0);
	mock_done();
}

static int uses_dmabuf(void)
{
	int value = -1;

	assert_int_equal(gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &value), 0);
	return value;
}

/* The back end without peerpin.ko: pinned by a dma-buf, which is closed with the pin. */
static void pin_by_dmabuf(unsigned int flags)
{
	int value = -1, closed = mock_closed;

	assert_int_equal(uses_dmabuf(), 1);
	assert_int_equal(gdr_get_attribute(g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(*(int *)g, -1);
	assert_int_equal(gdr_pin_buffer_v2(g, base, PAGE, flags, &mh), 0);
	assert_int_equal(dmabuf_flags, flags);
	assert_int_equal(gdr_get_callback_flag(g, mh, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
	assert_int_equal(mock_closed, closed + 1);
}

static void absent_module_is_replaced(void **state)
{
	(void)state;
	mock_open_error = -ENOENT;
	dmabuf_error = 0;
	g = gdr_open();
	dmabuf_error = -EOPNOTSUPP;
	assert_non_null(g);
	pin_by_dmabuf(GDR_PIN_FLAG_DEFAULT);
	pin_by_dmabuf(GDR_PIN_FLAG_FORCE_PCIE);
	close_unused();
}

static int unpin_result;

static void *unpin_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	unpin_result = gdr_unpin_buffer(g, mh);
	return arg;
}

/* close() is a cancellation point, and the call holds the handle's lock. */
static void cancelled_unpin_keeps_no_lock(void **state)
{
	pthread_t thread;
	void *end;

	(void)state;
	mock_open_error = -ENOENT;
	dmabuf_error = 0;
	g = gdr_open();
	dmabuf_error = -EOPNOTSUPP;
	assert_non_null(g);
	assert_int_equal(gdr_pin_buffer_v2(g, base, PAGE, 0, &mh), 0);
	assert_int_equal(pthread_create(&thread, NULL, unpin_cancelled, NULL), 0);
	assert_int_equal(pthread_join(thread, &end), 0);
	assert_null(end);
	assert_int_equal(unpin_result, 0);
	alarm(60);
	pin_by_dmabuf(GDR_PIN_FLAG_DEFAULT);
	alarm(0);
	close_unused();
}

static int refused_result;

static void *pin_refused_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	refused_result = gdr_pin_buffer(g, base, PAGE, 0, 0, &mh);
	return arg;
}

/* The line on stderr is written with the handle's lock held. */
static void cancelled_refusal_keeps_no_lock(void **state)
{
	pthread_t thread;
	void *end;

	(void)state;
	setenv("GDRCOPY_ENABLE_LOGGING", "1", 1);
	mock_expect(PEERPIN_IOC_PIN, no_such_memory);
	assert_int_equal(pthread_create(&thread, NULL, pin_refused_cancelled, NULL), 0);
	assert_int_equal(pthread_join(thread, &end), 0);
	unsetenv("GDRCOPY_ENABLE_LOGGING");
	assert_null(end);
	assert_int_equal(refused_result, EINVAL);
}

static void environment_selects_dmabufs(void **state)
{
	(void)state;
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	errno = 0;
	assert_null(gdr_open());
	assert_int_equal(errno, EOPNOTSUPP);
	dmabuf_error = 0;
	g = gdr_open();
	dmabuf_error = -EOPNOTSUPP;
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	assert_non_null(g);
	pin_by_dmabuf(GDR_PIN_FLAG_DEFAULT);
	close_unused();
}

static void no_memory_gives_no_handle(void **state)
{
	int nth;

	(void)state;
	for (nth = 0; nth < 2; nth++) {
		callocs_left = nth;
		errno = 0;
		assert_null(gdr_open());
		assert_int_equal(errno, ENOMEM);
	}
	assert_int_equal(callocs_left, -1);
}

static void pins_are_persistent_if_supported(void **state)
{
	(void)state;
	open_with(no_such_memory);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT);
	assert_int_equal(is_persistent(), 1);
	close_unused();
	open_with(no_such_api);
	assert_int_equal(is_persistent(), 0);
	close_unused();
}

static void environment_turns_persistent_pins_off(void **state)
{
	(void)state;
	setenv("PEERPIN_GDR_PERSISTENT", "0", 1);
	g = gdr_open();
	unsetenv("PEERPIN_GDR_PERSISTENT");
	assert_non_null(g);
	assert_int_equal(is_persistent(), 0);
	assert_int_equal(gdr_pin_buffer_v2(g, base, PAGE, GDR_PIN_FLAG_FORCE_PCIE, &mh), EINVAL);
	pin_at(base, 1);
	assert_int_equal(asked.flags, 0);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	close_unused();
}

/* glibc's secure_getenv() finds no variable in a setuid program. */
static bool is_setuid;

char *secure_getenv(const char *name)
{
	return is_setuid ? NULL : getenv(name);
}

static void setuid_program_ignores_environment(void **state)
{
	(void)state;
	setenv("PEERPIN_GDR_PERSISTENT", "0", 1);
	setenv("GDRCOPY_USE_DMABUF_MMAP", "1", 1);
	is_setuid = true;
	open_with(no_such_memory);
	is_setuid = false;
	unsetenv("PEERPIN_GDR_PERSISTENT");
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT);
	assert_int_equal(is_persistent(), 1);
	close_unused();
}

static void malformed_environment_is_ignored(void **state)
{
	static const char *const values[] = { "", "00", "-1", " 0", "0 ", "\xff\n", "yes", "%s%n" };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		setenv("PEERPIN_GDR_PERSISTENT", values[i], 1);
		setenv("GDRCOPY_USE_DMABUF_MMAP", values[i], 1);
		open_with(no_such_memory);
		assert_int_equal(is_persistent(), 1);
		close_unused();
	}
	unsetenv("PEERPIN_GDR_PERSISTENT");
	unsetenv("GDRCOPY_USE_DMABUF_MMAP");
}

static void handle_begins_with_descriptor(void **state)
{
	(void)state;
	assert_int_equal(*(int *)g, MOCK_FD);
}

/* ---- pin -------------------------------------------------------------------------- */

static void pin_asks_for_gpu_memory(void **state)
{
	(void)state;
	pin_at(base + 5, 10);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_NV);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT);
	assert_true(asked.addr == base + 5 && asked.length == 10);
}

static void forced_pin_is_by_pcie(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, answer_pin);
	assert_int_equal(gdr_pin_buffer_v2(g, base, PAGE, GDR_PIN_FLAG_FORCE_PCIE, &mh), 0);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE);
}

static int no_provider(void *arg)
{
	struct peerpin_pin *pin = arg;

	assert_int_equal(pin->provider, PEERPIN_PROVIDER_NV);
	pin->out_reason = PEERPIN_REASON_NO_PROVIDER;
	return -EOPNOTSUPP;
}

static void pin_falls_back_to_tegra(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, no_provider);
	pin_at(base, 10);
	assert_int_equal(asked.provider, PEERPIN_PROVIDER_TEGRA);
}

static int pin_with_tokens(void)
{
	return gdr_pin_buffer(g, base, GPU_PAGE, TOKEN, VA_SPACE, &mh);
}

static int answer_tokens(void *arg)
{
	const struct peerpin_pin *pin = arg;

	assert_true(pin->p2p_token == TOKEN && pin->va_space_token == VA_SPACE);
	assert_int_equal(pin->flags, 0);
	return answer_pin(arg);
}

static void wrong_tokens_are_refused(void **state)
{
	(void)state;
	refusal = -EINVAL;
	reason = PEERPIN_REASON_VENDOR_REFUSED;
	mock_expect(PEERPIN_IOC_PIN, answer_tokens);
	assert_int_equal(pin_with_tokens(), EINVAL);
}

static void right_tokens_pin_process_memory(void **state)
{
	(void)state;
	mock_expect(PEERPIN_IOC_PIN, answer_tokens);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	mock_expect(PEERPIN_IOC_PIN, answer_pin);
	assert_int_equal(pin_with_tokens(), 0);
	assert_true(asked.p2p_token == 0 && asked.va_space_token == 0);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT);
}

static void kernel_errors_are_passed_on(void **state)
{
	static const int errors[] = { EINVAL, ENOMEM, EDQUOT, EIO, ESTALE };
	size_t i;

	(void)state;
	errno = 1234;
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		refusal = -errors[i];
		mock_expect(PEERPIN_IOC_PIN, answer_pin);
		assert_int_equal(gdr_pin_buffer_v2(g, base, GPU_PAGE, GDR_PIN_FLAG_DEFAULT, &mh), errors[i]);
	}
	assert_int_equal(errno, 1234);
}

static void bad_arguments_never_reach_kernel(void **state)
{
	(void)state;
	assert_int_equal(gdr_pin_buffer(NULL, base, 1, 0, 0, &mh), EINVAL);
	assert_int_equal(gdr_pin_buffer(g, 0, 1, 0, 0, &mh), EINVAL);
	assert_int_equal(gdr_pin_buffer(g, base, 1, 0, 0, NULL), EINVAL);
	assert_int_equal(gdr_pin_buffer_v2(g, base, 1, 2, &mh), EINVAL);
}

static void no_memory_pins_nothing(void **state)
{
	int nth, pins = 0;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, answer_pin);
	for (nth = 0; nth < 2; nth++) {
		callocs_left = nth;
		/* the first call that finds no unused handle allocates a table */
		while (!gdr_pin_buffer(g, base, GPU_PAGE, 0, 0, &mh)) {
			pins++;
			mock_expect(PEERPIN_IOC_PIN, answer_pin);
		}
		assert_int_equal(callocs_left, -1);
	}
	assert_int_equal(gdr_pin_buffer(g, base, GPU_PAGE, 0, 0, &mh), 0);
	for (; pins; pins--)
		mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
}

/* ---- handles --------------------------------------------------------------------- */

static void every_call_refuses(gdr_t file, gdr_mh_t handle, int error)
{
	gdr_info_t info;
	char byte = 0;
	void *view;
	int flag;

	assert_int_equal(gdr_map(file, handle, &view, PAGE), error);
	assert_int_equal(gdr_unmap(file, handle, mock_view_at, PAGE), error);
	assert_int_equal(gdr_get_info(file, handle, &info), error);
	assert_int_equal(gdr_get_callback_flag(file, handle, &flag), error);
	assert_int_equal(gdr_copy_to_mapping(handle, &byte, &byte, 1), error);
	assert_int_equal(gdr_copy_from_mapping(handle, &byte, &byte, 1), error);
	assert_int_equal(gdr_unpin_buffer(file, handle), error);
}

/* gdrcopy's tests read its internal struct of 104 bytes behind a handle. */
static void is_readable(gdr_mh_t handle)
{
	char bytes[GDR_NAME_READABLE];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], (const void *)handle.h, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(read(ends[0], bytes, sizeof(bytes)), sizeof(bytes));
	close(ends[0]);
	close(ends[1]);
}

static void handle_is_a_readable_address(void **state)
{
	(void)state;
	is_readable(mh);
	assert_memory_equal((const void *)mh.h, &(gdr_info_t) { .va = 0 }, sizeof(gdr_info_t));
}

static void made_up_handle_is_refused(void **state)
{
	const unsigned long numbers[] = { 1, PAGE, (unsigned long)&numbers, mh.h - 1, mh.h + 1, mh.h + (1ul << 48), ~0ul };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		every_call_refuses(g, (gdr_mh_t) { numbers[i] }, EINVAL);
}

static void handle_ends_with_its_file(void **state)
{
	gdr_mh_t late;

	(void)state;
	pin_at(base, PAGE);
	late = mh;
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_close(g), 0);
	open_with(no_such_memory);
	every_call_refuses(g, late, EINVAL);
	pin_at(base, PAGE);
	assert_int_not_equal(mh.h, late.h);
	every_call_refuses(g, late, EINVAL);
}

static void handle_is_valid_until_unpin(void **state)
{
	void *view;

	(void)state;
	pin_at(base, PAGE);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
	assert_int_equal(mock_view.unmapped, PAGE);
	every_call_refuses(g, mh, EINVAL);
	every_call_refuses(g, (gdr_mh_t) { 0 }, EINVAL);
}

static void stale_handle_misses_next_pin(void **state)
{
	gdr_mh_t late;
	void *view;

	(void)state;
	pin_at(base, PAGE);
	late = mh;
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
	pin_at(base, PAGE);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	every_call_refuses(g, late, EINVAL);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
}

static gdr_mh_t pin_and_unpin(void)
{
	pin_at(base, PAGE);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
	return mh;
}

/* A slot has 65535 names. The next 65536 pins must not match the old handle. */
static void stale_handle_misses_next_65536_pins(void **state)
{
	gdr_mh_t late = pin_and_unpin();
	int i;

	(void)state;
	for (i = 0; i < UINT16_MAX; i++)
		assert_int_not_equal(pin_and_unpin().h, late.h);
	is_readable(mh);
	pin_at(base, PAGE);
	every_call_refuses(g, late, EINVAL);
}

static void handle_needs_its_own_file(void **state)
{
	gdr_t first = g;
	char copy[64];

	(void)state;
	open_with(no_such_memory);
	every_call_refuses(g, mh, EINVAL);
	every_call_refuses(NULL, mh, EINVAL);
	close_unused();
	g = first;
	memcpy(copy, g, sizeof(copy));
	every_call_refuses((gdr_t)copy, mh, EINVAL);
	assert_int_equal(gdr_close((gdr_t)copy), EINVAL);
}

static void callback_flag_shows_revocation(void **state)
{
	int flag = -1;

	(void)state;
	assert_int_equal(gdr_get_callback_flag(g, mh, &flag), 0);
	assert_int_equal(flag, 0);
	mock_epochs[ID]++;
	assert_int_equal(gdr_get_callback_flag(g, mh, &flag), 0);
	assert_int_equal(flag, 1);
}

static void close_unpins_all(void **state)
{
	void *view;
	int i;

	(void)state;
	open_with(no_such_memory);
	for (i = 0; i < 3; i++) {
		pin_at(base, PAGE);
		assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	}
	for (i = 0; i < 3; i++)
		mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_close(g), 0);
	assert_int_equal(mock_view.unmapped, 3 * PAGE);
	assert_int_equal(mock_closed, 1);
	mock_done();
}

static void all_refuse_in_a_child(void)
{
	gdr_mh_t other;

	every_call_refuses(g, mh, EACCES);
	assert_int_equal(gdr_pin_buffer(g, base, PAGE, 0, 0, &other), EACCES);
	assert_int_equal(gdr_close(g), 0);
	assert_int_equal(mock_closed, 1);
	open_with(no_such_memory);
	assert_int_equal(gdr_unpin_buffer(g, mh), EINVAL);
	other = mh;
	pin_at(base, PAGE);
	assert_int_not_equal(mh.h, other.h);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_close(g), 0);
	mock_done();
}

static void child_cannot_use_handle(void **state)
{
	int status = -1;
	void *view;
	pid_t pid;

	(void)state;
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	pid = fork();
	if (!pid) {
		all_refuse_in_a_child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- attributes and versions -------------------------------------------------------- */

static void asks_for_pins_by_pcie(int (*answer)(void *), int want)
{
	int value = -1;

	mock_expect(PEERPIN_IOC_PIN, answer);
	assert_int_equal(gdr_get_attribute(g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, &value), 0);
	assert_int_equal(asked.flags, PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE);
	assert_int_equal(value, want);
}

static void attributes_are_known(void **state)
{
	int value = -1;

	(void)state;
	asks_for_pins_by_pcie(no_such_memory, 1);
	asks_for_pins_by_pcie(no_such_api, 0);
	assert_int_equal(gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(gdr_get_attribute(g, 0, &value), EINVAL);
	assert_int_equal(gdr_get_attribute(g, GDR_ATTR_MAX, &value), EINVAL);
}

static void versions_equal_gdrcopy(void **state)
{
	int major = 0, minor = 0;

	(void)state;
	gdr_runtime_get_version(&major, &minor);
	assert_true(major == 2 && minor == 6);
	major = minor = 0;
	assert_int_equal(gdr_driver_get_version(g, &major, &minor), 0);
	assert_true(major == 2 && minor == 6);
}

static void mapping_types_have_names(void **state)
{
	const char *name;

	(void)state;
	assert_int_equal(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_WC, &name), 0);
	assert_string_equal(name, "Write Combining");
	assert_int_equal(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_NONE, &name), 0);
	assert_string_equal(name, "None");
	assert_int_equal(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_MAX, &name), EINVAL);
	assert_int_equal(gdr_get_mapping_type_string((gdr_mapping_type_t)-1, &name), EINVAL);
}

/* Existing binaries depend on this layout. */
static void info_layout_equals_gdrcopy(void **state)
{
	gdr_info_v2_t info = { .cycles_per_ms = 0 };
	const unsigned char *bits = (const unsigned char *)&info + 36;

	(void)state;
	assert_int_equal(sizeof(info), 48);
	assert_int_equal(offsetof(gdr_info_v2_t, page_size), 16);
	assert_int_equal(offsetof(gdr_info_v2_t, tm_cycles), 24);
	assert_int_equal(offsetof(gdr_info_v2_t, cycles_per_ms), 32);
	assert_int_equal(offsetof(gdr_info_v2_t, mapping_type), 40);
	info.wc_mapping = 1;
	assert_int_equal(*bits, 2);
	assert_int_equal(sizeof(gdr_mh_t), sizeof(long));
}

#undef gdr_get_info
int gdr_get_info(gdr_t file, gdr_mh_t handle, void *info);

/* Up to wc_mapping both structures have the same layout. */
static void old_info_call_still_works(void **state)
{
	gdr_info_v2_t now, then = { .mapping_type = GDR_MAPPING_TYPE_DEVICE };

	(void)state;
	assert_int_equal(gdr_get_info_v2(g, mh, &now), 0);
	assert_int_equal(gdr_get_info(g, mh, &then), 0);
	assert_true(then.va == base && then.mapped_size == GPU_PAGE && then.page_size == GPU_PAGE);
	assert_true(now.va == then.va && now.tm_cycles == then.tm_cycles && now.cycles_per_ms == then.cycles_per_ms);
	assert_int_equal(then.mapping_type, GDR_MAPPING_TYPE_DEVICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(failed_open_sets_errno, setup),
		cmocka_unit_test_setup(pins_are_persistent_if_supported, setup),
		cmocka_unit_test_setup(environment_turns_persistent_pins_off, setup),
		cmocka_unit_test_setup(setuid_program_ignores_environment, setup),
		cmocka_unit_test_setup(malformed_environment_is_ignored, setup),
		cmocka_unit_test_setup(absent_module_is_replaced, setup),
		cmocka_unit_test_setup(environment_selects_dmabufs, setup),
		cmocka_unit_test_setup(cancelled_unpin_keeps_no_lock, setup),
		OPEN(cancelled_refusal_keeps_no_lock),
		cmocka_unit_test_setup(close_unpins_all, setup),
		cmocka_unit_test_setup(no_memory_gives_no_handle, setup),
		LEAVES_A_PIN(no_memory_pins_nothing),
		OPEN(handle_begins_with_descriptor),
		LEAVES_A_PIN(pin_asks_for_gpu_memory),
		LEAVES_A_PIN(forced_pin_is_by_pcie),
		LEAVES_A_PIN(pin_falls_back_to_tegra),
		OPEN(wrong_tokens_are_refused),
		LEAVES_A_PIN(right_tokens_pin_process_memory),
		OPEN(kernel_errors_are_passed_on),
		OPEN(bad_arguments_never_reach_kernel),
		PINNED(handle_is_a_readable_address),
		PINNED(made_up_handle_is_refused),
		LEAVES_A_PIN(handle_ends_with_its_file),
		OPEN(handle_is_valid_until_unpin),
		OPEN(stale_handle_misses_next_pin),
		LEAVES_A_PIN(stale_handle_misses_next_65536_pins),
		PINNED(handle_needs_its_own_file),
		PINNED(callback_flag_shows_revocation),
		PINNED(child_cannot_use_handle),
		OPEN(attributes_are_known),
		OPEN(versions_equal_gdrcopy),
		OPEN(mapping_types_have_names),
		cmocka_unit_test(info_layout_equals_gdrcopy),
		PINNED(old_info_call_still_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
