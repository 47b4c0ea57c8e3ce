// SPDX-License-Identifier: MIT
/*
 * A program on UCX that frees memory in ways that UCX's interception does not see.
 *
 *	ucm_client MODE [COUNT]
 *
 * t_ucm.c runs it with and without libpeerpin-ucm and reads its output.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucm/api/ucm.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { SIZE = 65536, GPU_SIZE = 2 << 20, KEY_MAX = 512 };

struct key {
	size_t length;
	unsigned char bytes[KEY_MAX];
};

static ucp_context_h context;
static long count;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ucm_client: %s failed\n", what);
	exit(1);
}

static void open_context(void)
{
	ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA };

	need(ucp_init(&params, NULL, &context) == UCS_OK, "ucp_init");
}

static ucp_mem_h open_registration(void *at, size_t length)
{
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = at, .length = length,
	};
	ucp_mem_h memory;

	need(ucp_mem_map(context, &params, &memory) == UCS_OK, "ucp_mem_map");
	return memory;
}

/* Registers memory, as UCX does before a transfer, and ends the registration, which stays in the cache. */
static void use(void *at, size_t length, struct key *key)
{
	ucp_mem_h memory = open_registration(at, length);
	void *packed;

	need(ucp_rkey_pack(context, memory, &packed, &key->length) == UCS_OK && key->length <= KEY_MAX, "ucp_rkey_pack");
	memcpy(key->bytes, packed, key->length);
	ucp_rkey_buffer_release(packed);
	need(ucp_mem_unmap(context, memory) == UCS_OK, "ucp_mem_unmap");
}

static bool same(const struct key *a, const struct key *b)
{
	return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static void *map(void *at)
{
	void *got = mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	need(got != MAP_FAILED, "mmap");
	memset(got, 1, SIZE);
	return got;
}

/* Other memory is at the address after a raw system call. Waits up to @ms for a new key. */
static bool is_stale(void *at, int ms)
{
	struct key before, after;

	use(at, SIZE, &before);
	need(!syscall(SYS_munmap, at, (size_t)SIZE), "munmap");
	map(at);
	do {
		usleep(1000);
		use(at, SIZE, &after);
	} while (same(&before, &after) && --ms > 0);
	return same(&before, &after);
}

static int host(void)
{
	void *at = map(NULL);
	long stale = 0, i;

	open_context();
	for (i = 0; i < count; i++)
		stale += is_stale(at, 1000);
	printf("%ld stale of %ld after a second\n", stale, count);
	return 0;
}

static int hits(void)
{
	struct key first, again;
	void *at = map(NULL);
	long hits = 0, i;

	open_context();
	use(at, SIZE, &first);
	for (i = 0; i < count; i++) {
		use(at, SIZE, &again);
		hits += same(&first, &again);
	}
	printf("%ld hits of %ld\n", hits, count);
	return 0;
}

static int gpu(void)
{
	CUdeviceptr at, again;
	struct key before, after;
	CUcontext ctx;
	long stale = 0, i;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0");
	open_context();
	for (i = 0; i < count; i++) {
		need(!cuMemAlloc(&at, GPU_SIZE), "cuMemAlloc");
		use((void *)at, GPU_SIZE, &before);
		need(!cuMemFree(at) && !cuMemAlloc(&again, GPU_SIZE) && again == at, "the same address");
		use((void *)at, GPU_SIZE, &after);
		stale += same(&before, &after);
		need(!cuMemFree(at), "cuMemFree");
	}
	printf("%ld stale of %ld\n", stale, count);
	return 0;
}

/* ---- libibverbs, called by the program itself ---------------------------------------------- */

enum { MAX_RANGES = 16, ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

static void *ranges[MAX_RANGES];
static atomic_int told[MAX_RANGES];

static void on_unmap(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
	char *at = event->vm_unmapped.address;
	int i;

	(void)type;
	(void)arg;
	for (i = 0; i < MAX_RANGES; i++)
		if (ranges[i] && at <= (char *)ranges[i] && (char *)ranges[i] < at + event->vm_unmapped.size)
			told[i]++;
}

static struct ibv_pd *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *device = list && *list ? ibv_open_device(*list) : NULL;
	struct ibv_pd *pd = device ? ibv_alloc_pd(device) : NULL;

	need(pd, "ibv_alloc_pd");
	need(!ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, on_unmap, NULL), "ucm_set_event_handler");
	return pd;
}

static int count_told(void)
{
	int i, n = 0;

	for (i = 0; i < MAX_RANGES; i++)
		n += told[i] > 0;
	return n;
}

