// SPDX-License-Identifier: MIT
/*
 * How long peerpin keeps other threads and interrupts waiting while many regions, attachments or watches end: the
 * longest sections with interrupts off and with preemption off, by the kernel's tracers, and the longest time for which
 * each spinlock was held, by lock_stat. Only the debug kernel has these. It checks each memory access and each lock,
 * so it executes several times as many instructions. In a VM with --icount an instruction takes 1 ns, however busy the
 * host is. A real processor takes less.
 */
#include <sys/resource.h>
#include "job.h"
#include "lock_stat.h"
#include "tracer.h"
#include "test/kmod/dmabuf_check.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"
#include "test/vm/harness/module.h"

/* As in bench/scale.c: no DMA goes to the regions of null_make() */
#define BASE "base=0x80000000"

/* A scan of 2,000 entries takes 0.5 ms more than a scan of 200, at 280 instructions of the debug kernel each. */
#define LONGEST_NS 1000000
#define MORE_NS 500000

/* The same for the mean hold of a lock that is taken up to 20 times for each region, in one of which is the scan */
#define MEAN_MORE_NS 15000

enum {
	FEW = 200,
	MANY = 2000,
	DEVICES = 7,	/* DMA-API debugging warns of the 8th mapping of a cache line */
	EXPORTS = 500,	/* of a region, each with an importer; the core permits 1,024 of both together */
	ROUNDS = 6,
};

/* ---- what ends ------------------------------------------------------------------------------ */

/* Unbinds the GPU's driver, which revokes persistent pins. */
static struct hotplug gpu;

static void gpu_find(void)
{
	struct emugpu_info info;
	int fd = emu_open();

	bench_need(fd >= 0 && !emu_info(fd, 0, &info), "/dev/emugpu", errno);
	gpu = hotplug_gpu(&info);
	close(fd);
}

static void gpu_unbind(uint64_t addr, unsigned int count)
{
	int ret = hotplug_unbind("emugpu", &gpu);

	(void)addr;
	(void)count;
	bench_need(!ret, "unbind", ret);
}

static const struct kind persistent_kind = {
	"persistent GPU memory", PEERPIN_PROVIDER_NV, GPU_PAGE, gpu_make, gpu_unbind, PEERPIN_PIN_PERSISTENT,
};

static void run_job(const struct kind *kind, unsigned int count, unsigned int devices, int how)
{
	struct job job = { .kind = kind, .count = count / (devices ?: 1), .devices = devices };

	job.how = how;
	job_in_process(&job);
}

static void null_exit(unsigned int count)
{
	run_job(&null_kind, count, 0, EXIT);
}

static void host_exit(unsigned int count)
{
	run_job(&host_kind, count, 0, EXIT);
}

static void host_munmap(unsigned int count)
{
	run_job(&host_kind, count, 0, REVOKE);
}

static void gpu_exit(unsigned int count)
{
	run_job(&gpu_kind, count, 0, EXIT);
}

static void gpu_free(unsigned int count)
{
	run_job(&gpu_kind, count, 0, REVOKE);
}

static void attached_exit(unsigned int count)
{
	run_job(&null_kind, count, 1, EXIT);
}

static void attached_unregister(unsigned int count)
{
	run_job(&null_kind, count, 1, UNREGISTER);
}

static void devices_exit(unsigned int count)
{
	run_job(&null_kind, count, DEVICES, EXIT);
}

static void devices_unregister(unsigned int count)
{
	run_job(&null_kind, count, DEVICES, UNREGISTER);
}

static void gpu_unplug(unsigned int count)
{
	int ret;

	run_job(&persistent_kind, count, 0, REVOKE);
	ret = hotplug_bind("emugpu", &gpu);
	bench_need(!ret, "bind", ret);
}

