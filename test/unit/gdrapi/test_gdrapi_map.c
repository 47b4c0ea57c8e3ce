// SPDX-License-Identifier: MIT
/* libgdrapi on a mock kernel: CPU mappings. */
#include <stdlib.h>
#include "gdrapi_case.h"

/* ---- map -------------------------------------------------------------------------- */

static void any_page_can_be_mapped(void **state)
{
	gdr_info_t info;
	unsigned long offset;
	void *view;

	(void)state;
	for (offset = 0; offset < 2 * GPU_PAGE; offset += 3 * PAGE) {
		pin_at(base + offset, 2 * PAGE + 1);
		assert_int_equal(gdr_map(g, mh, &view, 2 * PAGE + 1), 0);
		assert_ptr_equal(view, mock_view_at);
		assert_true(mock_view.offset == PEERPIN_MMAP_OFFSET(ID) + offset % GPU_PAGE);
		assert_int_equal(mock_view.length, 3 * PAGE);
		assert_int_equal(gdr_get_info(g, mh, &info), 0);
		assert_true(info.va == base + offset);
		assert_int_equal((info.va + info.mapped_size) % GPU_PAGE, 0);
		mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
		assert_int_equal(gdr_unpin_buffer(g, mh), 0);
	}
}

/* A program finds its byte at "map + (address - va)". */
static void unaligned_pin_maps_its_page(void **state)
{
	gdr_info_t info;
	void *view;

	(void)state;
	pin_at(base + PAGE + 512, GPU_PAGE);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_true(info.va == base + PAGE);
	assert_int_equal(mock_view.offset % GPU_PAGE, PAGE);
	assert_int_equal(mock_view.length, 2 * PAGE);
}

static void mapping_ends_with_its_pin(void **state)
{
	void *view;

	(void)state;
	pin_at(base + PAGE, 1);
	assert_int_equal(gdr_map(g, mh, &view, 0), EINVAL);
	assert_int_equal(gdr_map(g, mh, &view, GPU_PAGE - PAGE + 1), EINVAL);
	assert_int_equal(gdr_map(g, mh, &view, SIZE_MAX), EINVAL);
	assert_int_equal(gdr_map(g, mh, &view, SIZE_MAX - PAGE + 1), EINVAL);
	assert_int_equal(gdr_map(g, mh, &view, GPU_PAGE - PAGE), 0);
	assert_int_equal(mock_view.length, GPU_PAGE - PAGE);
}

static void one_mapping_at_a_time(void **state)
{
	void *view, *other = NULL;

	(void)state;
	assert_int_equal(gdr_unmap(g, mh, mock_view_at, GPU_PAGE), EINVAL);
	assert_int_equal(gdr_map(g, mh, &view, GPU_PAGE), 0);
	assert_int_equal(gdr_map(g, mh, &other, GPU_PAGE), EAGAIN);
	assert_null(other);
	assert_int_equal(gdr_unmap(g, mh, (char *)view + PAGE, GPU_PAGE), EINVAL);
	assert_int_equal(mock_view.unmapped, 0);
	assert_int_equal(gdr_unmap(g, mh, view, GPU_PAGE), 0);
	assert_int_equal(mock_view.unmapped, GPU_PAGE);
	assert_int_equal(gdr_unmap(g, mh, view, GPU_PAGE), EINVAL);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
}

static int no_memory(void)
{
	return -ENOMEM;
}

static void failed_map_leaves_no_mapping(void **state)
{
	char byte = 0;
	void *view;

	(void)state;
	mock_view.answer = no_memory;
	assert_int_equal(gdr_map(g, mh, &view, PAGE), ENOMEM);
	assert_int_equal(gdr_copy_to_mapping(mh, &byte, &byte, 1), EINVAL);
	mock_epochs[ID]++;
	mock_view.answer = NULL;
	assert_int_equal(gdr_map(g, mh, &view, PAGE), ESTALE);
	assert_int_equal(gdr_copy_from_mapping(mh, &byte, &byte, 1), EINVAL);
}

static int no_pin_by_pcie(void *arg)
{
	assert_int_equal(((struct peerpin_pin *)arg)->flags, PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE);
	return -EOPNOTSUPP;
}

/*
 * A request for another caching type than the kernel's must fail. Cached memory could be write-combined by a pin by
 * PCIe, but this driver has none.
 */
static void check_types(uint32_t of_kernel, gdr_mapping_type_t want)
{
	gdr_info_t info;
	void *view;
	int flag;

	caching = of_kernel;
	pin_at(base, PAGE);
	for (flag = GDR_MAP_FLAG_REQ_WC_MAPPING; flag <= GDR_MAP_FLAG_REQ_DEVICE_MAPPING; flag++) {
		if (flag == (int)want)
			continue;
		if (of_kernel == PEERPIN_CACHING_CACHED && flag == GDR_MAP_FLAG_REQ_WC_MAPPING)
			mock_expect(PEERPIN_IOC_PIN, no_pin_by_pcie);
		assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, flag), EOPNOTSUPP);
	}
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, 4), EINVAL);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, -1), EINVAL);
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_true(!info.mapped && !info.wc_mapping && info.mapping_type == GDR_MAPPING_TYPE_NONE);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, want), 0);
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_true(info.mapped && info.mapping_type == want);
	assert_int_equal(info.wc_mapping, want == GDR_MAPPING_TYPE_WC);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
}

