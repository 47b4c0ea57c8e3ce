// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include "test/fuzz/calls/random.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/hotplug.h"
#include "soak.h"
#include "trouble.h"

enum {
	DEVICES_MAX = 8,
	HANGS_S = 60,
	GONE_US = 300000,	/* longest time that a device is absent or that a setting is changed */
	VENDOR_MAX = 32,
};

static struct devices {
	const char *id;		/* vendor and device ID */
	const char *driver;
	enum trouble trouble;
	struct hotplug at[DEVICES_MAX];
	unsigned int n;
} gpus = { "0x1af4 0x1110", "emugpu", TROUBLE_GPU, { { "" } }, 0 },
  peers = { "0x1000 0x0012", "peerpin_lsi", TROUBLE_PEER, { { "" } }, 0 };

static struct {
	pid_t pid;
	time_t since;
	const char *what;
} now;

/* ---- devices ---------------------------------------------------------------------- */

static void read_word(const char *device, const char *file, char *to, size_t room)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", device, file);
	f = fopen(path, "re");
	if (!f || !fgets(to, (int)room, f))
		*to = '\0';
	to[strcspn(to, "\n")] = '\0';
	if (f)
		fclose(f);
}

static void add_if_one(struct devices *devices, const char *name)
{
	char vendor[VENDOR_MAX], device[VENDOR_MAX], id[2 * VENDOR_MAX];

	read_word(name, "vendor", vendor, sizeof(vendor));
	read_word(name, "device", device, sizeof(device));
	snprintf(id, sizeof(id), "%s %s", vendor, device);
	if (!strcmp(id, devices->id) && devices->n < DEVICES_MAX)
		snprintf(devices->at[devices->n++].address, sizeof(struct hotplug), "%.15s", name);
}

bool trouble_init(void)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		add_if_one(&gpus, entry->d_name);
		add_if_one(&peers, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return gpus.n && peers.n;
}

static void begin(enum trouble trouble)
{
	__atomic_add_fetch(&soak->begun[trouble], 1, __ATOMIC_SEQ_CST);
}

static void end(enum trouble trouble)
{
	__atomic_add_fetch(&soak->ended[trouble], 1, __ATOMIC_SEQ_CST);
}

static void wait_a_little(uint64_t *seed)
{
	usleep((useconds_t)random_below(seed, GONE_US));
}

static void must(const char *what, const char *which, int err)
{
	if (err)
		soak_fail("%s %s: %s", what, which, strerror(-err));
}

static const struct hotplug *choose(const struct devices *devices, uint64_t *seed)
{
	return &devices->at[random_below(seed, devices->n)];
}

static void unbind(const struct devices *devices, uint64_t *seed)
{
	const struct hotplug *device = choose(devices, seed);

	begin(devices->trouble);
	must("unbind", device->address, hotplug_unbind(devices->driver, device));
	wait_a_little(seed);
	must("bind", device->address, hotplug_bind(devices->driver, device));
	end(devices->trouble);
	count(COUNT_UNBINDS, 1);
}

static void take_out(const struct devices *devices, uint64_t *seed)
{
	const struct hotplug *device = choose(devices, seed);

	must("remove", device->address, hotplug_remove(device));
	wait_a_little(seed);
	count(COUNT_REMOVALS, 1);
}

static void put_back(void)
{
	must("rescan", "all", hotplug_rescan());
}

static void unbind_gpu(uint64_t *seed) { unbind(&gpus, seed); }
static void unbind_peer(uint64_t *seed) { unbind(&peers, seed); }

static void remove_gpu(uint64_t *seed)
{
	begin(TROUBLE_GPU);
	take_out(&gpus, seed);
	put_back();
	end(TROUBLE_GPU);
}

static void remove_peer(uint64_t *seed)
{
	begin(TROUBLE_PEER);
	take_out(&peers, seed);
	put_back();
	end(TROUBLE_PEER);
}

/* Remove a GPU and a peer at the same time. */
static void remove_both(uint64_t *seed)
{
	pid_t other;

	begin(TROUBLE_GPU);
	begin(TROUBLE_PEER);
	other = fork();
	if (!other) {
		take_out(&peers, seed);
		_exit(0);
	}
	take_out(&gpus, seed);
	waitpid(other, NULL, 0);
	put_back();
	end(TROUBLE_PEER);
	end(TROUBLE_GPU);
}

/* ---- the GPU's settings -------------------------------------------------------------- */

static void with_gpu(int (*set)(int fd, uint64_t *seed), uint64_t *seed)
{
	int fd = emu_open();

	must("a setting", "of the GPU", set(fd, seed));
	close(fd);
}

static int set_revoke(int fd, uint64_t *seed)
{
	return emu_revoke_all(fd, (unsigned int)random_below(seed, gpus.n));
}

