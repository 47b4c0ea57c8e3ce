// SPDX-License-Identifier: MIT
#include <emugpu.h>

int main(void)
{
BLOCK
	return test.op != EMUGPU_TEST_PLAN;
}
