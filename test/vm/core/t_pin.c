// SPDX-License-Identifier: MIT
/* /dev/peerpin: accepted and refused calls. A refused call must leak nothing. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "test/vm/harness/emu.h"
#include "pin.h"
#include "test/vm/harness/vmtest.h"

enum { BLOCK = 2 << 20 };

static int gpu, fd;
static char *host;

static uint64_t bar1_used(void)
{
	struct emugpu_info info;

	return emu_info(gpu, 0, &info) ? UINT64_MAX : info.out_bar1_used;
}

static unsigned int pins(void)
{
	struct emugpu_test t;

	return emu_counts(gpu, &t) ? ~0u : t.counts.out_pins;
}

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	EXPECT(gpu >= 0 && fd >= 0, "gpu %d peerpin %d", gpu, fd);
	EXPECT(!emu_alloc(gpu, GPU_A, 2 * BLOCK), "alloc A");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc B");
	host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(host != MAP_FAILED, "mmap");
}

CASE(gpu_pin_rounds_to_64_KiB)
{
	struct peerpin_pin p;
	struct peerpin_query q;

	EXPECT(!pin_at(fd, GPU_A + 65536 + 7, 65536, &p), "errno %d reason %u", errno, p.out_reason);
	EXPECT(p.out_addr == GPU_A + 65536, "addr %llx", p.out_addr);
	EXPECT(p.out_length == 2 * 65536, "length %llu", p.out_length);
	EXPECT(p.out_page_size == 65536, "page %u", p.out_page_size);
	EXPECT(p.out_provider == PEERPIN_PROVIDER_NV, "provider %u", p.out_provider);
	EXPECT(!query(fd, p.out_region, &q), "query %d", errno);
	EXPECT(q.out_state == PEERPIN_STATE_LIVE && q.out_length == p.out_length && q.out_addr == p.out_addr,
	       "state %u", q.out_state);
	EXPECT(q.out_attached == 0 && q.out_extents >= 1, "attached %u extents %u", q.out_attached, q.out_extents);
	EXPECT(bar1_used() == 2 * 65536, "bar1 %lu", bar1_used());
	EXPECT(!unpin(fd, p.out_region), "unpin %d", errno);
	EXPECT(bar1_used() == 0 && pins() == 0, "bar1 %lu pins %u", bar1_used(), pins());
}

CASE(host_pin_rounds_to_4_KiB)
{
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, (uintptr_t)host + 4095, 2, &p), "errno %d reason %u", errno, p.out_reason);
	EXPECT(p.out_addr == (uintptr_t)host && p.out_length == 8192, "%llx %llu", p.out_addr, p.out_length);
	EXPECT(p.out_page_size == 4096 && p.out_provider == PEERPIN_PROVIDER_HOST, "page %u", p.out_page_size);
	EXPECT(!unpin(fd, p.out_region), "unpin %d", errno);
}

struct bad_pin {
	const char *what;
	uint64_t addr, length;
	unsigned int provider;
	int error;
	unsigned int reason;
};

CASE(pin_refuses_bad_ranges)
{
	const struct bad_pin bad[] = {
		{ "empty", GPU_A, 0, 0, -EINVAL, 0 },
		{ "overflowing", ~0ull - 4095, 8192, 0, -EINVAL, 0 },
		{ "rounding overflows", ~0ull - 65535, 65535, 0, -EINVAL, 0 },
		{ "no such provider", GPU_A, 1, 77, -EINVAL, 0 },
		{ "unmapped address", 0x700000000000, 4096, 0, -EINVAL, PEERPIN_REASON_NOT_MAPPED },
		{ "kernel address", 0xffff888000000000, 4096, 0, -EINVAL, PEERPIN_REASON_NOT_MAPPED },
		{ "null", 0, 4096, 0, -EINVAL, PEERPIN_REASON_NOT_MAPPED },
		{ "GPU range past its block", GPU_B, BLOCK + 1, 0, -EINVAL, PEERPIN_REASON_NOT_MAPPED },
		{ "host memory as GPU memory", (uintptr_t)host, 4096, PEERPIN_PROVIDER_NV, -EINVAL,
		  PEERPIN_REASON_VENDOR_REFUSED },
		{ "GPU memory as host memory", GPU_A, 4096, PEERPIN_PROVIDER_HOST, -EINVAL,
		  PEERPIN_REASON_NOT_MAPPED },
	};
	struct peerpin_pin p;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ret = pin_by(fd, bad[i].addr, bad[i].length, bad[i].provider, &p);
		EXPECT(ret == bad[i].error, "%s: %d", bad[i].what, ret);
		EXPECT(p.out_reason == bad[i].reason, "%s: reason %u", bad[i].what, p.out_reason);
	}
	EXPECT(pins() == 0 && bar1_used() == 0, "leaked %u pins", pins());
}

CASE(pin_refuses_read_only_memory)
{
	void *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct peerpin_pin p;

	EXPECT(pin_at(fd, (uintptr_t)ro, 1, &p) == -EINVAL, "pinned");
	EXPECT(p.out_reason == PEERPIN_REASON_NOT_MAPPED, "reason %u", p.out_reason);
	munmap(ro, 4096);
}

CASE(each_command_checks_its_struct)
{
	union {
		struct peerpin_pin pin;
		struct peerpin_unpin unpin;
		struct peerpin_query query;
		struct peerpin_export export;
		unsigned char bytes[256];
	} c = { 0 };
	const unsigned long cmds[] = { PEERPIN_IOC_PIN, PEERPIN_IOC_UNPIN, PEERPIN_IOC_QUERY, PEERPIN_IOC_EXPORT };
	const unsigned int sizes[] = { sizeof(c.pin), sizeof(c.unpin), sizeof(c.query), sizeof(c.export) };
	const unsigned int first_sizes[] = { 88, 8, 48, 32 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		memset(&c, 0, sizeof(c));
		EXPECT(ioctl(fd, cmds[i], &c) && errno == EINVAL, "size 0: %d", errno);
		c.pin.size = first_sizes[i] - 1;
		EXPECT(ioctl(fd, cmds[i], &c) && errno == EINVAL, "short: %d", errno);
		c.pin.size = sizes[i] + 8;
		c.bytes[sizes[i] + 3] = 1;
		EXPECT(ioctl(fd, cmds[i], &c) && errno == E2BIG, "trailing: %d", errno);
		c.pin.size = 1 << 20;
		EXPECT(ioctl(fd, cmds[i], &c) && (errno == E2BIG || errno == EFAULT), "huge: %d", errno);
		EXPECT(ioctl(fd, cmds[i], NULL) && errno == EFAULT, "NULL: %d", errno);
		EXPECT(ioctl(fd, cmds[i], -4096l) && errno == EFAULT, "bad pointer: %d", errno);
	}
	EXPECT(ioctl(fd, _IO(PEERPIN_TYPE, 0x70), &c) && errno == ENOTTY, "unknown: %d", errno);
}

CASE(larger_struct_of_future_works)
{
	struct {
		struct peerpin_pin pin;
		char future[16];
	} c = { .pin = { .size = sizeof(c), .addr = GPU_A, .length = 1 } };

	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &c), "errno %d", errno);
	EXPECT(c.pin.out_length == 65536, "length %llu", c.pin.out_length);
	EXPECT(!unpin(fd, c.pin.out_region), "unpin");
}

CASE(smaller_struct_of_past_works)
{
	struct peerpin_pin p = { .size = 88, .addr = GPU_A, .length = 1, .fd = -1, .out_available = 77 };

	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &p), "errno %d", errno);
	EXPECT(p.out_length == 65536 && p.out_available == 77, "length %llu, %llu", p.out_length, p.out_available);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(fd_needs_the_dmabuf_provider)
{
	struct peerpin_pin p = { .size = sizeof(p), .addr = GPU_A, .length = 1, .fd = fd };

	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, &p) && errno == EINVAL, "errno %d", errno);
	EXPECT(pins() == 0, "leaked");
}

CASE(unknown_flags_are_EOPNOTSUPP)
{
	struct peerpin_pin p = { .size = sizeof(p), .flags = 4, .addr = GPU_A, .length = 1 };

	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, &p) && errno == EOPNOTSUPP, "errno %d", errno);
	EXPECT(pins() == 0, "leaked");
}

CASE(persistent_pin_takes_no_tokens)
{
	struct peerpin_pin p = {
		.size = sizeof(p), .flags = PEERPIN_PIN_PERSISTENT, .provider = PEERPIN_PROVIDER_NV,
		.addr = GPU_A, .length = 1, .p2p_token = 1,
	};

	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, &p) && errno == EOPNOTSUPP, "errno %d", errno);
	EXPECT(p.out_reason == PEERPIN_REASON_NO_API, "reason %u", p.out_reason);
	EXPECT(pins() == 0, "leaked");
}

CASE(unknown_ids_are_ENOENT)
{
	struct peerpin_query q;
	struct peerpin_pin p;
	int other;

	EXPECT(unpin(fd, 0) == -ENOENT, "unpin 0");
	EXPECT(unpin(fd, PEERPIN_MAX_REGIONS) == -ENOENT, "unpin past the last");
	EXPECT(unpin(fd, ~0u) == -ENOENT, "unpin -1");
	EXPECT(query(fd, 5, &q) == -ENOENT, "query");
	EXPECT(!pin_at(fd, GPU_A, 1, &p), "pin");
	other = pin_open();
	EXPECT(unpin(other, p.out_region) == -ENOENT, "unpin of another file's region");
	close(other);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(unpin(fd, p.out_region) == -ENOENT, "twice");
}

CASE(failed_copy_out_undoes_the_pin)
{
	struct peerpin_pin *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*p = (struct peerpin_pin){ .size = sizeof(*p), .addr = GPU_A, .length = 1 };
	mprotect(p, 4096, PROT_READ);
	EXPECT(ioctl(fd, PEERPIN_IOC_PIN, p) && errno == EFAULT, "errno %d", errno);
	EXPECT(pins() == 0, "leaked %u", pins());
	munmap(p, 4096);
}

static int in_child(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(f());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static struct peerpin_pin shared_pin;

static int child_is_refused(void)
{
	struct peerpin_pin p;
	struct peerpin_query q;
	int lsi = lsi_open();
	struct end e = { fd, shared_pin.out_region, 0 };
	struct end f = { fd, shared_pin.out_region, 4096 };

	if (pin_at(fd, (uintptr_t)host, 1, &p) != -EACCES)
		return 1;
	if (unpin(fd, shared_pin.out_region) != -EACCES)
		return 2;
	if (query(fd, shared_pin.out_region, &q) != -EACCES)
		return 3;
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED || errno != EACCES)
		return 4;
	if (lsi_copy(lsi, e, f, 16) != -EACCES)
		return 5;
	return 0;
}

CASE(calls_by_another_process_are_EACCES)
{
	int step;

	EXPECT(!pin_at(fd, GPU_A, 1, &shared_pin), "pin");
	step = in_child(child_is_refused);
	EXPECT(step == 0, "step %d", step);
	EXPECT(pins() == 1, "the child ended the pin");
	EXPECT(!unpin(fd, shared_pin.out_region), "unpin");
}

static int child_pins_and_leaves_grandchild(void)
{
	int own = pin_open(), own_gpu = emu_open();
	struct peerpin_pin p;

	if (emu_alloc(own_gpu, GPU_A, BLOCK) || pin_at(own, GPU_A, 1, &p))
		return 1;
	if (!fork()) {
		usleep(300000);	/* keep both files open after the parent's exit */
		_exit(0);
	}
	return 0;
}

