// SPDX-License-Identifier: MIT
/*
 * Processes that are stopped in the middle of a call: by userfaultfd while the kernel writes the outputs, by a
 * debugger, by a control group, by seccomp. Other calls go on, and nothing is left. Also calls in the form of a
 * 32-bit program.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "core.h"
#include "test/vm/harness/forbid.h"
#include "test/vm/harness/group.h"
#include "watch.h"

enum {
	DEVICE = 0,
	DRAIN_MS = 600,
	SOON_MS = DRAIN_MS / 3,		/* after this time, the call has begun to wait for DMA */
};

static char *host;
static uint32_t *region;	/* shared with children */

SETUP(everything_is_there)
{
	EXPECT_CORE();
	host = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	region = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(host != MAP_FAILED && region != MAP_FAILED && !core_register(DEVICE), "%s", strerror(errno));
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "600"), "drain_timeout_ms");
	EXPECT_CLEAN();
}

static void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/* ---- outputs that the kernel cannot write yet ----------------------------------------------- */

static int uffd;
static char *guarded;	/* a write to this page waits, from guard(UFFDIO_WRITEPROTECT_MODE_WP) until guard(0) */

static bool guard(unsigned int mode)
{
	struct uffdio_writeprotect c = { .range = { (uintptr_t)guarded, PAGE }, .mode = mode };

	return !ioctl(uffd, UFFDIO_WRITEPROTECT, &c);
}

/* False: this kernel cannot write-protect by userfaultfd. */
static bool guarded_page(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_WP };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	guarded = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	range.range.start = (uintptr_t)guarded;
	range.range.len = PAGE;
	return uffd >= 0 && guarded != MAP_FAILED && !ioctl(uffd, UFFDIO_API, &api) &&
	       !ioctl(uffd, UFFDIO_REGISTER, &range);
}

/* Wait until a thread writes to the guarded page. */
static bool guard_is_hit(void)
{
	struct uffd_msg message;

	return read(uffd, &message, sizeof(message)) == sizeof(message) && message.event == UFFD_EVENT_PAGEFAULT;
}

static void guarded_end(void)
{
	munmap(guarded, PAGE);
	close(uffd);
}

/* A call whose struct lies in the guarded page */
struct call {
	int fd;
	unsigned long cmd;
	int ret;
};

static void *call_run(void *arg)
{
	struct call *c = arg;

	c->ret = ioctl(c->fd, c->cmd, guarded) ? -errno : 0;
	return NULL;
}

CASE(output_that_waits_delays_no_free)
{
	struct call c = { .fd = pin_open(), .cmd = PEERPIN_IOC_PIN };
	struct peerpin_query q;
	struct peerpin_pin *p;
	pthread_t thread;
	uint64_t start;

	if (!guarded_page())
		SKIP("this kernel has no write protection by userfaultfd");
	p = (struct peerpin_pin *)guarded;
	*p = (struct peerpin_pin){ .size = sizeof(*p), .addr = GPU_A, .length = BLOCK };
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && guard(UFFDIO_WRITEPROTECT_MODE_WP), "guard: %s", strerror(errno));
	EXPECT(!pthread_create(&thread, NULL, call_run, &c) && guard_is_hit(), "no fault");
	start = now_ns();
	EXPECT(unpin(c.fd, 0) == -ENOENT && query(c.fd, 0, &q) == -ENOENT, "a region without a number is found");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(now_ns() - start < DRAIN_MS * 1000000ull, "the free took %lu ms", (now_ns() - start) / 1000000);
	EXPECT(guard(0) && !pthread_join(thread, NULL) && !c.ret, "pin: %d", c.ret);
	EXPECT(!query(c.fd, p->out_region, &q) && q.out_state == PEERPIN_STATE_REVOKED, "state %u", q.out_state);
	EXPECT(!unpin(c.fd, p->out_region), "unpin");
	close(c.fd);
	guarded_end();
	EXPECT_CLEAN();
}

/* SIGKILL ends the process while the call of another thread waits to write its outputs. */
static int die_in_output(struct call c)
{
	pthread_t thread;

	if (!guard(UFFDIO_WRITEPROTECT_MODE_WP) || pthread_create(&thread, NULL, call_run, &c) || !guard_is_hit())
		return 2;
	close(c.fd);
	return raise(SIGKILL);
}

