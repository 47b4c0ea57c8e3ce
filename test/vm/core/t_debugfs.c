// SPDX-License-Identifier: MIT
/*
 * /sys/kernel/debug/peerpin and fdinfo show which process has pinned which memory. /proc/driver/peerpin has the
 * counts of all processes and devices.
 */
#include <stdbool.h>
#include <sys/wait.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"
#include "pin.h"
#include "watch.h"
#include "test/vm/harness/vmtest.h"

#define LARGE (64 * MIB)

enum {
	BLOCK = 2 << 20,
	GPU_PAGE = 65536,
	MANY = 3000,
};

static int gpu, fd, lsi, check;

/** struct line - a line of the file "regions" */
struct line {
	int pid;
	char provider[16], flags[16], state[16];
	uint64_t addr, length, since_ms;
	unsigned int extents;
	char devices[256];
	char id[16];
};

static bool parse(const char *text, struct line *l)
{
	return sscanf(text, "%d %15s %15s %15s %lx %lu %lu %u %255s %15s", &l->pid, l->provider, l->flags, l->state,
		      &l->addr, &l->length, &l->since_ms, &l->extents, l->devices, l->id) == 10;
}

static FILE *regions_open(void)
{
	char head[256] = "";
	FILE *f;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	f = fopen("/sys/kernel/debug/peerpin/regions", "re");
	if (f && fgets(head, sizeof(head), f) && !strncmp(head, "pid provider flags ", 19))
		return f;
	if (f)
		fclose(f);
	return NULL;
}

/* Number of regions; -1: the file cannot be read. @found gets the last region at @addr. */
static int regions(uint64_t addr, struct line *found)
{
	FILE *f = regions_open();
	char text[512];
	struct line l;
	int n = 0;

	if (!f)
		return -1;
	*found = (struct line){ 0 };
	while (fgets(text, sizeof(text), f)) {
		if (!parse(text, &l))
			n = -1000000;
		if (l.addr == addr)
			*found = l;
		n++;
	}
	fclose(f);
	return n;
}

static int pin_persistent(uint64_t addr, uint64_t length, struct peerpin_pin *p)
{
	*p = (struct peerpin_pin){
		.size = sizeof(*p), .flags = PEERPIN_PIN_PERSISTENT, .addr = addr, .length = length,
	};
	return ioctl(fd, PEERPIN_IOC_PIN, p) ? -errno : 0;
}

SETUP(everything_is_there)
{
	struct peer_check c = { 0 };
	struct line l;

	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	check = check_open();
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0 && check >= 0, "%d %d %d %d", gpu, fd, lsi, check);
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register %d", errno);
	EXPECT(!emu_alloc(gpu, GPU_A, LARGE), "alloc");
	EXPECT(regions(0, &l) == 0, "%d regions", regions(0, &l));
}

CASE(a_region_is_a_line)
{
	struct peerpin_pin p;
	struct line l;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	usleep(30000);
	EXPECT(regions(GPU_A, &l) == 1, "%d", regions(GPU_A, &l));
	EXPECT(l.pid == getpid(), "%d", l.pid);
	EXPECT(!strcmp(l.provider, "nv") && !strcmp(l.flags, "-") && !strcmp(l.state, "live"), "%s %s %s", l.provider,
	       l.flags, l.state);
	EXPECT(l.length == BLOCK && l.since_ms >= 20 && l.since_ms < 60000, "%lu %lu", l.length, l.since_ms);
	EXPECT(l.extents == 0 && !strcmp(l.devices, "-"), "not mapped yet: %u %s", l.extents, l.devices);
	EXPECT(strtoul(l.id, NULL, 10) == p.out_region && l.id[0] != '-', "%s, not %u", l.id, p.out_region);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(regions(GPU_A, &l) == 0, "%d", regions(GPU_A, &l));
}

CASE(line_lists_the_mapped_devices)
{
	struct peer_check c = { .length = 1, .max = 1 };
	struct peerpin_pin p;
	struct line l;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	c.fd = fd;
	c.region = p.out_region;
	EXPECT(!check_call(check, PEER_CHECK_SEGMENTS, &c), "segments");
	EXPECT(!lsi_copy(lsi, (struct end){ fd, p.out_region, 0 }, (struct end){ fd, p.out_region, 65536 }, 4096),
	       "copy");
	EXPECT(regions(GPU_A, &l) == 1 && l.extents >= 1, "%u", l.extents);
	EXPECT(strchr(l.devices, ',') && !strchr(strchr(l.devices, ',') + 1, ','), "two peers: %s", l.devices);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(line_shows_flags_and_state)
{
	struct peerpin_pin a, b;
	struct line l;

	EXPECT(!pin_persistent(GPU_A, BLOCK, &a), "pin %d", errno);
	EXPECT(regions(GPU_A, &l) == 1 && !strcmp(l.flags, "persistent"), "%s", l.flags);
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &b) && !emu_free(gpu, GPU_B), "revoke");
	EXPECT(regions(GPU_B, &l) == 2 && !strcmp(l.state, "revoked") && !strcmp(l.flags, "-"), "%s %s", l.state,
	       l.flags);
	EXPECT(!unpin(fd, a.out_region) && !unpin(fd, b.out_region), "unpin");
}