CASE(owners_exit_unpins_despite_child)
{
	int ret;

	ret = in_child(child_pins_and_leaves_grandchild);
	EXPECT(ret == 0, "child %d", ret);
	EXPECT(pins() == 0, "the owner's exit left %u pins", pins());
	usleep(500000);
	EXPECT(bar1_used() == 0, "bar1 %lu", bar1_used());
}

static int child_closes_last(void)
{
	usleep(200000);
	return 0;
}

CASE(close_by_child_keeps_the_pin)
{
	int other = pin_open(), status;
	struct peerpin_pin p;
	pid_t pid;

	EXPECT(!pin_at(other, GPU_B, 1, &p), "pin");
	pid = fork();
	if (!pid)
		_exit(child_closes_last());
	close(other);
	waitpid(pid, &status, 0);
	/* The GPU driver would ignore a put by the child: the pin lasts until the owner frees the memory. */
	EXPECT(pins() == 1, "pins %u", pins());
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(pins() == 0 && bar1_used() == 0, "pins %u", pins());
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc again");
}

static void *unshare_files_and_exit(void *arg)
{
	return unshare(CLONE_FILES) ? arg : NULL;
}

CASE(exit_of_thread_unpins_nothing)
{
	struct peerpin_pin p;
	struct peerpin_query q;
	pthread_t t;
	void *bad;

	EXPECT(!pin_at(fd, GPU_A, 1, &p), "pin");
	EXPECT(!pthread_create(&t, NULL, unshare_files_and_exit, &p), "thread");
	pthread_join(t, &bad);
	EXPECT(!bad, "unshare");
	usleep(50000);
	EXPECT(!query(fd, p.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE, "the region is gone");
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(close_unpins_all_regions)
{
	struct peerpin_pin p;
	int other = pin_open(), i;

	for (i = 0; i < 10; i++)
		EXPECT(!pin_at(other, GPU_A + i * 65536, 1, &p), "pin %d", i);
	EXPECT(pins() == 10, "pins %u", pins());
	close(other);
	EXPECT(pins() == 0 && bar1_used() == 0, "pins %u", pins());
}

CASE(epoch_page_is_read_only)
{
	size_t size = EPOCH_BYTES;
	int reader;
	void *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(p == MAP_FAILED && errno == EPERM, "writable: %d", errno);
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	EXPECT(p == MAP_FAILED && errno == EINVAL, "private: %d", errno);
	p = mmap(NULL, size + 4096, PROT_READ, MAP_SHARED, fd, 0);
	EXPECT(p == MAP_FAILED && errno == EINVAL, "too long: %d", errno);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, size);
	EXPECT(p == MAP_FAILED && errno == EINVAL, "behind the end: %d", errno);
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	EXPECT(p != MAP_FAILED, "errno %d", errno);
	EXPECT(mprotect(p, size, PROT_READ | PROT_WRITE) && errno == EACCES, "mprotect: %d", errno);
	munmap(p, size);
	reader = open("/dev/peerpin", O_RDONLY);
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, reader, 0);
	EXPECT(p != MAP_FAILED, "file opened for reading: %d", errno);
	munmap(p, size);
	close(reader);
}

