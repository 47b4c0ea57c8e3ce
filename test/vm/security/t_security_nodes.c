// SPDX-License-Identifier: MIT
/* Device nodes, parameters, kernel files and the kernel log, seen by an ordinary user. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>

#include "test/vm/harness/module.h"
#include "victim.h"

enum {
	CALLS = 3000,
	LOG_LINES = 5,		/* upper limit for all calls in this file */
};

static const char *const modules[] = { "peerpin", "peerpin_nv", "peerpin_lsi", "emugpu", "judge" };

static int kernel_log;

SETUP(everything_is_there)
{
	char text[16];

	kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	EXPECT(kernel_log >= 0 && pin_open() >= 0 && emu_open() >= 0 && lsi_open() >= 0, "%s", strerror(errno));
	EXPECT(*module_debugfs("peerpin/regions", text, sizeof(text)), "no debugfs");
}

/* ---- files ------------------------------------------------------------------------- */

/* Number of files in @directory; -1 if @refused is false for a file. */
static int each_file(const char *directory, bool (*refused)(const char *path))
{
	struct dirent *entry;
	DIR *d = opendir(directory);
	char path[512];
	int n = 0;

	while (d && n >= 0 && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		n = refused(path) ? n + 1 : -1;
	}
	if (d)
		closedir(d);
	return n;
}

static bool cannot_be_written(const char *path)
{
	bool refused = open(path, O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES;

	if (!refused)
		printf("# %s\n", path);
	return refused;
}

static void writes_parameters(void)
{
	char path[128];
	size_t i;
	int n = 0, more;

	for (i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s/parameters", modules[i]);
		more = each_file(path, cannot_be_written);
		EXPECT(more >= 0, "a parameter of %s can be written", modules[i]);
		n += more;
	}
	EXPECT(n >= 10, "%d parameters", n);
}

CASE(only_root_sets_module_parameters)
{
	AS_USER(MALLORY, writes_parameters);
}

/* By default the kernel mounts debugfs closed to users, but some systems mount it open. */
static bool is_for_root_only(const char *path)
{
	struct stat s;

	return !stat(path, &s) && !s.st_uid && !(s.st_mode & 077);
}

CASE(only_root_opens_debugfs_files)
{
	EXPECT(each_file("/sys/kernel/debug/peerpin", is_for_root_only) == 3, "peerpin");
	EXPECT(each_file("/sys/kernel/debug/emugpu", is_for_root_only) >= 2, "emugpu");
	EXPECT(each_file("/sys/kernel/debug/judge", is_for_root_only) >= 5, "judge");
}

static void reads_debugfs(void)
{
	EXPECT(open("/sys/kernel/debug/peerpin/regions", O_RDONLY) < 0 && errno == EACCES, "debugfs: %d", errno);
	EXPECT(open("/sys/kernel/tracing/trace", O_RDONLY) < 0 && errno == EACCES, "tracing: %d", errno);
}

CASE(users_cannot_read_debugfs_or_traces)
{
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	EXPECT(!access("/sys/kernel/tracing/events/peerpin", R_OK), "no trace events");
	AS_USER(MALLORY, reads_debugfs);
}

/* ---- open modes ------------------------------------------------------- */

static int opened_before;

static void opens_the_node(void)
{
	struct peerpin_query q;

	EXPECT(open("/dev/peerpin", O_RDWR) < 0 && errno == EACCES, "open: %d", errno);
	EXPECT(query(opened_before, 0, &q) == -EACCES, "a file of root: %d", errno);
}

CASE(mode_of_node_controls_pins)
{
	opened_before = pin_open();
	EXPECT(!chmod("/dev/peerpin", 0660), "%s", strerror(errno));
	user_join(user_start(MALLORY, opens_the_node));
	EXPECT(!chmod("/dev/peerpin", 0666) && !close(opened_before), "%s", strerror(errno));
}

static int view_at(int fd, uint32_t region, int prot, void **view)
{
	*view = mmap(NULL, PAGE, prot, MAP_SHARED, fd, PEERPIN_MMAP_OFFSET(region));
	return *view == MAP_FAILED ? -errno : 0;
}

static void opens_less(void)
{
	int reads = open("/dev/peerpin", O_RDONLY | O_CLOEXEC), path = open("/dev/peerpin", O_PATH | O_CLOEXEC);
	static unsigned char mine[PAGE] __attribute__((aligned(PAGE)));
	struct peerpin_pin p;
	void *view;

	EXPECT(reads >= 0 && path >= 0, "open: %d", errno);
	EXPECT(!pin_at(reads, (uintptr_t)mine, PAGE, &p), "pin: %d", errno);
	EXPECT(view_at(reads, p.out_region, PROT_READ | PROT_WRITE, &view) == -EACCES, "to write: %d", errno);
	EXPECT(!view_at(reads, p.out_region, PROT_READ, &view), "to read: %d", errno);
	EXPECT(mprotect(view, PAGE, PROT_READ | PROT_WRITE) && errno == EACCES, "mprotect: %d", errno);
	EXPECT(pin_at(path, (uintptr_t)mine, PAGE, &p) == -EBADF && !epochs_map(path), "O_PATH: %d", errno);
}

CASE(readonly_file_gives_no_writable_view)
{
	AS_USER(MALLORY, opens_less);
}

/* Devices write to pinned memory. So memory that Mallory cannot write must not be pinned. */
static void pins_what_is_only_read(void)
{
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = pin_open();
	void *file = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, exe, 0);
	void *own = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *epochs = (void *)epochs_map(fd);
	struct peerpin_pin p;

	EXPECT(file != MAP_FAILED && own != MAP_FAILED && epochs, "mmap");
	EXPECT(pin_at(fd, (uintptr_t)file, PAGE, &p) == -EINVAL, "a read-only file: %d", errno);
	EXPECT(pin_at(fd, (uintptr_t)own, PAGE, &p) == -EINVAL, "read-only memory: %d", errno);
	EXPECT(pin_at(fd, (uintptr_t)epochs, PAGE, &p) == -EINVAL, "a revocation page: %d", errno);
	EXPECT(pin_at(fd, 0xffffffff81000000, PAGE, &p) == -EINVAL, "the kernel: %d", errno);
	EXPECT(pin_at(fd, 0xffff888000000000, PAGE, &p) == -EINVAL, "the kernel's memory: %d", errno);
}

