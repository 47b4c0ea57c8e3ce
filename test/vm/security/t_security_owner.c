// SPDX-License-Identifier: MIT
/* With every number and descriptor of Alice, Mallory must get nothing of Alice's memory. */
#include <sys/stat.h>

#include "victim.h"

static int lsi;

SETUP(everything_is_there)
{
	int fd = pin_open(), emu = emu_open();

	lsi = lsi_open();
	EXPECT(fd >= 0 && emu >= 0 && lsi >= 0, "%d %d %d", fd, emu, lsi);
	close(fd);
	close(emu);
}

/* ---- Alice's descriptors -------------------------------------------------------- */

static int export_of(int fd, uint32_t region)
{
	struct peerpin_export c = { .size = sizeof(c), .region = region, .length = PAGE };

	return ioctl(fd, PEERPIN_IOC_EXPORT, &c) ? -errno : c.out_fd;
}

static int view_of(int fd, uint32_t region)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PEERPIN_MMAP_OFFSET(region)) == MAP_FAILED ? -errno : 0;
}

static int epochs_of(int fd)
{
	return epochs_map(fd) ? 0 : -errno;
}

static void calls_on_her_file(void)
{
	uint32_t region = alice.facts->gpu_region;
	static unsigned char mine[PAGE];
	struct peerpin_query q;
	struct peerpin_pin p;
	int fd = alice.peerpin;

	EXPECT(fd >= 0, "no descriptor received");
	EXPECT(pin_at(fd, (uintptr_t)mine, PAGE, &p) == -EACCES, "pin: %d", errno);
	EXPECT(query(fd, region, &q) == -EACCES, "query: %d", errno);
	EXPECT(export_of(fd, region) == -EACCES, "export: %d", errno);
	EXPECT(unpin(fd, region) == -EACCES, "unpin: %d", errno);
	EXPECT(view_of(fd, region) == -EACCES && view_of(fd, alice.facts->host_region) == -EACCES, "mmap: %d", errno);
	EXPECT(epochs_of(fd) == -EACCES, "epochs: %d", errno);
	EXPECT(emu_read(alice.emu, mine, GPU_A, PAGE) == -EACCES, "the GPU's file: %d", errno);
}

CASE(passed_descriptor_is_useless)
{
	ATTACK(calls_on_her_file);
}

static void copies_by_a_driver(void)
{
	static unsigned char mine[PAGE] __attribute__((aligned(PAGE)));
	int fd = pin_open();
	struct peerpin_pin p;
	struct end own, hers = { alice.peerpin, alice.facts->gpu_region, 0 };

	EXPECT(!pin_at(fd, (uintptr_t)mine, PAGE, &p), "pin");
	own = (struct end){ fd, p.out_region, 0 };
	EXPECT(lsi_copy(lsi, own, hers, PAGE) == -EACCES, "copy out of Alice's memory: %d", errno);
	EXPECT(lsi_copy(lsi, hers, own, PAGE) == -EACCES, "copy into Alice's memory: %d", errno);
	hers.fd = fd;
	hers.region += hers.region == p.out_region;
	EXPECT(lsi_copy(lsi, own, hers, PAGE) == -ENOENT, "copy by Alice's region id on another file: %d", errno);
	hers.fd = alice.emu;
	EXPECT(lsi_copy(lsi, own, hers, PAGE) == -EBADF, "copy by a descriptor of another driver: %d", errno);
}

CASE(drivers_refuse_anothers_descriptor)
{
	ATTACK(copies_by_a_driver);
}

/* At Alice's addresses, Mallory's process has its own memory or none. A copy must not give Mallory Alice's secret. */
static void copies_from_her_addresses(void)
{
	static unsigned char mine[PAGE] __attribute__((aligned(PAGE))), secret[PAGE];
	int own = lsi_open(), ret;

	pattern_fill(secret, SECRET, PAGE);
	EXPECT(own >= 0, "open: %d", errno);
	EXPECT(lsi_copy_pointers(own, (uintptr_t)mine, GPU_A, PAGE) == -EINVAL, "out of her GPU memory: %d", errno);
	EXPECT(lsi_copy_pointers(own, GPU_A, (uintptr_t)mine, PAGE) == -EINVAL, "into her GPU memory: %d", errno);
	ret = lsi_copy_pointers(own, (uintptr_t)mine, alice.facts->host, PAGE);
	EXPECT((!ret || ret == -EINVAL) && memcmp(mine, secret, PAGE), "out of her host memory: %d", ret);
}