static void mapping_type_follows_kernel_caching(void **state)
{
	void *view;

	(void)state;
	check_types(PEERPIN_CACHING_COMBINED, GDR_MAPPING_TYPE_WC);
	check_types(PEERPIN_CACHING_CACHED, GDR_MAPPING_TYPE_CACHING);
	check_types(PEERPIN_CACHING_UNCACHED, GDR_MAPPING_TYPE_DEVICE);
	caching = PEERPIN_CACHING_NONE;
	pin_at(base, PAGE);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), EOPNOTSUPP);
}

static int pin_by_pcie(void *arg)
{
	struct peerpin_pin *pin = arg;
	int ret;

	assert_int_equal(pin->flags, PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE);
	assert_int_equal(pin->addr + pin->length, ((asked.addr + asked.length + GPU_PAGE - 1) & -GPU_PAGE));
	caching = PEERPIN_CACHING_COMBINED;
	ret = answer_pin(pin);
	pin->out_region = ID + 1;
	return ret;
}

static int unpin_second(void *arg)
{
	assert_int_equal(((const struct peerpin_unpin *)arg)->region, ID + 1);
	return 0;
}

static int pin_cached(void *arg)
{
	assert_int_equal(((struct peerpin_pin *)arg)->flags, PEERPIN_PIN_PERSISTENT);
	caching = PEERPIN_CACHING_CACHED;
	return answer_pin(arg);
}

/* Memory of a coherent GPU: a request for the other type replaces the pin. */
static void requests_replace_the_pin(void **state)
{
	gdr_info_t info;
	void *view;

	(void)state;
	caching = PEERPIN_CACHING_CACHED;
	pin_at(base + PAGE, GPU_PAGE);
	mock_expect(PEERPIN_IOC_PIN, pin_by_pcie);
	mock_expect(PEERPIN_IOC_UNPIN, answer_unpin);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_WC_MAPPING), 0);
	assert_true(mock_view.offset == PEERPIN_MMAP_OFFSET(ID + 1) + PAGE);
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_true(info.wc_mapping && info.va == base + PAGE);
	assert_int_equal(gdr_unmap(g, mh, view, PAGE), 0);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_WC_MAPPING), 0);	/* the pin is right */
	assert_int_equal(gdr_unmap(g, mh, view, PAGE), 0);
	mock_expect(PEERPIN_IOC_PIN, pin_cached);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_second);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_int_equal(info.mapping_type, GDR_MAPPING_TYPE_CACHING);
}

/* Pins by PCIe are persistent, so a revocable pin is not replaced. */
static void revocable_pin_is_not_replaced(void **state)
{
	void *view;

	(void)state;
	setenv("PEERPIN_GDR_PERSISTENT", "0", 1);
	g = gdr_open();
	unsetenv("PEERPIN_GDR_PERSISTENT");
	assert_non_null(g);
	caching = PEERPIN_CACHING_CACHED;
	pin_at(base, PAGE);
	assert_int_equal(asked.flags, 0);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_WC_MAPPING), EOPNOTSUPP);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
}

/* The program asked for a pin by PCIe, so no request replaces the pin. */
static void forced_pin_is_not_replaced(void **state)
{
	gdr_info_t info;
	void *view;

	(void)state;
	mock_expect(PEERPIN_IOC_PIN, answer_pin);
	assert_int_equal(gdr_pin_buffer_v2(g, base, PAGE, GDR_PIN_FLAG_FORCE_PCIE, &mh), 0);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_CACHE_MAPPING), EOPNOTSUPP);
	assert_int_equal(gdr_map(g, mh, &view, PAGE), 0);
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_int_equal(info.mapping_type, GDR_MAPPING_TYPE_WC);
}

/* A program may have unpinned by the ioctl: gdr_t begins with the descriptor of /dev/peerpin. */
static int no_such_region(void *arg)
{
	assert_int_equal(((const struct peerpin_unpin *)arg)->region, ID);
	return -ENOENT;
}

/* The pin is replaced when its predecessor cannot be unpinned, so the mapping is made by the new pin. */
static void unpin_of_replaced_pin_may_fail(void **state)
{
	gdr_info_t info;
	void *view = NULL;

	(void)state;
	caching = PEERPIN_CACHING_CACHED;
	pin_at(base, GPU_PAGE);
	mock_expect(PEERPIN_IOC_PIN, pin_by_pcie);
	mock_expect(PEERPIN_IOC_UNPIN, no_such_region);
	assert_int_equal(gdr_map_v2(g, mh, &view, PAGE, GDR_MAP_FLAG_REQ_WC_MAPPING), 0);
	assert_ptr_equal(view, mock_view_at);
	assert_true(mock_view.offset == PEERPIN_MMAP_OFFSET(ID + 1));
	assert_int_equal(gdr_get_info(g, mh, &info), 0);
	assert_true(info.mapped && info.wc_mapping);
	mock_expect(PEERPIN_IOC_UNPIN, unpin_second);
	assert_int_equal(gdr_unpin_buffer(g, mh), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPEN(any_page_can_be_mapped),
		LEAVES_A_PIN(unaligned_pin_maps_its_page),
		LEAVES_A_PIN(mapping_ends_with_its_pin),
		PINNED(one_mapping_at_a_time),
		PINNED(failed_map_leaves_no_mapping),
		LEAVES_A_PIN(mapping_type_follows_kernel_caching),
		LEAVES_A_PIN(requests_replace_the_pin),
		cmocka_unit_test_setup_teardown(revocable_pin_is_not_replaced, setup, teardown_pinned),
		LEAVES_A_PIN(forced_pin_is_not_replaced),
		OPEN(unpin_of_replaced_pin_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