CASE(epoch_changes_at_unpin_and_free)
{
	volatile const uint32_t *epochs = epochs_map(fd);
	struct peerpin_pin p, q;
	struct peerpin_query state;

	EXPECT(epochs, "mmap %d", errno);
	EXPECT(!pin_at(fd, GPU_A, 1, &p), "pin");
	EXPECT(epochs[p.out_slot] == p.out_epoch, "live %u", epochs[p.out_slot]);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(epochs[p.out_slot] != p.out_epoch, "unpinned");
	EXPECT(!pin_at(fd, GPU_B, 1, &q), "pin");
	EXPECT(q.out_slot != p.out_slot || q.out_epoch != p.out_epoch, "an old pair of slot and epoch was reused");
	EXPECT(epochs[q.out_slot] == q.out_epoch, "live");
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(epochs[q.out_slot] != q.out_epoch, "freed");
	EXPECT(!query(fd, q.out_region, &state), "a revoked id stays");
	EXPECT(state.out_state == PEERPIN_STATE_REVOKED && !state.out_extents, "state %u", state.out_state);
	EXPECT(!unpin(fd, q.out_region), "unpin of a revoked region");
	EXPECT(unpin(fd, q.out_region) == -ENOENT, "twice");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc again");
	munmap((void *)epochs, PEERPIN_MAX_REGIONS * sizeof(uint32_t));
}

