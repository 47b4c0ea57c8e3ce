// SPDX-License-Identifier: MIT
/* Removal of the adapter's PCI function: unbind and hot-unplug, during RDMA and while links come and go */
#include "removal.h"

enum { RACES = 24 };

static struct hotplug function;

static int function_unbind(void) { return hotplug_unbind("emurdma", &function); }
static int function_bind(void) { return hotplug_bind("emurdma", &function); }
static int function_unplug(void) { return hotplug_remove(&function); }

SETUP(adapter_is_there)
{
	function = function_of_link();
	EXPECT(*function.address, "rxe0 has no PCI function");
	EXPECT(!child_works() && all_is_free(), "the adapter does not work");
}

static void removed_function(int (*remove)(void), int (*restore)(void))
{
	struct removal r;
	struct child c;
	struct use u;
	int i;

	EXPECT(!child_start(&c, use_until_fatal), "child");
	removal_start(&r, remove);
	CHECK_CASE();
	EXPECT(read(c.from, &u, sizeof(u)) == sizeof(u) && !u.err, "report: %d", u.err);
	EXPECT(!child_end(&c), "child");
	removal_end(&r);
	CHECK_CASE();
	EXPECT(!r.err && !link_is_there(), "removal: %d", r.err);
	EXPECT(!removal_waits() || r.end_ns > u.closed_ns, "the removal has not waited");
	EXPECT(u.event == IBV_EVENT_DEVICE_FATAL, "event %d", u.event);
	for (i = 0; i < WAYS * OPS; i++)
		EXPECT(u.status[i / OPS][i % OPS], "way %d, operation %d succeeded after the removal", i / OPS, i % OPS);
	EXPECT(all_is_free(), "memory or pins are left");
	EXPECT(!restore(), "return: %d", errno);
	EXPECT(!link_add() && !strcmp(function_of_link().address, function.address), "new link");
	EXPECT(!child_works() && all_is_free(), "the new adapter does not work");
}

CASE(unbind_ends_rdma)
{
	removed_function(function_unbind, function_bind);
}

CASE(unplug_ends_rdma)
{
	removed_function(function_unplug, hotplug_rescan);
}

/* The adapter of an unbound function's link takes host memory only. */
CASE(unbind_without_link)
{
	EXPECT(!link_delete() && !function_unbind(), "unbind: %d", errno);
	EXPECT(!link_add() && !*function_of_link().address, "a link has an unbound function");
	EXPECT(!function_bind() && !*function_of_link().address, "the link has got a function");
	EXPECT(!link_delete() && !link_add() && *function_of_link().address, "link with a function");
	EXPECT(!child_works() && all_is_free(), "the adapter does not work");
}

/* Another moment of a link's addition each round: of the whole, or of its end, from the entry in sysfs on. */
static void race_delay(int round, uint64_t add_ns)
{
	uint64_t end = now_ns() + add_ns * (unsigned int)(round / 2) / (RACES / 2);

	if (round % 2)
		end = now_ns() + 2 * add_ns;
	while (now_ns() < end && !(round % 2 && link_is_there()))
		;
	if (round % 2)
		usleep(round / 2 * 100);
}

/* A link that is added during the unbind ends with the function, or has none. */
CASE(unbind_races_with_link)
{
	struct removal r;
	uint64_t add_ns;
	pid_t adds;
	int round;

	EXPECT(!link_delete(), "delete");
	add_ns = now_ns();
	EXPECT(!link_add(), "add");
	add_ns = now_ns() - add_ns;
	EXPECT(!link_delete(), "delete");
	for (round = 0; round < RACES; round++) {
		adds = fork();
		if (!adds) {
			execlp("rdma", "rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0", NULL);
			_exit(1);
		}
		race_delay(round, add_ns);
		removal_start(&r, function_unbind);
		CHECK_CASE();
		waitpid(adds, NULL, 0);
		removal_end(&r);
		CHECK_CASE();
		EXPECT(!r.err && !*function_of_link().address, "round %d: %d", round, r.err);
		EXPECT(!link_is_there() || !link_delete(), "round %d: delete", round);
		EXPECT(!function_bind(), "round %d: bind", round);
	}
	EXPECT(!link_add() && !child_works() && all_is_free(), "the adapter does not work");
}

/* The adapter returns to a function that many links and deletions have used. */
CASE(unbind_races_with_deletion)
{
	struct removal r;
	pid_t deletes;
	int round;

	for (round = 0; round < RACES; round++) {
		deletes = fork();
		if (!deletes) {
			execlp("rdma", "rdma", "link", "delete", "rxe0", NULL);
			_exit(1);
		}
		usleep(round * 2000);
		removal_start(&r, function_unbind);
		CHECK_CASE();
		waitpid(deletes, NULL, 0);
		removal_end(&r);
		CHECK_CASE();
		EXPECT(!r.err && !link_is_there(), "round %d: %d", round, r.err);
		EXPECT(!function_bind() && !link_add(), "round %d: return", round);
	}
	EXPECT(!child_works() && all_is_free(), "the adapter does not work");
}

VMTEST_MAIN