CASE(read_only_memory_is_not_pinned)
{
	AS_USER(MALLORY, pins_what_is_only_read);
}

static sigjmp_buf on_fault;

static void fault(int signal)
{
	siglongjmp(on_fault, signal);
}

/* The signal that a read of @p raises; 0: none. */
static int touch(const volatile unsigned char *p)
{
	int raised;

	signal(SIGBUS, fault);
	signal(SIGSEGV, fault);
	raised = sigsetjmp(on_fault, 1);
	if (!raised)
		(void)*p;
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return raised;
}

static void keeps_a_view(void)
{
	int gpu = emu_open(), fd = pin_open();
	struct peerpin_pin p;
	void *view, *again;

	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, BLOCK, &p), "pin");
	EXPECT(!view_at(fd, p.out_region, PROT_READ | PROT_WRITE, &view) && !touch(view), "the view");
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(touch(view) == SIGBUS, "freed memory can be read");
	EXPECT(view_at(fd, p.out_region, PROT_READ, &again) == -ESTALE, "mmap after the free: %d", errno);
	EXPECT(mremap(view, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "mremap doubled the view");
	EXPECT(!mprotect(view, PAGE, PROT_READ | PROT_EXEC) && touch(view) == SIGBUS,
	       "an executable view shows freed memory");
}

CASE(views_end_with_the_memory)
{
	AS_USER(MALLORY, keeps_a_view);
}

/* ---- arguments --------------------------------------------------------------------------- */

static void tests_the_emulator(void)
{
	int gpu = emu_open();
	struct emugpu_test test;
	unsigned int op;

	for (op = 0; op <= EMUGPU_TEST_MOVE + 1; op++) {
		test = (struct emugpu_test){ .op = op };
		EXPECT(emu_test(gpu, &test) == -EPERM, "operation %u: %d", op, errno);
	}
	EXPECT(!unshare(CLONE_NEWUSER), "a user namespace: %s", strerror(errno));
	EXPECT(emu_revoke_all(gpu, 0) == -EPERM, "as root of a user namespace: %d", errno);
}

CASE(only_root_makes_test_calls)
{
	AS_USER(MALLORY, tests_the_emulator);
}

static int pin_span(int fd, uint64_t addr, uint64_t length)
{
	struct peerpin_pin p;
	int ret = pin_at(fd, addr, length, &p);

	return ret ? ret : unpin(fd, p.out_region);
}

