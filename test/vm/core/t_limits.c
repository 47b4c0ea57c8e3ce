// SPDX-License-Identifier: MIT
/* Limits of one process and of all processes: a pin beyond a limit is refused, and all bytes are returned. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "pin.h"
#include "test/vm/harness/vmtest.h"

#define PROCESS "peerpin/parameters/max_process_bytes"
#define TOTAL "peerpin/parameters/max_total_bytes"
#define REGIONS "peerpin/parameters/max_process_regions"

enum {
	BLOCK = 2 << 20,
	PAGE = 65536,
	ROUNDS = 400,
};

static int gpu, fd, check;
static char *host;

/* ---- accounts ------------------------------------------------------------------- */

struct account {
	long long bytes, regions;
};

/* Account of process @pid; 0: account of all processes, without regions. bytes is -1 if not found. */
static struct account account_of(int pid)
{
	struct account a = { -1, -1 };
	char text[4096], line[64];
	const char *at;

	snprintf(line, sizeof(line), pid ? "\n%d " : "\nall ", pid);
	at = strstr(module_debugfs("peerpin/accounts", text, sizeof(text)), line);
	if (at)
		sscanf(at + strlen(line), "%lld %lld", &a.bytes, &a.regions);
	return a;
}

static bool have(long long bytes, long long regions)
{
	struct account mine = account_of(getpid());

	return mine.bytes == bytes && mine.regions == regions && account_of(0).bytes == bytes;
}

static bool set(const char *parameter, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	return !module_set(parameter, text);
}


/* ---- cases ---------------------------------------------------------------------- */

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	check = check_open();
	EXPECT(gpu >= 0 && fd >= 0 && check >= 0, "%d %d %d", gpu, fd, check);
	EXPECT(!emu_alloc(gpu, GPU_A, 4 * BLOCK), "alloc");
	host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(host != MAP_FAILED, "mmap");
	EXPECT(have(0, 0), "%lld %lld", account_of(getpid()).bytes, account_of(getpid()).regions);
}

/* The account counts the bytes of the region, not the requested length. */
CASE(pinned_bytes_are_counted)
{
	struct peerpin_pin a, b;

	EXPECT(!pin_at(fd, GPU_A + 1, 1, &a), "pin");
	EXPECT(have(PAGE, 1), "%lld %lld", account_of(getpid()).bytes, account_of(getpid()).regions);
	EXPECT(!pin_at(fd, (uintptr_t)host + 1, 4096, &b), "pin");
	EXPECT(have(PAGE + 8192, 2), "%lld", account_of(getpid()).bytes);
	EXPECT(!unpin(fd, a.out_region) && have(8192, 1), "%lld", account_of(getpid()).bytes);
	EXPECT(!unpin(fd, b.out_region) && have(0, 0), "%lld", account_of(getpid()).bytes);
}

static bool refused(uint64_t addr, uint64_t length, unsigned int reason, uint64_t needed, uint64_t available)
{
	struct peerpin_pin p;
	int ret = pin_by(fd, addr, length, addr == (uintptr_t)host ? PEERPIN_PROVIDER_HOST : PEERPIN_PROVIDER_NV, &p);

	if (ret == -EDQUOT && p.out_reason == reason && p.out_needed == needed && p.out_available == available)
		return true;
	printf("# %d, reason %u, needed %llu, available %llu\n", ret, p.out_reason, p.out_needed, p.out_available);
	return false;
}

CASE(process_bytes_are_limited)
{
	struct peerpin_pin a, b;

	EXPECT(set(PROCESS, BLOCK + PAGE), "parameter");
	EXPECT(!pin_at(fd, GPU_A, BLOCK, &a), "the first");
	EXPECT(refused(GPU_A + BLOCK, PAGE + 1, PEERPIN_REASON_PROCESS_BYTES, 2 * PAGE, PAGE), "GPU memory");
	EXPECT(refused((uintptr_t)host, BLOCK, PEERPIN_REASON_PROCESS_BYTES, BLOCK, PAGE), "host memory");
	EXPECT(have(BLOCK, 1), "a refusal is counted: %lld", account_of(getpid()).bytes);
	EXPECT(!pin_at(fd, GPU_A + BLOCK, PAGE, &b), "pin of exactly the rest");
	EXPECT(refused((uintptr_t)host, 1, PEERPIN_REASON_PROCESS_BYTES, 4096, 0), "one page more was pinned");
	EXPECT(!unpin(fd, b.out_region) && !pin_at(fd, (uintptr_t)host, 4096, &b), "after an unpin");
	EXPECT(!unpin(fd, a.out_region) && !unpin(fd, b.out_region) && have(0, 0), "unpin");
	EXPECT(set(PROCESS, 0), "parameter");
}