/* A process that watches @count pages, and unmaps them or exits */
static void watches_run(unsigned int count, bool unmap)
{
	char *memory = (char *)(uintptr_t)host_make(count);
	int fd = pin_open();

	for (unsigned int i = 0; i < count; i++) {
		struct peerpin_watch c = {
			.size = sizeof(c), .addr = (uintptr_t)memory + (uint64_t)i * PAGE, .length = PAGE,
		};

		bench_need(!ioctl(fd, PEERPIN_IOC_WATCH, &c), "PEERPIN_IOC_WATCH", errno);
	}
	if (unmap)
		host_release((uintptr_t)memory, count);
	_exit(0);
}

static void watches_in_process(unsigned int count, bool unmap)
{
	pid_t pid = fork();
	int status;

	bench_need(pid >= 0, "fork", errno);
	if (!pid)
		watches_run(count, unmap);
	bench_need(waitpid(pid, &status, 0) == pid && !status, "a process", ECHILD);
}

static void watches_munmap(unsigned int count)
{
	watches_in_process(count, true);
}

static void watches_exit(unsigned int count)
{
	watches_in_process(count, false);
}

/* ---- dma-bufs with importers ------------------------------------------------------------------ */

static int importer;

static void importer_call(unsigned long cmd, void *arg)
{
	int ret = emu_call(importer, cmd, arg);

	bench_need(!ret, "/dev/dmabuf_check", ret);
}

static void export_and_attach(int fd, uint32_t region, uint64_t offset, unsigned int slot)
{
	struct peerpin_export e = { .size = sizeof(e), .region = region, .offset = offset, .length = GPU_PAGE };
	struct dmabuf_check_attach attach = { .slot = slot, .kind = DMABUF_CHECK_DYNAMIC };

	bench_need(!ioctl(fd, PEERPIN_IOC_EXPORT, &e), "PEERPIN_IOC_EXPORT", errno);
	attach.fd = e.out_fd;
	importer_call(DMABUF_CHECK_ATTACH, &attach);
	close(e.out_fd);
}

/* The importer's driver does not end its DMA: its fence is not signalled before the deadline. */
static void map_for_long(unsigned int slot)
{
	struct dmabuf_check_slot arg = { .slot = slot };

	importer_call(DMABUF_CHECK_MAP, &arg);
	importer_call(DMABUF_CHECK_FENCE, &arg);
}

/* A process that frees memory of which @count dma-bufs have importers. @used importers exceed the deadline. */
static void importers_run(unsigned int count, unsigned int used)
{
	uint64_t memory = gpu_make(count);
	struct peerpin_pin pin;
	int fd = pin_open();

	for (unsigned int i = 0; i < count; i++) {
		unsigned int in_region = i % EXPORTS, left = count - i;

		if (!in_region) {
			int ret = pin_by(fd, memory + (uint64_t)i * GPU_PAGE, (left < EXPORTS ? left : EXPORTS) * GPU_PAGE,
					 PEERPIN_PROVIDER_NV, &pin);

			bench_need(!ret, "PEERPIN_IOC_PIN", ret);
		}
		export_and_attach(fd, pin.out_region, (uint64_t)in_region * GPU_PAGE, i);
		if (i < used)
			map_for_long(i);
	}
	gpu_release(memory, count);
	_exit(0);
}

static void importers_in_process(unsigned int count, unsigned int used)
{
	pid_t pid = fork();
	int status;

	bench_need(pid >= 0, "fork", errno);
	if (!pid)
		importers_run(count, used);
	bench_need(waitpid(pid, &status, 0) == pid && !status, "a process", ECHILD);
	for (unsigned int i = 0; i < count; i++) {
		struct dmabuf_check_slot arg = { .slot = i };

		importer_call(DMABUF_CHECK_DETACH, &arg);
	}
	regions_await_end();
}

static void importers_free(unsigned int count)
{
	importers_in_process(count < DMABUF_CHECK_SLOTS ? count : DMABUF_CHECK_SLOTS, 0);
}

/* The kernel logs the names of the late importers. */
static void importers_late(unsigned int count)
{
	importers_in_process(count / 100, count / 100);
}

/* ---- measurement ----------------------------------------------------------------------------- */

