// SPDX-License-Identifier: MIT
/*
 * dma-bufs with dmabuf_dynamic set, which NVIDIA's driver does not make. They end with their block
 * and notify the importers.
 */
#include "dmabuf.h"

#include <pthread.h>

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ...");
	EXPECT(check >= 0, "no /dev/dmabuf_check; type: emu/vm/run --no-default-modules "
	       "--insmod build/KERNEL/emu/emugpu.ko --insmod build/KERNEL/test/dmabuf_check.ko ...");
	EXPECT(set_dynamic(true) == 0, "dmabuf_dynamic");
}

CASE(dmabuf_dynamic_is_read_at_export)
{
	int dmabuf;

	EXPECT(set_dynamic(false) == 0 && emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(set_dynamic(true) == 0, "dmabuf_dynamic");
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, false) == 0 && map(0) == 0, "import");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(notified(0) == 0, "the static dma-buf has notified");
	EXPECT(unmap(0) == 0 && map(0) == 0, "the static dma-buf has ended");
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

/* Export a new block at VA, and import it dynamically in slot 0. */
static int start(bool unmap_in_notify)
{
	int dmabuf, err;

	err = emu_alloc(fd, VA, BLOCK);
	if (err)
		return err;
	dmabuf = export(VA, BLOCK);
	err = attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, unmap_in_notify);
	return err ?: map(0) ?: dmabuf;
}

/* The importer must be notified once, and each call must fail. */
static void expect_ended(unsigned int slot)
{
	EXPECT(notified(slot) == 1, "%u notifications", notified(slot));
	unmap(slot);
	EXPECT(map(slot) == -ENODEV, "mapped");
	EXPECT(slot_call(DMABUF_CHECK_PIN, slot) == -ENODEV, "pinned");
	EXPECT(notified(slot) == 1, "%u notifications", notified(slot));
}

static void end(unsigned int slot, int dmabuf)
{
	EXPECT(detach(slot) == 0, "detach");
	close(dmabuf);
	EXPECT_NOTHING_LEFT();
}

CASE(free_notifies_the_importer)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(notified(0) == 0, "%u", notified(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(notified(0) == 1, "%u", notified(0));
	EXPECT(vram_used() == BLOCK && bar1_used() == BLOCK,
	       "the mapping lost the memory: VRAM %lu BAR1 %lu", vram_used(), bar1_used());
	EXPECT(peer_write(0, 0, 0, 7) == 0 && peer_reads(0, 0, 0, 7), "DMA");
	EXPECT(unmap(0) == 0, "unmap");
	EXPECT_NOTHING_LEFT();
	expect_ended(0);
	end(0, dmabuf);
}

CASE(importer_may_unmap_in_notify)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
	expect_ended(0);
	end(0, dmabuf);
}

CASE(unmapped_memory_is_freed_at_once)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && unmap(0) == 0 && slot_call(DMABUF_CHECK_PIN, 0) == 0, "%d", dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
	EXPECT(slot_call(DMABUF_CHECK_UNPIN, 0) == 0, "unpin");
	expect_ended(0);
	end(0, dmabuf);
}

static void free_one_of_two(uint64_t first, uint64_t second)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "alloc");
	dmabuf = export(VA, 2 * BLOCK);
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, true) == 0 && map(0) == 0, "import");
	EXPECT(emu_free(fd, first) == 0, "free");
	expect_ended(0);
	EXPECT(vram_used() == BLOCK && bar1_used() == 0, "VRAM %lu BAR1 %lu", vram_used(), bar1_used());
	EXPECT(emu_free(fd, second) == 0, "free");
	expect_ended(0);
	end(0, dmabuf);
}

CASE(free_of_any_block_notifies)
{
	free_one_of_two(VA, VA + BLOCK);
	CHECK_CASE();
	free_one_of_two(VA + BLOCK, VA);
}

CASE(revoke_notifies_and_keeps_the_block)
{
	int dmabuf = start(false), next;

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	expect_ended(0);
	next = export(VA, BLOCK);
	EXPECT(import(1, next) == 0, "export of the revoked block");
	EXPECT(detach(1) == 0, "detach");
	close(next);
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_ended(0);
	end(0, dmabuf);
}

CASE(death_of_owner_notifies_importer)
{
	pid_t owner;
	int dmabuf;

	owner = start_owner(0x3c, &dmabuf);
	EXPECT(owner > 0 && dmabuf >= 0, "%d", dmabuf);
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, false) == 0 && map(0) == 0, "import");
	EXPECT(peer_reads(0, 3, 0, 0x3c), "contents");
	EXPECT(notified(0) == 0, "%u", notified(0));
	kill_owner(owner);
	expect_ended(0);
	end(0, dmabuf);
}

CASE(unbind_of_gpu_notifies_importer)
{
	struct emugpu_info gpu = info();
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(emu_sysfs(&gpu, "unbind") == 0, "unbind");
	expect_ended(0);
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_ended(0);
	EXPECT(emu_sysfs(&gpu, "bind") == 0, "bind");
	end(0, dmabuf);
}