CASE(freed_gpu_memory_cannot_be_pinned)
{
	struct peerpin_pin p;

	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(pin_at(fd, GPU_B, 1, &p) == -EINVAL, "pinned");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc again");
}

CASE(munmap_and_mremap_revoke_host_memory)
{
	volatile const uint32_t *epochs = epochs_map(fd);
	struct peerpin_pin p;
	char *m, *moved;
	int i;

	for (i = 0; i < 4; i++) {
		m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		EXPECT(!pin_at(fd, (uintptr_t)m, 65536, &p), "pin");
		EXPECT(epochs[p.out_slot] == p.out_epoch, "live");
		if (i == 0)
			munmap(m, 65536);
		if (i == 1)
			munmap(m + 4096, 4096);
		if (i == 2)
			madvise(m, 65536, MADV_DONTNEED);
		if (i == 3) {
			moved = mremap(m, 65536, 131072, MREMAP_MAYMOVE | MREMAP_FIXED, host);
			EXPECT(moved == host, "mremap %d", errno);
		}
		EXPECT(epochs[p.out_slot] != p.out_epoch, "the epoch did not change after step %d", i);
		EXPECT(!unpin(fd, p.out_region), "unpin");
	}
	munmap((void *)epochs, PEERPIN_MAX_REGIONS * sizeof(uint32_t));
}

