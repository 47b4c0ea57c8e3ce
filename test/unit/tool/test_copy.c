// SPDX-License-Identifier: MIT
/* peerpin copy --verify must find the errors of a peer that copies wrongly. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "libpeerpin.h"
#include "tool/tool.h"
#include "test/unit/unit.h"

enum {
	SIZE = 3 << 20,		/* larger than one chunk of the comparison */
	ZONE = 64 << 10,
};

extern const struct command copy_command;

/* Offset in the destination of the byte that the peer writes wrongly; NOWHERE: no wrong byte. */
static long wrong_at;
static unsigned int copies, wrong_in;

#define NOWHERE LONG_MIN

/* ---- mocks of the library ------------------------------------------------------ */

int __wrap_pp_open(struct pp_ctx **out);
int __wrap_pp_open(struct pp_ctx **out)
{
	*out = NULL;
	return 0;
}

void __wrap_pp_close(struct pp_ctx *ctx);
void __wrap_pp_close(struct pp_ctx *ctx)
{
	(void)ctx;
}

int __wrap_pp_cache_create_ctx(struct pp_ctx *ctx, const struct pp_cache_attr *attr, struct pp_cache **out);
int __wrap_pp_cache_create_ctx(struct pp_ctx *ctx, const struct pp_cache_attr *attr, struct pp_cache **out)
{
	(void)ctx;
	(void)attr;
	*out = NULL;
	return 0;
}

void __wrap_pp_cache_destroy(struct pp_cache *cache);
void __wrap_pp_cache_destroy(struct pp_cache *cache)
{
	(void)cache;
}

int __wrap_pp_peer_open(const char *name, struct pp_cache *cache, struct pp_peer **out);
int __wrap_pp_peer_open(const char *name, struct pp_cache *cache, struct pp_peer **out)
{
	(void)name;
	(void)cache;
	*out = NULL;
	return 0;
}

void __wrap_pp_peer_close(struct pp_peer *peer);
void __wrap_pp_peer_close(struct pp_peer *peer)
{
	(void)peer;
}

int __wrap_pp_peer_copy(struct pp_peer *peer, void *dst, const void *src, size_t length, struct pp_copy_result *result);
int __wrap_pp_peer_copy(struct pp_peer *peer, void *dst, const void *src, size_t length, struct pp_copy_result *result)
{
	(void)peer;
	memset(result, 0, sizeof(*result));
	memcpy(dst, src, length);
	if (++copies == wrong_in && wrong_at != NOWHERE)
		((unsigned char *)dst)[wrong_at] ^= 1;
	return 0;
}

/* ---- copies ------------------------------------------------------------------------- */

/* Copy host memory three times. Copy number @in has a wrong byte at @at. Returns the exit status. */
static int copy(unsigned int in, long at)
{
	char words[][16] = { "copy", "--from", "host", "--to", "host", "--size", "3M", "--repeat", "3", "--verify" };
	char *argv[sizeof(words) / sizeof(*words) + 1] = { 0 };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		argv[i] = words[i];
	copies = 0;
	wrong_in = in;
	wrong_at = at;
	return copy_command.run((int)i, argv);
}

static void a_good_copy_is_verified(void **state)
{
	(void)state;
	assert_int_equal(copy(1, NOWHERE), EXIT_OK);
	assert_int_equal(copies, 3);
}

static void one_wrong_byte_is_found(void **state)
{
	static const long places[] = { 0, 1, 4095, 4096, (1 << 20) - 1, 1 << 20, SIZE / 2, SIZE - 1 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		assert_int_equal(copy(1, places[i]), EXIT_FAILED);
	assert_int_equal(copies, 1);
	assert_int_equal(copy(3, 7), EXIT_FAILED);
	assert_int_equal(copies, 3);
}

static void byte_outside_destination_is_found(void **state)
{
	static const long places[] = { -ZONE, -1, SIZE, SIZE + ZONE - 1 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		assert_int_equal(copy(2, places[i]), EXIT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_copy_is_verified),
		cmocka_unit_test(one_wrong_byte_is_found),
		cmocka_unit_test(byte_outside_destination_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
