// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "stream.h"

#define PORT "/dev/vport0p1"

enum {
	PORT_WAIT_MS = 10000,
	PORT_POLL_MS = 2,
};

static int port = -1;

/* The port appears some time after insmod, when the host's message announces the port. */
int stream_open(void)
{
	int waited;

	for (waited = 0; waited < PORT_WAIT_MS; waited += PORT_POLL_MS) {
		port = open(PORT, O_WRONLY | O_CLOEXEC);
		if (port >= 0)
			return 0;
		usleep(PORT_POLL_MS * 1000);
	}
	return -errno;
}

static void send_frame(struct frame *frame, enum frame_kind kind, size_t length)
{
	size_t left = sizeof(frame->head) + length;
	const char *p = (const char *)frame;
	ssize_t put;

	frame->head.kind = kind;
	frame->head.length = (uint32_t)length;
	while (left) {
		put = write(port, p, left);
		if (put < 0 && errno != ENOMEM)
			return;	/* the host has closed the stream */
		if (put < 0) {
			usleep(PORT_POLL_MS * 1000);
			continue;
		}
		p += put;
		left -= (size_t)put;
	}
}

int stream_copy(int fd, enum frame_kind kind)
{
	static struct frame frame;
	ssize_t got = read(fd, frame.data, sizeof(frame.data));

	if (got <= 0)
		return 0;
	send_frame(&frame, kind, (size_t)got);
	return 1;
}

void stream_note(const char *format, ...)
{
	static struct frame frame;
	char text[1024];
	va_list args;
	int length;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	length = snprintf(frame.data, sizeof(frame.data), "emu/vm/run: %s\n", text);
	send_frame(&frame, FRAME_STDERR, (size_t)length);
}

void stream_running(void)
{
	static struct frame frame;

	send_frame(&frame, FRAME_RUNNING, 0);
}

static void send_byte(enum frame_kind kind, int byte)
{
	static struct frame frame;

	frame.data[0] = (char)byte;
	send_frame(&frame, kind, 1);
}

void stream_command(const char *name)
{
	static struct frame frame;
	int length = snprintf(frame.data, sizeof(frame.data), "%s", name);

	send_frame(&frame, FRAME_COMMAND, (size_t)length);
}

void stream_status(int status)
{
	send_byte(FRAME_STATUS, status);
}

void stream_verdict(int status)
{
	send_byte(FRAME_VERDICT, status);
}
