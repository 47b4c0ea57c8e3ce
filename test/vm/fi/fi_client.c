// SPDX-License-Identifier: MIT
/*
 * A program on libfabric that frees memory by raw system calls, which libfabric's own monitor does not see.
 *
 *	fi_client MODE [COUNT [RANGES [SIZE]]]
 *
 * t_fi.c runs it with and without libpeerpin-fi and reads its output.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, MAX_RANGES = 1000, ACCESS = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE };

static size_t size = 65536;	/* of each range */
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;

static void need(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "fi_client: %s: %s\n", what, fi_strerror(err < 0 ? -err : FI_EOTHER));
	exit(1);
}

static void find(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->fabric_attr->prov_name = strdup("verbs");
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	need(fi_getinfo(FI_VERSION(1, 14), "10.0.0.1", "7471", FI_SOURCE, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
}

static struct fid_domain *domain_open(void)
{
	struct fid_domain *d;

	need(fi_domain(fabric, info, &d, NULL), "fi_domain");
	return d;
}

static void open_all(void)
{
	find();
	need(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	domain = domain_open();
}

/* Registers memory, as a program does before a transfer, and ends the registration, which stays in the cache. */
static uint64_t use(struct fid_domain *d, void *at, size_t length)
{
	struct fid_mr *mr;
	uint64_t key;

	need(fi_mr_reg(d, at, length, ACCESS, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	key = fi_mr_key(mr);
	need(fi_close(&mr->fid), "fi_close");
	return key;
}

/* @at: address, or NULL: the next of this program's own. The kernel gives these to no other mapping. */
static void *map(void *at)
{
	static atomic_ullong next = 0x600000000000;

	if (!at)
		at = (void *)atomic_fetch_add(&next, 1 << 30);
	need(mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at, "mmap");
	memset(at, 1, size);
	return at;
}

static void unmap(void *at)
{
	need(syscall(SYS_munmap, at, size), "munmap");
}

static int version(void)
{
	printf("%u.%u\n", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	return 0;
}

/* ---- stale keys ------------------------------------------------------------------------------ */

static long count, ranges;

/* Returns the number of stale keys. A new registration never has the key of an old one, which still exists. */
static long rounds(struct fid_domain *d, void *at)
{
	long stale = 0, i;
	uint64_t before;

	for (i = 0; i < count; i++) {
		before = use(d, at, size);
		unmap(at);
		map(at);
		stale += use(d, at, size) == before;
	}
	return stale;
}

static int stale(void)
{
	open_all();
	printf("%ld stale of %ld\n", rounds(domain, map(NULL)), count);
	return 0;
}

static atomic_bool ending;

/* Frees and maps other memory meanwhile, registered and not. */
static void *neighbour(void *unused)
{
	void *at = map(NULL);

	while (!ending) {
		use(domain, at, size / 2);
		unmap(at);
		map(at);
	}
	return unused;
}

static void *worker(void *at)
{
	return (void *)rounds(domain, at);
}

static int threads(void)
{
	pthread_t w[THREADS], n;
	long all = 0, i;
	void *result;

	open_all();
	pthread_create(&n, NULL, neighbour, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&w[i], NULL, worker, map(NULL));
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i], &result);
		all += (long)result;
	}
	ending = true;
	pthread_join(n, NULL);
	printf("%ld stale of %ld\n", all, THREADS * count);
	return 0;
}

/*
 * Two caches with an entry of the same range. The first cache registers the new memory; then the second must not
 * find its old entry valid.
 */
static int domains(void)
{
	struct fid_domain *other;
	void *at = map(NULL);
	long stale = 0, i;
	uint64_t before;

	open_all();
	other = domain_open();
	for (i = 0; i < count; i++) {
		use(domain, at, size);
		before = use(other, at, size);
		unmap(at);
		map(at);
		use(domain, at, size);
		stale += use(other, at, size) == before;
	}
	printf("%ld stale of %ld\n", stale, count);
	return 0;
}

/* stale() for GPU memory, which peerpin_ibpeer pins. Loads CUDA by dlopen(), so that the other modes do not need it. */
static int gpu(void)
{
	enum { LENGTH = 4 << 20 };	/* its own block of GPU memory, so that its free revokes the pins */
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int (*init)(unsigned int), (*retain)(void **, int), (*make_current)(void *);
	int (*alloc)(void **, size_t), (*release)(void *);
	long same = 0, i;
	void *at, *again;
	uint64_t before;

	need(!lib, "dlopen of libcuda.so.1");
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&make_current = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&alloc = dlsym(lib, "cuMemAlloc_v2");
	*(void **)&release = dlsym(lib, "cuMemFree_v2");
	need(!init || !retain || !make_current || !alloc || !release, "dlsym");
	open_all();
	need(init(0) || retain(&context, 0) || make_current(context), "CUDA context");
	for (i = 0; i < count; i++) {
		need(alloc(&at, LENGTH), "cuMemAlloc");
		before = use(domain, at, LENGTH);
		need(release(at) || alloc(&again, LENGTH), "cuMemFree, cuMemAlloc");
		need(again != at, "cuMemAlloc of the same address");
		same += use(domain, at, LENGTH) == before;
		need(release(at), "cuMemFree");
	}
	printf("%ld stale of %ld\n", same, count);
	return 0;
}

/* Are unchanged ranges hits? Misses would be correct, but no cache. */
static int hits(void)
{
	void *at = map(NULL);
	long same = 0, i;
	uint64_t first;

	open_all();
	first = use(domain, at, size);
	for (i = 0; i < count; i++)
		same += use(domain, at, size) == first;
	printf("%ld hits of %ld\n", same, count);
	return 0;
}

static int rate(void)
{
	struct timespec before, after;
	char *at[MAX_RANGES];
	long i;

	open_all();
	for (i = 0; i < ranges; i++) {
		at[i] = map(NULL);
		use(domain, at[i], size);
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (i = 0; i < count; i++)
		use(domain, at[i * 7 % ranges], size);
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%ld ns\n", ((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec) / count);
	return 0;
}

/* ---- memory that is not used again -------------------------------------------------------------- */

static long pinned_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

/* The thread removes registrations of freed memory; libfabric ends removed registrations at the next miss. */
static int released(void)
{
	void *at = map(NULL), *small = map(NULL);
	long before, with;
	int i;

	open_all();
	before = pinned_kib();
	use(domain, at, size);
	with = pinned_kib();
	unmap(at);
	for (i = 0; i < 100 && pinned_kib() >= with; i++) {
		usleep(100000);
		use(domain, (char *)small + 4096 * (i % 8), 4096);
		unmap(small);
		map(small);
	}
	printf("%ld KiB with it, %s after its free\n", with - before, pinned_kib() < with ? "less" : "as many");
	return 0;
}

/* ---- ends ------------------------------------------------------------------------------------------ */

static int exits(void)
{
	struct fid_mr *mr;
	void *at = map(NULL);

	open_all();
	need(fi_mr_reg(domain, at, size, ACCESS, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	unmap(at);
	puts("exit with an open registration");
	return 0;
}

static int closes(void)
{
	void *at = map(NULL);

	open_all();
	use(domain, at, size);
	unmap(at);
	need(fi_close(&domain->fid), "fi_close of the domain");
	domain = domain_open();
	use(domain, map(at), size);
	need(fi_close(&domain->fid) ?: fi_close(&fabric->fid), "fi_close of all");
	puts("closed");
	return 0;
}

static int forks(void)
{
	void *at = map(NULL);
	uint64_t key;
	int status;
	pid_t child;

	setenv("RDMAV_FORK_SAFE", "1", 1);
	open_all();
	key = use(domain, at, size);
	child = fork();
	if (!child)
		exit(0);	/* runs the handlers of the parent's libraries */
	need(waitpid(child, &status, 0) != child || status, "the child");
	printf("the parent's registration is %s\n", use(domain, at, size) == key ? "kept" : "made again");
	return 0;
}

static int execs(void)
{
	open_all();
	use(domain, map(NULL), size);
	execl("/proc/self/exe", "fi_client", "hits", "10", NULL);
	return 1;
}

/* ---- two importers ---------------------------------------------------------------------------------- */

static int other_start(struct fid_mem_monitor *m)
{
	(void)m;
	return 0;
}

static void other_stop(struct fid_mem_monitor *m)
{
	(void)m;
}

static int other_subscribe(struct fid_mem_monitor *m, const void *addr, size_t length)
{
	(void)m, (void)addr, (void)length;
	return 0;
}

static void other_unsubscribe(struct fid_mem_monitor *m, const void *addr, size_t length)
{
	(void)m, (void)addr, (void)length;
}

static bool other_valid(struct fid_mem_monitor *m, const void *addr, size_t length)
{
	(void)m, (void)addr, (void)length;
	return true;
}

static int import_other(void)
{
	static struct fi_ops_mem_monitor ops = {
		sizeof(ops), other_start, other_stop, other_subscribe, other_unsubscribe, other_valid,
	};
	static struct fid_mem_monitor monitor = { .fid.fclass = FI_CLASS_MEM_MONITOR, .export_ops = &ops };
	struct fid *cache;
	int ret = fi_open(FI_VERSION(1, 14), "mr_cache", NULL, 0, 0, &cache, NULL);

	if (ret)
		return ret;
	ret = fi_import_fid(cache, &monitor.fid, 0);
	fi_close(cache);
	return ret;
}

/* As Open MPI: imports a monitor of its own before fi_getinfo(). */
static int imports(void)
{
	printf("own monitor: %s, ", import_other() == -FI_EBUSY ? "EBUSY" : "imported");
	open_all();
	printf("%ld stale of %ld\n", rounds(domain, map(NULL)), count);
	return 0;
}

static int (*import)(void);

/* Without preloading */
static void *load(void)
{
	void *lib = dlopen("libpeerpin-fi.so.1", RTLD_NOW);

	need(!lib, "dlopen");
	*(void **)&import = dlsym(lib, "pp_fi_import");
	return lib;
}

/* Calls pp_fi_import() after its own monitor, or twice. */
static int calls(void)
{
	void *lib = load();

	find();
	if (count == 2)
		need(import_other(), "own monitor");
	printf("import: %s", strerror(-import()));
	printf(", again: %s, ", strerror(-import()));
	dlclose(lib);
	need(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	domain = domain_open();
	count = 100;
	printf("%ld stale of %ld\n", rounds(domain, map(NULL)), count);
	return 0;
}

static int unloads(void)
{
	void *lib = load(), *at = map(NULL);
	struct fid_mr *mr;

	need(import(), "pp_fi_import");
	open_all();
	need(fi_mr_reg(domain, at, size, ACCESS, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	need(dlclose(lib), "dlclose");
	unmap(at);
	printf("%ld stale of %ld after dlclose\n", rounds(domain, map(NULL)), count);
	need(fi_close(&mr->fid), "fi_close");
	return 0;
}

static int doctor(void)
{
	char command[128];

	open_all();
	use(domain, map(NULL), size);
	snprintf(command, sizeof(command), "peerpin doctor --process %d | grep fabric-", (int)getpid());
	return system(command);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{ "stale", stale }, { "threads", threads }, { "domains", domains }, { "gpu", gpu }, { "hits", hits },
		{ "rate", rate }, { "released", released },
		{ "exits", exits }, { "closes", closes }, { "forks", forks }, { "execs", execs }, { "imports", imports },
		{ "calls", calls }, { "unloads", unloads }, { "doctor", doctor }, { "version", version },
	};
	size_t i;

	count = argc > 2 ? atol(argv[2]) : 100;
	ranges = argc > 3 ? atol(argv[3]) : 1;
	size = argc > 4 ? strtoul(argv[4], NULL, 0) : size;
	need(ranges < 1 || ranges > MAX_RANGES, "number of ranges");
	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	fputs("usage: fi_client stale|threads|domains|gpu|hits|rate|released|exits|closes|forks|execs|imports|calls|unloads|doctor "
	      "[COUNT [RANGES [SIZE]]]\n", stderr);
	return 2;
}