CASE(total_bytes_are_limited)
{
	struct peerpin_pin a;

	EXPECT(set(TOTAL, BLOCK), "parameter");
	EXPECT(!pin_at(fd, GPU_A, BLOCK - PAGE, &a), "the first");
	EXPECT(refused(GPU_A + BLOCK, 2 * PAGE, PEERPIN_REASON_TOTAL_BYTES, 2 * PAGE, PAGE), "the second");
	EXPECT(have(BLOCK - PAGE, 1), "a refusal is counted: %lld", account_of(getpid()).bytes);
	EXPECT(!unpin(fd, a.out_region) && have(0, 0), "unpin");
	EXPECT(set(TOTAL, 0), "parameter");
}

/* The core tries the providers. One GPU page exceeds this limit. */
CASE(limit_counts_the_providers_pages)
{
	struct peerpin_pin first, p;

	EXPECT(set(PROCESS, 8192), "parameter");
	EXPECT(!pin_at(fd, (uintptr_t)host, 8192, &first) && have(8192, 1), "pin: %d, reason %u", errno,
	       first.out_reason);
	EXPECT(pin_at(fd, (uintptr_t)host + BLOCK / 2, 1, &p) == -EDQUOT, "over the limit");
	EXPECT(p.out_needed == 4096 && p.out_available == 0, "%llu %llu", p.out_needed, p.out_available);
	EXPECT(!unpin(fd, first.out_region) && have(0, 0), "unpin");
	EXPECT(pin_at(fd, GPU_A, 1, &p) == -EDQUOT && p.out_reason == PEERPIN_REASON_PROCESS_BYTES, "GPU memory");
	EXPECT(p.out_needed == PAGE && p.out_available == 8192, "%llu %llu", p.out_needed, p.out_available);
	EXPECT(have(0, 0) && set(PROCESS, 0), "parameter");
}

CASE(process_regions_are_limited)
{
	struct peerpin_pin a, b, c;

	EXPECT(set(REGIONS, 2), "parameter");
	EXPECT(!pin_at(fd, GPU_A, 1, &a) && !pin_at(fd, GPU_A, 1, &b), "pin");
	EXPECT(refused(GPU_A, 1, PEERPIN_REASON_LIMIT, 0, 0), "the third");
	EXPECT(have(2 * PAGE, 2), "%lld", account_of(getpid()).regions);
	EXPECT(!unpin(fd, b.out_region) && !pin_at(fd, GPU_A, 1, &c), "after an unpin");
	EXPECT(!unpin(fd, a.out_region) && !unpin(fd, c.out_region) && have(0, 0), "unpin");
	EXPECT(set(REGIONS, 0), "parameter");
}

/* A limit below the pinned bytes refuses new pins and keeps the old ones. */
CASE(limit_below_usage_refuses_new_pins)
{
	struct peerpin_pin a;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &a), "pin");
	EXPECT(set(PROCESS, PAGE) && set(REGIONS, 1), "parameter");
	EXPECT(refused(GPU_A + BLOCK, 1, PEERPIN_REASON_LIMIT, 0, 0), "regions");
	EXPECT(set(REGIONS, 0), "parameter");
	EXPECT(refused(GPU_A + BLOCK, 1, PEERPIN_REASON_PROCESS_BYTES, PAGE, 0), "bytes");
	EXPECT(have(BLOCK, 1) && !unpin(fd, a.out_region) && have(0, 0), "unpin");
	EXPECT(set(PROCESS, 0), "parameter");
}