/**
 * struct latency - the longest times of one operation on many regions
 * @irqs, @preemption: sections with interrupts off, with preemption off
 * @few, @many: locks while few regions end, and while many end
 */
struct latency {
	struct section irqs;
	struct section preemption;
	struct locks few;
	struct locks many;
};

static struct section section_of(const char *tracer, void (*run)(unsigned int count), unsigned int count)
{
	tracer_begin(tracer);
	run(count);
	return tracer_end();
}

static void locks_once(struct locks *l, void (*run)(unsigned int count), unsigned int count)
{
	lock_stat_begin();
	run(count);
	lock_stat_end(l);
}

/* A hold up to this meets all claims of claim_lock(), so it need not be measured again. */
static uint64_t short_hold(const struct lock *lock)
{
	return lock->interrupted ? LONGEST_NS : MORE_NS;
}

static bool locks_are_short(const struct locks *l)
{
	for (unsigned int i = 0; i < l->count; i++)
		if (l->lock[i].hold > short_hold(&l->lock[i]))
			return false;
	return true;
}

static void locks_take_least(struct locks *l, struct locks *again)
{
	for (unsigned int i = 0; i < l->count; i++) {
		const struct lock *lock = lock_find(again, l->lock[i].name);

		if (lock && lock->count && lock->hold < l->lock[i].hold)
			l->lock[i].hold = lock->hold;
	}
}

/* Measures a long hold again, because an interrupt may have come. A hold that is long by itself is long each time. */
static void locks_of(struct locks *l, void (*run)(unsigned int count), unsigned int count)
{
	static struct locks again;

	locks_once(l, run, count);
	for (unsigned int i = 1; i < ROUNDS && !locks_are_short(l); i++) {
		locks_once(&again, run, count);
		locks_take_least(l, &again);
	}
}

static void say_section(const char *what, const struct section *s)
{
	printf("  %s off: %lu us, from %s to %s\n", what, s->ns / 1000, s->start, s->end);
}

static void say_locks(const struct latency *l)
{
	for (unsigned int i = 0; i < l->many.count; i++) {
		const struct lock *many = &l->many.lock[i], *few = lock_find((struct locks *)&l->few, many->name);

		if (many->count)
			printf("  %s%s: %.1f us, among %d %.1f us; mean %.1f us, %.1f us\n", many->name,
			       many->interrupted ? " (and interrupts)" : "", many->hold / 1e3, FEW, few ? few->hold / 1e3 : 0,
			       many->mean / 1e3, few ? few->mean / 1e3 : 0);
	}
}

/*
 * While only preemption is off, an interrupt may come, and after it the kernel processes timers and RCU. All of this
 * belongs to the kernel. It is not longer than the longest of the kernel's sections.
 */
static uint64_t kernel_ns(const struct latency *l)
{
	uint64_t irqs = l->irqs.ours ? 0 : l->irqs.ns, preemption = l->preemption.ours ? 0 : l->preemption.ns;

	return irqs > preemption ? irqs : preemption;
}

static void claim_sections(const struct latency *l, const char *of)
{
	CLAIM(.what = "interrupts off", .of = of, .ours = l->irqs.ns, .most = l->irqs.ours ? LONGEST_NS : 0);
	CLAIM(.what = "preemption off", .of = of, .ours = l->preemption.ns,
	      .most = l->preemption.ours ? LONGEST_NS + kernel_ns(l) : 0);
}

/*
 * With interrupts on, @hold can include an interrupt of 0.5 ms, which alone would exceed MORE_NS. So for such a lock the
 * mean is compared: a scan of all regions for each region makes the mean longer. A single scan is not found.
 */
