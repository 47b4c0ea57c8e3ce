// SPDX-License-Identifier: MIT
/* An ibv_rereg_mr() that does nothing and returns $REREG. fake_rereg.map gives it the version of libibverbs. */
#include <infiniband/verbs.h>
#include <stdlib.h>

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const char *result = getenv("REREG");

	(void)mr, (void)flags, (void)pd, (void)addr, (void)length, (void)access;
	return result ? atoi(result) : 0;
}