CASE(drivers_copy_only_callers_memory)
{
	ATTACK(copies_from_her_addresses);
}

/* State for a forked child, which has Alice's user, descriptors and address space but is another process. */
static unsigned char *forked_view;
static struct peerpin_pin forked_pin;
static int forked_fd;

static void calls_in_a_child(void)
{
	unsigned char resident;
	struct peerpin_query q;

	EXPECT(query(forked_fd, forked_pin.out_region, &q) == -EACCES, "query: %d", errno);
	EXPECT(unpin(forked_fd, forked_pin.out_region) == -EACCES, "unpin: %d", errno);
	EXPECT(view_of(forked_fd, forked_pin.out_region) == -EACCES, "mmap: %d", errno);
	EXPECT(mincore(forked_view, PAGE, &resident) && errno == ENOMEM, "the child has the view");
}

static void forks(void)
{
	int emu = emu_open();

	forked_fd = pin_open();
	EXPECT(!emu_alloc(emu, GPU_A, BLOCK) && !pin_at(forked_fd, GPU_A, BLOCK, &forked_pin), "pin");
	forked_view = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, forked_fd,
			   PEERPIN_MMAP_OFFSET(forked_pin.out_region));
	EXPECT(forked_view != MAP_FAILED, "mmap: %d", errno);
	EXPECT(madvise(forked_view, PAGE, MADV_DOFORK), "the view can be handed to a child");
	AS_USER(0, calls_in_a_child);
	EXPECT(!unpin(forked_fd, forked_pin.out_region), "unpin");
}

CASE(child_of_fork_has_no_access)
{
	AS_USER(ALICE, forks);
}

/* ---- Alice's process ------------------------------------------------------------ */

static int open_of_her(const char *what, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s/%d", alice.facts->pid, what, alice.facts->peerpin);
	return open(path, flags | O_CLOEXEC);
}

static void looks_into_proc(void)
{
	int her = syscall(SYS_pidfd_open, alice.facts->pid, 0);

	EXPECT(open_of_her("fd", O_RDWR) < 0 && errno == EACCES, "fd: %d", errno);
	EXPECT(open_of_her("fdinfo", O_RDONLY) < 0 && errno == EACCES, "fdinfo: %d", errno);
	EXPECT(her >= 0, "pidfd_open: %d", errno);
	EXPECT(syscall(SYS_pidfd_getfd, her, alice.facts->peerpin, 0) < 0 && errno == EPERM, "getfd: %d", errno);
}

CASE(proc_of_another_user_is_closed)
{
	ATTACK(looks_into_proc);
}