static void revoke_all(uint64_t *seed)
{
	begin(TROUBLE_GPU);
	with_gpu(set_revoke, seed);
	end(TROUBLE_GPU);
	count(COUNT_REVOCATIONS, 1);
}

static int set_bar1(int fd, uint64_t *seed)
{
	return emu_bar1_free(fd, random_below(seed, 64) * 2 * EMUGPU_PAGE_SIZE);
}

static int set_bar1_back(int fd, uint64_t *seed)
{
	(void)seed;
	return emu_bar1_free(fd, ~0ull);
}

static void limit_bar1(uint64_t *seed)
{
	with_gpu(set_bar1, seed);
	wait_a_little(seed);
	with_gpu(set_bar1_back, seed);
	count(COUNT_PARAMETERS, 1);
}

static int set_other(int fd, uint64_t *seed)
{
	unsigned int scatter = (unsigned int)random_below(seed, 2), ms = (unsigned int)random_below(seed, 4);

	return emu_scatter(fd, scatter) ?: emu_delay_callbacks(fd, ms, 8);
}

static void change_gpu(uint64_t *seed)
{
	with_gpu(set_other, seed);
	count(COUNT_PARAMETERS, 1);
}

/* ---- parameters ---------------------------------------------------------------------- */

static const struct parameter {
	const char *file;
	uint64_t from, below;	/* range of random values */
	const char *back;
	bool limits;
} parameters[] = {
	{ "peerpin/parameters/max_process_bytes", 1 << 16, 6 << 20, "0", true },
	{ "peerpin/parameters/max_total_bytes", 1 << 20, 256 << 20, "0", true },
	{ "peerpin/parameters/max_process_regions", 1, 6, "0", true },
	{ "peerpin/parameters/drain_timeout_ms", 2000, 8000, "4000", false },
	{ "peerpin_lsi/parameters/poll_us", 0, 100, "20", false },
	{ "emugpu/parameters/dmabuf_dynamic", 0, 2, "0", false },
};

static void set(const struct parameter *p, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/%s", p->file);
	must("write", path, hotplug_write(path, value));
}

static void change_parameter(uint64_t *seed)
{
	const struct parameter *p = &parameters[random_below(seed, sizeof(parameters) / sizeof(*parameters))];
	char value[32];

	if (p->limits)
		begin(TROUBLE_LIMITS);
	snprintf(value, sizeof(value), "%llu", (unsigned long long)(p->from + random_below(seed, p->below - p->from)));
	set(p, value);
	wait_a_little(seed);
	set(p, p->back);
	if (p->limits)
		end(TROUBLE_LIMITS);
	count(COUNT_PARAMETERS, 1);
}

/* ---- choice of a disturbance ---------------------------------------------------------------------- */

static const struct kind {
	unsigned int weight;
	const char *what;
	void (*run)(uint64_t *seed);
} kinds[] = {
	{ 4, "unbinding a GPU", unbind_gpu },
	{ 4, "unbinding a peer", unbind_peer },
	{ 4, "removing a GPU", remove_gpu },
	{ 4, "removing a peer", remove_peer },
	{ 2, "removing a GPU and a peer", remove_both },
	{ 4, "revoking all of a GPU", revoke_all },
	{ 3, "limiting BAR1", limit_bar1 },
	{ 2, "changing how a GPU does things", change_gpu },
	{ 8, "changing a parameter", change_parameter },
};

static const struct kind *choose_kind(uint64_t *seed)
{
	unsigned int i, sum = 0, chosen;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		sum += kinds[i].weight;
	chosen = (unsigned int)random_below(seed, sum);
	for (i = 0; chosen >= kinds[i].weight; i++)
		chosen -= kinds[i].weight;
	return &kinds[i];
}

void trouble_make(uint64_t *seed)
{
	const struct kind *kind = choose_kind(seed);
	uint64_t own = random_next(seed);

	if (!trouble_is_over())
		return;
	now.what = kind->what;
	now.since = time(NULL);
	now.pid = fork();
	if (now.pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	kind->run(&own);
	_exit(0);
}

static void tell_where(pid_t pid)
{
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		printf("#   %s", line);
	if (file)
		fclose(file);
}

bool trouble_is_over(void)
{
	int status;

	if (now.pid > 0 && waitpid(now.pid, &status, WNOHANG) == now.pid) {
		now.pid = 0;
		if (status)
			soak_fail("%s ended with status %#x", now.what, status);
	}
	if (now.pid > 0 && time(NULL) - now.since > HANGS_S && !soak_failed()) {
		soak_fail("%s takes longer than %d s, see above", now.what, HANGS_S);
		tell_where(now.pid);
	}
	return now.pid <= 0;
}
