// SPDX-License-Identifier: MIT
/* The tracepoints: their values, and one event for each call. */
#include <stdbool.h>

#include "core.h"
#include "watch.h"

#define TRACING "/sys/kernel/tracing/"

enum { HOLD_MS = 20 };

static int fd, lsi, check;
static char trace[1 << 16];

/* ---- the trace ----------------------------------------------------------------- */

static int trace_write(const char *file, const char *value)
{
	char path[128];
	int node, err;

	snprintf(path, sizeof(path), TRACING "%s", file);
	node = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	err = write(node, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -errno;
	close(node);
	return err;
}

static void trace_clear(void)
{
	close(open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static void trace_read(void)
{
	int node = open(TRACING "trace", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	size_t at = 0;

	while ((n = read(node, trace + at, sizeof(trace) - 1 - at)) > 0)
		at += n;
	trace[at] = '\0';
	close(node);
}

/* The trace without its header. */
static const char *all(void)
{
	const char *head = strrchr(trace, '#');

	return head ? strchr(head, '\n') : trace;
}

/* The line number @nth (from 0 on) of event @name, or NULL. */
static const char *event(const char *name, int nth)
{
	char head[64];
	const char *at = trace;

	snprintf(head, sizeof(head), " peerpin_%s: ", name);
	while ((at = strstr(at, head)))
		if (nth-- == 0)
			return at + strlen(head);
		else
			at++;
	return NULL;
}

static int events(const char *name)
{
	int n = 0;

	while (event(name, n))
		n++;
	return n;
}

static const char *value(const char *line, const char *key)
{
	static char text[64];
	char start[32];
	const char *at;

	snprintf(start, sizeof(start), "%s=", key);
	at = line ? strstr(line, start) : NULL;
	text[0] = '\0';
	if (at)
		sscanf(at + strlen(start), "%63[^ \n]", text);
	return text;
}

static long long number(const char *line, const char *key)
{
	return strtoll(value(line, key), NULL, strcmp(key, "cookie") ? 0 : 16);
}

static bool says(const char *line, const char *key, const char *what)
{
	return !strcmp(value(line, key), what);
}

/* ---- cases --------------------------------------------------------------------- */

SETUP(everything_is_there)
{
	struct peer_check c = { 0 };

	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	EXPECT_CORE();
	fd = pin_open();
	lsi = lsi_open();
	check = check_open();
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0 && check >= 0, "%d %d %d %d", gpu, fd, lsi, check);
	EXPECT(!check_call(check, PEER_CHECK_REGISTER, &c), "register %d", errno);
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	EXPECT(!trace_write("events/peerpin/enable", "1"), "enable %d", errno);
}

CASE(pin_and_unpin_are_traced)
{
	struct peerpin_pin p;
	const char *pin, *un;

	trace_clear();
	EXPECT(!pin_at(fd, GPU_A + 1, 65536, &p) && !unpin(fd, p.out_region), "pin");
	trace_read();
	pin = event("pin", 0);
	un = event("unpin", 0);
	EXPECT(events("pin") == 1 && events("unpin") == 1, "%s", all());
	EXPECT(says(pin, "provider", "nv") && number(pin, "pid") == getpid(), "%s", pin);
	EXPECT(number(pin, "addr") == GPU_A + 1 && number(pin, "length") == 65536, "%s", pin);
	EXPECT(number(pin, "ret") == 0 && number(pin, "reason") == 0 && number(pin, "flags") == 0, "%s", pin);
	EXPECT(number(pin, "ns") > 0 && number(un, "ns") > 0, "%s", pin);
	EXPECT(*value(pin, "cookie") && number(pin, "cookie") == number(un, "cookie"), "%s", un);
	EXPECT(number(un, "length") == 131072 && number(un, "left") == 0, "%s", un);
}

CASE(failed_pin_is_traced)
{
	struct peerpin_pin p;
	const char *pin;

	trace_clear();
	EXPECT(pin_by(fd, 0x700000000000, 4096, PEERPIN_PROVIDER_HOST, &p) == -EINVAL, "pinned");
	trace_read();
	pin = event("pin", 0);
	EXPECT(number(pin, "ret") == -EINVAL && number(pin, "reason") == PEERPIN_REASON_NOT_MAPPED, "%s", pin);
	EXPECT(says(pin, "provider", "host") && number(pin, "cookie") == 0, "%s", pin);
	EXPECT(events("unpin") == 0, "%s", all());
}

CASE(flags_are_traced)
{
	struct peerpin_pin p = {
		.size = sizeof(p), .flags = PEERPIN_PIN_PERSISTENT, .addr = GPU_A, .length = BLOCK,
	};

	trace_clear();
	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &p) && !unpin(fd, p.out_region), "errno %d", errno);
	trace_read();
	EXPECT(number(event("pin", 0), "flags") == PEERPIN_PIN_PERSISTENT, "%s", all());
}

/* A second DMA through an attachment must not make another attach event. */
CASE(attach_and_dma_are_traced)
{
	struct peer_check c = { .length = 8192, .offset = 4096, .max = BLOCK };
	struct peerpin_pin p;
	const char *attach, *begin, *end;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	c.fd = fd;
	c.region = p.out_region;
	trace_clear();
	EXPECT(!check_call(check, PEER_CHECK_SEGMENTS, &c), "segments %d", errno);
	EXPECT(!check_call(check, PEER_CHECK_SEGMENTS, &c), "segments %d", errno);
	trace_read();
	attach = event("attach", 0);
	begin = event("dma_begin", 1);
	end = event("dma_end", 1);
	EXPECT(events("attach") == 1 && events("dma_begin") == 2 && events("dma_end") == 2, "%s", all());
	EXPECT(number(attach, "entries") >= 1 && number(attach, "ret") == 0 && number(attach, "ns") > 0, "%s", attach);
	EXPECT(strchr(value(attach, "device"), ':'), "%s", attach);
	EXPECT(number(begin, "offset") == 4096 && number(begin, "length") == 8192 && says(begin, "dir", "both"), "%s",
	       begin);
	EXPECT(number(end, "ns") > 0 && number(end, "cookie") == number(attach, "cookie"), "%s", end);
	EXPECT(says(end, "device", value(attach, "device")), "%s", end);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(dma_directions_are_traced)
{
	struct peerpin_pin p;

	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	trace_clear();
	EXPECT(!lsi_copy(lsi, (struct end){ fd, p.out_region, 0 }, (struct end){ fd, p.out_region, 65536 }, 4096),
	       "copy");
	trace_read();
	EXPECT(events("dma_begin") == 2 && strstr(trace, "dir=to-device") && strstr(trace, "dir=from-device"), "%s",
	       all());
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

/* The core does not try a mapping, so there is no event. */
CASE(attach_after_free_is_not_traced)
{
	struct peerpin_pin p;
	int file = core_open();

	EXPECT(!core_register(0), "register");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &p), "pin");
	EXPECT(!core_get(file, fd, p.out_region) && !emu_free(gpu, GPU_B), "get and free");
	trace_clear();
	EXPECT(core_do(file, CORE_CHECK_ATTACH, 0) == -ESTALE, "attached");
	trace_read();
	EXPECT(events("attach") == 0 && events("dma_begin") == 0, "%s", all());
	close(file);
	EXPECT(!unpin(fd, p.out_region) && !core_unregister(0), "unpin");
}

/* The exporter has freed the memory and refuses the mapping. */
CASE(failed_attach_is_traced)
{
	struct emugpu_export e = { .va = GPU_B, .size = BLOCK };
	struct peerpin_pin p = { .size = sizeof(p), .provider = PEERPIN_PROVIDER_DMABUF, .length = BLOCK };
	struct peer_check c = { .fd = fd, .length = 1, .max = 1 };
	int err;

	EXPECT(!module_set("emugpu/parameters/dmabuf_dynamic", "1") && !emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	EXPECT(!emu_call(gpu, EMUGPU_IOC_EXPORT, &e), "export");
	p.fd = e.out_fd;
	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &p) && !emu_free(gpu, GPU_B), "pin: %d", errno);
	close(e.out_fd);
	c.region = p.out_region;
	trace_clear();
	err = check_call(check, PEER_CHECK_SEGMENTS, &c);
	trace_read();
	EXPECT(err && events("attach") == 1 && number(event("attach", 0), "ret") == err, "%d: %s", err, all());
	EXPECT(number(event("attach", 0), "entries") == 0 && events("dma_begin") == 0, "%s", all());
	EXPECT(!unpin(fd, p.out_region) && !module_set("emugpu/parameters/dmabuf_dynamic", "0"), "unpin");
}

