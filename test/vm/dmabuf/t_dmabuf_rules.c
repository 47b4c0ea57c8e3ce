// SPDX-License-Identifier: MIT
/* The rules for importers of dma-bufs that the emulator watches: dmabuf_check.ko breaks each of them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "test/vm/emu/rule.h"
#include "dmabuf.h"

enum {
	WATCH_MS = 600,
	MOVE_MS = 300,
};

static atomic_bool stop;

SETUP(nodes_are_there)
{
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --gpus 1 ...");
	EXPECT(check >= 0, "no /dev/dmabuf_check; type: emu/vm/run --no-default-modules "
	       "--insmod build/KERNEL/emu/emugpu.ko --insmod build/KERNEL/test/dmabuf_check.ko ...");
	rules_culprit = "dmabuf_check";
}

/* Attach slot 0 to a new dynamic dma-buf of a block at VA. */
static int start(bool unmap_in_notify)
{
	int dmabuf, err = set_dynamic(true) ?: emu_alloc(fd, VA, BLOCK) ?: emu_fill(fd, VA, 1, 0x5c, BLOCK);

	if (err)
		return err;
	dmabuf = export(VA, BLOCK);
	err = attach_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, unmap_in_notify);
	rules_watch(fd);
	return err ?: dmabuf;
}

/* The memory at VA is freed. */
static void end(int dmabuf)
{
	EXPECT(detach(0) == 0, "detach");
	close(dmabuf);
	EXPECT(set_dynamic(false) == 0, "dmabuf_dynamic");
	EXPECT_NOTHING_LEFT();
}

CASE(correct_importer_breaks_no_rule)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0 && map(0) == 0 && peer_write(0, 0, 0, 7) == 0, "%d", dmabuf);
	EXPECT(unmap(0) == 0 && map(0) == 0, "map again");
	EXPECT(emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

CASE(detach_of_pinned_is_reported)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && slot_call(DMABUF_CHECK_PIN, 0) == 0, "%d", dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT_BROKE(fd, EMUGPU_RULE_DETACH_IN_USE, 1);
}

CASE(unpin_without_pin_is_reported)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && slot_call(DMABUF_CHECK_UNPIN, 0) == 0, "%d", dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT_BROKE(fd, EMUGPU_RULE_UNMAP_OF_DEAD_IMPORT, 1);
}

CASE(importer_without_peer2peer_is_reported)
{
	int dmabuf = start(false);

	EXPECT(attach_as(1, dmabuf, DMABUF_CHECK_DYNAMIC_NO_P2P, false) == -ENOTSUPP, "attached");
	EXPECT(emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT_BROKE(fd, EMUGPU_RULE_NO_PEER2PEER, 1);
}

static void *write_on(void *unused)
{
	while (!stop) {
		peer_write(0, 0, 0, 7);
		usleep(WATCH_MS * 1000 / 50);
	}
	return unused;
}

/* Revoke the memory while a thread lets the peer write. The block stays, so only the guard's time counts. */
static void revoke_under_writes(void)
{
	pthread_t writer;

	stop = false;
	EXPECT(emu_guard(fd, WATCH_MS) == 0, "guard");
	EXPECT(!pthread_create(&writer, NULL, write_on, NULL), "thread");
	EXPECT(emu_revoke(fd, VA) == 0, "revoke");
	stop = true;
	pthread_join(writer, NULL);
	EXPECT(emu_guard(fd, 0) == 0 && emu_free(fd, VA) == 0, "free");
}

CASE(write_after_notification_is_reported)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && map(0) == 0, "%d", dmabuf);
	revoke_under_writes();
	CHECK_CASE();
	end(dmabuf);
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
}

/* dmabuf_check writes nothing once it has unmapped. */
CASE(write_before_notification_is_no_breach)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0 && map(0) == 0, "%d", dmabuf);
	revoke_under_writes();
	CHECK_CASE();
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

/* The importer keeps its mapping. The guard's time is over when the peer writes. */
CASE(late_write_to_freed_memory_is_reported)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && map(0) == 0, "%d", dmabuf);
	EXPECT(emu_guard(fd, 1) == 0 && emu_free(fd, VA) == 0, "free");
	EXPECT_NO_BREACH(fd);
	EXPECT(peer_write(0, 0, 0, 7) == 0 && unmap(0) == 0, "write, unmap");
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	EXPECT(emu_guard(fd, 0) == 0, "guard");
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

/* The buffer begins at a multiple of 512 bytes, where the emulator looks for copies. */
CASE(late_read_of_freed_memory_is_reported)
{
	static _Alignas(512) struct {
		unsigned char before[512 - offsetof(struct dmabuf_check_dma, data)];
		struct dmabuf_check_dma dma;
	} at;
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && map(0) == 0, "%d", dmabuf);
	EXPECT(emu_guard(fd, 1) == 0 && emu_free(fd, VA) == 0, "free");
	EXPECT_NO_BREACH(fd);
	EXPECT(emu_call(check, DMABUF_CHECK_DMA, &at.dma) == 0 && unmap(0) == 0, "read, unmap");
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_AFTER_CALLBACK, 1);
	EXPECT(emu_guard(fd, 0) == 0, "guard");
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

