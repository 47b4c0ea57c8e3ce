// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "test/fuzz/calls/random.h"
#include "test/vm/harness/emu.h"
#include "area.h"
#include "peer.h"
#include "work.h"

enum {
	LIFE = 400,		/* maximum number of operations */
	PAUSE_US = 20000,
	UNPINNED_TRIES = 500,
};

struct soak *soak;

void soak_fail(const char *format, ...)
{
	uint32_t none = 0;
	va_list args;

	if (!__atomic_compare_exchange_n(&soak->failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	va_start(args, format);
	vsnprintf(soak->failure, FAILURE_MAX, format, args);
	va_end(args);
}

int worker_check(struct worker *w, enum op op, int error, unsigned int when)
{
	count(COUNT_OPS, 1);
	if (!error)
		return 0;
	count(COUNT_REFUSED, 1);
	if (rule_allows(op, -error, when))
		return error;
	soak_fail("worker %u: %s: %s, which no trouble explains (mask of trouble: %#x)", w->number,
		  op_name(op), strerror(-error), when);
	_exit(1);
}

/* ---- the files ---------------------------------------------------------------------- */

static int must_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	soak_fail("%s: %s", path, strerror(errno));
	_exit(1);
}

/* Every second worker has a context, so that some workers pin memory by token. */
static void make_context(struct worker *w)
{
	struct emugpu_context_new args = { .gpu = 0 };
	struct since since = since_now();
	int err;

	w->context = 0;
	if (random_below(&w->seed, 2))
		return;
	err = emu_call(w->gpu, EMUGPU_IOC_CONTEXT, &args);
	if (worker_check(w, OP_CONTEXT, err, since_what(&since)))
		return;
	w->context = args.out_context;
	w->token = args.out_p2p_token;
	w->va_space = args.out_va_space;
}

static void open_all(struct worker *w)
{
	w->gpu = must_open("/dev/emugpu");
	w->core = must_open("/dev/peerpin");
	w->peer = -1;
	make_context(w);
}

/* Release everything, in random order. */
static void drop_all(struct worker *w)
{
	int i;

	for (i = 0; i < AREAS; i++)
		if (random_below(&w->seed, 2))
			area_drop(w, &w->areas[i]);
	peer_drop(w);
	close(random_below(&w->seed, 2) ? w->core : -1);
	for (i = 0; i < AREAS; i++)
		if (w->areas[i].there && !w->areas[i].gpu)
			munmap((void *)w->areas[i].at, w->areas[i].size);
	close(w->gpu);
	close(w->core);
	memset(w->areas, 0, sizeof(w->areas));
}

/* ---- pauses ------------------------------------------------------------------------- */

static long pinned_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		(void)sscanf(line, "VmPin: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static void expect_nothing_pinned(struct worker *w)
{
	int tries;

	for (tries = 0; tries < UNPINNED_TRIES && pinned_kib(); tries++)
		usleep(PAUSE_US);
	if (pinned_kib())
		soak_fail("worker %u: %ld KiB of its memory stay pinned after the last unpin", w->number, pinned_kib());
}

static void pause_here(struct worker *w, uint32_t pause)
{
	drop_all(w);
	expect_nothing_pinned(w);
	__atomic_store_n(&soak->paused[w->number], pause, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&soak->pause, __ATOMIC_SEQ_CST) == pause)
		usleep(PAUSE_US);
	open_all(w);
}

/* ---- work --------------------------------------------------------------------------- */

static void drop_one(struct worker *w)
{
	area_drop(w, &w->areas[random_below(&w->seed, AREAS)]);
}

static void unpin_one(struct worker *w)
{
	area_unpin(w, &w->areas[random_below(&w->seed, AREAS)]);
}

static void change_peer(struct worker *w)
{
	peer_drop(w);
	peer_get(w);
}

static void look(struct worker *w)
{
	struct area *area = &w->areas[random_below(&w->seed, 2) ? GPU_A : GPU_B];

	if (area->there && area_look(w, area))
		area_drop(w, area);	/* the GPU was removed */
}

static void rest(struct worker *w)
{
	usleep((useconds_t)random_below(&w->seed, PAUSE_US));
}

static const struct work {
	unsigned int weight;
	void (*run)(struct worker *w);
} works[] = {
	{ 30, work_journey },
	{ 8, work_journey_with_rival },
	{ 8, work_view },
	{ 8, work_dmabuf },
	{ 8, look },
	{ 8, drop_one },
	{ 10, unpin_one },
	{ 2, change_peer },
	{ 4, rest },
};

static const struct work *choose_work(struct worker *w)
{
	unsigned int i, sum = 0, chosen;

	for (i = 0; i < sizeof(works) / sizeof(*works); i++)
		sum += works[i].weight;
	chosen = (unsigned int)random_below(&w->seed, sum);
	for (i = 0; chosen >= works[i].weight; i++)
		chosen -= works[i].weight;
	return &works[i];
}

static void step(struct worker *w)
{
	uint32_t pause = __atomic_load_n(&soak->pause, __ATOMIC_SEQ_CST);

	if (pause)
		pause_here(w, pause);
	choose_work(w)->run(w);
}

/* After all operations, the worker exits. Some workers release their objects before. */
void worker_run(unsigned int number, unsigned int life)
{
	struct worker w = { .number = number, .round = life << 16 };
	unsigned int left;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	w.seed = soak->seed + random_next(&(uint64_t){ (uint64_t)life << 32 | number });
	w.scratch = mmap(NULL, HOST_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	open_all(&w);
	left = (unsigned int)random_below(&w.seed, LIFE);
	while (left-- && !soak->stop && !soak_failed())
		step(&w);
	if (random_below(&w.seed, 2))
		drop_all(&w);
	_exit(0);
}
