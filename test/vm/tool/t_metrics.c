// SPDX-License-Identifier: MIT
/* peerpin metrics: values under load, monotone counts, users, the server, and a scrape by Debian's Prometheus. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "test/vm/harness/module.h"
#include "top.h"

enum {
	NOBODY = 65534,
	PORT = 9855,
	PROMETHEUS_PORT = 9090,
};

/* ---- the text ------------------------------------------------------------------------- */

static int metrics(uid_t uid, char *option, char *value)
{
	char *argv[] = { peerpin, "metrics", option, value, NULL };

	return lines(uid, argv);
}

/* The value of the line of @text that begins with @series and a blank; -1: there is none */
static double value_in(const char *text, const char *series)
{
	size_t length = strlen(series);
	const char *at = text;

	while ((at = strstr(at, series))) {
		if ((at == text || at[-1] == '\n') && at[length] == ' ')
			return strtod(at + length, NULL);
		at += length;
	}
	return -1;
}

static double value(const char *series)
{
	return value_in(said, series);
}

/* The value of the series of holder @nth; @labels: its labels after pid */
static double of_holder(int nth, const char *name, const char *labels)
{
	char series[256];

	snprintf(series, sizeof(series), "peerpin_process_%s{pid=\"%d\",%s}", name, (int)holders[nth], labels);
	return value(series);
}

static const char *const counts[] = {
	"peerpin_pins_total", "peerpin_refused_pins_total", "peerpin_revocations_total", "peerpin_drain_timeouts_total",
	"peerpin_overstays_total", "peerpin_transfers_total", "peerpin_transfer_bytes_total",
};

enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

SETUP(everything_is_there)
{
	EXPECT(find_peerpin(), "%s: %d", peerpin, errno);
	EXPECT(start("alpha", pin_host, 3, false), "alpha");
	EXPECT(start("beta", pin_host, 20, false), "beta");
}

CASE(processes_and_providers_have_series)
{
	EXPECT(!metrics(0, NULL, NULL), "status");
	EXPECT(of_holder(0, "pinned_bytes", "command=\"alpha\",provider=\"host\"") == 3 * PAGE, "%.900s", said);
	EXPECT(of_holder(1, "pinned_regions", "command=\"beta\",provider=\"host\"") == 20, "%.900s", said);
	EXPECT(of_holder(1, "pins_total", "command=\"beta\"") == 20, "%.900s", said);
	EXPECT(value("peerpin_pinned_bytes") == 23 * PAGE && value("peerpin_pinned_regions") == 23, "%.900s", said);
	EXPECT(value("peerpin_processes") == 2 && value("peerpin_processes_of_all_users") == 1, "%.900s", said);
	EXPECT(value("peerpin_bar1_size_bytes{gpu=\"0\",pci=\"0000:00:01.0\"}") > 0, "%.900s", said);
	EXPECT(strlen(said) > 6 && !strcmp(said + strlen(said) - 6, "# EOF\n"), "%.900s", said);
}

CASE(other_processes_are_one_series)
{
	EXPECT(!metrics(0, "--processes", "1"), "status");
	EXPECT(of_holder(1, "pinned_bytes", "command=\"beta\",provider=\"host\"") == 20 * PAGE, "%.900s", said);
	EXPECT(of_holder(0, "pinned_bytes", "command=\"alpha\",provider=\"host\"") == -1, "%.900s", said);
	EXPECT(value("peerpin_process_pinned_bytes{pid=\"\",command=\"other\",provider=\"host\"}") == 3 * PAGE, "%.900s",
	       said);
	EXPECT(value("peerpin_processes") == 2, "%.900s", said);
}

CASE(users_see_sums_and_themselves)
{
	EXPECT(!metrics(NOBODY, NULL, NULL), "status");
	EXPECT(value("peerpin_pinned_bytes") == 23 * PAGE && value("peerpin_pins_total") >= 23, "%.900s", said);
	EXPECT(value("peerpin_processes") == 0 && value("peerpin_processes_of_all_users") == 0, "%.900s", said);
	EXPECT(!strstr(said, "alpha") && strstr(said, "peerpin_peer_transfers_total{peer="), "%.900s", said);
}

