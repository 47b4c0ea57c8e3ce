// SPDX-License-Identifier: MIT
/*
 * Memory regions of all kinds of memory over a Soft-RoCE connection. verbs_server runs at the IPv4
 * address $VERBS_SERVER, or on this VM. Also the error for GPU memory with an adapter that imports
 * no dma-bufs.
 */
#include <arpa/inet.h>
#include <libpeerpin-verbs.h>
#include <linux/capability.h>
#include <peerpin.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/vm/cuda/cu.h"
#include "verbs.h"

static struct rc rc;
static struct pp_verbs *verbs;
static int server = -1;
static char *mine[VERBS_GPU_COMBINED + 1];

/* ---- the server ---------------------------------------------------------------------- */

static int try_connect(const struct sockaddr_in *to)
{
	server = socket(AF_INET, SOCK_STREAM, 0);
	if (!connect(server, (const struct sockaddr *)to, sizeof(*to)))
		return 0;
	close(server);
	server = -1;
	return -1;
}

/* Try for a while: the server's VM may still be starting. */
static int find_server(void)
{
	const char *at = getenv("VERBS_SERVER");
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(VERBS_PORT) };
	int tries;

	inet_pton(AF_INET, at ? at : "127.0.0.1", &to.sin_addr);
	for (tries = 0; tries < 600; tries++) {
		if (!try_connect(&to))
			return 0;
		usleep(100000);
	}
	return -1;
}

static struct verbs_answer ask(struct verbs_command c)
{
	struct verbs_answer a = { .error = -EPIPE };

	if (verbs_send(server, &c, sizeof(c)) || verbs_receive(server, &a, sizeof(a)))
		a.error = -EPIPE;
	return a;
}

static struct verbs_answer ask_for(enum verbs_op op, enum verbs_kind kind, uint32_t at, uint32_t length, uint32_t seed)
{
	return ask((struct verbs_command){ .op = op, .kind = kind, .at = at, .length = length, .seed = seed });
}

static int connect_queues(void)
{
	struct verbs_answer a;
	int err = rc_new(&rc);

	if (err)
		return err;
	a = ask((struct verbs_command){ .op = VERBS_CONNECT, .id = rc.id });
	return a.error ? a.error : rc_connect(&rc, &a.id);
}

/* ---- transfers ------------------------------------------------------------------------- */

/** struct part - a range of local memory, and one of the server's memory */
struct part {
	enum verbs_kind here, there;
	uint32_t at, from, length;
};

static const char *const names[] = { "host", "GPU", "write-combined GPU" };

static int transfer(enum ibv_wr_opcode how, const struct part *p, const struct verbs_answer *there)
{
	const struct pp_mr *mr;
	int status;

	if (pp_verbs_reg(verbs, mine[p->here] + p->at, p->length, &mr, NULL))
		return -1;
	status = rc_transfer(&rc, how, mr->mr, (uintptr_t)mine[p->here] + p->at, there->addr + p->from, there->rkey,
			     p->length);
	pp_verbs_unreg(verbs, mr);
	return status;
}

/* Write a pattern to the server and check the bytes around it. Then read a pattern from the server. */
static void there_and_back(const struct part *p, uint32_t seed)
{
	struct verbs_answer there = ask_for(VERBS_REGISTER, p->there, p->from, p->length, 0);
	int status;

	EXPECT(!there.error, "register %s there: %d", names[p->there], there.error);
	EXPECT(!ask_for(VERBS_FILL, p->there, 0, VERBS_ROOM, ~seed).error, "fill");
	verbs_fill(mine[p->here] + p->at, p->length, seed);
	status = transfer(IBV_WR_RDMA_WRITE, p, &there);
	EXPECT(!status, "write: %s", ibv_wc_status_str(status));
	EXPECT(!ask_for(VERBS_CHECK, p->there, p->from, p->length, seed).error, "%s memory of the server: wrong bytes",
	       names[p->there]);
	EXPECT(!ask_for(VERBS_CHECK, p->there, 0, p->from, ~seed).error, "bytes before the range changed");
	EXPECT(!ask_for(VERBS_CHECK, p->there, p->from + p->length, VERBS_ROOM - p->from - p->length,
			~seed + p->from + p->length).error, "bytes after the range changed");
	EXPECT(!ask_for(VERBS_FILL, p->there, p->from, p->length, seed + 1).error, "fill");
	status = transfer(IBV_WR_RDMA_READ, p, &there);
	EXPECT(!status, "read: %s", ibv_wc_status_str(status));
	EXPECT(verbs_is_filled(mine[p->here] + p->at, p->length, seed + 1), "local %s memory: wrong bytes",
	       names[p->here]);
}