static bool fdinfo_has(int fd, const char *what)
{
	char path[64], text[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return strstr(text, what);
}

static void reads_own_fdinfo(void)
{
	EXPECT(fdinfo_has(alice.peerpin, "peerpin-owner:"), "no fdinfo of peerpin");
	EXPECT(!fdinfo_has(alice.peerpin,
	       "0x") && !fdinfo_has(alice.peerpin, "peerpin-bytes"), "fdinfo shows addresses or bytes");
}

CASE(fdinfo_of_passed_descriptor_hides_addresses)
{
	ATTACK(reads_own_fdinfo);
}

static void opens_again(void)
{
	int again = open_of_her("fd", O_RDWR);
	struct peerpin_query q;

	EXPECT(again >= 0, "the same user's descriptor cannot be opened: %d", errno);
	EXPECT(query(again, alice.facts->gpu_region, &q) == -ENOENT, "the new file has a region: %d", errno);
	EXPECT(fdinfo_has(again, "peerpin-bytes:\t0\n"), "the new file counts Alice's bytes");
}

/* A process of Alice's user opens /proc/PID/fd. This must open the node anew, not Alice's file. */
CASE(open_through_proc_is_new_file)
{
	victim_start();
	user_join(user_start(ALICE, opens_again));
	victim_end();
}

/* ---- Alice's numbers ------------------------------------------------------------ */

static void guesses_ids(void)
{
	int fd = pin_open();
	struct peerpin_query q;
	uint32_t id;

	for (id = 0; id < PEERPIN_MAX_REGIONS; id++)
		EXPECT(query(fd, id, &q) == -ENOENT, "id %u: %d", id, errno);
	EXPECT(query(fd, ~0u, &q) == -ENOENT && unpin(fd, alice.facts->gpu_region) == -ENOENT, "%d", errno);
	EXPECT(view_of(fd, alice.facts->gpu_region) == -ENOENT, "mmap: %d", errno);
}

CASE(region_ids_are_per_file)
{
	ATTACK(guesses_ids);
}

static int pin_as(int fd, uint32_t flags, const struct emugpu_context_new *tokens, struct peerpin_pin *pin)
{
	*pin = (struct peerpin_pin){
		.size = sizeof(*pin), .addr = GPU_A, .length = GPU_PAGE, .flags = flags,
		.provider = PEERPIN_PROVIDER_NV,
	};
	if (tokens) {
		pin->p2p_token = tokens->out_p2p_token;
		pin->va_space_token = tokens->out_va_space;
	}
	return ioctl(fd, PEERPIN_IOC_PIN, pin) ? -errno : 0;
}

static void pins_her_address(void)
{
	static unsigned char secret[PAGE];
	unsigned char *view;
	int fd = pin_open();
	struct peerpin_pin p;

	EXPECT(pin_as(fd, 0, NULL, &p) == -EINVAL, "her address: %d", errno);
	EXPECT(pin_as(fd, PEERPIN_PIN_PERSISTENT, NULL, &p) == -EINVAL, "persistent: %d", errno);
	/* Mallory's own memory may be at this address. */
	if (pin_at(fd, alice.facts->host, PAGE, &p)) {
		EXPECT(errno == EINVAL, "host memory: %d", errno);
		return;
	}
	pattern_fill(secret, SECRET, PAGE);
	view = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PEERPIN_MMAP_OFFSET(p.out_region));
	EXPECT(view != MAP_FAILED && memcmp(view, secret, PAGE), "Mallory sees Alice's memory");
}

CASE(addresses_are_per_process)
{
	ATTACK(pins_her_address);
}

static void says_her_tokens(void)
{
	struct emugpu_context_new only_space = alice.facts->context, only_p2p = only_space;
	int fd = pin_open();
	struct peerpin_pin p;

	only_space.out_p2p_token = 0;
	only_p2p.out_va_space = 0;
	EXPECT(alice.facts->context.out_p2p_token && alice.facts->context.out_va_space, "Alice has no tokens");
	EXPECT(pin_as(fd, 0, &alice.facts->context, &p) == -EPERM, "her tokens: %d", errno);
	EXPECT(pin_as(fd, 0, &only_space, &p) == -EPERM, "va_space token alone: %d", errno);
	EXPECT(pin_as(fd, 0, &only_p2p, &p) == -EPERM, "p2p token alone: %d", errno);
	EXPECT(!unshare(CLONE_NEWUSER), "a user namespace: %s", strerror(errno));
	EXPECT(pin_as(fd, 0, &alice.facts->context, &p) == -EPERM, "as root of a user namespace: %d", errno);
}

/* Root can pin with these tokens. So the refusal above has another reason than wrong tokens. */
static void says_them_as_root(void)
{
	int fd = pin_open();
	struct peerpin_pin p;

	EXPECT(!pin_as(fd, 0, &alice.facts->context, &p) && !unpin(fd, p.out_region), "root: %d", errno);
}

CASE(tokens_need_privileges)
{
	victim_start();
	user_join(user_start(0, says_them_as_root));
	user_join(user_start(MALLORY, says_her_tokens));
	victim_end();
}

VMTEST_MAIN