/* ---- load ------------------------------------------------------------------------------ */

static pid_t copier(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (freopen("/dev/null", "w", stdout))
		execl(peerpin, peerpin, "copy", "--size", "64K", "--repeat", "1000000", NULL);
	_exit(127);
}

/* Processes that pin, lose memory and hit the cache end and start again, while the counts are read. */
CASE(counts_grow_over_revocation_and_exit)
{
	double was[COUNTS] = { 0 }, first[COUNTS] = { 0 }, now;
	pid_t copy = copier();
	int round, i;

	for (round = 0; round < 3; round++) {
		end_holders();
		EXPECT(start("pinner", pin_again_and_again, 0, true) && start("loser", lose, 0, true) &&
		       start("hitter", hit, 0, true), "start");
		sleep(1);
		EXPECT(!metrics(0, NULL, NULL), "status");
		for (i = 0; i < COUNTS; i++) {
			now = value(counts[i]);
			EXPECT(now >= was[i], "%s fell from %.0f to %.0f", counts[i], was[i], now);
			was[i] = now;
			if (!round)
				first[i] = now;
		}
		EXPECT(of_holder(1, "revocations_total", "command=\"loser\"") > 0, "%.1900s", said);
		EXPECT(of_holder(2, "cache_hits_total", "command=\"hitter\"") > 0, "%.1900s", said);
	}
	EXPECT(was[0] > first[0] && was[2] > first[2] && was[6] > first[6], "pins %.0f, revocations %.0f, bytes %.0f",
	       was[0] - first[0], was[2] - first[2], was[6] - first[6]);
	kill(copy, SIGKILL);
	waitpid(copy, NULL, 0);
}

CASE(output_replaces_the_file)
{
	static const char path[] = "/tmp/peerpin.prom";
	char text[8192];
	int fd;

	unlink(path);
	EXPECT(!metrics(0, "--output", (char *)path) && !metrics(0, "--output", (char *)path), "status");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0, "%d", errno);
	text[read(fd, text, sizeof(text) - 1)] = '\0';
	close(fd);
	EXPECT(value_in(text, "peerpin_module_loaded") == 1, "%.900s", text);
	EXPECT(metrics(0, "--output", "/nowhere/peerpin.prom") == 1 << 8, "status");
}

/* ---- the server -------------------------------------------------------------------------- */

static pid_t run_as(uid_t uid, char **argv)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!freopen("/dev/null", "w", stdout) || setgid(uid) || setuid(uid))
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

static int connect_to(int port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int tries, fd;

	for (tries = 0; tries < 600; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return fd;
		close(fd);
		usleep(100000);
	}
	return -1;
}

/* @said gets the whole answer. */
static bool get(int port, const char *method, const char *path, const char *header)
{
	int fd = connect_to(port);
	size_t length = 0;
	char request[512];
	ssize_t n;

	snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method, path, header);
	said[0] = '\0';
	if (fd < 0 || write(fd, request, strlen(request)) < 0)
		return false;
	while ((n = read(fd, said + length, sizeof(said) - 1 - length)) > 0)
		length += n;
	said[length] = '\0';
	close(fd);
	return length;
}

static bool lo_up(void)
{
	return !system("ip link set lo up");
}

CASE(server_needs_no_privileges)
{
	char *argv[] = { peerpin, "metrics", "--listen", ":9855", NULL };
	pid_t server;
	int status;

	EXPECT(lo_up(), "lo");
	server = run_as(NOBODY, argv);
	EXPECT(get(PORT, "GET", "/metrics", "") && strstr(said, "200 OK"), "%.300s", said);
	EXPECT(strstr(said, "version=0.0.4") && strstr(said, "# TYPE peerpin_pins_total counter\n"), "%.900s", said);
	EXPECT(get(PORT, "GET", "/metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n"), "get");
	EXPECT(strstr(said, "application/openmetrics-text") && strstr(said, "# TYPE peerpin_pins counter\n"), "%.900s", said);
	EXPECT(get(PORT, "GET", "/", "") && strstr(said, " 404 "), "%.300s", said);
	EXPECT(get(PORT, "POST", "/metrics", "Content-Length: 0\r\n") && strstr(said, " 405 "), "%.300s", said);
	EXPECT(lines(NOBODY, argv) == 1 << 8, "a second server");
	kill(server, SIGTERM);
	EXPECT(waitpid(server, &status, 0) == server && status == 0, "status %#x", status);
}