static void between(enum verbs_kind here, enum verbs_kind there)
{
	const struct part parts[] = {
		{ here, there, 0, 0, 4096 },
		{ here, there, 1, 4095, 1 },
		{ here, there, 4093, 77, 5000 },
		{ here, there, 0, 0, VERBS_ROOM },
		{ here, there, 70001, 1, 262143 },
	};
	size_t i;

	EXPECT(!connect_queues(), "connect: %s", strerror(errno));
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		there_and_back(&parts[i], (uint32_t)i * 1000003);
		CHECK_CASE();
	}
}

/* ---- cases --------------------------------------------------------------------------------- */

/* Number of bytes that all processes watch; -1 on error. */
static long long watched(void)
{
	FILE *f = fopen("/sys/kernel/debug/peerpin/accounts", "r");
	long long sum = f ? 0 : -1, bytes;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d %*d %*d %*d %*d %lld", &bytes) == 1)
			sum += bytes;
	if (f)
		fclose(f);
	return sum;
}

/* Register memory, report to the parent, and wait to be killed. */
static void hold_until_killed(int told)
{
	const struct pp_mr *mr;
	char *p = cu_start(0) ? verbs_alloc(VERBS_GPU, NULL) : NULL;

	if (p && !rc_open(&rc) && !pp_verbs_open(rc.pd, VERBS_ACCESS, NULL, &verbs) &&
	    !pp_verbs_reg(verbs, p, VERBS_ROOM, &mr, NULL) && write(told, "", 1) == 1)
		pause();
	_exit(1);
}

/* Must run first: CUDA and libibverbs do not work in a child of a process that has used them. */
CASE(kill_leaves_no_registration)
{
	int told[2], status;
	char byte;
	pid_t pid;

	EXPECT(!pipe(told), "pipe");
	pid = fork();
	if (!pid)
		hold_until_killed(told[1]);
	close(told[1]);
	EXPECT(read(told[0], &byte, 1) == 1, "the child cannot register");
	EXPECT(watched() == VERBS_ROOM, "%lld bytes", watched());
	kill(pid, SIGKILL);
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "%#x", status);
	EXPECT(!watched(), "%lld bytes", watched());
}

SETUP(everything_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	EXPECT(!rc_open(&rc), "no adapter; type: test/vm/verbs/rxe ...");
	EXPECT(!pp_verbs_open(rc.pd, VERBS_ACCESS, NULL, &verbs), "open");
	EXPECT(!find_server(), "no server");
	for (int kind = 0; kind <= VERBS_GPU_COMBINED; kind++) {
		mine[kind] = verbs_alloc(kind, NULL);
		EXPECT(mine[kind], "%s memory", names[kind]);
	}
}

CASE(transfers_between_host_memory)
{
	between(VERBS_HOST, VERBS_HOST);
}

/* With a discrete GPU, the host memory is allocated by CUDA. */
CASE(transfers_between_host_and_gpu)
{
	between(VERBS_HOST, VERBS_GPU);
	CHECK_CASE();
	between(VERBS_GPU, VERBS_HOST);
}

CASE(transfers_between_gpu_memory)
{
	between(VERBS_GPU, VERBS_GPU);
	CHECK_CASE();
	between(VERBS_GPU_COMBINED, VERBS_GPU_COMBINED);
}

