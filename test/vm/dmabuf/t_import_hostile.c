// SPDX-License-Identifier: MIT
/* Processes that import dma-bufs in unusual ways: by 32-bit calls, with changing descriptors, traced, as two users. */
#include "import.h"
#include "test/vm/security/user.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum {
	SWAP_ROUNDS = 2000,
	TRACE_ROUNDS = 400,
};

/* ---- 32-bit calls ------------------------------------------------------------------------ */

/* The call of a 32-bit program; its pointers have 32 bits. Returns the result or -errno. */
static int call_32(unsigned int number, unsigned int a, unsigned int b, const void *c)
{
#ifdef __x86_64__
	int ret = (int)number;

	__asm__ volatile ("int $0x80" : "+a" (ret) : "b" (a), "c" (b), "d" ((unsigned int)(uintptr_t)c)
			  : "memory", "r8", "r9", "r10", "r11");
	return ret;
#else
	(void)number, (void)a, (void)b, (void)c;
	return -ENOSYS;
#endif
}

static bool has_32_bit_calls(void)
{
	enum { GETPID = 20 };
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(call_32(GETPID, 0, 0, NULL) != getpid());
	return waitpid(pid, &status, 0) == pid && !status;
}

static bool calls_32;

SETUP(everything_is_there)
{
	EXPECT_NODES();
	calls_32 = has_32_bit_calls();	/* forks, and so could revoke host memory in huge pages */
	EXPECT(!set_dynamic(true), "dmabuf_dynamic");
	EXPECT(!host_make(&host, SIZE), "host memory");
	EXPECT_ALL_GONE();
}

static int ioctl_32(int file, unsigned int cmd, const void *arg)
{
	enum { IOCTL = 54 };

	return call_32(IOCTL, file, cmd, arg);
}

