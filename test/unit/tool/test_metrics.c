// SPDX-License-Identifier: MIT
/* peerpin metrics: /proc/driver/peerpin, the two text formats, the limit of series, addresses. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "test/unit/unit.h"
#include "tool/metrics/args.h"
#include "tool/metrics/text.h"

static struct counters parse(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct counters c;

	assert_non_null(f);
	counters_parse(f, &c);
	fclose(f);
	return c;
}

static void counters_are_parsed(void **state)
{
	struct counters c = parse("bytes 4096\npins 7\nrefused x\nnewer 3\ntransfer_bytes 18446744073709551615\n"
				  "peer 0000:00:04.0 5 600 1\npeer broken 5\npeer a\033b 1 2 3\n");

	(void)state;
	assert_true(c.known[COUNTER_BYTES] && c.known[COUNTER_PINS] && !c.known[COUNTER_REFUSED]);
	assert_false(c.known[COUNTER_REGIONS]);
	assert_int_equal(c.value[COUNTER_PINS], 7);
	assert_true(c.value[COUNTER_TRANSFER_BYTES] == UINT64_MAX);
	assert_int_equal(c.nr_peers, 2);
	assert_string_equal(c.peers[0].name, "0000:00:04.0");
	assert_int_equal(c.peers[0].value[PEER_BYTES], 600);
	assert_int_equal(c.peers[0].value[PEER_TIMEOUTS], 1);
	assert_string_equal(c.peers[1].name, "a?b");
	counters_free(&c);
}

/* ---- text -------------------------------------------------------------------------- */

static char *print(const struct metrics_sample *s, enum metrics_format format)
{
	char *text;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	metrics_print(f, format, s);
	fclose(f);
	return text;
}

static struct metrics_process process(pid_t pid, const char *command, uint64_t bytes)
{
	struct metrics_process p = {
		.pid = pid, .bytes = bytes, .nr_pinned = 1, .counted = true, .pins = 9,
		.pinned = { { .provider = "nv", .bytes = bytes, .regions = 2 } },
	};

	snprintf(p.command, sizeof(p.command), "%s", command);
	return p;
}

static void each_format_has_its_names(void **state)
{
	struct metrics_sample s = { .loaded = true, .counters = parse("pins 7\nbytes 5\n") };
	char *open = print(&s, METRICS_OPENMETRICS), *classic = print(&s, METRICS_PROMETHEUS);

	(void)state;
	assert_non_null(strstr(open, "# TYPE peerpin_pins counter\npeerpin_pins_total 7\n"));
	assert_non_null(strstr(open, "# UNIT peerpin_pinned_bytes bytes\npeerpin_pinned_bytes 5\n"));
	assert_string_equal(open + strlen(open) - 6, "# EOF\n");
	assert_non_null(strstr(classic, "# TYPE peerpin_pins_total counter\npeerpin_pins_total 7\n"));
	assert_null(strstr(classic, "# EOF"));
	assert_null(strstr(classic, "# UNIT"));
	assert_null(strstr(open, "revocations_total"));		/* the module did not say */
	free(open);
	free(classic);
}

static void labels_are_escaped(void **state)
{
	struct metrics_process p = process(7, "a\"b\\c\n", 4096);
	struct metrics_sample s = { .processes = &p, .nr_processes = 1 };
	char *text = print(&s, METRICS_OPENMETRICS);

	(void)state;
	assert_non_null(strstr(text, "peerpin_process_pinned_bytes{pid=\"7\",command=\"a\\\"b\\\\c?\",provider=\"nv\"} 4096\n"));
	assert_non_null(strstr(text, "peerpin_process_pins_total{pid=\"7\",command=\"a\\\"b\\\\c?\"} 9\n"));
	assert_null(strstr(text, "peerpin_process_cache_hits_total{"));
	free(text);
}

/* ---- the limit ------------------------------------------------------------------------ */