/* The kernel's event dma_fence_init names the driver of the fence. */
CASE(fence_of_a_dmabuf_is_named)
{
	struct emugpu_export e = { .va = GPU_B, .size = BLOCK };
	struct peerpin_pin p = { .size = sizeof(p), .provider = PEERPIN_PROVIDER_DMABUF, .length = BLOCK };

	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !emu_call(gpu, EMUGPU_IOC_EXPORT, &e), "export");
	p.fd = e.out_fd;
	trace_clear();
	EXPECT(!trace_write("events/dma_fence/dma_fence_init/enable", "1"), "enable");
	EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &p), "pin: %d", errno);
	EXPECT(!trace_write("events/dma_fence/dma_fence_init/enable", "0"), "disable");
	trace_read();
	EXPECT(strstr(trace, "dma_fence_init: driver=peerpin timeline=peerpin "), "%s", all());
	close(e.out_fd);
	EXPECT(!unpin(fd, p.out_region) && !emu_free(gpu, GPU_B), "unpin");
}

static void hold(uint64_t addr, struct peerpin_pin *p)
{
	struct peer_check c = { .length = 4096, .end_in_stop = 1 };

	EXPECT(!pin_at(fd, addr, BLOCK, p), "pin %d", errno);
	c.fd = fd;
	c.region = p->out_region;
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &c), "hold %d", errno);
}