/* A page whose address has 32 bits */
static void *low_page(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

CASE(calls_of_32_bits_import)
{
	void *low = low_page();
	struct peerpin_pin *pin = low;
	struct peerpin_query *q = low;
	struct peerpin_lsi_copy *c = low;
	struct peerpin_unpin *u = low;
	uint32_t region;
	int dmabuf, err;

	if (!calls_32)
		SKIP("the kernel has no 32-bit system calls");
	dmabuf = new_dmabuf(SIZE);
	EXPECT(dmabuf >= 0 && low, "export: %d", dmabuf);
	EXPECT(!emu_fill(gpu, GPU_A, 1, 0x3c, SIZE), "fill");
	*pin = (struct peerpin_pin){ .size = sizeof(*pin), .length = SIZE, .provider = PEERPIN_PROVIDER_DMABUF, .fd = dmabuf };
	EXPECT(!ioctl_32(fd, PEERPIN_IOC_PIN, pin), "pin: reason %u", pin->out_reason);
	EXPECT(pin->out_length == SIZE && pin->out_provider == PEERPIN_PROVIDER_DMABUF, "%llu bytes", pin->out_length);
	region = pin->out_region;
	*c = (struct peerpin_lsi_copy){
		.size = sizeof(*c), .dst = { .fd = fd, .region = host.pin.out_region },
		.src = { .fd = fd, .region = region, .offset = SIZE - PAGE }, .length = PAGE,
	};
	err = ioctl_32(lsi, PEERPIN_LSI_IOC_COPY, c);
	EXPECT(!err, "copy: %d", err);
	EXPECT(host.at[0] == 0x3c && !memcmp(host.at, host.at + 1, PAGE - 1) && c->out_ns, "%#x", host.at[0]);
	*q = (struct peerpin_query){ .size = sizeof(*q), .region = region };
	EXPECT(!ioctl_32(fd, PEERPIN_IOC_QUERY, q) && q->out_attached == 1, "%u devices", q->out_attached);
	*u = (struct peerpin_unpin){ .size = sizeof(*u), .region = region };
	EXPECT(!ioctl_32(fd, PEERPIN_IOC_UNPIN, u) && ioctl_32(fd, PEERPIN_IOC_UNPIN, u) == -ENOENT, "unpin");
	/* the struct would end beyond the addresses of 32 bits */
	EXPECT(ioctl_32(fd, PEERPIN_IOC_UNPIN, (void *)0xfffffffcul) == -EFAULT, "a pointer to no memory");
	munmap(low, PAGE);
	close(dmabuf);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

/* ---- a descriptor that changes ------------------------------------------------------------- */

static atomic_bool over;
static int changing;

/* Makes @changing the dma-buf, then another file, then no file, again and again. */
static void *change(void *dmabuf)
{
	while (!atomic_load(&over)) {
		dup2(*(int *)dmabuf, changing);
		usleep(100);
		dup2(gpu, changing);
		close(changing);
	}
	return NULL;
}

CASE(descriptor_changes_during_pin)
{
	int dmabuf = new_dmabuf(SIZE), i, err, pinned = 0, refused = 0;
	struct peerpin_pin pin;
	pthread_t thread;

	EXPECT(dmabuf >= 0, "export: %d", dmabuf);
	changing = fcntl(dmabuf, F_DUPFD_CLOEXEC, 500);
	EXPECT(changing >= 0 && !pthread_create(&thread, NULL, change, &dmabuf), "thread");
	for (i = 0; i < vmtest_rounds(SWAP_ROUNDS) || !pinned || !refused; i++) {
		err = pin_dmabuf(changing, 0, SIZE, &pin);
		pinned += !err;
		refused += err == -EBADF;
		if ((err && err != -EBADF) || (!err && (copy_out(&pin, 0, PAGE) || unpin(fd, pin.out_region))))
			break;
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	printf("# %d pins, %d refusals\n", pinned, refused);
	EXPECT(i >= vmtest_rounds(SWAP_ROUNDS) && pinned && refused, "round %d: %d", i, err);
	close(changing);
	close(dmabuf);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

/* ---- a traced process ------------------------------------------------------------------------ */

static atomic_int *shared;

static bool begin_anew(int *dmabuf)
{
	gpu = emu_open();
	fd = pin_open();
	*dmabuf = new_dmabuf(SIZE);
	return *dmabuf >= 0 && !host_make(&host, SIZE);
}

/* Returns the first error but -EINTR. */
static int import_once(int dmabuf)
{
	struct peerpin_pin pin;
	int err = pin_dmabuf(dmabuf, 0, SIZE, &pin), end;

	if (err)
		return err == -EINTR ? 0 : err;
	err = copy_out(&pin, 0, BLOCK);
	atomic_fetch_add(&shared[0], !err);
	atomic_fetch_add(&shared[1], err == -EINTR);
	end = unpin(fd, pin.out_region);
	return end ?: err == -EINTR ? 0 : err;
}

static void import_until_told(void)
{
	int dmabuf, err = 0;
	bool begun = begin_anew(&dmabuf);

	atomic_store(&shared[3], begun ? 1 : -1);
	if (!begun)
		_exit(1);
	while (!err && !atomic_load(&shared[2]))
		err = import_once(dmabuf);
	_exit(-err & 0xff);
}

/* Stops the process at any moment, and lets it go on. @status: of the process, if it has ended */
static bool trace(pid_t pid, int *status)
{
	int i;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return false;
	for (i = 0; i < vmtest_rounds(TRACE_ROUNDS) || shared[0] < 10; i++) {
		usleep(i * 37 % 900);
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, status, __WALL) != pid || !WIFSTOPPED(*status) ||
		    ptrace(PTRACE_CONT, pid, NULL, NULL))
			return false;
	}
	return true;
}

CASE(tracer_stops_imports_at_any_moment)
{
	bool traced;
	int status = 0;
	pid_t pid;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(shared != MAP_FAILED, "shared memory");
	pid = fork();
	if (!pid)
		import_until_told();
	/* a stop would let a call of begin_anew() end with -EINTR */
	while (!atomic_load(&shared[3]))
		usleep(1000);
	EXPECT(atomic_load(&shared[3]) == 1, "begin");
	traced = trace(pid, &status);
	atomic_store(&shared[2], 1);
	EXPECT(WIFEXITED(status) || waitpid(pid, &status, __WALL) == pid, "wait: status %#x", status);
	printf("# %d copies, %d interrupted\n", shared[0], shared[1]);
	EXPECT(traced && WIFEXITED(status) && !WEXITSTATUS(status), "status %#x after %d copies", status, shared[0]);
	EXPECT_ALL_GONE();
}

/* ---- two users --------------------------------------------------------------------------------- */

/*
 * Alice gives Mallory a dma-buf of her GPU memory and her file of /dev/peerpin, as a server does for its clients. Each
 * may pin LIMIT bytes: the dma-buf twice, and a page of host memory.
 */
enum { LIMIT = 2 * SIZE + PAGE };

static int ends[2];	/* Alice's socket and Mallory's */

static bool nodes_are_mine(void)
{
	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	return gpu >= 0 && fd >= 0 && lsi >= 0 && !host_make(&host, PAGE);
}

static bool pass(int end)
{
	return write(ends[end], "", 1) == 1;
}

static bool await(int end)
{
	char byte;

	return read(ends[end], &byte, 1) == 1;
}

static void alice(void)
{
	struct peerpin_pin first, second, third;
	int dmabuf;

	close(ends[1]);
	EXPECT(nodes_are_mine(), "nodes");
	dmabuf = new_dmabuf(SIZE);
	EXPECT(dmabuf >= 0 && !pin_dmabuf(dmabuf, 0, SIZE, &first), "pin: %d", dmabuf);
	EXPECT(!fd_send(ends[0], dmabuf) && !fd_send(ends[0], fd) && await(0), "Mallory has ended");
	EXPECT(state_of(&first) == PEERPIN_STATE_LIVE && !copy_out(&first, 0, PAGE), "state %u", state_of(&first));
	EXPECT(!pin_dmabuf(dmabuf, 0, SIZE, &second), "Alice pays for Mallory: reason %u", second.out_reason);
	EXPECT(pin_dmabuf(dmabuf, 0, SIZE, &third) == -EDQUOT && third.out_reason == PEERPIN_REASON_PROCESS_BYTES, "reason %u",
	       third.out_reason);
	EXPECT(!unpin(fd, first.out_region) && !unpin(fd, second.out_region), "unpin");
	EXPECT(pass(0) && await(0), "Mallory has ended");
	EXPECT(!emu_free(gpu, GPU_A) && soon(memory_is_gone), "Mallory keeps %lu bytes", vram_used());
	EXPECT(pass(0) && await(0), "Mallory has ended");
}

/* Alice's regions have ids below 4; id 0 is her host memory. */
static void mallory(void)
{
	struct peerpin_pin first, second, third;
	int dmabuf, hers, err;
	uint32_t i;

	close(ends[0]);
	EXPECT(nodes_are_mine(), "nodes");
	dmabuf = fd_receive(ends[1]);
	hers = fd_receive(ends[1]);
	EXPECT(!pin_dmabuf(dmabuf, 0, SIZE, &first) && !copy_out(&first, 0, PAGE), "pin: reason %u", first.out_reason);
	EXPECT(!pin_dmabuf(dmabuf, 0, SIZE, &second), "pin: reason %u", second.out_reason);
	EXPECT(pin_dmabuf(dmabuf, 0, SIZE, &third) == -EDQUOT && third.out_reason == PEERPIN_REASON_PROCESS_BYTES, "reason %u",
	       third.out_reason);
	for (i = 0; i < 4; i++) {
		err = unpin(hers, i);
		EXPECT(err == -EACCES, "unpin of Alice's region %u: %d", i, err);
	}
	EXPECT(ioctl(hers, PEERPIN_IOC_PIN, &first) && errno == EACCES, "pin by Alice's file: %s", strerror(errno));
	EXPECT(pass(1) && await(1), "Alice has ended");
	EXPECT(state_of(&first) == PEERPIN_STATE_LIVE && !copy_out(&first, 0, PAGE), "Alice's unpin ended Mallory's region");
	EXPECT(pass(1) && await(1), "Alice has ended");
	EXPECT(state_of(&first) == PEERPIN_STATE_REVOKED && copy_out(&first, 0, PAGE) == -ESTALE, "state %u",
	       state_of(&first));
	EXPECT(pass(1), "Alice has ended");
}

CASE(other_user_pins_at_own_expense)
{
	struct user *a, *m;
	char limit[16];

	snprintf(limit, sizeof(limit), "%d", LIMIT);
	EXPECT(!module_set("peerpin/parameters/max_process_bytes", limit), "max_process_bytes");
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "%s", strerror(errno));
	a = user_start(ALICE, alice);
	m = user_start(MALLORY, mallory);
	close(ends[0]);
	close(ends[1]);
	user_join(a);
	user_join(m);
	EXPECT(!module_set("peerpin/parameters/max_process_bytes", "0"), "max_process_bytes");
	EXPECT_ALL_GONE();
}

VMTEST_MAIN
