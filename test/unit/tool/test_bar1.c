// SPDX-License-Identifier: MIT
/* The GPUs that the tool finds through a mock NVML when some GPUs do not answer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tool/machine/bar1.h"
#include "test/unit/unit.h"

enum {
	ROOM = 64,
};

static const int *answers;	/* answer of each GPU */
static unsigned int nr_answers, nr_asked;
static int behind;		/* answer of each further GPU */

int pp_bar1(unsigned int index, struct pp_bar1 *out)
{
	int ret = index < nr_answers ? answers[index] : behind;

	nr_asked++;
	if (!ret)
		snprintf(out->pci, sizeof(out->pci), "gpu %u", index);
	return ret;
}

/* @of: answers of the first GPUs; @numbers: numbers of the found GPUs, like "0 2" */
static void finds(const int *of, unsigned int count, int other, const char *numbers, int error)
{
	static struct pp_bar1 gpus[ROOM];
	unsigned int index[ROOM], found, i;
	char text[4 * ROOM] = "", name[32];
	int why;

	answers = of;
	nr_answers = count;
	behind = other;
	nr_asked = 0;
	found = bar1_find(gpus, index, ROOM, &why);
	for (i = 0; i < found; i++) {
		sprintf(text + strlen(text), "%s%u", i ? " " : "", index[i]);
		sprintf(name, "gpu %u", index[i]);
		assert_string_equal(gpus[i].pci, name);
	}
	assert_string_equal(text, numbers);
	assert_int_equal(why, error);
}

static void each_answering_gpu_is_listed(void **state)
{
	static const int well[3] = { 0 };

	(void)state;
	finds(well, 3, -ENODEV, "0 1 2", 0);
	finds(NULL, 0, -ENODEV, "", -ENODEV);
	finds(NULL, 0, -ENOENT, "", -ENOENT);
	assert_int_equal(nr_asked, 1);
}

static void lost_gpu_hides_no_other_gpu(void **state)
{
	static const int first[] = { -EIO, 0, 0 }, middle[] = { 0, -EIO, 0 }, last[] = { 0, 0, -EIO };
	static const int all[] = { -EIO, -EIO };

	(void)state;
	finds(first, 3, -ENODEV, "1 2", -EIO);
	finds(middle, 3, -ENODEV, "0 2", -EIO);
	finds(last, 3, -ENODEV, "0 1", -EIO);
	finds(all, 2, -ENODEV, "", -EIO);
}

/* If NVML cannot be initialised, each call fails and may take long. */
static void failing_nvml_ends_search_early(void **state)
{
	(void)state;
	finds(NULL, 0, -EIO, "", -EIO);
	assert_in_range(nr_asked, 1, 4);
}

static void search_stops_at_full_array(void **state)
{
	(void)state;
	finds(NULL, 0, 0, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 "
	      "36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answering_gpu_is_listed),
		cmocka_unit_test(lost_gpu_hides_no_other_gpu),
		cmocka_unit_test(failing_nvml_ends_search_early),
		cmocka_unit_test(search_stops_at_full_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
