// SPDX-License-Identifier: MIT
/*
 * libmicrohttpd is loaded when --listen is given: it needs a dozen other libraries, which would slow
 * down each command. A build without its header has no --listen.
 */
#include "listen.h"
#include "tool/tool.h"

#if __has_include(<microhttpd.h>)
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tool/util/ending.h"

enum {
	CONNECTIONS = 16,
	TIMEOUT_S = 10,
	FRESH_NS = 1000000000,	/* scrapes within this time get the same text: a flood of them costs nothing */
};

static struct {
	typeof(&MHD_start_daemon) start;
	typeof(&MHD_stop_daemon) stop;
	typeof(&MHD_lookup_connection_value) header;
	typeof(&MHD_create_response_from_buffer) response;
	typeof(&MHD_add_response_header) add_header;
	typeof(&MHD_queue_response) queue;
	typeof(&MHD_destroy_response) destroy;
} http;

static const struct {
	const char *name;
	void *function;
} symbols[] = {
	{ "MHD_start_daemon", &http.start },
	{ "MHD_stop_daemon", &http.stop },
	{ "MHD_lookup_connection_value", &http.header },
	{ "MHD_create_response_from_buffer", &http.response },
	{ "MHD_add_response_header", &http.add_header },
	{ "MHD_queue_response", &http.queue },
	{ "MHD_destroy_response", &http.destroy },
};

static int load(void)
{
	void *lib = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL), *at;
	size_t i;

	if (!lib)
		return fail("--listen needs libmicrohttpd.so.12; type: apt-get install libmicrohttpd12");
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		at = dlsym(lib, symbols[i].name);
		if (!at)
			return fail("libmicrohttpd.so.12 has no %s; install a newer one", symbols[i].name);
		memcpy(symbols[i].function, &at, sizeof(at));
	}
	return 0;
}

/* ---- requests ------------------------------------------------------------------------ */

/** struct page - the text of the last scrape in one format; only the server's thread uses it */
struct page {
	char *text;
	size_t length;
	uint64_t at_ns;
};

static struct page pages[2];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static const struct page *scrape(enum metrics_format format, size_t processes)
{
	struct page *page = &pages[format];
	struct metrics_sample s;
	FILE *f;

	if (page->text && now_ns() - page->at_ns < FRESH_NS)
		return page;
	free(page->text);
	f = open_memstream(&page->text, &page->length);
	if (!f)
		no_memory();
	metrics_take(&s, processes);
	metrics_print(f, format, &s);
	metrics_free(&s);
	fclose(f);
	page->at_ns = now_ns();
	return page;
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *type, const char *text,
			      size_t length)
{
	struct MHD_Response *r = http.response(length, (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ret;

	if (!r)
		return MHD_NO;
	http.add_header(r, "Content-Type", type);
	ret = http.queue(c, status, r);
	http.destroy(r);
	return ret;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return answer(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* Prometheus asks for OpenMetrics by the header Accept. */
static enum metrics_format format_for(struct MHD_Connection *c)
{
	const char *accept = http.header(c, MHD_HEADER_KIND, "Accept");

	return accept && strstr(accept, "application/openmetrics-text") ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
				  const char *version, const char *data, size_t *size, void **state)
{
	const struct metrics_args *args = arg;
	enum metrics_format format = format_for(c);
	const struct page *page;

	(void)version, (void)data, (void)size, (void)state;
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics"))
		return say(c, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
	page = scrape(format, args->processes);
	return answer(c, MHD_HTTP_OK, metrics_content_type(format), page->text, page->length);
}

/* ---- the server ------------------------------------------------------------------------ */

static int no_server(const char *where)
{
	switch (errno) {
	case EADDRINUSE:
		return fail("%s is in use; give another port", where);
	case EACCES:
		return fail("no permission to listen at %s; give a port above 1023", where);
	default:
		return fail("cannot listen at %s: %s; give another address", where, strerror(errno));
	}
}

/* The signals are blocked before the server starts its thread, so that only this thread gets them. */
static int serve(const struct metrics_args *args, unsigned int flags)
{
	sigset_t ending = ending_signals();
	struct MHD_Daemon *daemon;
	int signal_number;

	sigprocmask(SIG_BLOCK, &ending, NULL);
	errno = 0;
	daemon = http.start(flags, 0, NULL, NULL, on_request, (void *)args, MHD_OPTION_SOCK_ADDR, &args->address,
			    MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
			    (unsigned int)TIMEOUT_S, MHD_OPTION_END);
	if (!daemon)
		return no_server(args->listen);
	printf("serving /metrics at %s\n", args->listen);
	fflush(stdout);
	sigwait(&ending, &signal_number);
	http.stop(daemon);
	return EXIT_OK;
}

int metrics_listen(const struct metrics_args *args)
{
	unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD;

	if (load())
		return EXIT_FAILED;
	if (args->address.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	signal(SIGPIPE, SIG_IGN);
	return serve(args, flags);
}

#else

int metrics_listen(const struct metrics_args *args)
{
	(void)args;
	return fail("this build has no --listen; install libmicrohttpd-dev and build again, or give --output");
}

#endif
