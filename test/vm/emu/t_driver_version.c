// SPDX-License-Identifier: MIT
/*
 * What differs between the branches of NVIDIA's driver: the table of doc/emulator.md. Each row loads the
 * modules again, with another driver_version. Needs a VM that loads none.
 */
#include <cuda.h>
#include <nvml.h>
#include <sys/mman.h>

#include "test/kmod/dmabuf_check.h"
#include "test/kmod/p2p_check.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "test/vm/harness/vmtest.h"

#define VA (1ull << 33)
#define PAGE ((uint64_t)EMUGPU_PAGE_SIZE)
#define BLOCK ((uint64_t)EMUGPU_BLOCK_SIZE)
#define POISON 0x6b6b6b6bu
#define KEPT P2P_CHECK_UNTOUCHED
#define ENOTSUPP 524

enum { FORCE_BAR1 = 1, UNKNOWN_FLAG = 2 };

/**
 * struct row - a branch
 * @text: version in sysfs and of NVML
 * @cuda: version of CUDA
 * @table: version of page tables
 * @unaligned: what get_pages() of an unaligned address leaves: no pointer, or one to freed memory
 * @rsync: nvidia_p2p_get_rsync_registers(NULL)
 * @force: FORCE_BAR1, the GPU is not coherent
 * @force_coherent: FORCE_BAR1, the GPU is coherent
 * @unknown: any other flag
 * @importer: attachment and mapping of a dma-buf, for a dynamic importer without peer2peer. Before Linux 6.16
 *	dma_buf_dynamic_attach() maps, too
 * @pcie: cuMemGetHandleForAddressRange() by PCIe, the GPU is not coherent
 * @mmap, @mmap_coherent: mmap() of a dma-buf
 * @far: result of dma_map_pages() and of the attachment of a dma-buf, for a peer without a common bridge, on an
 *	unknown chipset
 */
static const struct row {
	unsigned int branch;
	const char *text;
	int cuda;
	unsigned int table, unaligned;
	int rsync;
	int force, force_coherent, unknown;
	int importer;
	CUresult pcie;
	int mmap, mmap_coherent;
	int far;
} rows[] = {
	{ 535, "535.288.01", 12020, 0x10002, POISON, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -ENOMEM,
	  CUDA_ERROR_INVALID_VALUE, -ENOTSUPP, -ENOTSUPP, 0 },
	{ 550, "550.163.01", 12040, 0x10002, POISON, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -ENOMEM,
	  CUDA_ERROR_INVALID_VALUE, -ENOTSUPP, -ENOTSUPP, 0 },
	{ 570, "570.211.01", 12080, 0x10002, KEPT, -EINVAL, -ENOTSUPP, 0, 0, -ENOMEM,
	  CUDA_ERROR_NOT_SUPPORTED, -ENOTSUPP, -ENOTSUPP, 0 },
	{ 580, "580.65.06", 13000, 0x20000, KEPT, -ENODEV, -ENOTSUPP, 0, 0, -ENOTSUPP,
	  CUDA_ERROR_NOT_SUPPORTED, -ENOTSUPP, 0, -ENOTSUPP },
	{ 595, "595.45.04", 13020, 0x20000, KEPT, -ENODEV, -ENOTSUPP, 0, 0, -ENOTSUPP,
	  CUDA_ERROR_NOT_SUPPORTED, -ENOTSUPP, 0, -ENOTSUPP },
	{ 610, "610.43.02", 13030, 0x20000, KEPT, -ENODEV, -ENOTSUPP, 0, 0, -ENOTSUPP,
	  CUDA_ERROR_NOT_SUPPORTED, 0, 0, -ENOTSUPP },
};

static int fd, check, importer;

/* ---- modules --------------------------------------------------------------------------- */

static void load(unsigned int branch, bool coherent)
{
	char parameters[64];

	snprintf(parameters, sizeof(parameters), "driver_version=%u coherent=%d", branch, coherent);
	EXPECT(!module_load("emu/emugpu.ko", parameters), "emugpu");
	EXPECT(!module_load("test/p2p_check.ko", "") && !module_load("test/dmabuf_check.ko", ""), "the consumers");
	fd = emu_open();
	check = open("/dev/p2p_check", O_RDWR | O_CLOEXEC);
	importer = open("/dev/dmabuf_check", O_RDWR | O_CLOEXEC);
	EXPECT(fd >= 0 && check >= 0 && importer >= 0, "%d %d %d", fd, check, importer);
	EXPECT(!emu_alloc(fd, VA, BLOCK), "alloc");
}