CASE(only_importers_of_block_are_notified)
{
	int whole = start(false), part, other;

	EXPECT(whole >= 0 && emu_alloc(fd, VA + BLOCK, BLOCK) == 0, "%d", whole);
	part = export(VA + 4096, 4096);
	other = export(VA + BLOCK, BLOCK);
	EXPECT(attach_as(1, whole, DMABUF_CHECK_DYNAMIC, false) == 0, "not mapped");
	EXPECT(attach_as(2, part, DMABUF_CHECK_DYNAMIC, true) == 0 && map(2) == 0, "part");
	EXPECT(attach_as(3, other, DMABUF_CHECK_DYNAMIC, true) == 0 && map(3) == 0, "other");
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_ended(0);
	expect_ended(1);
	expect_ended(2);
	EXPECT(notified(3) == 0 && look(3, 0).out_entries, "%u", notified(3));
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	expect_ended(3);
	EXPECT(detach(1) == 0 && detach(2) == 0 && detach(3) == 0, "detach");
	close(part);
	close(other);
	end(0, whole);
}

/* The driver cannot notify a static importer. Its mapping lasts until its unmap. */
CASE(a_static_importer_keeps_its_mapping)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(import(1, dmabuf) == 0, "import");
	EXPECT(emu_fill(fd, VA, 1, 0x77, BLOCK) == 0, "fill");
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_ended(0);
	EXPECT(vram_used() == BLOCK && bar1_used() == BLOCK, "%lu %lu", vram_used(), bar1_used());
	EXPECT(peer_reads(1, 5, 0, 0x77), "contents");
	EXPECT(import(2, dmabuf) == -ENODEV, "imported");
	EXPECT(detach(1) == 0, "detach");
	EXPECT_NOTHING_LEFT();
	end(0, dmabuf);
}

CASE(importer_without_peer2peer_is_refused)
{
	int dmabuf;

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC_NO_P2P, false) == -ENOTSUPP, "attached");
	close(dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_NOTHING_LEFT();
}

/* ---- races ---- */

/* Map and unmap until map() fails. The result is the error. */
static void *map_until_ended(void *result)
{
	int err;

	do {
		err = map(0);
		unmap(0);
	} while (!err || err == -EBADSLT);
	*(int *)result = err;
	return NULL;
}

static void free_while_mapped(int us, bool unmap_in_notify)
{
	int dmabuf = start(unmap_in_notify), err = 0;
	pthread_t thread;

	EXPECT(dmabuf >= 0, "%d", dmabuf);
	EXPECT(unmap(0) == 0 && !pthread_create(&thread, NULL, map_until_ended, &err), "thread");
	usleep(us);
	EXPECT(emu_free(fd, VA) == 0, "free");
	pthread_join(thread, NULL);
	EXPECT(err == -ENODEV, "%d", err);
	expect_ended(0);
	end(0, dmabuf);
}

CASE(free_races_with_map)
{
	int i;

	for (i = 0; i < 100; i++) {
		free_while_mapped(i * 37 % 1000, i % 2);
		CHECK_CASE();
	}
}

static void *close_it(void *dmabuf)
{
	close(*(int *)dmabuf);
	return NULL;
}

/* The last close of the dma-buf races with the free. No importer is attached. */
CASE(free_races_with_close)
{
	pthread_t thread;
	int i, dmabuf;

	for (i = 0; i < 300; i++) {
		EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
		dmabuf = export(VA, BLOCK);
		EXPECT(dmabuf >= 0 && !pthread_create(&thread, NULL, close_it, &dmabuf), "thread");
		usleep(i % 10 * 10);
		EXPECT(emu_free(fd, VA) == 0, "free");
		pthread_join(thread, NULL);
		EXPECT_NOTHING_LEFT();
	}
}

static void *import_it(void *dmabuf)
{
	int err = attach_as(0, *(int *)dmabuf, DMABUF_CHECK_DYNAMIC, true) ?: map(0);

	*(int *)dmabuf = err;
	return NULL;
}

/* The import must be refused, or it must be mapped and then notified. */
CASE(free_races_with_import)
{
	int i, dmabuf, err, taken = 0, delay = 0;
	pthread_t thread;

	for (i = 0; i < 200; i++) {
		EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
		err = dmabuf = export(VA, BLOCK);
		EXPECT(dmabuf >= 0 && !pthread_create(&thread, NULL, import_it, &err), "thread");
		usleep(delay);
		EXPECT(emu_free(fd, VA) == 0, "free");
		pthread_join(thread, NULL);
		EXPECT(err == -ENODEV || (err == 0 && notified(0) == 1), "%d, %u notifications", err, notified(0));
		taken += !err;
		delay = next_delay(delay, err);
		EXPECT(nothing_left(), "%d: %lu bytes of BAR1, %lu of VRAM", err, bar1_used(), vram_used());
		end(0, dmabuf);
		CHECK_CASE();
	}
	EXPECT(taken && taken < i, "%d of %d imports in time", taken, i);
}

CASE(dmabuf_dynamic_can_be_cleared)
{
	int dmabuf;

	EXPECT(set_dynamic(false) == 0, "dmabuf_dynamic");
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	dmabuf = export(VA, BLOCK);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(import(0, dmabuf) == 0, "import");
	end(0, dmabuf);
}

VMTEST_MAIN