static void claim_lock(const struct latency *l, const char *of, const struct lock *many)
{
	const struct lock *few = lock_find((struct locks *)&l->few, many->name);
	char words[96];

	snprintf(words, sizeof(words), "longest hold of %s", many->name);
	CLAIM(.what = words, .of = of, .ours = many->hold, .most = LONGEST_NS);
	if (!many->interrupted) {
		CLAIM(.what = words, .of = of, .ours = many->hold, .beside = "among 200", .theirs = few ? few->hold : 0,
		      .more = MORE_NS);
		return;
	}
	snprintf(words, sizeof(words), "mean hold of %s", many->name);
	CLAIM(.what = words, .of = of, .ours = many->mean, .beside = "among 200", .theirs = few ? few->mean : 0,
	      .more = MEAN_MORE_NS);
}

static void measure(const char *what, void (*run)(unsigned int count))
{
	const char *regions = getenv("REGIONS");
	unsigned int count = regions ? strtoul(regions, NULL, 0) : MANY;
	static struct latency l;
	char of[96];

	locks_of(&l.few, run, FEW);
	l.irqs = section_of("irqsoff", run, count);
	l.preemption = section_of("preemptoff", run, count);
	locks_of(&l.many, run, count);
	snprintf(of, sizeof(of), "%s, %u", what, count);
	printf("%s:\n", of);
	say_section("interrupts", &l.irqs);
	say_section("preemption", &l.preemption);
	say_locks(&l);
	claim_sections(&l, of);
	for (unsigned int i = 0; i < l.many.count; i++)
		if (l.many.lock[i].count)
			claim_lock(&l, of, &l.many.lock[i]);
	fflush(stdout);
}

SETUP(the_kernel_measures_latencies)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	static struct late unwatched;
	int ret;

	if (access("/proc/lock_stat", F_OK))
		SKIP("this kernel has no lock_stat; type: KERNEL=debug test/run latency");
	ret = module_load("test/null_provider.ko", BASE);
	EXPECT(!ret, "null_provider: %s", strerror(-ret));
	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &unlimited), "RLIMIT_MEMLOCK: %s", strerror(errno));
	late = &unwatched;	/* no real-time threads here */
	peer = peer_open();
	importer = open("/dev/dmabuf_check", O_RDWR | O_CLOEXEC);
	EXPECT(importer >= 0, "/dev/dmabuf_check (insmod dmabuf_check.ko): %s", strerror(errno));
	gpu_find();
	lock_stat_open();
}

CASE(exit_without_memory)
{
	measure("exit, regions of no memory", null_exit);
}

CASE(exit_with_host_memory)
{
	measure("exit, regions of host memory", host_exit);
}

CASE(munmap_of_host_memory)
{
	measure("munmap(), regions of host memory", host_munmap);
}

CASE(exit_with_gpu_memory)
{
	measure("exit, regions of GPU memory", gpu_exit);
}

CASE(free_of_gpu_memory)
{
	measure("cuMemFree(), regions of GPU memory", gpu_free);
}

CASE(exit_with_attachments)
{
	measure("exit, attached regions", attached_exit);
}

CASE(unregistration_of_a_device)
{
	measure("unregistration of a device, attachments", attached_unregister);
}

CASE(exit_with_seven_devices)
{
	measure("exit, attachments to 7 devices", devices_exit);
}

CASE(unregistration_of_seven_devices)
{
	measure("unregistration of 7 devices, attachments", devices_unregister);
}

CASE(free_of_memory_with_importers)
{
	measure("cuMemFree(), dma-bufs with importers", importers_free);
}

/* With --icount the VM's clock skips waits, so the deadline costs no time. */
CASE(free_of_memory_with_late_importers)
{
	measure("cuMemFree(), late importers, one in 100", importers_late);
}

CASE(munmap_of_watches)
{
	measure("munmap(), watches", watches_munmap);
}

CASE(exit_with_watches)
{
	measure("exit, watches", watches_exit);
}

CASE(unbind_of_a_gpu)
{
	measure("unbind of a GPU, persistent regions", gpu_unplug);
}

SETUP(nothing_is_left)
{
	int ret = module_remove("null_provider");

	EXPECT(!ret || access("/proc/lock_stat", F_OK), "null_provider: %s", strerror(-ret));
}

VMTEST_MAIN