/* A second registration must reuse the first from the cache. */
static void registered_once(enum verbs_kind kind)
{
	struct verbs_answer a = ask_for(VERBS_REGISTER, kind, 0, VERBS_ROOM, 0), b;

	EXPECT(!a.error, "%d", a.error);
	b = ask_for(VERBS_REGISTER, kind, 4097, 50000, 0);
	EXPECT(!b.error && b.rkey == a.rkey && b.pins == a.pins, "%s: another key, or %lu pins after %lu", names[kind],
	       (unsigned long)b.pins, (unsigned long)a.pins);
}

CASE(registration_is_cached)
{
	registered_once(VERBS_HOST);
	CHECK_CASE();
	registered_once(VERBS_GPU);
	CHECK_CASE();
	registered_once(VERBS_GPU_COMBINED);
}

/* New memory has the old address. A stale registration would silently reach the old pages. */
static void reaches_what_came_after(enum verbs_kind kind)
{
	const struct part part = { VERBS_HOST, kind, 0, 0, 100000 };
	struct verbs_answer old = ask_for(VERBS_REGISTER, kind, 0, 100000, 0), now;
	int status;

	EXPECT(!old.error, "%d", old.error);
	now = ask_for(VERBS_REPLACE, kind, 0, 0, 0);
	EXPECT(!now.error && now.addr == old.addr, "%s memory at another address: %d", names[kind], now.error);
	now = ask_for(VERBS_REGISTER, kind, 0, 100000, 0);
	EXPECT(!now.error && now.pins > old.pins, "%s: not registered anew", names[kind]);
	EXPECT(!connect_queues(), "connect");
	verbs_fill(mine[VERBS_HOST], 100000, 5);
	status = transfer(IBV_WR_RDMA_WRITE, &part, &now);
	EXPECT(!status, "write: %s", ibv_wc_status_str(status));
	EXPECT(!ask_for(VERBS_CHECK, kind, 0, 100000, 5).error,
	       "%s: the bytes did not reach the new memory", names[kind]);
	status = transfer(IBV_WR_RDMA_WRITE, &part, &old);
	EXPECT(status == IBV_WC_REM_ACCESS_ERR,
	       "%s: write with the old key: %s", names[kind], ibv_wc_status_str(status));
}

CASE(freed_memory_is_never_served)
{
	reaches_what_came_after(VERBS_HOST);
	CHECK_CASE();
	reaches_what_came_after(VERBS_GPU);
	CHECK_CASE();
	reaches_what_came_after(VERBS_GPU_COMBINED);
}

/* The library does not see munmap(). The next use of the registration must notice the change. */
CASE(munmap_ends_local_registration)
{
	const struct part part = { VERBS_HOST, VERBS_HOST, 0, 0, VERBS_ROOM };
	char *was = mine[VERBS_HOST];

	EXPECT(!connect_queues(), "connect");
	there_and_back(&part, 1);
	CHECK_CASE();
	verbs_free(VERBS_HOST, was);
	mine[VERBS_HOST] = verbs_alloc(VERBS_HOST, was);
	EXPECT(mine[VERBS_HOST] == was, "memory at another address");
	there_and_back(&part, 2);
}

CASE(write_to_read_only_registration_fails)
{
	struct verbs_answer there = ask_for(VERBS_REGISTER, VERBS_HOST, 0, 4096, 0);
	struct pp_verbs *reading;
	const struct pp_mr *mr;
	int status;

	EXPECT(!there.error, "%d", there.error);
	EXPECT(!pp_verbs_open(rc.pd, IBV_ACCESS_REMOTE_READ, NULL, &reading), "open");
	EXPECT(!pp_verbs_reg(reading, mine[VERBS_HOST], 4096, &mr, NULL), "register");
	EXPECT(!connect_queues(), "connect");
	status = rc_transfer(&rc, IBV_WR_RDMA_READ, mr->mr, mr->addr, there.addr, there.rkey, 100);
	EXPECT(status == IBV_WC_LOC_PROT_ERR, "%s", ibv_wc_status_str(status));
	pp_verbs_unreg(reading, mr);
	pp_verbs_close(reading);
}