CASE(revoke_of_gpu_memory)
{
	const char *revoke, *end;
	struct peerpin_pin p;

	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	trace_clear();
	hold(GPU_B, &p);
	CHECK_CASE();
	usleep(HOLD_MS * 1000);
	EXPECT(!emu_free(gpu, GPU_B), "free");
	trace_read();
	revoke = event("revoke", 0);
	end = event("dma_end", 0);
	EXPECT(events("revoke") == 1 && number(revoke, "soon") == 0, "%s", all());
	EXPECT(number(revoke, "inflight") == 1 && number(revoke, "overdue") == 0, "%s", revoke);
	EXPECT(number(revoke, "ns") > 0 && number(revoke, "cookie") == number(event("pin", 0), "cookie"), "%s", revoke);
	EXPECT(number(end, "ns") >= HOLD_MS * 1000000, "the DMA's duration is too short: %s", end);
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(revoke_of_host_memory)
{
	char *host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct peerpin_pin p;
	int i = 0;

	trace_clear();
	hold((uintptr_t)host, &p);
	CHECK_CASE();
	munmap(host, BLOCK);
	do {
		usleep(10000);
		trace_read();
	} while (!events("revoke") && ++i < 200);
	EXPECT(events("revoke") == 1 && number(event("revoke", 0), "soon") == 1, "%s", all());
	EXPECT(number(event("revoke", 0), "inflight") == 0, "DMA in flight after stop(): %s", all());
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

/* The core calls stop(), but the driver does not end its DMA. */
CASE(overdue_dma_is_traced)
{
	struct peer_check c = { .length = 4096 };
	struct peerpin_pin p;

	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "50"), "parameter");
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !pin_at(fd, GPU_B, BLOCK, &p), "pin");
	c.fd = fd;
	c.region = p.out_region;
	trace_clear();
	EXPECT(!check_call(check, PEER_CHECK_HOLD, &c), "hold %d", errno);
	EXPECT(!unpin(fd, p.out_region), "unpin");
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(!check_call(check, PEER_CHECK_END, &c), "end");
	trace_read();
	EXPECT(number(event("unpin", 0), "left") == 1 && number(event("unpin", 0), "ns") > 40000000, "%s", all());
	EXPECT(number(event("revoke", 0), "overdue") == 1 && number(event("revoke", 0), "inflight") == 1, "%s", all());
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "parameter");
}

/* If a DMA began before the events were enabled, its duration must be 0. */
CASE(watch_and_its_change_are_traced)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct peerpin_watch w;
	const char *watch, *changed;

	trace_clear();
	EXPECT(!watch_at(fd, p + 1, 100, &w) && !munmap(p, PAGE) && !unwatch(fd, w.out_watch), "watch");
	EXPECT(watch_at(fd, p, 4, &w) == -EINVAL, "freed memory was watched");
	trace_read();
	watch = event("watch", 0);
	changed = event("watch_changed", 0);
	EXPECT(events("watch") == 2 && events("watch_changed") == 1, "%s", all());
	EXPECT(number(watch, "ret") == 0 && number(watch, "pid") == getpid() && number(watch, "ns") > 0, "%s", watch);
	EXPECT(strtoull(value(watch, "addr"), NULL, 0) == (uintptr_t)p + 1 && number(watch, "length") == 100, "%s", watch);
	EXPECT(strtoull(value(changed, "addr"), NULL, 0) == (uintptr_t)p && number(changed, "length") == PAGE, "%s", changed);
	EXPECT(number(changed, "pid") == getpid(), "%s", changed);
	watch = event("watch", 1);
	EXPECT(number(watch, "ret") == -EINVAL && number(watch, "reason") == PEERPIN_REASON_NOT_MAPPED, "%s", watch);
	EXPECT(!munmap(p + PAGE, PAGE), "munmap");
}

CASE(dma_without_begin_event_is_traced)
{
	struct peer_check c = { .length = 4096, .end_in_stop = 1 };
	struct peerpin_pin p;

	EXPECT(!trace_write("events/peerpin/enable", "0"), "disable");
	trace_clear();
	hold(GPU_A, &p);
	CHECK_CASE();
	EXPECT(!trace_write("events/peerpin/enable", "1"), "enable");
	EXPECT(!check_call(check, PEER_CHECK_END, &c), "end");
	trace_read();
	EXPECT(events("pin") == 0 && events("dma_begin") == 0, "%s", all());
	EXPECT(events("dma_end") == 1 && says(event("dma_end", 0), "ns", "0"), "%s", all());
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

CASE(nothing_is_left)
{
	struct peer_check c = { 0 };

	EXPECT(!trace_write("events/peerpin/enable", "0"), "disable");
	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	close(fd);
	close(lsi);
	close(check);
	EXPECT(!emu_free(gpu, GPU_A), "free");
}

VMTEST_MAIN