static int die_in_pin(void)
{
	int g = emu_open();

	if (!guarded_page() || emu_alloc(g, GPU_B, BLOCK))
		return 1;
	*(struct peerpin_pin *)guarded = (struct peerpin_pin){
		.size = sizeof(struct peerpin_pin), .addr = GPU_B, .length = BLOCK, .flags = PEERPIN_PIN_PERSISTENT,
	};
	return die_in_output((struct call){ .fd = pin_open(), .cmd = PEERPIN_IOC_PIN });
}

static int die_in_export(void)
{
	int file = pin_open();
	struct peerpin_pin p;

	if (!guarded_page() || pin_at(file, (uintptr_t)host, PAGE, &p))
		return 1;
	*(struct peerpin_export *)guarded = (struct peerpin_export){
		.size = sizeof(struct peerpin_export), .region = p.out_region, .length = PAGE,
	};
	return die_in_output((struct call){ .fd = file, .cmd = PEERPIN_IOC_EXPORT });
}

/* The kernel ends the watch while the call of the watch waits. */
static int die_in_watch(void)
{
	if (!guarded_page())
		return 1;
	*(struct peerpin_watch *)guarded = (struct peerpin_watch){
		.size = sizeof(struct peerpin_watch), .addr = (uintptr_t)host, .length = PAGE,
	};
	return die_in_output((struct call){ .fd = pin_open(), .cmd = PEERPIN_IOC_WATCH });
}

CASE(kill_before_output_leaves_nothing)
{
	if (!guarded_page())
		SKIP("this kernel has no write protection by userfaultfd");
	guarded_end();
	EXPECT(emu_in_child(die_in_pin) == -1, "pin");
	EXPECT_CLEAN();
	EXPECT(emu_in_child(die_in_export) == -1, "export");
	EXPECT_CLEAN();
	EXPECT(emu_in_child(die_in_watch) == -1, "watch");
	EXPECT_CLEAN();
}

/* ---- an unpin that waits for DMA -------------------------------------------------------------- */

/* @core is the parent's, so its DMA outlives the process. */
static int begin_and_unpin(void)
{
	int file = pin_open();
	struct peerpin_pin p;

	if (pin_at(file, (uintptr_t)host, PAGE, &p) || core_get(core, file, p.out_region) ||
	    core_do(core, CORE_CHECK_ATTACH, DEVICE) || core_begin(core, DEVICE, 0, 0, PAGE))
		return 1;
	*region = 1;
	return unpin(file, p.out_region) ? 2 : 0;
}

static pid_t start_unpin(int (*fn)(void))
{
	pid_t pid;

	*region = 0;
	pid = fork();
	if (!pid)
		_exit(fn());
	while (!__atomic_load_n(region, __ATOMIC_ACQUIRE) && !waitpid(pid, NULL, WNOHANG))
		usleep(1000);
	sleep_ms(SOON_MS);
	return pid;
}

static void end_dma(void)
{
	EXPECT(core_stale(core, 0) == 1, "the region is live");
	EXPECT(!core_end(core, 0) && !core_do(core, CORE_CHECK_DETACH, DEVICE) &&
	       !core_do(core, CORE_CHECK_PUT, 0), "end");
	EXPECT_CLEAN();
}

/* A debugger stops the process: the call returns as if there were no debugger. */
CASE(traced_unpin_returns_once)
{
	pid_t pid = start_unpin(begin_and_unpin);
	int status;

	EXPECT(!ptrace(PTRACE_SEIZE, pid, NULL, NULL), "%s", strerror(errno));
	EXPECT(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), "%s", strerror(errno));
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "%#x", status);
	EXPECT(!ptrace(PTRACE_CONT, pid, NULL, 0), "%s", strerror(errno));
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "the process has the status %#x", status);
	end_dma();
}

/* The debugger exits, and the kernel kills the traced process with it. */
static int debug_and_exit(void)
{
	pid_t pid = start_unpin(begin_and_unpin);

	return ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL) ? 1 : 0;
}

