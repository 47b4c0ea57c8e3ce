// SPDX-License-Identifier: MIT
/*
 * Removal during RDMA: of the adapter's PCI function, of the GPU, of the adapter, of modules, of memory.
 * A child process uses the adapter and GPU memory; its parent removes. Then all returns and works.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "rdma.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/harness/module.h"

enum {
	LENGTH = 256 << 10,
	EVENT_MS = 15000,	/* upper limit of an event or a failure that must come */
	LINGER_MS = 400,	/* a removal must still wait after this time */
	RACES = 24,
};

static struct hotplug function, gpu;
static unsigned char bytes[BLOCK];

/* ---- the user of the adapter: the child process ------------------------------------- */

/** struct use - what the child reports */
struct use {
	int err;		/* at the start, -errno */
	int status[WAYS][2];	/* of a write and a read after the first failure; enum ibv_wc_status */
	int event;		/* enum ibv_event_type; -1: none */
	uint64_t closed_ns;	/* just before the child exits, still with the adapter open */
};

static struct loop loop;
static struct ibv_mr *host;
static struct memory memories[WAYS];

/* The GIDs of a new adapter come a moment later. */
static int use_loop(void)
{
	int tries, err = -ENODEV;

	for (tries = 0; tries < 100 && (err = loop_open(&loop)); tries++) {
		if (loop.near.ctx)
			ibv_close_device(loop.near.ctx);
		usleep(50000);
	}
	return err;
}

static int use_open(void)
{
	int way, err;

	if (!cu_start(0) || pp_open(&peerpin))
		return -ENODEV;
	err = use_loop();
	if (err)
		return err;
	host = ibv_reg_mr(loop.near.pd, bytes, sizeof(bytes), ACCESS);
	if (!host)
		return -errno;
	for (way = 0; way < WAYS; way++) {
		err = memory_open(&memories[way], loop.near.pd, way);
		if (err)
			return err;
	}
	return 0;
}

static int use_once(int way, enum ibv_wr_opcode op)
{
	return rc_transfer(&loop.near, op, host, (uintptr_t)bytes, (uintptr_t)memories[way].mr->addr,
			   memories[way].mr->rkey, LENGTH);
}

static int use_all(void)
{
	int way, err = 0;

	for (way = 0; way < WAYS && !err; way++)
		err = use_once(way, IBV_WR_RDMA_WRITE) ?: use_once(way, IBV_WR_RDMA_READ);
	return err;
}

static int use_reconnect(void)
{
	return rc_new(&loop.near) ?: rc_new(&loop.far) ?: rc_connect_hastily(&loop.near, &loop.far.id) ?:
	       rc_connect_hastily(&loop.far, &loop.near.id);
}

/* Each operation on a new connection: the first failure ended the connection. */
static void use_status(struct use *u)
{
	int way;

	for (way = 0; way < WAYS; way++) {
		u->status[way][0] = use_reconnect() ? -1 : use_once(way, IBV_WR_RDMA_WRITE);
		u->status[way][1] = use_reconnect() ? -1 : use_once(way, IBV_WR_RDMA_READ);
	}
}

