// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include <string.h>
#include "libpeerpin.h"
#include "unit.h"

static int is_unknown(uint32_t reason)
{
	return strstr(pp_strreason(reason), "unknown reason") != NULL;
}

/* A reason added to the enum without its text makes this fail. */
static void every_reason_has_a_text(void **state)
{
	uint32_t r;

	(void)state;
	for (r = 0; r <= PEERPIN_REASON_VENDOR_ERROR; r++) {
		assert_false(is_unknown(r));
		assert_null(strchr(pp_strreason(r), '\n'));
	}
}

static void texts_differ(void **state)
{
	uint32_t a, b;

	(void)state;
	for (a = 0; a <= PEERPIN_REASON_VENDOR_ERROR; a++)
		for (b = 0; b < a; b++)
			assert_string_not_equal(pp_strreason(a),
						pp_strreason(b));
}

static void a_newer_kernels_reason(void **state)
{
	(void)state;
	assert_true(is_unknown(PEERPIN_REASON_VENDOR_ERROR + 1));
	assert_true(is_unknown(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_text),
		cmocka_unit_test(texts_differ),
		cmocka_unit_test(a_newer_kernels_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