/* Try the maximum length of a region, and one byte more. */
CASE(greatest_length_is_checked)
{
	const uint64_t longest = PEERPIN_MMAP_SPAN - (1 << 20);
	struct peerpin_pin a, b;

	EXPECT(set(PROCESS, BLOCK), "parameter");
	EXPECT(!pin_at(fd, GPU_A, PAGE, &a), "pin");
	EXPECT(pin_by(fd, 0x1000, longest, PEERPIN_PROVIDER_HOST, &b) == -EDQUOT, "pinned");
	EXPECT(pin_by(fd, 0x1000, longest + 1, PEERPIN_PROVIDER_HOST, &b) == -EINVAL, "pinned");
	EXPECT(have(PAGE, 1), "%lld", account_of(getpid()).bytes);
	EXPECT(set(PROCESS, 0), "parameter");
	EXPECT(pin_by(fd, 0x1000, longest, PEERPIN_PROVIDER_HOST, &b) < 0, "pinned");
	EXPECT(have(PAGE, 1), "%lld", account_of(getpid()).bytes);
	EXPECT(!unpin(fd, a.out_region) && have(0, 0), "unpin");
}

CASE(limit_spans_files_of_a_process)
{
	struct peerpin_pin a, b;
	int other = pin_open();

	EXPECT(other >= 0 && set(PROCESS, BLOCK), "parameter");
	EXPECT(!pin_at(other, GPU_A, BLOCK, &a), "pin");
	EXPECT(refused(GPU_A + BLOCK, 1, PEERPIN_REASON_PROCESS_BYTES, PAGE, 0), "through the other file");
	EXPECT(have(BLOCK, 1), "%lld", account_of(getpid()).bytes);
	close(other);
	EXPECT(have(0, 0), "after the close: %lld", account_of(getpid()).bytes);
	EXPECT(!pin_at(fd, GPU_A, BLOCK, &b) && !unpin(fd, b.out_region), "again");
	EXPECT(set(PROCESS, 0), "parameter");
}

CASE(pins_of_a_driver_are_counted)
{
	struct peer_check c = { .offset = GPU_A, .length = BLOCK };

	EXPECT(set(PROCESS, BLOCK), "parameter");
	EXPECT(!check_call(check, PEER_CHECK_PIN, &c), "pin %d", errno);
	EXPECT(have(BLOCK, 1), "%lld", account_of(getpid()).bytes);
	EXPECT(refused(GPU_A + BLOCK, 1, PEERPIN_REASON_PROCESS_BYTES, PAGE, 0), "through a file");
	EXPECT(!check_call(check, PEER_CHECK_UNPIN, &c) && have(0, 0), "unpin");
	EXPECT(set(PROCESS, PAGE), "parameter");
	EXPECT(check_call(check, PEER_CHECK_PIN, &c) == -EDQUOT, "errno %d", errno);
	EXPECT(c.out_count == PEERPIN_REASON_PROCESS_BYTES, "reason %u", c.out_count);
	EXPECT(have(0, 0) && set(PROCESS, 0), "parameter");
}

CASE(revoked_memory_is_not_counted)
{
	struct peerpin_pin a, b;
	char *gone = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	EXPECT(gone != MAP_FAILED, "mmap");
	madvise(gone, BLOCK, MADV_NOHUGEPAGE);	/* a collapse to a huge page would revoke the pin, too */
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &a), "pin");
	EXPECT(!pin_at(fd, (uintptr_t)gone, BLOCK, &b), "pin: reason %u", b.out_reason);
	EXPECT(have(2 * BLOCK, 2), "%lld", account_of(getpid()).bytes);
	EXPECT(!emu_free(gpu, GPU_B) && have(BLOCK, 1), "after the free: %lld", account_of(getpid()).bytes);
	munmap(gone, BLOCK);
	for (i = 0; i < 300 && !have(0, 0); i++)
		usleep(10000);
	EXPECT(have(0, 0), "after munmap: %lld", account_of(getpid()).bytes);
	EXPECT(!unpin(fd, a.out_region) && !unpin(fd, b.out_region) && have(0, 0), "unpin: %lld",
	       account_of(getpid()).bytes);
}