/* peerpin_nv.ko was built with the header of 580. It takes the tables of all branches. */
static void pin_by_peerpin(unsigned int caching)
{
	struct peerpin_pin pin;
	int node, err;

	EXPECT(!module_load("kmod/peerpin.ko", "") && !module_load("kmod/peerpin_nv.ko", ""), "peerpin");
	node = pin_open();
	err = pin_at(node, VA, BLOCK, &pin);
	EXPECT(!err && pin.out_caching == caching, "%d: reason %u, caching %u", err, pin.out_reason, pin.out_caching);
	EXPECT(!unpin(node, pin.out_region), "unpin");
	close(node);
	EXPECT(!module_remove("peerpin_nv") && !module_remove("peerpin"), "still loaded");
}

static void unload(void)
{
	close(fd);
	close(check);
	close(importer);
	EXPECT(!module_remove("dmabuf_check") && !module_remove("p2p_check") && !module_remove("emugpu"), "still loaded");
}

static void read_text(char *text, int size)
{
	FILE *f = fopen("/sys/module/emugpu/version", "re");

	if (!f || !fgets(text, size, f))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* ---- calls of nv-p2p.h ------------------------------------------------------------------ */

static int call(unsigned long cmd, struct p2p_check_call arg)
{
	return ioctl(check, cmd, &arg) ? -errno : 0;
}

static unsigned int table_version(void)
{
	struct p2p_check_table table = { .slot = 0 };
	struct p2p_check_call pin = { .va = VA, .length = PAGE };

	if (call(P2P_CHECK_GET, pin) || ioctl(check, P2P_CHECK_TABLE, &table) || call(P2P_CHECK_PUT, pin))
		return 0;
	return table.out_version;
}

/* Version of the table that a failed pin at an unaligned address leaves; 0: the pin did not fail as it must */
static unsigned int table_of_unaligned(void)
{
	struct p2p_check_table table = { .slot = 0 };
	struct p2p_check_call pin = { .va = VA + 4096, .length = PAGE };

	if (call(P2P_CHECK_GET, pin) != -EINVAL || ioctl(check, P2P_CHECK_TABLE, &table))
		return 0;
	return table.out_version;
}

static int pin_with(unsigned int nv_flags)
{
	struct p2p_check_call pin = { .va = VA, .length = PAGE, .nv_flags = nv_flags };
	int err = call(P2P_CHECK_GET_PERSISTENT, pin);

	pin.nv_flags = 0;
	return err ?: call(P2P_CHECK_PUT_PERSISTENT, pin);
}

/* A pin by BAR1 is for the CPU: it has no mappings. */
static int map_of_forced(void)
{
	struct p2p_check_call pin = { .va = VA, .length = PAGE, .nv_flags = FORCE_BAR1 };
	int err = call(P2P_CHECK_GET_PERSISTENT, pin), ret;

	if (err)
		return err;
	ret = call(P2P_CHECK_MAP, pin);
	pin.nv_flags = 0;
	return call(P2P_CHECK_PUT_PERSISTENT, pin) ?: ret;
}

static int rsync_registers(unsigned int flags)
{
	return call(P2P_CHECK_GET_RSYNC_REGISTERS, (struct p2p_check_call) { .flags = flags });
}

/* ---- dma-bufs ---------------------------------------------------------------------------- */

static int export(void)
{
	struct emugpu_export e = { .va = VA, .size = BLOCK };

	return emu_call(fd, EMUGPU_IOC_EXPORT, &e) ?: e.out_fd;
}

static int map_error(void)
{
	int dmabuf = export(), err;
	void *view = mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, dmabuf, 0);

	err = view == MAP_FAILED ? -errno : munmap(view, BLOCK);
	close(dmabuf);
	return err;
}

static void check_importer(const struct row *row)
{
	struct dmabuf_check_attach attach = { .fd = export(), .kind = DMABUF_CHECK_DYNAMIC_NO_P2P };
	struct dmabuf_check_slot slot = { .slot = 0 };
	int err = emu_call(importer, DMABUF_CHECK_ATTACH, &attach);

	if (!err) {
		err = emu_call(importer, DMABUF_CHECK_MAP, &slot);
		EXPECT(!emu_call(importer, DMABUF_CHECK_DETACH, &slot), "detach");
	}
	close(attach.fd);
	EXPECT(err == row->importer, "import: %d", err);
}

/* In this VM, the GPU and the peer have no bridge in common. */
static int map_far(void)
{
	struct p2p_check_call pin = { .va = VA, .length = PAGE };
	int err = call(P2P_CHECK_GET, pin), ret;

	if (err)
		return err;
	ret = call(P2P_CHECK_MAP, pin) ?: call(P2P_CHECK_UNMAP, pin);
	return call(P2P_CHECK_PUT, pin) ?: ret;
}

static int attach_far(void)
{
	struct dmabuf_check_attach attach = { .fd = export(), .kind = DMABUF_CHECK_STATIC };
	struct dmabuf_check_slot slot = { .slot = 0 };
	int err = emu_call(importer, DMABUF_CHECK_ATTACH, &attach) ?: emu_call(importer, DMABUF_CHECK_DETACH, &slot);

	close(attach.fd);
	return err;
}