/* Take or give back CAP_IPC_LOCK: with this capability RLIMIT_MEMLOCK does not apply. */
static int may_exceed(bool yes)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps))
		return -1;
	caps[0].effective = yes ? caps[0].permitted : caps[0].permitted & ~(1u << CAP_IPC_LOCK);
	return (int)syscall(SYS_capset, &header, caps);
}

static int reg_within(rlim_t limit, struct pp_mr_why *why)
{
	struct rlimit was, now;
	const struct pp_mr *mr;
	int err;

	if (getrlimit(RLIMIT_MEMLOCK, &was) || may_exceed(false))
		return 1;
	now = (struct rlimit){ .rlim_cur = limit, .rlim_max = was.rlim_max };
	setrlimit(RLIMIT_MEMLOCK, &now);
	err = pp_verbs_reg(verbs, mine[VERBS_HOST], VERBS_ROOM, &mr, why);
	setrlimit(RLIMIT_MEMLOCK, &was);
	if (!err)
		pp_verbs_unreg(verbs, mr);
	return may_exceed(true) ? 1 : err;
}

/* A watch is not counted. */
CASE(memlock_limit_allows_one_registration)
{
	struct pp_mr_why why;
	char text[256];
	int err;

	pp_cache_flush(pp_verbs_cache(verbs));
	err = reg_within(VERBS_ROOM * 3 / 2, &why);
	EXPECT(!err, "%d: %s", err, strerror(-err));
	pp_cache_flush(pp_verbs_cache(verbs));
	err = reg_within(VERBS_ROOM / 2, &why);
	pp_verbs_explain(text, sizeof(text), err, &why);
	EXPECT(err == -ENOMEM && strstr(text, "ulimit -l"), "%d: %s", err, text);
}

/* Soft-RoCE imports no dma-bufs, and the kernel has no peer memory. The text must explain each attempt. */
static void no_way_is_told(int err, const struct pp_mr_why *why)
{
	char text[512];

	pp_verbs_explain(text, sizeof(text), err, why);
	printf("# %s\n", text);
	EXPECT(err == -EOPNOTSUPP && why->count == 3, "%d, %u: %s", err, why->count, text);
	EXPECT(strstr(text, "imports no dma-bufs") && strstr(text, "modprobe peerpin_ibpeer"), "%s", text);
}

/* On Tegra, memory of cuMemAlloc() cannot be pinned. */
CASE(refused_gpu_memory_is_explained)
{
	struct pp_mr_why why;
	const struct pp_mr *mr;
	CUdeviceptr at;
	int err;

	OK(cuMemAlloc(&at, 2 << 20));
	err = pp_verbs_reg(verbs, (void *)(uintptr_t)at, 4096, &mr, &why);
	OK(cuMemFree(at));
	if (cu_attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 1)
		no_way_is_told(err, &why);
	else
		EXPECT(err == -EINVAL && why.why.reason == PEERPIN_REASON_VENDOR_REFUSED, "%d", err);
}

CASE(nothing_is_left)
{
	struct pp_cache_stats stats;

	pp_cache_flush(pp_verbs_cache(verbs));
	pp_cache_stats(pp_verbs_cache(verbs), &stats);
	EXPECT(!stats.entries && stats.pins == stats.unpins, "%lu entries", (unsigned long)stats.entries);
	pp_verbs_close(verbs);
	EXPECT(!rc.qp || !ibv_destroy_qp(rc.qp), "the queues are in use: %s", strerror(errno));
	EXPECT(!ibv_dealloc_pd(rc.pd), "the protection domain is in use: %s", strerror(errno));
}

VMTEST_MAIN
