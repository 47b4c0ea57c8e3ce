// SPDX-License-Identifier: MIT
/*
 * CPU mappings of dma-bufs without struct pages, as NVIDIA's driver 610 makes them, and the two ways to
 * memory of coherent GPUs.
 */
#include "dmabuf.h"

#include <sys/mman.h>

static int ends[2];

SETUP(everything_is_there)
{
	EXPECT(fd >= 0 && check >= 0 && !pipe(ends), "%d %d", fd, check);
}

/* Does a read of this byte succeed? Where the CPU would raise a signal, the system call fails. */
static bool readable(const unsigned char *at)
{
	unsigned char byte;

	return write(ends[1], at, 1) == 1 && read(ends[0], &byte, 1) == 1;
}

static unsigned char *view_of(int dmabuf, size_t length, off_t offset)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, offset);

	return at == MAP_FAILED ? NULL : at;
}

CASE(view_shows_the_memory)
{
	unsigned char *view;
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(dmabuf >= 0 && import(0, dmabuf) == 0, "%d", dmabuf);
	view = view_of(dmabuf, BLOCK, 0);
	EXPECT(view, "mmap %d", errno);
	CHECK_CASE();
	memset(view, 0x5a, DMABUF_CHECK_BYTES);
	EXPECT(peer_reads(0, 0, 0, 0x5a), "the peer reads other bytes");
	EXPECT(peer_write(0, 0, 0, 0xa5) == 0 && view[0] == 0xa5, "%#x", view[0]);
	EXPECT(unmap(0) == 0 && detach(0) == 0 && !munmap(view, BLOCK), "end");
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(each_page_is_at_its_place)
{
	unsigned char *whole, *part;
	unsigned int i;
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	whole = view_of(dmabuf, BLOCK, 0);
	EXPECT(whole, "mmap %d", errno);
	CHECK_CASE();
	for (i = 0; i < BLOCK / 4096; i++)
		memcpy(whole + i * 4096, &i, sizeof(i));
	for (i = 0; i < BLOCK / 4096; i += 7) {
		part = view_of(dmabuf, 4096, (off_t)i * 4096);
		EXPECT(part && !memcmp(part, &i, sizeof(i)), "page %u", i);
		munmap(part, 4096);
	}
	munmap(whole, BLOCK);
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(bad_mappings_are_refused)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, 8192);
	EXPECT(!view_of(dmabuf, 12288, 0) && errno == EINVAL, "past the end: %d", errno);
	EXPECT(!view_of(dmabuf, 8192, 4096) && errno == EINVAL, "beyond the end: %d", errno);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, dmabuf, 0) == MAP_FAILED && errno == EINVAL, "private: %d", errno);
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

CASE(revoked_view_is_empty)
{
	unsigned char *view;
	int dmabuf;

	EXPECT(set_dynamic(true) == 0 && emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(set_dynamic(false) == 0, "static again");
	view = view_of(dmabuf, BLOCK, 0);
	EXPECT(view, "mmap %d", errno);
	CHECK_CASE();
	EXPECT(readable(view) && readable(view + BLOCK - 1), "access");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(!readable(view) && !readable(view + BLOCK - 1), "revoked memory can be read");
	EXPECT(vram_used() == 0, "%lu bytes", vram_used());
	EXPECT(!view_of(dmabuf, BLOCK, 0) && errno == ENODEV, "a new view: %d", errno);
	munmap(view, BLOCK);
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

/* ---- coherent GPUs --------------------------------------------------------------------- */

static int export_with(uint32_t flags)
{
	struct emugpu_export e = { .va = VA, .size = BLOCK, .flags = flags };
	int err = emu_call(fd, EMUGPU_IOC_EXPORT, &e);

	return err ?: e.out_fd;
}

static void check_use(uint32_t flags, uint64_t want)
{
	int dmabuf = export_with(flags);

	EXPECT(dmabuf >= 0 && import(0, dmabuf) == 0, "%d", dmabuf);
	EXPECT(bar1_used() == want, "flags %u: %lu bytes of BAR1", flags, bar1_used());
	EXPECT(unmap(0) == 0 && detach(0) == 0, "end");
	close(dmabuf);
}

CASE(bar1_is_used_on_request)
{
	bool coherent = info().out_coherent;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	CHECK_CASE();
	check_use(0, coherent ? 0 : BLOCK);
	if (coherent)
		check_use(EMUGPU_EXPORT_PCIE, BLOCK);
	else
		EXPECT(export_with(EMUGPU_EXPORT_PCIE) == -EOPNOTSUPP, "exported by PCIe");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

VMTEST_MAIN
