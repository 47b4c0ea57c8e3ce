// SPDX-License-Identifier: MIT
/* Deletion of the adapter's link, and removal of modules: MRs hold both */
#include "removal.h"

SETUP(adapter_is_there)
{
	EXPECT(!child_works() && all_is_free(), "the adapter does not work");
}

/* The deletion waits until the child exits, or takes the MRs from the child. */
CASE(link_deletion_waits_for_mr)
{
	int down[2], err;
	struct removal r;
	struct child c;

	EXPECT(!pipe(down), "pipe");
	gate = down[0];
	EXPECT(!child_start(&c, use_until_told), "child");
	removal_start(&r, link_delete);
	CHECK_CASE();
	usleep(LINGER_MS * 1000);
	EXPECT(!r.done || !removal_waits(), "the link was deleted: %d", r.err);
	EXPECT(write(down[1], "", 1) == 1, "pipe");
	err = child_end(&c);
	removal_end(&r);
	CHECK_CASE();
	EXPECT((!err || !removal_waits()) && !r.err && !link_is_there(), "child %d, deletion %d", err, r.err);
	close(down[0]);
	close(down[1]);
	EXPECT(!link_add() && !child_works() && all_is_free(), "the adapter does not work");
}

/* The last one goes if a removal does not wait. */
CASE(mr_keeps_modules_loaded)
{
	static const char *const names[] = { "peerpin_ibpeer", "ib_peer_shim", "peerpin", "emurdma" };
	const size_t count = sizeof(names) / sizeof(*names) - !removal_waits();
	struct child c;
	int down[2];
	size_t i;

	EXPECT(!pipe(down), "pipe");
	gate = down[0];
	EXPECT(!child_start(&c, use_until_told), "child");
	for (i = 0; i < count; i++)
		EXPECT(module_remove(names[i]) == -EAGAIN, "%s: errno %d", names[i], errno);
	EXPECT(write(down[1], "", 1) == 1 && !child_end(&c), "child");
	close(down[0]);
	close(down[1]);
	EXPECT(all_is_free(), "memory or pins are left");
}

static int is_unknown(int out)
{
	struct memory m;

	(void)out;
	if (!cu_start(0) || use_loop())
		return 1;
	return memory_open(&m, loop.near.pd, BY_POINTER) != -EFAULT;
}

CASE(modules_return_in_order)
{
	int status;

	EXPECT(!module_remove("peerpin_ibpeer"), "peerpin_ibpeer: %d", errno);
	status = fork() ? -1 : is_unknown(-1);
	if (status >= 0)
		_exit(status);
	EXPECT(wait(&status) > 0 && !status, "a pointer without a client: %d", status);
	EXPECT(!module_remove("emurdma") && !link_is_there(), "emurdma: %d", errno);
	EXPECT(!module_remove("ib_peer_shim"), "ib_peer_shim: %d", errno);
	EXPECT(!module_load("emu/ib_peer_shim.ko", "") && !module_load("emu/emurdma.ko", "") &&
	       !module_load("kmod/peerpin_ibpeer.ko", ""), "load: %d", errno);
	EXPECT(!link_add() && !child_works() && all_is_free(), "the adapter does not work");
}

VMTEST_MAIN
