// SPDX-License-Identifier: MIT
/* The layout of the uAPI has shipped and must not change. New members go to the end. */
#include <linux/types.h>
#include <peerpin.h>
#include <peerpin_lsi.h>
#include "test/unit/unit.h"

#define AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), \
		       #type "." #member " has moved")

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type " has changed size")

AT(peerpin_pin, size, 0);
AT(peerpin_pin, flags, 4);
AT(peerpin_pin, addr, 8);
AT(peerpin_pin, length, 16);
AT(peerpin_pin, provider, 24);
AT(peerpin_pin, va_space_token, 28);
AT(peerpin_pin, p2p_token, 32);
AT(peerpin_pin, out_region, 40);
AT(peerpin_pin, out_slot, 44);
AT(peerpin_pin, out_epoch, 48);
AT(peerpin_pin, out_provider, 52);
AT(peerpin_pin, out_addr, 56);
AT(peerpin_pin, out_length, 64);
AT(peerpin_pin, out_page_size, 72);
AT(peerpin_pin, out_reason, 76);
AT(peerpin_pin, out_needed, 80);
AT(peerpin_pin, fd, 88);
AT(peerpin_pin, out_caching, 92);
AT(peerpin_pin, out_available, 96);
SIZE(peerpin_pin, 104);

AT(peerpin_unpin, region, 4);
SIZE(peerpin_unpin, 8);

AT(peerpin_query, region, 4);
AT(peerpin_query, out_state, 8);
AT(peerpin_query, out_provider, 12);
AT(peerpin_query, out_addr, 16);
AT(peerpin_query, out_length, 24);
AT(peerpin_query, out_page_size, 32);
AT(peerpin_query, out_attached, 36);
AT(peerpin_query, out_extents, 40);
AT(peerpin_query, out_maps, 44);
AT(peerpin_query, out_flags, 48);
AT(peerpin_query, out_caching, 52);
SIZE(peerpin_query, 56);

AT(peerpin_export, region, 4);
AT(peerpin_export, flags, 8);
AT(peerpin_export, out_fd, 12);
AT(peerpin_export, offset, 16);
AT(peerpin_export, length, 24);
SIZE(peerpin_export, 32);

AT(peerpin_watch, flags, 4);
AT(peerpin_watch, addr, 8);
AT(peerpin_watch, length, 16);
AT(peerpin_watch, out_watch, 24);
AT(peerpin_watch, out_slot, 28);
AT(peerpin_watch, out_epoch, 32);
AT(peerpin_watch, out_reason, 36);
AT(peerpin_watch, out_needed, 40);
AT(peerpin_watch, out_available, 48);
SIZE(peerpin_watch, 56);

AT(peerpin_unwatch, watch, 4);
SIZE(peerpin_unwatch, 8);

AT(peerpin_lsi_end, region, 4);
AT(peerpin_lsi_end, offset, 8);
SIZE(peerpin_lsi_end, 16);
AT(peerpin_lsi_copy, flags, 4);
AT(peerpin_lsi_copy, dst, 8);
AT(peerpin_lsi_copy, src, 24);
AT(peerpin_lsi_copy, length, 40);
AT(peerpin_lsi_copy, out_ns, 48);
SIZE(peerpin_lsi_copy, 56);

static void command_numbers_are_fixed(void **state)
{
	(void)state;
	assert_int_equal(PEERPIN_IOC_PIN, 0xb980);
	assert_int_equal(PEERPIN_IOC_UNPIN, 0xb981);
	assert_int_equal(PEERPIN_IOC_QUERY, 0xb982);
	assert_int_equal(PEERPIN_IOC_EXPORT, 0xb983);
	assert_int_equal(PEERPIN_IOC_WATCH, 0xb984);
	assert_int_equal(PEERPIN_IOC_UNWATCH, 0xb985);
	assert_int_equal(PEERPIN_LSI_IOC_COPY, 0xba80);
}

static void reasons_and_providers_keep_their_numbers(void **state)
{
	(void)state;
	assert_int_equal(PEERPIN_PROVIDER_HOST, 1);
	assert_int_equal(PEERPIN_PROVIDER_NV, 2);
	assert_int_equal(PEERPIN_REASON_NOT_MAPPED, 1);
	assert_int_equal(PEERPIN_REASON_NO_BAR1, 3);
	assert_int_equal(PEERPIN_REASON_REVOKED, 8);
	assert_int_equal(PEERPIN_REASON_VENDOR_ERROR, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_numbers_are_fixed),
		cmocka_unit_test(reasons_and_providers_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
