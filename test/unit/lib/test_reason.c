// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <string.h>
#include "libpeerpin.h"
#include "test/unit/unit.h"

#define LAST PEERPIN_REASON_WATCHED_BYTES
#define MIB (1ull << 20)

static int is_unknown(uint32_t reason)
{
	return strstr(pp_strreason(reason), "unknown reason") != NULL;
}

/* Fails if an enum value has no text, for example a new reason. */
static void every_reason_has_a_text(void **state)
{
	uint32_t r;

	(void)state;
	for (r = 0; r <= LAST; r++) {
		assert_false(is_unknown(r));
		assert_null(strchr(pp_strreason(r), '\n'));
	}
}

static void reason_texts_differ(void **state)
{
	uint32_t a, b;

	(void)state;
	for (a = 0; a <= LAST; a++)
		for (b = 0; b < a; b++)
			assert_string_not_equal(pp_strreason(a),
						pp_strreason(b));
}

static void newer_reason_is_unknown(void **state)
{
	(void)state;
	assert_true(is_unknown(LAST + 1));
	assert_true(is_unknown(UINT32_MAX));
}

static void says(const char *expected, int error, struct pp_why why)
{
	char out[256] = "nothing";

	errno = 1234;
	assert_int_equal(pp_explain(out, sizeof(out), error, &why), strlen(expected));
	assert_string_equal(out, expected);
	assert_int_equal(errno, 1234);
}

static void explanation_contains_sizes(void **state)
{
	(void)state;
	says("the GPU's BAR1 aperture has no room for it: 64.0 MiB needed, 12.5 MiB free "
	     "(without the 36.0 MiB that the GPU driver reserves)", -ENOMEM,
	     (struct pp_why){ PEERPIN_REASON_NO_BAR1, 64 * MIB, 25 * MIB / 2 });
	says("the GPU's BAR1 aperture has no room for it: 64.0 KiB needed", -ENOMEM,
	     (struct pp_why){ PEERPIN_REASON_NO_BAR1, 65536, 0 });
	says("the range contains two allocations, or two mappings of cuMemMap(): register each one by itself; "
	     "the second begins at 0x200000", -EINVAL, (struct pp_why){ PEERPIN_REASON_SPANS, 0, 2 * MIB });
	says("the process would pin too much memory (max_process_bytes): 2.0 MiB needed, 0.0 KiB free", -EDQUOT,
	     (struct pp_why){ PEERPIN_REASON_PROCESS_BYTES, 2 * MIB, 0 });
	says("the process would watch too much memory (max_process_watched_bytes): 2.0 MiB needed, 0.0 KiB free", -EDQUOT,
	     (struct pp_why){ PEERPIN_REASON_WATCHED_BYTES, 2 * MIB, 0 });
	says("managed memory moves and cannot be pinned", -EINVAL,
	     (struct pp_why){ .reason = PEERPIN_REASON_MANAGED });
}

static void explanation_contains_error(void **state)
{
	char out[256];

	(void)state;
	says("the driver that owns the memory reported an error: Input/output error", -EIO,
	     (struct pp_why){ .reason = PEERPIN_REASON_VENDOR_ERROR });
	says("Permission denied", -EACCES, (struct pp_why){ 0 });
	assert_int_equal(pp_explain(out, sizeof(out), -EFAULT, NULL), strlen("Bad address"));
	assert_string_equal(out, "Bad address");
}

static void short_buffer_cuts_explanation(void **state)
{
	const struct pp_why why = { .reason = PEERPIN_REASON_NOT_GPU };
	char out[8] = "1234567";

	(void)state;
	assert_int_equal(pp_explain(NULL, 0, -EINVAL, &why), strlen(pp_strreason(why.reason)));
	assert_int_equal(pp_explain(out, 5, -EINVAL, &why), strlen(pp_strreason(why.reason)));
	assert_string_equal(out, "CUDA");
	assert_string_equal(out + 5, "67");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_text),
		cmocka_unit_test(reason_texts_differ),
		cmocka_unit_test(newer_reason_is_unknown),
		cmocka_unit_test(explanation_contains_sizes),
		cmocka_unit_test(explanation_contains_error),
		cmocka_unit_test(short_buffer_cuts_explanation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