/* The region is unpinned, but its pages stay until the DMA ends. Its state is "closed". */
CASE(pages_awaiting_dma_are_closed)
{
	struct peer_check c = { .length = 4096 };
	struct peerpin_pin p;
	struct line l;

	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "50"), "parameter");
	EXPECT(!pin_persistent(GPU_A, BLOCK, &p), "pin");
	c.fd = fd;
	c.region = p.out_region;
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &c), "hold");
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(regions(GPU_A, &l) == 1 && !strcmp(l.state, "closed"), "%s", l.state);
	EXPECT(!check_call(check, PEER_CHECK_END, &c), "end");
	for (int i = 0; i < 100 && regions(GPU_A, &l); i++)
		usleep(10000);
	EXPECT(regions(GPU_A, &l) == 0, "%d", regions(GPU_A, &l));
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "parameter");
}

/* ---- counts -------------------------------------------------------------------- */

/** struct account - the line of this process in the file "accounts" */
struct account {
	uint64_t bytes, regions, pins, revoked;
};

static struct account account(void)
{
	struct account a = { .pins = ~0ul };
	char text[4096], line[32];
	const char *at;

	snprintf(line, sizeof(line), "\n%d ", getpid());
	at = strstr(module_debugfs("peerpin/accounts", text, sizeof(text)), line);
	if (at)
		sscanf(at + strlen(line), "%lu %lu %lu %lu", &a.bytes, &a.regions, &a.pins, &a.revoked);
	return a;
}

CASE(pins_and_revocations_are_counted)
{
	struct account before = account(), after;
	struct peerpin_pin p;

	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &p), "pin");
	after = account();
	EXPECT(after.pins == before.pins + 1 && after.revoked == before.revoked, "%lu pins %lu revoked", after.pins,
	       after.revoked);
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(account().revoked == before.revoked + 1, "%lu revoked, before %lu", account().revoked, before.revoked);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(pin_at(fd, GPU_B, BLOCK, &p), "freed memory was pinned");
	after = account();
	EXPECT(after.pins == before.pins + 1 && after.revoked == before.revoked + 1, "%lu pins %lu revoked", after.pins,
	       after.revoked);
}

/** struct peer - a line of the file "peers" */
struct peer {
	uint64_t transfers, bytes;
	int inflight;
};

/* Sum over all peers. @inflight is -1 if there is no peer or if a line cannot be parsed. */
static struct peer peers(void)
{
	char text[4096];
	const char *line = module_debugfs("peerpin/peers", text, sizeof(text));
	struct peer p, sum = { .inflight = -1 };

	while ((line = strchr(line, '\n')) && line[1]) {
		if (sscanf(++line, "%*s %lu %lu %d", &p.transfers, &p.bytes, &p.inflight) != 3)
			return (struct peer){ .inflight = -1 };
		sum.transfers += p.transfers;
		sum.bytes += p.bytes;
		sum.inflight = (sum.inflight < 0 ? 0 : sum.inflight) + p.inflight;
	}
	return sum;
}

CASE(transfers_of_a_peer_are_counted)
{
	struct peer before = peers(), after;
	struct peerpin_pin p;
	int i;

	EXPECT(before.inflight == 0, "inflight %d", before.inflight);
	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	for (i = 0; i < 3; i++)
		EXPECT(!lsi_copy(lsi, (struct end){ fd, p.out_region, 0 }, (struct end){ fd, p.out_region, 65536 }, 5000),
		       "copy");
	after = peers();
	/* Each copy counts for source and destination. */
	EXPECT(after.transfers == before.transfers + 6 && after.bytes == before.bytes + 30000 && !after.inflight,
	       "%lu transfers, %lu bytes", after.transfers - before.transfers, after.bytes - before.bytes);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

/* ---- counts of all processes and devices ------------------------------------------- */

/* The count after @name in /proc/driver/peerpin; ~0: there is none */
static uint64_t count_of(const char *name)
{
	FILE *f = fopen("/proc/driver/peerpin", "re");
	uint64_t value, found = ~0ul;
	char line[256], word[64];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lu", word, &value) == 2 && !strcmp(word, name))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* Sum of the time-outs of all peers */
static uint64_t timeouts_of_peers(void)
{
	FILE *f = fopen("/proc/driver/peerpin", "re");
	uint64_t value, sum = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "peer %*s %*u %*u %lu", &value) == 1)
			sum += value;
	if (f)
		fclose(f);
	return sum;
}

