// SPDX-License-Identifier: MIT
/* dma-bufs of revocable GPU memory: a free of the memory must revoke them. */
#include "exported.h"

#include <sys/resource.h>

SETUP(nodes_are_there)
{
	EXPECT_EXPORT_NODES();
	EXPECT(shorten_waits() == 0, "parameter");
}

/* ---- the call ---- */

CASE(bad_ranges_are_EINVAL)
{
	uint32_t id;

	start();
	CHECK_CASE();
	id = region.out_region;
	EXPECT(export_part(id, 0, 0) == -EINVAL, "empty");
	EXPECT(export_part(id, 0, 4095) == -EINVAL && export_part(id, 1, 4096) == -EINVAL, "not on pages");
	EXPECT(export_part(id, 0, BLOCK + 4096) == -EINVAL, "too long");
	EXPECT(export_part(id, BLOCK, 4096) == -EINVAL, "export behind the region");
	EXPECT(export_part(id, 4096, BLOCK) == -EINVAL, "export beyond the end of the region");
	EXPECT(export_part(id, -4096ull, 8192) == -EINVAL, "overflow");
	EXPECT(export_part(id + 1, 0, 4096) == -ENOENT, "no such region");
	close(whole);
	EXPECT(unpin(peerpin, id) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT(export_part(id, 0, 4096) == -ENOENT, "unpinned");
	EXPECT_ALL_GONE();
}

CASE(flags_are_EOPNOTSUPP)
{
	struct peerpin_export c = { .size = sizeof(c), .flags = 1, .length = 4096 };

	EXPECT(ioctl(peerpin, PEERPIN_IOC_EXPORT, &c) && errno == EOPNOTSUPP, "%d", errno);
}

static int export_in_child(void)
{
	return -export_part(region.out_region, 0, 4096);
}

CASE(export_by_another_process_is_EACCES)
{
	start();
	CHECK_CASE();
	EXPECT(emu_in_child(export_in_child) == EACCES, "exported");
	close(whole);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
}

CASE(dmabuf_is_closed_by_exec)
{
	start();
	CHECK_CASE();
	EXPECT(fcntl(whole, F_GETFD) == FD_CLOEXEC, "%d", fcntl(whole, F_GETFD));
	close(whole);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
}

static int lowest_free_descriptor(void)
{
	int lowest = dup(STDIN_FILENO);

	close(lowest);
	return lowest;
}

CASE(failed_copy_out_leaves_no_descriptor)
{
	struct peerpin_export *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int free = lowest_free_descriptor();

	EXPECT(c != MAP_FAILED && free >= 0, "mmap, dup");
	start();
	CHECK_CASE();
	close(whole);
	*c = (struct peerpin_export){ .size = sizeof(*c), .region = region.out_region, .length = BLOCK };
	mprotect(c, 4096, PROT_READ);
	EXPECT(ioctl(peerpin, PEERPIN_IOC_EXPORT, c) && errno == EFAULT, "errno %d", errno);
	EXPECT(lowest_free_descriptor() == free, "descriptor %d is left", free);
	munmap(c, 4096);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(export_of_revoked_is_ESTALE)
{
	start();
	CHECK_CASE();
	close(whole);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(export_part(region.out_region, 0, BLOCK) == -ESTALE, "exported");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT_ALL_GONE();
}

/* ---- the importer's view ---- */

static uint64_t mapped_bytes(unsigned int slot)
{
	unsigned int i, entries = look(slot, 0).out_entries;
	uint64_t bytes = 0;

	for (i = 0; i < entries; i++)
		bytes += look(slot, i).out_length;
	return bytes;
}

CASE(a_device_reaches_the_memory)
{
	unsigned char seen[DMABUF_CHECK_BYTES], want[DMABUF_CHECK_BYTES];

	start_import(true);
	CHECK_CASE();
	EXPECT(mapped_bytes(0) == BLOCK && !look(0, 0).out_has_page, "%lu", mapped_bytes(0));
	EXPECT(emu_fill(fd, VA, 1, 0x5a, BLOCK) == 0 && peer_reads(0, 0, 128, 0x5a), "read");
	EXPECT(peer_write(0, 0, 64, 0xa5) == 0, "write");
	memset(want, 0xa5, sizeof(want));
	EXPECT(emu_read(fd, seen, VA + 64, sizeof(seen)) == 0 && !memcmp(seen, want, sizeof(seen)), "read");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

CASE(entries_have_the_greatest_length)
{
	EXPECT(limit(1 << 30, 0) == 0 && scatter(false) == 0, "limit");
	start_import(true);
	CHECK_CASE();
	EXPECT(look(0, 0).out_entries == 1 && look(0, 0).out_length == BLOCK, "%u", look(0, 0).out_entries);
	EXPECT(unmap(0) == 0 && limit(0x18fff, 0) == 0 && map(0) == 0, "map");
	EXPECT(look(0, 0).out_length == 0x18000, "not whole pages: %#x", look(0, 0).out_length);
	EXPECT(mapped_bytes(0) == BLOCK && limit(0, 0) == 0 && scatter(true) == 0, "%lu", mapped_bytes(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* Each GPU page is filled with its number, which starts at 1. */
static void expect_page(unsigned int entry, unsigned int offset, int page)
{
	EXPECT(peer_reads(0, entry, offset, page), "entry %u + %#x is not page %d", entry, offset, page);
}

CASE(partial_export_shows_its_part)
{
	int part, i;

	start();
	CHECK_CASE();
	for (i = 0; i < 8; i++)
		EXPECT(emu_fill(fd, VA + i * PAGE, 1, i + 1, PAGE) == 0, "fill");
	part = export_part(region.out_region, PAGE + 3 * 4096, 2 * PAGE);
	EXPECT(part >= 0 && import_as(0, part, DMABUF_CHECK_DYNAMIC, true) == 0, "import: %d", part);
	EXPECT(mapped_bytes(0) == 2 * PAGE && look(0, 0).out_entries == 3, "%u entries", look(0, 0).out_entries);
	EXPECT(look(0, 0).out_length == PAGE - 3 * 4096 && look(0, 1).out_length == PAGE, "%#x", look(0, 0).out_length);
	expect_page(0, 0, 2);
	expect_page(1, 0, 3);
	expect_page(1, PAGE - DMABUF_CHECK_BYTES, 3);
	expect_page(2, 3 * 4096 - DMABUF_CHECK_BYTES, 4);
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
	close(part);
	finish();
}

CASE(map_out_of_reach_is_EIO)
{
	if (iommu_translates())
		SKIP("an IOMMU makes everything reachable");
	start();
	CHECK_CASE();
	EXPECT(limit(0, 0xffffff) == 0, "limit");
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == -EIO, "mapped");
	EXPECT(limit(0, 0) == 0 && map(0) == 0, "within reach");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

static bool fdinfo_has(const char *what)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", peerpin);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		found |= !strncmp(line, "peerpin-region:", 15) && strstr(line, what);
	if (f)
		fclose(f);
	return found;
}

CASE(mappings_are_counted)
{
	struct peerpin_query q;

	start_import(true);
	CHECK_CASE();
	EXPECT(query(peerpin, region.out_region, &q) == 0 && q.out_maps == 1, "%u", q.out_maps);
	EXPECT(q.out_attached == 1 && fdinfo_has(" 0000:"), "attached %u", q.out_attached);
	EXPECT(unmap(0) == 0 && map(0) == 0, "again");
	EXPECT(query(peerpin, region.out_region, &q) == 0 && q.out_maps == 2, "%u", q.out_maps);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(query(peerpin, region.out_region, &q) == 0 && !q.out_attached && !fdinfo_has(" 0000:"), "attached %u",
	       q.out_attached);
	finish();
}

/* ---- allowed importers ---- */

CASE(static_importers_are_refused)
{
	start();
	CHECK_CASE();
	EXPECT(attach_as(0, whole, DMABUF_CHECK_STATIC, false) == -EOPNOTSUPP, "static importer attached");
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC_NO_P2P, false) == -EOPNOTSUPP,
	       "importer without peer2peer attached");
	close(whole);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

/*
 * Before Linux 7.1 an importer that pins is not revocable. Where each mapping pins, too, the exporter must accept
 * the pin, and then refuse the mapping.
 */
CASE(only_revocable_importers_may_pin)
{
	int err;

	start();
	CHECK_CASE();
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "attach");
	err = slot_call(DMABUF_CHECK_PIN, 0);
	EXPECT(!err || (err == -EOPNOTSUPP && !importers_are_revocable()), "pin: %d", err);
	if (importers_are_revocable()) {
		EXPECT(map(0) == 0 && emu_fill(fd, VA, 1, 0x5a, BLOCK) == 0 && peer_reads(0, 0, 0, 0x5a), "map");
		EXPECT(emu_free(fd, VA) == 0 && notified(0) == 1 && look(0, 0).out_entries == 0, "free");
		EXPECT(map(0) == -ENODEV && slot_call(DMABUF_CHECK_UNPIN, 0) == 0, "unpin");
		finish();
		return;
	}
	if (!err) {
		EXPECT(map(0) == -EOPNOTSUPP, "mapped");
		EXPECT(slot_call(DMABUF_CHECK_UNPIN, 0) == 0, "unpin");
	}
	EXPECT(map(0) == 0, "map after unpin");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* ---- the end of a dma-buf ---- */

CASE(free_notifies_the_importer)
{
	start_import(true);
	CHECK_CASE();
	EXPECT(notified(0) == 0, "%u", notified(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(notified(0) == 1 && look(0, 0).out_entries == 0, "%u", notified(0));
	EXPECT_ALL_GONE();
	finish();
}

/* After the free, the importer's sg_table stays valid until the importer unmaps. */
CASE(free_unmaps_for_the_importer)
{
	struct peerpin_query q;

	start_import(false);
	CHECK_CASE();
	EXPECT(emu_fill(fd, VA, 1, 0x77, BLOCK) == 0 && peer_reads(0, 0, 0, 0x77), "contents");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	EXPECT(query(peerpin, region.out_region, &q) == 0 && !q.out_attached && !fdinfo_has(" 0000:"), "attached %u",
	       q.out_attached);
	EXPECT(look(0, 0).out_entries > 0 && mapped_bytes(0) == BLOCK, "%u entries", look(0, 0).out_entries);
	finish();
}

/* The importer may change its copy of the table before the free. */
CASE(free_unmaps_a_changed_table)
{
	start_import(false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_CUT, 0) == 0 && mapped_bytes(0) == BLOCK - 4096, "%lu", mapped_bytes(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	finish();
}

/* The IOMMU logs a fault, so the suite line must expect a splat. */
CASE_BY_NAME(unmapped_dma_faults_in_iommu)
{
	EXPECT(iommu_translates(), "no IOMMU; type: emu/vm/run --iommu ...");
	start_import(false);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(emu_fill(fd, VA, 1, 0x77, BLOCK) == 0 && !peer_reads(0, 0, 0, 0x77), "still mapped");
	EXPECT(detach(0) == 0 && close(whole) == 0 && emu_free(fd, VA) == 0, "end");
}

CASE(unpin_ends_the_dmabuf)
{
	start_import(false);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(gpu_pins() == 0 && bar1_used() == 0, "%u pins, %lu bytes of BAR1", gpu_pins(), bar1_used());
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(close_ends_the_dmabuf)
{
	int file = pin_open();

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && pin_at(file, VA, BLOCK, &region) == 0, "pin");
	whole = export_by_file(file, region.out_region, 0, BLOCK);
	EXPECT(whole >= 0 && import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	close(file);
	EXPECT(gpu_pins() == 0, "%u pins", gpu_pins());
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(all_importers_are_notified)
{
	int part;

	start_import(false);
	CHECK_CASE();
	part = export_part(region.out_region, PAGE, PAGE);
	EXPECT(import_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import of the same dma-buf");
	EXPECT(import_as(2, part, DMABUF_CHECK_DYNAMIC, false) == 0, "import of another dma-buf");
	EXPECT(attach_as(3, part, DMABUF_CHECK_DYNAMIC, false) == 0, "not mapped");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	expect_ended(1);
	expect_ended(2);
	expect_ended(3);
	CHECK_CASE();
	EXPECT(detach(1) == 0 && detach(2) == 0 && detach(3) == 0 && close(part) == 0, "detach");
	finish();
}

/* Some kernels let an importer pin revocable memory. Other importers must still see the revocation. */
CASE(pinning_importer_hides_no_revocation)
{
	int err;

	start_import(false);
	CHECK_CASE();
	err = slot_call(DMABUF_CHECK_PIN, 0);
	EXPECT(!err || (err == -EOPNOTSUPP && !importers_are_revocable()), "pin: %d", err);
	EXPECT(import_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "second importer");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	expect_ended(1);
	CHECK_CASE();
	EXPECT(notified(0) == 1 && notified(1) == 1, "notifications: %u, %u", notified(0), notified(1));
	EXPECT(err || slot_call(DMABUF_CHECK_UNPIN, 0) == 0, "unpin");
	EXPECT(detach(1) == 0, "detach");
	finish();
}

CASE(map_after_free_is_ENODEV)
{
	start();
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "attach");
	EXPECT(map(0) == -ENODEV && notified(0) == 0, "mapped");
	EXPECT(detach(0) == 0 && close(whole) == 0 && unpin(peerpin, region.out_region) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(export_after_unpin_and_pin)
{
	start_import(true);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0 && detach(0) == 0 && close(whole) == 0, "end");
	EXPECT(pin_at(peerpin, VA, BLOCK, &region) == 0, "pin");
	whole = export_part(region.out_region, 0, BLOCK);
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* ---- limits ---- */

enum {
	SHARES = 1024,
};

static int many[SHARES + 1];

/* There is a limit because the core walks the dma-bufs with interrupts off. */
CASE(dmabufs_of_a_region_are_limited)
{
	struct rlimit files = { 2 * SHARES, 2 * SHARES };
	unsigned int i;

	start();
	CHECK_CASE();
	EXPECT(setrlimit(RLIMIT_NOFILE, &files) == 0, "limit: %d", errno);
	/* One dma-buf exists already, and an importer needs another place. */
	for (i = 0; i < SHARES - 2; i++) {
		many[i] = export_part(region.out_region, 0, PAGE);
		EXPECT(many[i] >= 0, "%u: %d", i, many[i]);
	}
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	EXPECT(export_part(region.out_region, 0, PAGE) == -EDQUOT, "an export above the limit");
	EXPECT(attach_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == -EDQUOT, "an importer above the limit");
	EXPECT(close(many[0]) == 0 && attach_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == 0,
	       "attach in the place of a closed dma-buf");
	EXPECT(detach(1) == 0, "detach");
	for (i = 1; i < SHARES - 2; i++)
		close(many[i]);
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* ---- ends in any order -------- */

static void let_go_of(int what)
{
	switch (what) {
	case 0:
		EXPECT(detach(0) == 0, "detach");
		break;
	case 1:
		EXPECT(close(whole) == 0, "close");
		break;
	case 2:
		EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
		break;
	case 3:
		EXPECT(emu_free(fd, VA) == 0, "free");
		break;
	}
}

static void let_go_in_order(const int *order)
{
	int i;

	start_import(order[0] % 2);
	for (i = 0; i < 4; i++) {
		CHECK_CASE();
		let_go_of(order[i]);
	}
	EXPECT(nothing_left() && gpu_pins() == 0, "%d%d%d%d: %lu bytes of BAR1", order[0], order[1], order[2], order[3],
	       bar1_used());
}

static bool is_permutation(const int *order)
{
	return (1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15;
}

CASE(every_order_of_release_works)
{
	int i, order[4];

	for (i = 0; i < 256; i++) {
		memcpy(order, (int[4]){ i >> 6, i >> 4 & 3, i >> 2 & 3, i & 3 }, sizeof(order));
		if (!is_permutation(order))
			continue;
		let_go_in_order(order);
		CHECK_CASE();
	}
}

/* ---- other processes ---- */

/* Pin, export, and send the dma-buf. Then wait to be killed, or exit on request. */
static void be_pinner(int sock, bool waits)
{
	int client = emu_open(), file = pin_open();
	struct peerpin_pin pin;
	char byte;

	close(fd);
	close(check);
	close(peerpin);
	if (emu_alloc(client, VA, BLOCK) || emu_fill(client, VA, 1, 0x3c, BLOCK) || pin_at(file, VA, BLOCK, &pin))
		_exit(1);
	if (send_fd(sock, export_by_file(file, pin.out_region, 0, BLOCK)))
		_exit(1);
	if (waits)
		pause();
	if (read(sock, &byte, 1))
		_exit(0);
}

static pid_t start_pinner(int *dmabuf, int *sock, bool waits)
{
	int socks[2];
	pid_t pid;

	*dmabuf = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		return -1;
	pid = fork();
	if (!pid)
		be_pinner(socks[1], waits);
	close(socks[1]);
	*sock = socks[0];
	*dmabuf = receive_fd(socks[0]);
	return pid;
}

static void expect_death_ends_it(bool killed, bool unmap_in_notify)
{
	int sock, status = 0;
	pid_t pid = start_pinner(&whole, &sock, killed);

	EXPECT(pid > 0 && whole >= 0, "%d", whole);
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, unmap_in_notify) == 0, "import");
	EXPECT(peer_reads(0, 0, 0, 0x3c) && notified(0) == 0, "contents");
	if (killed)
		kill(pid, SIGKILL);
	else if (write(sock, "", 1) != 1)
		EXPECT(0, "write");
	EXPECT(waitpid(pid, &status, 0) == pid && (killed || status == 0), "status %#x", status);
	close(sock);
	EXPECT_ALL_GONE();
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
}

CASE(exit_ends_the_dmabuf)
{
	expect_death_ends_it(false, true);
	CHECK_CASE();
	expect_death_ends_it(false, false);
}

CASE(kill_ends_the_dmabuf)
{
	expect_death_ends_it(true, true);
	CHECK_CASE();
	expect_death_ends_it(true, false);
}

CASE(dmabuf_keeps_the_modules)
{
	int nv = module_refs("peerpin_nv"), core = module_refs("peerpin");

	start();
	CHECK_CASE();
	EXPECT(module_refs("peerpin") > core && module_refs("peerpin_nv") > nv,
	       "the dma-buf holds no reference to the modules");
	EXPECT(emu_free(fd, VA) == 0 && unpin(peerpin, region.out_region) == 0, "end");
	EXPECT(module_refs("peerpin") > core && module_refs("peerpin_nv") > nv,
	       "the revoked dma-buf holds no reference to the modules");
	EXPECT(module_remove("peerpin_nv") == -EWOULDBLOCK, "removed");
	EXPECT(close(whole) == 0, "close");
	usleep(100000);
	EXPECT(module_refs("peerpin") == core && module_refs("peerpin_nv") == nv,
	       "%d and %d references, before %d and %d",
	       module_refs("peerpin"), module_refs("peerpin_nv"), core, nv);
}

VMTEST_MAIN