static void smaller_processes_become_one(void **state)
{
	struct metrics_process *p = calloc(5, sizeof(*p));
	struct metrics_sample s = { .processes = p, .nr_processes = 5 };
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		p[i] = process(10 + i, "x", 100 * (i + 1));
	metrics_limit(&s, 2);
	assert_int_equal(s.nr_all, 5);
	assert_int_equal(s.nr_processes, 3);
	assert_int_equal(s.processes[0].pid, 14);
	assert_int_equal(s.processes[1].pid, 13);
	assert_int_equal(s.processes[2].pid, 0);
	assert_int_equal(s.processes[2].pinned[0].bytes, 100 + 200 + 300);
	assert_int_equal(s.processes[2].pinned[0].regions, 6);
	assert_false(s.processes[2].counted);
	metrics_free(&s);
}

static void few_processes_stay(void **state)
{
	struct metrics_process *p = calloc(1, sizeof(*p));
	struct metrics_sample s = { .processes = p, .nr_processes = 1 }, none = { 0 };

	(void)state;
	p[0] = process(10, "x", 100);
	metrics_limit(&s, 1);
	assert_int_equal(s.nr_processes, 1);
	assert_int_equal(s.processes[0].pid, 10);
	metrics_free(&s);
	metrics_limit(&none, 0);
	assert_int_equal(none.nr_processes, 0);
}

static size_t count_series(const struct metrics_sample *s)
{
	char *text = print(s, METRICS_OPENMETRICS), *line, *rest = text;
	size_t count = 0;

	while ((line = strsep(&rest, "\n")))
		count += *line && *line != '#';
	free(text);
	return count;
}

/* More processes, providers, peers and GPUs than are shown */
static void many_labels_have_few_series(void **state)
{
	enum { ALL = 2000, SHOWN = 50, PROVIDERS = METRICS_PROVIDERS, OF_MACHINE = 6 };
	struct metrics_sample s = { .counters = parse("pins 7\nbytes 5\n"), .nr_gpus = METRICS_GPUS, .nr_processes = ALL };
	int i, k;

	(void)state;
	s.processes = calloc(ALL, sizeof(*s.processes));
	s.counters.peers = calloc(ALL, sizeof(*s.counters.peers));
	s.counters.nr_peers = ALL;
	for (i = 0; i < ALL; i++) {
		s.processes[i] = process(10 + i, "x", 100);
		s.processes[i].publishes = true;
		s.processes[i].nr_pinned = PROVIDERS;
		for (k = 0; k < PROVIDERS; k++)
			snprintf(s.processes[i].pinned[k].provider, sizeof(s.processes[i].pinned[k].provider), "p%d", k);
	}
	metrics_limit(&s, SHOWN);
	assert_int_equal(count_series(&s), OF_MACHINE + 3 * METRICS_PEERS + 4 * METRICS_GPUS + 4 * SHOWN +
						   2 * PROVIDERS * (SHOWN + 1));
	metrics_free(&s);
}

/* ---- the command line --------------------------------------------------------------------- */

static void assert_address(const char *text, const char *host, int port)
{
	struct sockaddr_storage a;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
	char found[64];

	assert_true(parse_address(text, &a));
	inet_ntop(a.ss_family, a.ss_family == AF_INET ? (const void *)&v4->sin_addr : &v6->sin6_addr, found, sizeof(found));
	assert_string_equal(found, host);
	assert_int_equal(ntohs(v4->sin_port), port);
}

static void addresses_are_loopback_by_default(void **state)
{
	static const char *const bad[] = { "", ":", "x", "1.2.3.4", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "host:80",
					   "::1", "[::1]", "[]:80", "1.2.3.4:8x", "fe80::1:80" };
	struct sockaddr_storage a;
	size_t i;

	(void)state;
	assert_address("9855", "127.0.0.1", 9855);
	assert_address(":9855", "127.0.0.1", 9855);
	assert_address("0.0.0.0:80", "0.0.0.0", 80);
	assert_address("[::1]:65535", "::1", 65535);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse_address(bad[i], &a))
			fail_msg("%s is an address", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_parsed),
		cmocka_unit_test(each_format_has_its_names),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(smaller_processes_become_one),
		cmocka_unit_test(few_processes_stay),
		cmocka_unit_test(many_labels_have_few_series),
		cmocka_unit_test(addresses_are_loopback_by_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
