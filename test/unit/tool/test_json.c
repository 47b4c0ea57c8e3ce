// SPDX-License-Identifier: MIT
/* Strings of --json with arbitrary bytes. */
#include <string.h>
#include "tool/util/json.h"
#include "test/unit/unit.h"
#include "tool/util/utf8.h"

static void gives(const char *text, const char *wanted)
{
	struct json_object *o = json_text(text);

	assert_string_equal(json_object_get_string(o), wanted);
	json_object_put(o);
}

static void valid_utf8_is_kept(void **state)
{
	(void)state;
	gives("", "");
	gives("GPU 0\n\x1b\x7f", "GPU 0\n\x1b\x7f");
	gives("\xc2\x80 \xdf\xbf", "\xc2\x80 \xdf\xbf");
	gives("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", "\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf");
	gives("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf");
}

#define BAD "\xef\xbf\xbd"

static void invalid_bytes_are_replaced(void **state)
{
	(void)state;
	gives("d\xff", "d" BAD);
	gives("\x80x\xbf", BAD "x" BAD);
	gives("\xc0\xaf \xc1\xbf", BAD BAD " " BAD BAD);		/* overlong encoding */
	gives("\xe0\x9f\xbf", BAD BAD BAD);
	gives("\xed\xa0\x80", BAD BAD BAD);				/* a surrogate */
	gives("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD);
	gives("\xf4\x90\x80\x80 \xf5", BAD BAD BAD BAD " " BAD);	/* beyond the last code point */
}

/* A longer text was cut to fit, inside a character. */
static void cut_character_is_replaced(void **state)
{
	static const char whole[] = "\xf0\x9f\x98\x80";
	char cut[5];
	size_t n;

	(void)state;
	for (n = 1; n < 4; n++) {
		memcpy(cut, whole, n);
		cut[n] = '\0';
		assert_int_equal(utf8_length(cut), 0);
	}
	assert_int_equal(utf8_length(whole), 4);
	gives("a\xe2\x82", "a" BAD BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_utf8_is_kept),
		cmocka_unit_test(invalid_bytes_are_replaced),
		cmocka_unit_test(cut_character_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
