// SPDX-License-Identifier: MIT
/*
 * Reports for a user other than root, and reports of a capture with --root. The reports of a
 * capture must equal the reports of the live VM, and differ after a change of the capture. The GPU
 * and the peer are below one switch. If there is an IOMMU, it is in pass-through mode.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "topo.h"

#define CAPTURED "/tmp/captured"

enum {
	CONFIG_SIZE = 4096,
	AER_AT = 0x100,		/* the last capability of QEMU's switches is here */
	ACS_AT = 0x200,
	ACS_CAN = 0x001f,	/* validation, blocking, redirection of requests and completions, upstream forwarding */
	ACS_REDIRECTS = 0x001d,
	ACS_VALIDATES = 0x0001,
};

static struct places gpus, peers;
static struct json_object *doctor;
static int status;

static const char *pair_has(const char *key)
{
	return text_of(find_in(doctor, "pairs", "gpu", address_of(gpus.at[0]), "peer", address_of(peers.at[0])), key);
}

static const char *acs_verdict(void)
{
	return verdict_of(doctor, "acs-redirect", "machine");
}

CASE(pass_through_iommu_works_well)
{
	places_find(gpus_are, &gpus);
	places_find(peers_are, &peers);
	EXPECT(gpus.count == 1 && peers.count == 1, "%zu GPUs, %zu peers", gpus.count, peers.count);
	EXPECT(!iommu_translates(), "the IOMMU translates");
	doctor = said_by("peerpin doctor --json", &status);
	EXPECT(doctor && !status, "%d", status);
	EXPECT(!strcmp(pair_has("verdict"), "works well"), "%s", pair_has("reason"));
	EXPECT(!count_of(doctor, "iommu-translates", "WARN"), "%zu", count_of(doctor, "iommu-translates", "WARN"));
	EXPECT(!strcmp(verdict_of(doctor, "iommu", "machine"), "OK"), "%s", verdict_of(doctor, "iommu", "machine"));
}

/* A value that only root can read must count as unknown, not as good. */
CASE(redirection_is_unknown_without_root)
{
	doctor = said_by("setpriv --reuid=65534 --regid=65534 --clear-groups peerpin doctor --json", &status);
	EXPECT(doctor && !status, "%d", status);
	EXPECT(!strcmp(acs_verdict(), "?"), "'%s'", acs_verdict());
	EXPECT(!strcmp(pair_has("verdict"), "not known"), "%s", pair_has("verdict"));
	EXPECT(strstr(pair_has("reason"), "sudo peerpin doctor"), "%s", pair_has("reason"));
}

/* ---- capture ---------------------------------------------------------------------- */

static void expect_same(const char *tool)
{
	char live[128], replayed[128];
	struct json_object *a, *b;
	int status_a, status_b;

	snprintf(live, sizeof(live), "peerpin %s --json", tool);
	snprintf(replayed, sizeof(replayed), "peerpin %s --json --root " CAPTURED ".tar", tool);
	a = said_by(live, &status_a);
	b = said_by(replayed, &status_b);
	EXPECT(a && b && status_a == status_b, "%s: status %d, then %d", tool, status_a, status_b);
	EXPECT(json_object_equal(a, b), "%s: %.60s..., then %.60s...", tool, json_object_to_json_string(a),
	       json_object_to_json_string(b));
}

CASE(capture_equals_the_live_report)
{
	status = system("peerpin doctor --capture " CAPTURED ".tar >/dev/null");
	EXPECT(!status, "%d", status);
	expect_same("topo");
	expect_same("doctor");
}

CASE(tar_reads_the_capture)
{
	status = system("mkdir -p " CAPTURED " && tar -xf " CAPTURED ".tar -C " CAPTURED);
	EXPECT(!status, "%d", status);
}

/* ---- ACS, which QEMU's switches lack ------------------------------------------------ */

static void put16(unsigned char *config, unsigned int at, unsigned int value)
{
	config[at] = value & 0xff;
	config[at + 1] = value >> 8;
}

static bool write_acs(int fd, unsigned int control)
{
	unsigned char config[CONFIG_SIZE];

	if (pread(fd, config, sizeof(config), 0) != sizeof(config))
		return false;
	put16(config, AER_AT + 2, (ACS_AT << 4) | (config[AER_AT + 2] & 0x0f));
	put16(config, ACS_AT, 0x000d);
	put16(config, ACS_AT + 2, 0x0001);
	put16(config, ACS_AT + 4, ACS_CAN);
	put16(config, ACS_AT + 6, control);
	return pwrite(fd, config, sizeof(config), 0) == sizeof(config);
}

/* In the capture, add ACS to the switch port above @place. */
static void plant_acs(const char *place, unsigned int control)
{
	char path[400];
	const char *device = strrchr(place, '/');
	bool written;
	int fd;

	snprintf(path, sizeof(path), CAPTURED "%.*s/config", (int)(device - place), place);
	chmod(path, 0644);
	fd = open(path, O_RDWR | O_CLOEXEC);
	EXPECT(fd >= 0, "%s", path);
	written = write_acs(fd, control);
	close(fd);
	EXPECT(written, "%s", path);
	doctor = said_by("peerpin doctor --json --root " CAPTURED, &status);
	EXPECT(doctor && !status, "%d", status);
}

/* Address of the port above @place. */
static const char *port_above(const char *place)
{
	static char port[ADDRESS + 1];

	snprintf(port, sizeof(port), "%.12s", strrchr(place, '/') - ADDRESS);
	return port;
}

static void expect_blamed(const char *place)
{
	const char *port = port_above(place);

	struct json_object *finding = find_in(doctor, "checks", "check", "acs-redirect", "subject", port);

	EXPECT(has_text(finding, "verdict", "WARN"), "%s: '%s'", port, text_of(finding, "verdict"));
	EXPECT(strstr(text_of(finding, "type"), port), "%s: '%s'", port, text_of(finding, "type"));
	EXPECT(!strcmp(pair_has("verdict"), "works slowly"), "%s", pair_has("verdict"));
	EXPECT(strstr(pair_has("reason"), "ACS"), "%s", pair_has("reason"));
}

CASE(redirecting_gpu_port_is_reported)
{
	plant_acs(gpus.at[0], ACS_REDIRECTS);
	CHECK_CASE();
	expect_blamed(gpus.at[0]);
	EXPECT(count_of(doctor, "acs-redirect", "WARN") == 1, "%zu", count_of(doctor, "acs-redirect", "WARN"));
}

CASE(redirecting_peer_port_is_reported)
{
	plant_acs(peers.at[0], ACS_REDIRECTS);
	CHECK_CASE();
	expect_blamed(peers.at[0]);
	EXPECT(count_of(doctor, "acs-redirect", "WARN") == 2, "%zu", count_of(doctor, "acs-redirect", "WARN"));
}

CASE(ports_without_redirection_are_fine)
{
	plant_acs(gpus.at[0], ACS_VALIDATES);
	plant_acs(peers.at[0], ACS_VALIDATES);
	CHECK_CASE();
	EXPECT(!strcmp(acs_verdict(), "OK"), "'%s'", acs_verdict());
	EXPECT(!strcmp(pair_has("verdict"), "works well"), "%s", pair_has("reason"));
}

VMTEST_MAIN