CASE(host_memory_survives_fork_and_mprotect)
{
	volatile const uint32_t *epochs = epochs_map(fd);
	struct peerpin_pin p;
	char *m;
	pid_t pid;

	m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(!pin_at(fd, (uintptr_t)m, 65536, &p), "pin");
	pid = fork();
	if (!pid)
		_exit(0);
	m[0] = 1;
	waitpid(pid, NULL, 0);
	mprotect(m, 65536, PROT_READ);
	EXPECT(epochs[p.out_slot] == p.out_epoch, "revoked");
	EXPECT(!unpin(fd, p.out_region), "unpin");
	munmap(m, 65536);
	munmap((void *)epochs, PEERPIN_MAX_REGIONS * sizeof(uint32_t));
}

/* Reclaim of a pinned page must neither deadlock nor lose data. */
CASE(reclaim_spares_pinned_shared_memory)
{
	enum { N = 4 << 20 };
	struct peerpin_pin p;
	char *m;
	int i;

	m = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(m != MAP_FAILED, "mmap");
	for (i = 0; i < 20; i++) {
		memset(m, i, N);
		EXPECT(!pin_at(fd, (uintptr_t)m, N, &p), "pin: %u", p.out_reason);
		EXPECT(!madvise(m, N, MADV_PAGEOUT), "pageout: %s", strerror(errno));
		EXPECT(m[0] == i && m[N - 1] == i, "data lost");
		EXPECT(!unpin(fd, p.out_region), "unpin");
	}
	munmap(m, N);
}

static int child_memlock(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	char *m = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct peerpin_pin p, q;
	int own;

	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (setresuid(1000, 1000, 1000))
		return 1;
	own = pin_open();
	if (own < 0)
		return 2;
	if (pin_at(own, (uintptr_t)m, BLOCK, &p) != -ENOMEM || p.out_reason != PEERPIN_REASON_MEMLOCK)
		return 3;
	if (p.out_needed != BLOCK)
		return 4;
	if (pin_at(own, (uintptr_t)m, 1 << 20, &p))
		return 5;
	if (pin_at(own, (uintptr_t)m, 4096, &q) != -ENOMEM)
		return 6;
	if (unpin(own, p.out_region) || pin_at(own, (uintptr_t)m, 4096, &q))
		return 7;
	return 0;
}

