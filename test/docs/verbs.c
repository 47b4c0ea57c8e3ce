// SPDX-License-Identifier: MIT
// links with: -lpeerpin-verbs -libverbs
#include <libpeerpin-verbs.h>
#include <stdio.h>

int use(struct ibv_pd *pd, void *pointer, size_t length);
int use(struct ibv_pd *pd, void *pointer, size_t length)
{
BLOCK
	return err;
}

int main(void)
{
	return 0;
}
