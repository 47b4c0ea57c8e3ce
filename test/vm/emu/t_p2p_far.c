// SPDX-License-Identifier: MIT
/* A peer below another root complex than the GPU: --topology two-sockets. t_p2p_dma has a peer below the same. */
#include "test/vm/harness/module.h"
#include "p2p.h"

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

static int far_peers(const char *on)
{
	return module_set("emugpu/parameters/far_peers", on);
}

CASE(far_peer_is_refused_on_request)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0 && unmap(0, 0) == 0, "by default");
	EXPECT(far_peers("0") == 0 && map(0, 0) == -P2P_CHECK_ENOTSUPP, "refused: %d", map(0, 0));
	EXPECT(far_peers("1") == 0 && map(0, 0) == 0 && unmap(0, 0) == 0, "allowed again");
	EXPECT(put(0) == 0, "put");
	free_one();
	EXPECT_NO_BREACH(fd);
}

VMTEST_MAIN