CASE(host_pins_count_against_RLIMIT_MEMLOCK)
{
	int step = in_child(child_memlock);

	EXPECT(step == 0, "step %d", step);
}

CASE(bar1_exhaustion_is_reported)
{
	struct emugpu_info info;
	struct peerpin_pin p;
	uint64_t size, at = 0x300000000ull;

	EXPECT(!emu_info(gpu, 0, &info), "info");
	size = info.out_bar1_total - info.out_bar1_reserved;
	if (info.out_vram_free < size)
		SKIP("not enough VRAM");
	EXPECT(!emu_alloc(gpu, at, size), "alloc");
	EXPECT(!pin_at(fd, at, size, &p), "all but the reserve: %d", errno);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(!emu_free(gpu, at), "free");
	size += BLOCK;
	EXPECT(!emu_alloc(gpu, at, size), "alloc");
	EXPECT(pin_at(fd, at, size, &p) == -ENOMEM, "more than fits");
	EXPECT(p.out_reason == PEERPIN_REASON_NO_BAR1 && p.out_needed == size, "reason %u needed %llu", p.out_reason,
	       p.out_needed);
	EXPECT(!emu_free(gpu, at), "free");
	EXPECT(bar1_used() == 0, "bar1 %lu", bar1_used());
}

CASE(failing_driver_calls_leak_nothing)
{
	struct peerpin_pin p;
	int ret;

	EXPECT(!emu_fail(gpu, 1, -EIO), "fail");
	ret = pin_by(fd, GPU_A, 65536, PEERPIN_PROVIDER_NV, &p);
	EXPECT(ret == -EIO && p.out_reason == PEERPIN_REASON_VENDOR_ERROR, "%d reason %u", ret, p.out_reason);
	EXPECT(!emu_fail(gpu, 1, -524), "fail");
	ret = pin_by(fd, GPU_A, 65536, PEERPIN_PROVIDER_NV, &p);
	EXPECT(ret == -EOPNOTSUPP, "ENOTSUPP must not reach users: %d", ret);
	EXPECT(pins() == 0 && bar1_used() == 0, "leaked");
	EXPECT(!pin_at(fd, GPU_A, 65536, &p) && !unpin(fd, p.out_region), "works again");
}

CASE(region_ids_are_dense)
{
	enum { MANY = 3000 };
	struct peerpin_pin p;
	int i;

	for (i = 0; i < MANY; i++)
		EXPECT(!pin_at(fd, (uintptr_t)host + i % 512 * 4096, 1, &p), "pin %d: %d", i, errno);
	EXPECT(p.out_region == MANY - 1, "ids are dense: %u", p.out_region);
	for (i = 0; i < MANY; i++)
		EXPECT(!unpin(fd, i), "unpin %d", i);
}

CASE(nothing_is_left)
{
	struct emugpu_test t;

	EXPECT(!emu_free(gpu, GPU_A) && !emu_free(gpu, GPU_B), "free");
	EXPECT(!emu_counts(gpu, &t), "counts");
	EXPECT(!t.counts.out_pins && !t.counts.out_dma_maps && !t.counts.out_blocks, "pins %u maps %u blocks %u",
	       t.counts.out_pins, t.counts.out_dma_maps, t.counts.out_blocks);
	EXPECT(!t.counts.out_violations, "%llu violations of the rules of nv-p2p.h", t.counts.out_violations);
	EXPECT(bar1_used() == 0, "bar1 %lu", bar1_used());
	close(fd);
	close(gpu);
}

VMTEST_MAIN
