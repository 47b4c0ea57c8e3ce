// SPDX-License-Identifier: MIT
/*
 * A chipset of which NVIDIA's driver does not know that it forwards peer traffic: emugpu.far_peers=0. The cases far_*
 * need a VM in which the GPU and the peer are below two host bridges (--topology two-sockets). The case near_* needs a
 * VM in which both are below one switch (--topology switch).
 */
#include "test/kmod/dmabuf_check.h"
#include "test/vm/harness/module.h"
#include "p2p.h"

static int importer;

SETUP(nodes_are_there)
{
	EXPECT_NODES();
	importer = open("/dev/dmabuf_check", O_RDWR | O_CLOEXEC);
	EXPECT(importer >= 0, "no /dev/dmabuf_check; type: emu/vm/run --insmod build/KERNEL/test/dmabuf_check.ko ...");
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

/* Attaches and detaches. Returns the result of the attachment. */
static int attach(int dmabuf, enum dmabuf_check_kind kind)
{
	struct dmabuf_check_attach attach = { .fd = dmabuf, .kind = kind };
	struct dmabuf_check_slot slot = { .slot = 0 };
	int err = emu_call(importer, DMABUF_CHECK_ATTACH, &attach);

	return err ?: emu_call(importer, DMABUF_CHECK_DETACH, &slot);
}

CASE(far_importer_is_refused_on_request)
{
	struct emugpu_export export = { .va = VA, .size = BLOCK };
	enum dmabuf_check_kind kind;

	one_block();
	CHECK_CASE();
	EXPECT(emu_call(fd, EMUGPU_IOC_EXPORT, &export) == 0, "export");
	for (kind = DMABUF_CHECK_STATIC; kind <= DMABUF_CHECK_DYNAMIC; kind++) {
		EXPECT(far_peers("1") == 0 && attach(export.out_fd, kind) == 0, "kind %d by default", kind);
		EXPECT(far_peers("0") == 0 && attach(export.out_fd, kind) == -P2P_CHECK_ENOTSUPP, "kind %d refused: %d",
		       kind, attach(export.out_fd, kind));
	}
	EXPECT(far_peers("1") == 0, "parameter");
	close(export.out_fd);
	free_one();
}

CASE(near_peer_is_never_refused)
{
	struct emugpu_export export = { .va = VA, .size = BLOCK };

	one_block();
	CHECK_CASE();
	EXPECT(far_peers("0") == 0 && get(0, VA, PAGE) == 0 && map(0, 0) == 0 && unmap(0, 0) == 0, "map");
	EXPECT(put(0) == 0, "put");
	EXPECT(emu_call(fd, EMUGPU_IOC_EXPORT, &export) == 0 && attach(export.out_fd, DMABUF_CHECK_STATIC) == 0, "attach");
	EXPECT(far_peers("1") == 0, "parameter");
	close(export.out_fd);
	free_one();
}

VMTEST_MAIN