static int use_event(int ms)
{
	struct pollfd p = { .fd = loop.near.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	/* The error of a QP is an event too. */
	while (poll(&p, 1, ms) == 1) {
		if (ibv_get_async_event(loop.near.ctx, &event))
			return -1;
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			return event.event_type;
	}
	return -1;
}

/* A removal may begin when the first byte is in @out. */
static int use_until_error(int event_ms, int out)
{
	struct use u = { .err = use_open() ?: use_all(), .event = -1 };

	if (u.err || write(out, "", 1) != 1)
		goto out;
	while (!use_all())
		;
	use_status(&u);
	u.event = use_event(event_ms);
	usleep(LINGER_MS * 1000);
out:
	u.closed_ns = now_ns();
	return write(out, &u, sizeof(u)) != sizeof(u);
}

static int use_until_fatal(int out)
{
	return use_until_error(EVENT_MS, out);
}

static int use_until_gpu_error(int out)
{
	return use_until_error(0, out);
}

/* Write, read back and compare all memory. */
static int use_well(int out)
{
	int way, err = use_open();
	size_t i;

	(void)out;
	for (way = 0; way < WAYS && !err; way++) {
		for (i = 0; i < LENGTH; i++)
			bytes[i] = (unsigned char)(i * 7 + i / 251 + way);
		err = use_once(way, IBV_WR_RDMA_WRITE);
		memset(bytes, 0, LENGTH);
		err = err ?: use_once(way, IBV_WR_RDMA_READ);
		for (i = 0; i < LENGTH && !err; i++)
			err = bytes[i] != (unsigned char)(i * 7 + i / 251 + way);
		err = err ?: memory_close(&memories[way]);
	}
	if (err)
		fprintf(stderr, "way %d: %d\n", way - 1, err);
	return !!err;
}

/* Use the adapter until the parent writes, then end in order. */
static int gate;

static int use_until_told(int out)
{
	int way, err = use_open() ?: use_all();
	char byte;

	if (write(out, err ? "x" : "", 1) != 1 || err)
		return 1;
	if (read(gate, &byte, 1) < 0)
		return 1;
	for (way = 0; way < WAYS && !err; way++)
		err = memory_close(&memories[way]);
	return !!err;
}

/* ---- its parent ----------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int from;
};

/* The child has begun when it has written a byte. */
static int child_start(struct child *c, int (*run)(int out))
{
	char byte = 'x';
	int up[2];

	if (pipe(up))
		return -errno;
	c->pid = fork();
	if (!c->pid) {
		close(up[0]);
		_exit(run(up[1]));
	}
	close(up[1]);
	c->from = up[0];
	return read(c->from, &byte, 1) == 1 && !byte ? 0 : -EPIPE;
}

static int child_end(struct child *c)
{
	int status = -1;

	waitpid(c->pid, &status, 0);
	close(c->from);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

static int child_works(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(use_well(-1));
	waitpid(pid, &status, 0);
	return status;
}

static int link_add(void)
{
	return system("rdma link add rxe0 type rxe netdev eth0");
}

static int link_delete(void)
{
	return system("rdma link delete rxe0");
}

static bool link_is_there(void)
{
	return !access("/sys/class/infiniband/rxe0", F_OK);
}

static struct hotplug function_of_link(void)
{
	struct hotplug device = { "" };
	char target[256] = "";
	const char *name;

	if (readlink("/sys/class/infiniband/rxe0/device", target, sizeof(target) - 1) < 0)
		return device;
	name = strrchr(target, '/');
	snprintf(device.address, sizeof(device.address), "%.15s", name ? name + 1 : target);
	return device;
}

static bool gpu_is_free(void)
{
	struct emugpu_info info;
	struct emugpu_test t;
	int fd = emu_open();
	bool is = !emu_info(fd, 0, &info) && info.out_vram_free == info.out_vram_total && !info.out_bar1_used &&
		  !emu_counts(fd, &t) && !t.counts.out_pins && !t.counts.out_dma_maps && !t.counts.out_violations;

	close(fd);
	return is;
}

/* The work item of a revocation may still run. */
static bool all_is_free(void)
{
	char text[256];
	int tries;

	for (tries = 0; tries < 100; tries++) {
		module_debugfs("peerpin/regions", text, sizeof(text));
		if (gpu_is_free() && strchr(text, '\n') && !strchr(text, '\n')[1] && !module_refs("peerpin_ibpeer"))
			return true;
		usleep(20000);
	}
	return false;
}

/* ---- a thread that removes, because a removal may wait ---------------------------------- */

struct removal {
	int (*remove)(void);
	pthread_t thread;
	atomic_bool done;
	int err;
	uint64_t end_ns;
};

static void *removal_run(void *arg)
{
	struct removal *r = arg;

	r->err = r->remove();
	r->end_ns = now_ns();
	r->done = true;
	return NULL;
}

static void removal_start(struct removal *r, int (*remove)(void))
{
	*r = (struct removal){ .remove = remove };
	EXPECT(!pthread_create(&r->thread, NULL, removal_run, r), "thread");
}

/* The thread cannot be ended, so a removal that hangs ends the test. */
static void removal_end(struct removal *r)
{
	int tries;

	for (tries = 0; tries < 3 * EVENT_MS / 10 && !r->done; tries++)
		usleep(10000);
	EXPECT(r->done, "the removal hangs");
	pthread_join(r->thread, NULL);
}

static int function_unbind(void) { return hotplug_unbind("emurdma", &function); }
static int function_bind(void) { return hotplug_bind("emurdma", &function); }
static int function_unplug(void) { return hotplug_remove(&function); }
static int gpu_unbind(void) { return hotplug_unbind("emugpu", &gpu); }
static int gpu_bind(void) { return hotplug_bind("emugpu", &gpu); }
static int gpu_unplug(void) { return hotplug_remove(&gpu); }

/* ---- the cases -------------------------------------------------------------------------- */

SETUP(adapter_is_there)
{
	struct emugpu_info info;
	int fd = emu_open();

	EXPECT(!emu_info(fd, 0, &info), "no GPU");
	gpu = hotplug_gpu(&info);
	close(fd);
	function = function_of_link();
	EXPECT(*function.address, "rxe0 has no PCI function");
	EXPECT(!child_works() && all_is_free(), "the adapter does not work");
}

static void removed_function(int (*remove)(void), int (*restore)(void))
{
	struct removal r;
	struct child c;
	struct use u;
	int way;

	EXPECT(!child_start(&c, use_until_fatal), "child");
	removal_start(&r, remove);
	CHECK_CASE();
	EXPECT(read(c.from, &u, sizeof(u)) == sizeof(u) && !u.err, "report: %d", u.err);
	EXPECT(!child_end(&c), "child");
	removal_end(&r);
	CHECK_CASE();
	EXPECT(!r.err && !link_is_there(), "removal: %d", r.err);
	EXPECT(r.end_ns > u.closed_ns, "the removal has not waited");
	EXPECT(u.event == IBV_EVENT_DEVICE_FATAL, "event %d", u.event);
	for (way = 0; way < WAYS; way++)
		EXPECT(u.status[way][0] && u.status[way][1], "way %d succeeded after the removal", way);
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

/* Static dma-bufs of CUDA keep their memory without the GPU's driver: t_dmabuf tests that. */
static void removed_gpu(int (*remove)(void), int (*restore)(void))
{
	struct removal r;
	struct child c;
	struct use u;
	int way;

	EXPECT(!module_set("emugpu/parameters/dmabuf_dynamic", "1"), "dmabuf_dynamic");
	EXPECT(!child_start(&c, use_until_gpu_error), "child");
	EXPECT(!module_set("emugpu/parameters/dmabuf_dynamic", "0"), "dmabuf_dynamic");
	removal_start(&r, remove);
	CHECK_CASE();
	removal_end(&r);
	CHECK_CASE();
	EXPECT(!r.err, "removal: %d", r.err);
	EXPECT(read(c.from, &u, sizeof(u)) == sizeof(u) && !u.err, "report: %d", u.err);
	EXPECT(!child_end(&c), "child");
	for (way = 0; way < WAYS; way++)
		EXPECT(u.status[way][0] == IBV_WC_REM_ACCESS_ERR && u.status[way][1] == IBV_WC_REM_ACCESS_ERR,
		       "way %d: %d %d", way, u.status[way][0], u.status[way][1]);
	EXPECT(u.event == -1, "event %d", u.event);
	EXPECT(!restore(), "return: %d", errno);
	EXPECT(all_is_free(), "memory or pins are left");
	EXPECT(!child_works() && all_is_free(), "the GPU does not work with the adapter");
}

CASE(gpu_unbind_ends_rdma)
{
	removed_gpu(gpu_unbind, gpu_bind);
}

CASE(gpu_unplug_ends_rdma)
{
	removed_gpu(gpu_unplug, hotplug_rescan);
}

/* The deletion waits until the child exits. */
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
	EXPECT(!r.done, "the link was deleted: %d", r.err);
	EXPECT(write(down[1], "", 1) == 1, "pipe");
	err = child_end(&c);
	removal_end(&r);
	CHECK_CASE();
	EXPECT(!err && !r.err && !link_is_there(), "child %d, deletion %d", err, r.err);
	close(down[0]);
	close(down[1]);
	EXPECT(!link_add() && !child_works() && all_is_free(), "the adapter does not work");
}

CASE(mr_keeps_modules_loaded)
{
	static const char *const names[] = { "peerpin_ibpeer", "ib_peer_shim", "emurdma", "peerpin" };
	struct child c;
	int down[2];
	size_t i;

	EXPECT(!pipe(down), "pipe");
	gate = down[0];
	EXPECT(!child_start(&c, use_until_told), "child");
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
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
