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

/* The text after @series in the line of @text that begins with @series and one of the characters @next; NULL: none does */
static const char *after_series(const char *text, const char *series, const char *next)
{
	size_t length = strlen(series);
	const char *at = text;

	while ((at = strstr(at, series))) {
		bool begins = at == text || at[-1] == '\n';

		at += length;
		if (begins && *at && strchr(next, *at))
			return at;
	}
	return NULL;
}

/* -1: @text has no such series */
static double value_in(const char *text, const char *series)
{
	const char *at = after_series(text, series, " ");

	return at ? strtod(at, NULL) : -1;
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
	"peerpin_overstays_total", "peerpin_watches_changed_total", "peerpin_transfers_total", "peerpin_transfer_bytes_total",
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

/* ---- files of examples/monitoring ---------------------------------------------------------- */

/* Finds the next word of @f that begins with "peerpin_". */
static bool next_name(FILE *f, char name[64])
{
	while (fscanf(f, "%*[^p]") != EOF && fscanf(f, "%63[a-z0-9_]", name) != EOF)
		if (!strncmp(name, "peerpin_", 8))
			return true;
	return false;
}

/* The number of names in the file; -1: @said has no series of the last name, which is in @name */
static int known_names(const char *path, char name[64])
{
	FILE *f = fopen(path, "re");
	int count = 0;

	name[0] = '\0';
	while (f && count >= 0 && next_name(f, name))
		count = after_series(said, name, "{ ") ? count + 1 : -1;
	if (f)
		fclose(f);
	return count;
}

/* Of the machine that the case before has left: its processes publish and lose memory, and a peer has copied. */
CASE(dashboard_and_alerts_have_series)
{
	char name[64];

	EXPECT(!metrics(0, NULL, NULL), "status");
	EXPECT(known_names("examples/monitoring/grafana.json", name) >= 10, "%s: %.900s", name, said);
	EXPECT(known_names("examples/monitoring/alerts.yml", name) >= 5, "%s: %.900s", name, said);
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

CASE(server_needs_no_privileges)
{
	char *argv[] = { peerpin, "metrics", "--listen", ":9855", NULL };
	pid_t server;
	int status;

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

#define NO_PROMETHEUS "Prometheus is neither installed nor unpacked; type: scripts/prometheus"

static const char config[] =
	"global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n"
	"  - job_name: peerpin\n    static_configs:\n      - targets: ['127.0.0.1:9855']\n";

/* A program of Debian's package prometheus, which is installed, or unpacked by scripts/prometheus. NULL: neither */
static char *find_program(const char *name)
{
	static const char *const places[] = { "/usr/bin", "build/prometheus/usr/bin" };
	static char path[64];
	unsigned int i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		if (!access(path, X_OK))
			return path;
	}
	return NULL;
}

/* Runs promtool, and stores its output in @said. False: promtool found something. */
static bool promtool(const char *what, const char *of, const char *file)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "%s check %s %s %s 2>&1", find_program("promtool"), what, of, file);
	f = popen(command, "r");
	if (!f)
		return false;
	said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
	return !pclose(f);
}

CASE(promtool_finds_nothing)
{
	static char file[] = "/tmp/promtool.prom";
	char *argv[] = { peerpin, "metrics", "--format", "prometheus", "--output", file, NULL };

	if (!find_program("promtool"))
		SKIP(NO_PROMETHEUS);
	EXPECT(nr_holders, "no process has pins");
	EXPECT(!lines(0, argv), "status");
	EXPECT(promtool("metrics", "<", file), "%.900s", said);
	EXPECT(promtool("rules", "", "examples/monitoring/alerts.yml"), "%.900s", said);
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
	char *prometheus[] = { find_program("prometheus"), "--config.file=/tmp/prometheus.yml", "--storage.tsdb.path=/tmp/tsdb",
			       "--web.listen-address=127.0.0.1:9090", "--log.level=error", NULL };
	char query[128];
	pid_t pids[3];
	FILE *f;
	int i;

	if (!prometheus[0])
		SKIP(NO_PROMETHEUS);
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