/* Unmaps all ranges, then waits at most a second until @want ranges were told of, and a moment for more. */
static void unmap_and_wait(int want)
{
	int i;

	for (i = 0; i < MAX_RANGES && ranges[i]; i++)
		need(!syscall(SYS_munmap, ranges[i], (size_t)SIZE), "munmap");
	for (i = 0; i < 1000 && count_told() < want; i++)
		usleep(1000);
	usleep(100000);
}

static struct ibv_mr *by_reg_mr(struct ibv_pd *pd, void *at)
{
	return ibv_reg_mr(pd, at, SIZE, ACCESS);
}

static struct ibv_mr *by_reg_mr_iova(struct ibv_pd *pd, void *at)
{
	return ibv_reg_mr_iova(pd, at, SIZE, 0x10000, ACCESS);
}

static struct ibv_mr *by_reg_mr_iova2(struct ibv_pd *pd, void *at)
{
	return ibv_reg_mr_iova2(pd, at, SIZE, 0x10000, ACCESS);
}

static int register_ranges(struct ibv_mr *(*by)(struct ibv_pd *pd, void *at))
{
	struct ibv_pd *pd = open_device();
	int i;

	for (i = 0; i < count && i < MAX_RANGES; i++) {
		ranges[i] = map(NULL);
		need(by(pd, ranges[i]), "registration");
	}
	unmap_and_wait((int)count);
	printf("told of %d of %ld\n", count_told(), count);
	return 0;
}

static int reg(void)
{
	return register_ranges(by_reg_mr);
}

static int iova(void)
{
	return register_ranges(by_reg_mr_iova);
}

static int iova2(void)
{
	return register_ranges(by_reg_mr_iova2);
}

/* Soft-RoCE cannot change the memory of a registration, so a preloaded ibv_rereg_mr() returns $REREG. */
static int rereg(void)
{
	struct ibv_pd *pd = open_device();
	struct ibv_mr *mr;
	int ret;

	ranges[0] = map(NULL);
	ranges[1] = map(NULL);
	mr = ibv_reg_mr(pd, ranges[0], SIZE, ACCESS);
	need(mr, "ibv_reg_mr");
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, ranges[1], SIZE, ACCESS);
	unmap_and_wait(1);
	printf("%d: told of old %d, of new %d\n", ret, told[0], told[1]);
	return 0;
}

static int version(void)
{
	unsigned int major, minor, patch;

	ucp_get_version(&major, &minor, &patch);
	printf("%u.%u\n", major, minor);
	return 0;
}

static int doctor(void)
{
	char command[128];
	struct key key;

	open_context();
	use(map(NULL), SIZE, &key);
	snprintf(command, sizeof(command), "peerpin doctor --process %d | grep ucx-monitor", (int)getpid());
	return system(command);
}

static int forks(void)
{
	void *at = map(NULL);
	struct key key;
	int status;
	pid_t child;

	open_context();
	use(at, SIZE, &key);
	child = fork();
	if (!child)
		exit(0);	/* runs the handlers of the parent's libraries */
	need(waitpid(child, &status, 0) == child && !status, "the child");
	printf("%d stale after fork\n", is_stale(at, 1000));
	return 0;
}

static int exits(void)
{
	void *at = map(NULL);

	open_context();
	open_registration(at, SIZE);
	need(!syscall(SYS_munmap, at, (size_t)SIZE), "munmap");
	puts("exit with an open registration");
	return 0;
}

static int execs(void)
{
	open_context();
	open_registration(map(NULL), SIZE);
	execl("/proc/self/exe", "ucm_client", "hits", "10", NULL);
	return 1;
}

static int closes(void)
{
	void *lib = dlopen("libpeerpin-ucm.so.1", RTLD_NOW);

	need(lib, "dlopen");
	open_context();
	open_registration(map(NULL), SIZE);
	need(!dlclose(lib), "dlclose");
	printf("%d stale after dlclose\n", is_stale(map(NULL), 1000));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{ "host", host }, { "hits", hits }, { "gpu", gpu }, { "forks", forks }, { "exits", exits },
		{ "execs", execs }, { "closes", closes }, { "reg", reg }, { "iova", iova },
		{ "iova2", iova2 }, { "rereg", rereg }, { "doctor", doctor }, { "version", version },
	};
	size_t i;

	count = argc > 2 ? atol(argv[2]) : 10;
	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	fputs("usage: ucm_client host|hits|gpu|forks|exits|execs|closes|reg|iova|iova2|rereg|doctor|version [COUNT]\n", stderr);
	return 2;
}
