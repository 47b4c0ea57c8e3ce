// SPDX-License-Identifier: MIT
#include "libraries.h"

int main(void)
{
BLOCK
	return err ? 1 : 0;
}