CASE(late_mapping_without_write_is_no_breach)
{
	int dmabuf = start(false);

	EXPECT(dmabuf >= 0 && map(0) == 0, "%d", dmabuf);
	EXPECT(emu_guard(fd, 1) == 0 && emu_free(fd, VA) == 0 && unmap(0) == 0, "free, unmap");
	EXPECT(emu_guard(fd, 0) == 0, "guard");
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

static int moves(unsigned int ms)
{
	struct emugpu_test test = { .op = EMUGPU_TEST_MOVE, .move.ms = ms };

	return emu_call(fd, EMUGPU_IOC_TEST, &test);
}

/* A copy by the GPU waits for the end of the move, so it sees the memory's own contents. */
static bool holds(int value)
{
	unsigned char seen[64];
	unsigned int i;

	if (emu_read(fd, seen, VA, sizeof(seen)))
		return false;
	for (i = 0; i < sizeof(seen); i++)
		if (seen[i] != value)
			return false;
	return true;
}

CASE(write_before_fence_is_reported)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0 && moves(MOVE_MS) == 0, "%d", dmabuf);
	EXPECT(map(0) == 0 && peer_write(0, 0, 0, 7) == 0, "map, write");
	EXPECT(holds(0x5c), "the contents are lost");
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_BEFORE_FENCE, 1);
	EXPECT(moves(0) == 0 && emu_free(fd, VA) == 0, "free");
	end(dmabuf);
}

CASE(write_after_fence_is_no_breach)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0 && moves(MOVE_MS) == 0 && map(0) == 0, "%d", dmabuf);
	EXPECT(!peer_reads(0, 0, 0, 0x5c), "the memory was there at once");
	EXPECT(holds(0x5c), "the contents are lost");
	EXPECT(peer_write(0, 0, 0, 7) == 0 && holds(7), "write");
	EXPECT(moves(0) == 0 && emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

/* The device of the first importer may use the memory when the second importer maps it, so the memory must stay. */
CASE(second_mapping_moves_nothing)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0 && map(0) == 0 && moves(MOVE_MS) == 0, "%d", dmabuf);
	EXPECT(attach_as(1, dmabuf, DMABUF_CHECK_DYNAMIC, true) == 0 && map(1) == 0, "second mapping");
	EXPECT(peer_reads(0, 0, 0, 0x5c), "the memory is hidden from the first importer");
	EXPECT(peer_write(0, 0, 0, 7) == 0 && holds(7), "write");
	EXPECT_NO_BREACH(fd);
	EXPECT(unmap(0) == 0 && unmap(1) == 0 && map(1) == 0 && peer_write(1, 0, 0, 8) == 0, "the only mapping");
	EXPECT(holds(7), "the contents are lost");
	EXPECT_BROKE(fd, EMUGPU_RULE_DMA_BEFORE_FENCE, 1);
	EXPECT(moves(0) == 0 && emu_free(fd, VA) == 0 && detach(1) == 0, "free");
	end(dmabuf);
}

CASE(move_of_a_second_is_the_limit)
{
	EXPECT(moves(1001) == -EINVAL && moves(1000) == 0 && moves(0) == 0, "moves");
}

static bool pins_list_an_import(void)
{
	char text[4096] = "";
	int file = open("/sys/kernel/debug/emugpu/pins", O_RDONLY);
	ssize_t n = read(file, text, sizeof(text) - 1);

	close(file);
	return n > 0 && strstr(text, "dmabuf_check ") && strstr(text, " dma-buf 1\n");
}

CASE(mapping_is_in_list_of_pins)
{
	int dmabuf = start(true);

	EXPECT(dmabuf >= 0 && !pins_list_an_import() && map(0) == 0, "%d", dmabuf);
	EXPECT(pins_list_an_import(), "not listed");
	EXPECT(emu_free(fd, VA) == 0 && !pins_list_an_import(), "free");
	end(dmabuf);
}

/* The calls are events; the calls in the notification are none. */
CASE(calls_of_importer_are_events)
{
	static const uint32_t kinds[] = {
		EMUGPU_EVENT_ATTACH, EMUGPU_EVENT_IMPORT, EMUGPU_EVENT_UNIMPORT, EMUGPU_EVENT_IMPORT, EMUGPU_EVENT_DETACH,
	};
	struct emugpu_event events[16];
	unsigned int i, n = 0;
	int dmabuf;

	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0, "plan");
	dmabuf = start(true);
	EXPECT(dmabuf >= 0 && map(0) == 0 && unmap(0) == 0 && map(0) == 0, "%d", dmabuf);
	EXPECT(emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT(emu_events(fd, events, 16, &n) == 0 && n == 5, "%u events", n);
	for (i = 0; i < n; i++)
		EXPECT(events[i].kind == kinds[i] && !strcmp(events[i].module, "dmabuf_check"), "%u: %u by %s", i,
		       events[i].kind, events[i].module);
}

/* The revocation begins while the importer maps, and ends after it has stored the mapping. */
CASE(revocation_at_map_notifies)
{
	int dmabuf, ms;

	EXPECT(emu_plan(fd, 2, EMUGPU_ACT_REVOKE) == 0, "plan");
	dmabuf = start(true);
	EXPECT(dmabuf >= 0 && map(0) == 0, "%d", dmabuf);
	for (ms = 0; ms < 10000 && !notified(0); ms++)
		usleep(1000);
	EXPECT(notified(0) == 1 && map(0) == -ENODEV, "%u notifications", notified(0));
	EXPECT(emu_plan(fd, 0, EMUGPU_ACT_NONE) == 0 && emu_free(fd, VA) == 0, "free");
	end(dmabuf);
	EXPECT_NO_BREACH(fd);
}

VMTEST_MAIN