static void says_too_much(void)
{
	int fd = pin_open();
	struct peerpin_unpin c = { .size = ~0u };
	uint64_t max = PEERPIN_MMAP_SPAN - (1 << 20);

	EXPECT(pin_span(fd, 0, ~0ull) == -EINVAL && pin_span(fd, ~0ull, 1) == -EINVAL, "all addresses: %d", errno);
	EXPECT(pin_span(fd, 1ull << 63, 1ull << 63) == -EINVAL, "half of all addresses: %d", errno);
	EXPECT(pin_span(fd, PAGE, PEERPIN_MMAP_SPAN) == -EINVAL, "more than the greatest region: %d", errno);
	EXPECT(pin_span(fd, (uintptr_t)&c, max) < 0 && pin_span(fd, PAGE, max) < 0, "the greatest region: %d", errno);
	EXPECT(ioctl(fd, PEERPIN_IOC_UNPIN, &c) && errno == E2BIG, "a struct of 4 GiB: %d", errno);
	EXPECT(ioctl(fd, PEERPIN_IOC_UNPIN, 0xffff888000000000) && errno == EFAULT,
	       "a struct in kernel memory: %d", errno);
	EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, -PAGE) == MAP_FAILED, "the last page of the device");
}

CASE(huge_arguments_are_refused)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct emugpu_test before, after;
	int gpu = emu_open();

	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &none) && !emu_counts(gpu, &before), "%s", strerror(errno));
	AS_USER(MALLORY, says_too_much);
	EXPECT(!emu_counts(gpu, &after) && after.counts.out_get_calls == before.counts.out_get_calls,
	       "NVIDIA's driver was asked %llu times: it allocates lists as long as the range",
	       after.counts.out_get_calls - before.counts.out_get_calls);
	close(gpu);
}

static void past_the_end(void)
{
	static unsigned char mine[2][PAGE] __attribute__((aligned(PAGE)));
	int fd = pin_open(), lsi = lsi_open();
	struct peerpin_pin a, b;
	struct end to, from;

	EXPECT(!pin_at(fd, (uintptr_t)mine[0], PAGE, &a) && !pin_at(fd, (uintptr_t)mine[1], PAGE, &b), "pin");
	to = (struct end){ fd, a.out_region, 0 };
	from = (struct end){ fd, b.out_region, 1 };
	EXPECT(lsi_copy(lsi, to, from, PAGE) == -EINVAL, "a byte behind the source: %d", errno);
	from.offset = -1;
	EXPECT(lsi_copy(lsi, to, from, 2) == -EINVAL, "a byte before the source: %d", errno);
	from.offset = 0;
	to.offset = 1ull << 63;
	EXPECT(lsi_copy(lsi, to, from, 1) == -EINVAL && lsi_copy(lsi, to, from, ~0ull) == -EINVAL,
	       "far behind the destination: %d", errno);
}

CASE(dma_stays_within_the_region)
{
	AS_USER(MALLORY, past_the_end);
}

/* ---- the log ------------------------------------------------------------------------------- */

static void log_skip(void)
{
	lseek(kernel_log, 0, SEEK_END);
}

static bool has_kernel_address(const char *text)
{
	const char *at = text;

	while ((at = strstr(at, "ffff"))) {
		if (strspn(at, "0123456789abcdef") >= 16)
			return true;
		at++;
	}
	return false;
}

static bool is_ours(const char *line)
{
	return strstr(line, "peerpin") || strstr(line, "emugpu") || strstr(line, "judge") || strstr(line, "lsi");
}

/* Result of a read of the kernel log. @lost: the kernel has overwritten lines */
struct log {
	int lines;
	int ours;
	int addresses;	/* number of lines of our modules that contain a kernel address */
	bool lost;
};

/* Read the log since log_skip(). */
static void log_read(struct log *log)
{
	static char line[8192];
	ssize_t n;

	*log = (struct log){ 0 };
	while ((n = read(kernel_log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		log->lost |= n < 0;
		line[n > 0 ? n : 0] = '\0';
		log->lines += n > 0;
		log->ours += is_ours(line);
		log->addresses += is_ours(line) && has_kernel_address(line);
	}
	EXPECT(n < 0 && errno == EAGAIN, "the log: %s", strerror(errno));
}

static void call_at_random(int fd, unsigned int *seed)
{
	static const unsigned long commands[] = {
		PEERPIN_IOC_PIN, PEERPIN_IOC_UNPIN, PEERPIN_IOC_QUERY, PEERPIN_IOC_EXPORT, PEERPIN_LSI_IOC_COPY,
	};
	uint32_t words[64];
	size_t i;

	for (i = 0; i < 64; i++)
		words[i] = rand_r(seed) % 4 ? 0 : rand_r(seed);
	words[0] = rand_r(seed) % 8 ? rand_r(seed) % 20 * 8 : rand_r(seed);
	ioctl(fd, commands[rand_r(seed) % 5], words);
	mmap(NULL, PAGE << rand_r(seed) % 10, PROT_READ, MAP_SHARED, fd,
	     (uint64_t)(uint32_t)rand_r(seed) << (12 + rand_r(seed) % 32));
}

/* Make refused calls, revoked pins, and copies of freed memory. */
static void makes_noise(void)
{
	int gpu = emu_open(), fd = pin_open(), lsi = lsi_open();
	unsigned int seed = 1;
	struct peerpin_pin p;
	int i;

	for (i = 0; i < CALLS; i++) {
		call_at_random(fd, &seed);
		call_at_random(lsi, &seed);
	}
	for (i = 0; i < 100; i++) {
		EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, BLOCK, &p) && !emu_free(gpu, GPU_A), "%d", i);
		EXPECT(lsi_copy(lsi, (struct end){ fd, p.out_region, 0 }, (struct end){ fd, p.out_region, PAGE }, PAGE) ==
		       -ESTALE, "copy %d: %d", i, errno);
	}
}