static void check_far(int expected)
{
	int mapped, attached;

	EXPECT(!module_set("emugpu/parameters/far_peers", "0"), "parameter");
	mapped = map_far();
	attached = attach_far();
	EXPECT(!module_set("emugpu/parameters/far_peers", "1"), "parameter");
	EXPECT(mapped == expected && attached == expected, "far: %d, %d", mapped, attached);
	EXPECT(map_far() == 0 && attach_far() == 0, "known chipset: %d, %d", map_far(), attach_far());
}

/* ---- the libraries, which read the version once: in a child ------------------------------- */

static const struct row *child_row;

static int libraries_are_of_row(void)
{
	char text[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];
	int version = 0, dmabuf;
	CUcontext ctx;
	CUdeviceptr p;

	if (nvmlInit() || nvmlSystemGetDriverVersion(text, sizeof(text)) || strcmp(text, child_row->text))
		return 1;
	if (cuDriverGetVersion(&version) || version != child_row->cuda)
		return 2;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(&p, BLOCK))
		return 3;
	return cuMemGetHandleForAddressRange(&dmabuf, p, BLOCK, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
					     CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE) == child_row->pcie ? 0 : 4;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void look_at_discrete(const struct row *row)
{
	char text[32];

	read_text(text, sizeof(text));
	EXPECT(!strcmp(text, row->text), "version %s", text);
	EXPECT(table_version() == row->table, "table %#x", table_version());
	EXPECT(table_of_unaligned() == row->unaligned, "unaligned: table %#x", table_of_unaligned());
	EXPECT(rsync_registers(P2P_CHECK_NULL_RESULT) == row->rsync, "rsync: %d", rsync_registers(P2P_CHECK_NULL_RESULT));
	EXPECT(rsync_registers(0) == -ENODEV, "rsync: %d", rsync_registers(0));
	EXPECT(pin_with(FORCE_BAR1) == row->force, "FORCE_BAR1: %d", pin_with(FORCE_BAR1));
	EXPECT(pin_with(UNKNOWN_FLAG) == row->unknown, "another flag: %d", pin_with(UNKNOWN_FLAG));
	EXPECT(map_error() == row->mmap, "mmap: %d", map_error());
	check_importer(row);
	check_far(row->far);
	CHECK_CASE();
	pin_by_peerpin(PEERPIN_CACHING_COMBINED);
	CHECK_CASE();
	child_row = row;
	EXPECT(emu_in_child(libraries_are_of_row) == 0, "libraries: %d", emu_in_child(libraries_are_of_row));
}

static void look_at_coherent(const struct row *row)
{
	int err;

	EXPECT(pin_with(FORCE_BAR1) == row->force_coherent, "FORCE_BAR1: %d", pin_with(FORCE_BAR1));
	err = map_of_forced();
	EXPECT(err == (row->force_coherent ?: -ENOTSUPP), "map: %d", err);
	EXPECT(map_error() == row->mmap_coherent, "mmap: %d", map_error());
	check_far(0);
	pin_by_peerpin(row->table < 0x20000 ? PEERPIN_CACHING_COMBINED : PEERPIN_CACHING_CACHED);
}

static void check_row(const struct row *row, bool coherent, void (*look)(const struct row *row))
{
	load(row->branch, coherent);
	CHECK_CASE();
	look(row);
	unload();
}

static void check_branch(unsigned int branch)
{
	const struct row *row = rows;

	while (row->branch != branch)
		row++;
	check_row(row, false, look_at_discrete);
	CHECK_CASE();
	check_row(row, true, look_at_coherent);
}

#define BRANCH(number) \
	CASE(driver_##number) \
	{ \
		check_branch(number); \
	}

BRANCH(535)
BRANCH(550)
BRANCH(570)
BRANCH(580)
BRANCH(595)
BRANCH(610)

/* The tables of drivers before 515 have no UUID. */
CASE(tables_before_515_are_refused)
{
	struct peerpin_pin pin;
	int node;

	load(535, false);
	CHECK_CASE();
	EXPECT(!module_set("emugpu/parameters/table_version", "0x10001"), "parameter");
	EXPECT(!module_load("kmod/peerpin.ko", "") && !module_load("kmod/peerpin_nv.ko", ""), "peerpin");
	node = pin_open();
	EXPECT(pin_at(node, VA, BLOCK, &pin) == -EOPNOTSUPP, "pinned: reason %u", pin.out_reason);
	close(node);
	EXPECT(!module_remove("peerpin_nv") && !module_remove("peerpin"), "still loaded");
	unload();
}

CASE(other_branches_are_refused)
{
	EXPECT(module_load("emu/emugpu.ko", "driver_version=600") == -EINVAL, "600");
	EXPECT(module_load("emu/emugpu.ko", "driver_version=x") == -EINVAL, "x");
}

VMTEST_MAIN