CASE(exit_of_debugger_leaves_nothing)
{
	EXPECT(emu_in_child(debug_and_exit) == 0, "debugger");
	sleep_ms(DRAIN_MS);
	end_dma();
}

static int join_and_unpin(void)
{
	return group_join() ? begin_and_unpin() : 3;
}

/* As docker pause, and as CRIU before a dump */
CASE(frozen_unpin_returns_once)
{
	int status;
	pid_t pid;

	EXPECT(group_make(), "a control group: %s", strerror(errno));
	pid = start_unpin(join_and_unpin);
	EXPECT(group_freeze() && !waitpid(pid, &status, WNOHANG), "the group is not frozen");
	end_dma();
	CHECK_CASE();
	EXPECT(group_thaw(), "%s", strerror(errno));
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "the process has the status %#x", status);
	EXPECT(group_end(), "the control group: %s", strerror(errno));
}

/* A thread calls what seccomp forbids, while another thread unpins. */
static void *break_the_rules(void *arg)
{
	while (!__atomic_load_n(region, __ATOMIC_ACQUIRE))
		usleep(1000);
	sleep_ms(SOON_MS);
	forbidden_call();
	return arg;
}

static int unpin_and_break_the_rules(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, break_the_rules, NULL) ? 3 : begin_and_unpin();
}

CASE(seccomp_kill_leaves_nothing)
{
	pid_t pid = start_unpin(unpin_and_break_the_rules);
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%#x", status);
	end_dma();
}

/* ---- calls of a 32-bit program ---------------------------------------------------------------- */

#ifdef __x86_64__
/* @arg must lie below 4 GiB */
static int ioctl_32(int file, unsigned int cmd, void *arg)
{
	long ret;

	asm volatile("int $0x80" : "=a"(ret) : "a"(54L), "b"((long)file), "c"((long)cmd), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static bool kernel_has_32_bit_calls(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		long ret = 20;	/* getpid */

		asm volatile("int $0x80" : "+a"(ret) : : "memory", "r8", "r9", "r10", "r11");
		_exit(ret != getpid());
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

CASE(calls_of_32_bit_programs)
{
	char *low = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct peerpin_export *e = (struct peerpin_export *)(low + 512);
	struct peerpin_watch *w = (struct peerpin_watch *)(low + 1024);
	struct peerpin_query *q = (struct peerpin_query *)(low + 256);
	struct peerpin_unpin *u = (struct peerpin_unpin *)(low + 128);
	struct peerpin_pin *p = (struct peerpin_pin *)low;
	int file = pin_open();

	if (!kernel_has_32_bit_calls())
		SKIP("this kernel has no calls of 32-bit programs");
	EXPECT(low != MAP_FAILED, "mmap");
	*p = (struct peerpin_pin){ .size = sizeof(*p), .addr = (uintptr_t)low + PAGE, .length = PAGE };
	EXPECT(!ioctl_32(file, PEERPIN_IOC_PIN, p) && p->out_length == PAGE, "pin: %llu bytes", p->out_length);
	*q = (struct peerpin_query){ .size = sizeof(*q), .region = p->out_region };
	EXPECT(!ioctl_32(file, PEERPIN_IOC_QUERY, q) && q->out_addr == p->addr, "query: %#llx", q->out_addr);
	*e = (struct peerpin_export){ .size = sizeof(*e), .region = p->out_region, .length = PAGE };
	EXPECT(!ioctl_32(file, PEERPIN_IOC_EXPORT, e) && !close(e->out_fd), "export");
	*w = (struct peerpin_watch){ .size = sizeof(*w), .addr = p->addr, .length = PAGE };
	EXPECT(!ioctl_32(file, PEERPIN_IOC_WATCH, w), "watch");
	*u = (struct peerpin_unpin){ .size = sizeof(*u), .region = p->out_region };
	EXPECT(!ioctl_32(file, PEERPIN_IOC_UNPIN, u) && ioctl_32(file, PEERPIN_IOC_UNPIN, u) == -ENOENT, "unpin");
	munmap(low, 2 * PAGE);
	close(file);
	EXPECT_CLEAN();
}
#endif

CASE(nothing_is_left)
{
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "drain_timeout_ms");
	EXPECT(!core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
}

VMTEST_MAIN