CASE(pins_of_all_are_counted)
{
	uint64_t pins = count_of("pins"), refused = count_of("refused"), revoked = count_of("revoked");
	struct peerpin_pin p;

	EXPECT(!count_of("bytes") && !count_of("regions"), "%lu regions", count_of("regions"));
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &p), "pin");
	EXPECT(count_of("pins") == pins + 1 && count_of("regions") == 1 && count_of("bytes") == BLOCK, "%lu bytes",
	       count_of("bytes"));
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(count_of("revoked") == revoked + 1 && !count_of("bytes"), "%lu revoked", count_of("revoked"));
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(pin_at(fd, GPU_B, BLOCK, &p), "freed memory was pinned");
	EXPECT(count_of("refused") == refused + 1 && count_of("pins") == pins + 1, "%lu refused", count_of("refused"));
	EXPECT(!count_of("regions"), "%lu regions", count_of("regions"));
}

/* The driver ends its DMA after the memory was taken away. Before that the unpin of another region times out, too. */
CASE(timeouts_and_overstays_are_counted)
{
	uint64_t timeouts = count_of("timeouts"), overstays = count_of("overstays"), peer = timeouts_of_peers();
	struct peer_check c = { .length = 4096 };
	struct peerpin_pin p;

	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "50"), "parameter");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &p), "pin");
	c.fd = fd;
	c.region = p.out_region;
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &c), "hold %d", errno);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(count_of("timeouts") == timeouts + 1 && count_of("overstays") == overstays, "%lu overstays",
	       count_of("overstays"));
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(count_of("timeouts") == timeouts + 2 && count_of("overstays") == overstays + 1, "%lu time-outs",
	       count_of("timeouts"));
	EXPECT(timeouts_of_peers() == peer + 2, "%lu of the peer", timeouts_of_peers() - peer);
	EXPECT(!check_call(check, PEER_CHECK_END, &c), "end");
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "parameter");
}

CASE(watches_of_all_are_counted)
{
	uint64_t watches = count_of("watches"), changed = count_of("watches_changed");
	char *p = mmap(NULL, 3 * WATCH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct peerpin_watch a, b;

	EXPECT(!watch_at(fd, p, WATCH_PAGE, &a) && !watch_at(fd, p + 2 * WATCH_PAGE, WATCH_PAGE, &b), "watch");
	EXPECT(count_of("watches") == watches + 2 && count_of("watches_changed") == changed, "%lu watches", count_of("watches"));
	EXPECT(!munmap(p, WATCH_PAGE) && !unwatch(fd, b.out_watch), "munmap, unwatch");
	EXPECT(count_of("watches") == watches && count_of("watches_changed") == changed + 1, "%lu changed",
	       count_of("watches_changed") - changed);
	EXPECT(!unwatch(fd, a.out_watch) && count_of("watches") == watches, "%lu watches", count_of("watches"));
}

CASE(counts_outlive_the_peer)
{
	struct peer_check c = { 0 };
	uint64_t bytes = count_of("transfer_bytes"), transfers = count_of("transfers");
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	c.fd = fd;
	c.region = p.out_region;
	c.length = 4096;
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &c) && !check_call(check, PEER_CHECK_END, &c), "transfer %d", errno);
	EXPECT(count_of("transfers") == transfers + 1 && count_of("transfer_bytes") == bytes + 4096, "%lu transfers",
	       count_of("transfers") - transfers);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister %d", errno);
	EXPECT(count_of("transfers") == transfers + 1 && count_of("transfer_bytes") == bytes + 4096, "%lu transfers",
	       count_of("transfers") - transfers);
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register %d", errno);
}

/* ---- many regions -------------------------------------------------------------- */

/* True if each @step-th region of @ids, from @first on, is listed exactly once. */
static bool each_is_there(const uint32_t *ids, int first, int step)
{
	static unsigned int seen[PEERPIN_MAX_REGIONS];
	FILE *f = regions_open();
	char text[512];
	struct line l;
	bool all = f;
	int i;

	memset(seen, 0, sizeof(seen));
	while (f && fgets(text, sizeof(text), f))
		if (parse(text, &l) && strtoul(l.id, NULL, 10) < PEERPIN_MAX_REGIONS)
			seen[strtoul(l.id, NULL, 10)]++;
	if (f)
		fclose(f);
	for (i = first; i < MANY; i += step)
		all &= seen[ids[i]] == 1;
	return all;
}