/* ---- Prometheus ----------------------------------------------------------------------------- */

static const char config[] =
	"global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n"
	"  - job_name: peerpin\n    static_configs:\n      - targets: ['127.0.0.1:9855']\n";

/* Prometheus of the host, installed, or unpacked by scripts/prometheus */
static char *find_prometheus(void)
{
	static char *const places[] = { "/usr/bin/prometheus", "build/prometheus/usr/bin/prometheus" };
	unsigned int i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

/* The value of a query of Prometheus that has one result; -1: it has none, or several */
static double query_value(const char *query)
{
	char path[512];
	const char *at;

	snprintf(path, sizeof(path), "/api/v1/query?query=%s", query);
	if (!get(PROMETHEUS_PORT, "GET", path, ""))
		return -1;
	at = strstr(said, "\"value\":[");
	at = at ? strchr(at, ',') : NULL;
	return at ? strtod(at + 2, NULL) : -1;
}

static bool await(const char *query, double least)
{
	int i;

	for (i = 0; i < 120; i++) {
		if (query_value(query) >= least)
			return true;
		usleep(500000);
	}
	return false;
}

/* The counters of the machine have no reset, while processes start, lose memory and end. */
CASE(prometheus_scrapes_it)
{
	char *server[] = { peerpin, "metrics", "--listen", ":9855", NULL };
	char *prometheus[] = { find_prometheus(), "--config.file=/tmp/prometheus.yml", "--storage.tsdb.path=/tmp/tsdb",
			       "--web.listen-address=127.0.0.1:9090", "--log.level=error", NULL };
	char query[128];
	pid_t pids[3];
	FILE *f;
	int i;

	if (!prometheus[0])
		SKIP("Prometheus is neither installed nor unpacked: scripts/prometheus");
	EXPECT(lo_up(), "lo");
	f = fopen("/tmp/prometheus.yml", "we");
	EXPECT(f && fputs(config, f) >= 0 && !fclose(f), "config");
	pids[0] = run_as(0, server);
	EXPECT(get(PORT, "GET", "/metrics", ""), "no server");
	pids[1] = run_as(0, prometheus);
	pids[2] = copier();
	for (i = 0; i < 2; i++) {
		end_holders();
		EXPECT(start("pinner", pin_again_and_again, 0, true) && start("loser", lose, 0, true), "start");
		EXPECT(await("sum_over_time(up[5m])", 3 * (i + 1)), "%d scrapes: %.300s", 3 * (i + 1), said);
	}
	for (i = 0; i < COUNTS; i++) {
		snprintf(query, sizeof(query), "resets(%s[5m])", counts[i]);
		EXPECT(query_value(query) == 0, "%s: %.300s", counts[i], said);
	}
	EXPECT(query_value("increase(peerpin_revocations_total[5m])") > 0, "%.300s", said);
	EXPECT(query_value("increase(peerpin_transfer_bytes_total[5m])") > 0, "%.300s", said);
	EXPECT(query_value("count({__name__=~%22peerpin_.*%22})") < 100, "%.300s", said);
	printf("# %.0f scrapes, %.0f series\n", query_value("sum_over_time(up[5m])"),
	       query_value("count({__name__=~%22peerpin_.*%22})"));
	for (i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

CASE(nothing_is_left)
{
	end_holders();
	EXPECT(!metrics(0, NULL, NULL), "status");
	EXPECT(value("peerpin_pinned_bytes") == 0 && value("peerpin_processes") == 0, "%.900s", said);
}

VMTEST_MAIN