CASE(user_cannot_fill_the_log)
{
	struct log log;

	log_skip();
	AS_USER(MALLORY, makes_noise);
	log_read(&log);
	EXPECT(!log.lost && log.lines <= LOG_LINES, "%d lines%s", log.lines, log.lost ? ", and lost lines" : "");
}

/* ---- addresses of the kernel ------------------------------------------------------------------ */

static char text[1 << 18];

static bool file_has_kernel_address(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t more;

	while ((more = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += more;
	text[n] = '\0';
	close(fd);
	return has_kernel_address(text);
}

static bool write_to(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool done = write(fd, what, strlen(what)) == (ssize_t)strlen(what);

	close(fd);
	return done;
}

/* Even root must see no kernel address, except in files for debugging drivers. */
CASE(no_kernel_address_is_shown)
{
	struct log log;
	char path[64];
	int fd = pin_open();
	struct peerpin_pin p;
	static unsigned char mine[PAGE];

	EXPECT(has_kernel_address("a ffff888012345678") && !has_kernel_address("ffff 0xffff1000"),
	       "has_kernel_address()");
	lseek(kernel_log, 0, SEEK_SET);
	log_read(&log);
	EXPECT(log.ours && !log.addresses,
	       "the log: %d lines of our modules, %d with an address", log.ours, log.addresses);
	EXPECT(write_to("/sys/kernel/tracing/events/peerpin/enable", "1"), "tracing: %s", strerror(errno));
	EXPECT(!pin_at(fd, (uintptr_t)mine, 1, &p) && !unpin(fd, p.out_region), "pin");
	EXPECT(!pin_at(fd, (uintptr_t)mine, 1, &p), "pin");
	EXPECT(write_to("/sys/kernel/tracing/events/peerpin/enable", "0"), "tracing: %s", strerror(errno));
	EXPECT(!file_has_kernel_address("/sys/kernel/tracing/trace") && strstr(text, "peerpin_pin"), "traces");
	EXPECT(!file_has_kernel_address("/sys/kernel/debug/peerpin/regions") && strstr(text, "host"), "regions");
	EXPECT(!file_has_kernel_address("/sys/kernel/debug/peerpin/peers"), "peers");
	EXPECT(!file_has_kernel_address("/proc/driver/peerpin") && strstr(text, "pins"), "counts");
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	EXPECT(!file_has_kernel_address(path) && strstr(text, "peerpin-region:"), "fdinfo");
	EXPECT(!unpin(fd, p.out_region), "unpin");
}

static bool starts_a_line(const char *word)
{
	const char *at = strstr(text, word);

	return at && (at == text || at[-1] == '\n');
}

/* The names of all lines; "peer" may come several times or not at all */
static bool has_only_sums(void)
{
	static const char *const names[] = { "bytes ", "regions ", "pins ", "refused ", "revoked ", "timeouts ",
					     "overstays ", "watches ", "watches_changed ", "transfers ",
					     "transfer_bytes " };
	unsigned int i, lines = 0;
	const char *at;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!starts_a_line(names[i]))
			return false;
	for (at = text; (at = strchr(at, '\n')); at++)
		lines += strncmp(at + 1, "peer ", 5) != 0;
	return lines == i;
}

static void reads_counts(void)
{
	EXPECT(!file_has_kernel_address("/proc/driver/peerpin"), "an address: %s", text);
	EXPECT(has_only_sums(), "%s", text);
	EXPECT(open("/proc/driver/peerpin", O_WRONLY) < 0 && errno == EACCES, "open for writing: %d", errno);
}

CASE(users_see_sums_only)
{
	AS_USER(MALLORY, reads_counts);
}

VMTEST_MAIN