/* Pin more regions than fit in one read(). */
CASE(each_region_is_listed_once)
{
	unsigned char *host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint32_t ids[MANY];
	struct peerpin_pin p;
	struct line l;
	int i;

	for (i = 0; i < MANY; i++) {
		EXPECT(!pin_at(fd, (uintptr_t)host, 4096, &p), "pin %d: %d", i, errno);
		ids[i] = p.out_region;
	}
	EXPECT(regions(1, &l) == MANY && each_is_there(ids, 0, 1), "%d", regions(1, &l));
	for (i = 0; i < MANY; i += 2)
		EXPECT(!unpin(fd, ids[i]), "unpin");
	EXPECT(regions(1, &l) == MANY / 2 && each_is_there(ids, 1, 2), "%d", regions(1, &l));
	for (i = 1; i < MANY; i += 2)
		EXPECT(!unpin(fd, ids[i]), "unpin");
	EXPECT(regions(1, &l) == 0, "%d", regions(1, &l));
}

static int pin_in_a_loop(void)
{
	int mine = pin_open(), own = emu_open();
	struct peerpin_pin p;

	if (emu_alloc(own, GPU_B, BLOCK))
		return 1;
	for (;;) {
		if (pin_at(mine, GPU_B, BLOCK, &p))
			return 2;
		if (unpin(mine, p.out_region))
			return 3;
	}
}

/*
 * The list is no snapshot: a slow read finds several regions of the child, each pinned after the unpin of the one
 * before.
 */
CASE(read_races_with_pin_and_unpin)
{
	struct peerpin_pin p;
	struct line l;
	int i, n, status, one = 0, more = 0;
	pid_t pid;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	pid = fork();
	if (!pid)
		_exit(pin_in_a_loop());
	for (i = 0; i < 300 || (i < 30000 && (!one || !more)); i++) {
		n = regions(GPU_A, &l);
		one += n == 1;
		more += n > 1;
		EXPECT(n >= 1 && l.length == BLOCK, "%d", n);
	}
	EXPECT(one && more, "%d times one region, %d times more", one, more);
	kill(pid, SIGKILL);
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "the child exited by itself: %x", status);
	EXPECT(regions(GPU_A, &l) == 1, "%d", regions(GPU_A, &l));
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

/* ---- extents ------------------------------------------------------------------- */

static void map_large(uint64_t addr, struct line *l)
{
	struct peer_check c = { .length = 1, .max = 1 };
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, addr, LARGE, &p), "pin %d", errno);
	c.fd = fd;
	c.region = p.out_region;
	EXPECT(!check_call(check, PEER_CHECK_SEGMENTS, &c), "segments %d", errno);
	EXPECT(regions(addr, l) == 1, "%d", regions(addr, l));
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(contiguous_memory_has_few_extents)
{
	struct line l;

	EXPECT(!emu_free(gpu, GPU_A) && !emu_scatter(gpu, 0) && !emu_alloc(gpu, GPU_A, LARGE), "alloc");
	map_large(GPU_A, &l);
	CHECK_CASE();
	EXPECT(l.extents * 8 <= LARGE / GPU_PAGE, "not contiguous: %u extents", l.extents);
}

CASE(scattered_memory_has_many_extents)
{
	struct line l;

	EXPECT(!emu_free(gpu, GPU_A) && !emu_scatter(gpu, 1) && !emu_alloc(gpu, GPU_A, LARGE), "alloc");
	map_large(GPU_A, &l);
	CHECK_CASE();
	EXPECT(l.extents * 2 >= LARGE / GPU_PAGE, "not scattered: %u extents", l.extents);
}

/* ---- fdinfo, for users other than root ------------------------------------------------- */

static bool fdinfo_has(const char *what)
{
	char path[64], text[4096];
	ssize_t n;
	int node;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	node = open(path, O_RDONLY | O_CLOEXEC);
	n = read(node, text, sizeof(text) - 1);
	close(node);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, what);
}

CASE(fdinfo_shows_flags_and_sums)
{
	struct peerpin_pin a, b;

	EXPECT(!pin_persistent(GPU_A, BLOCK, &a) && !pin_at(fd, GPU_A + BLOCK, BLOCK, &b), "pin");
	EXPECT(fdinfo_has(" - persistent\n"), "persistent");
	EXPECT(fdinfo_has(" - -\n"), "revocable");
	EXPECT(fdinfo_has("peerpin-regions:\t2\npeerpin-bytes:\t4194304\npeerpin-pins:\t"), "sum");
	EXPECT(fdinfo_has("\npeerpin-revoked:\t"), "revoked");
	EXPECT(!unpin(fd, a.out_region) && !unpin(fd, b.out_region), "unpin");
}

CASE(nothing_is_left)
{
	struct peer_check c = { 0 };
	char text[256];

	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	close(fd);
	close(lsi);
	close(check);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	module_debugfs("peerpin/accounts", text, sizeof(text));
	EXPECT(!strcmp(text, "pid bytes regions pins revoked watched\nall 0 - - - -\n"), "%s", text);
}

VMTEST_MAIN