CASE(failed_pins_are_not_counted)
{
	struct peerpin_pin p;

	EXPECT(pin_by(fd, 0x700000000000, BLOCK, PEERPIN_PROVIDER_HOST, &p) == -EINVAL && have(0, 0), "host");
	EXPECT(pin_by(fd, (uintptr_t)host, BLOCK, PEERPIN_PROVIDER_NV, &p) == -EINVAL && have(0, 0), "GPU");
	EXPECT(pin_by(fd, GPU_A, BLOCK, PEERPIN_PROVIDER_TEGRA, &p) == -EOPNOTSUPP && have(0, 0), "no provider");
	EXPECT(!emu_fail(gpu, 1, -EIO) && pin_at(fd, GPU_A, BLOCK, &p) == -EIO && have(0, 0), "the GPU driver fails");
	EXPECT(!emu_fail(gpu, 1, -ENOMEM) && pin_at(fd, GPU_A, BLOCK, &p) == -ENOMEM && have(0, 0), "BAR1");
	EXPECT(p.out_reason == PEERPIN_REASON_NO_BAR1 && p.out_needed == BLOCK && p.out_available == 0,
	       "%u %llu %llu", p.out_reason, p.out_needed, p.out_available);
}

/* ---- other processes ------------------------------------------------------------ */

static int hold_and_wait(void)
{
	int mine = pin_open(), own = emu_open();
	struct peerpin_pin p;

	if (emu_alloc(own, GPU_B, BLOCK) || pin_at(mine, GPU_B, BLOCK, &p))
		return 1;
	raise(SIGSTOP);
	return 0;
}

CASE(kill_returns_all_bytes)
{
	struct peerpin_pin p;
	int status, i;
	pid_t pid = fork();

	if (!pid)
		_exit(hold_and_wait());
	EXPECT(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "status %x", status);
	EXPECT(account_of(pid).bytes == BLOCK && account_of(pid).regions == 1, "%lld", account_of(pid).bytes);
	EXPECT(account_of(getpid()).bytes == 0, "the child's bytes count for the parent");
	EXPECT(set(TOTAL, BLOCK), "parameter");
	EXPECT(refused(GPU_A, 1, PEERPIN_REASON_TOTAL_BYTES, PAGE, 0), "pin beyond max_total_bytes");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (i = 0; i < 300 && account_of(0).bytes; i++)
		usleep(10000);
	EXPECT(account_of(0).bytes == 0 && account_of(pid).bytes == -1, "%lld %lld", account_of(0).bytes,
	       account_of(pid).bytes);
	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p) && !unpin(fd, p.out_region), "pin");
	EXPECT(set(TOTAL, 0), "parameter");
}

/**
 * struct racers - shared by both processes
 * @begun: number of processes that have begun
 * @pinned: number of current pins
 * @refused: number of refused pins
 */
struct racers {
	_Atomic int begun, pinned, refused;
};

/*
 * Pin once. A refusal must be TOTAL_BYTES. Both processes must never hold a pin at once. Returns 0
 * or a step number.
 */
static int race_once(int mine, struct racers *all, int *got)
{
	struct peerpin_pin p;
	int ret = pin_at(mine, (uintptr_t)host, BLOCK, &p);

	if (ret == -EDQUOT && p.out_reason == PEERPIN_REASON_TOTAL_BYTES) {
		all->refused++;
		return 0;
	}
	if (ret)
		return 1;
	(*got)++;
	if (++all->pinned > 1)
		return 2;
	sched_yield();
	--all->pinned;
	return unpin(mine, p.out_region) ? 3 : 0;
}

static int race(struct racers *all)
{
	int mine = pin_open(), i, got = 0, ret = 0;

	for (all->begun++; all->begun < 2;)
		sched_yield();
	for (i = 0; !ret && (i < ROUNDS || (i < 1000 * ROUNDS && (!got || !all->refused))); i++)
		ret = race_once(mine, all, &got);
	close(mine);
	return ret ?: got ? 0 : 4;
}

CASE(racing_processes_obey_the_limit)
{
	struct racers *all = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret, status;
	pid_t pid;

	EXPECT(set(TOTAL, 2 * BLOCK - 1), "parameter");
	pid = fork();
	if (!pid)
		_exit(race(all));
	ret = race(all);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0 && ret == 0, "child %x, parent %d", status, ret);
	EXPECT(all->refused, "no pin was ever refused");
	EXPECT(have(0, 0) && set(TOTAL, 0), "%lld", account_of(0).bytes);
}

CASE(nothing_is_left)
{
	EXPECT(have(0, 0), "%lld", account_of(getpid()).bytes);
	close(fd);
	EXPECT(account_of(getpid()).bytes == -1 && account_of(0).bytes == 0, "an account is left");
	close(check);
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

VMTEST_MAIN
