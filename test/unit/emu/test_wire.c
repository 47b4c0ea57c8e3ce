// SPDX-License-Identifier: MIT
/* The Ethernet switch of emu/vm/cluster, with a Unix socket in the place of each card. */
#include "test/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/vm/wire/bridge.h"
#include "emu/vm/wire/port.h"

enum { CARDS = 3, ALL = 0xff, MANY = 200, TOO_MANY = 20000 };

struct frame {
	uint8_t to[6], from[6];
	uint16_t type;
	uint32_t number;
};

static char dir[] = "/tmp/test_wire.XXXXXX", paths[CARDS + 1][64];
static struct sockaddr_un switch_at = { .sun_family = AF_UNIX };
static struct bridge *bridge;
static int cards[CARDS + 1];

static int open_card(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int open_all(void **state)
{
	char *of_cards[CARDS] = { paths[0], paths[1], paths[2] };
	int i;

	(void)state;
	snprintf(switch_at.sun_path, sizeof(switch_at.sun_path), "%s/switch", dir);
	for (i = 0; i <= CARDS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%d", dir, i);
		cards[i] = open_card(paths[i]);
	}
	bridge = bridge_open(switch_at.sun_path, of_cards, CARDS);
	return !bridge;
}

static int close_all(void **state)
{
	int i;

	(void)state;
	bridge_close(bridge);
	for (i = 0; i <= CARDS; i++) {
		close(cards[i]);
		unlink(paths[i]);
	}
	return !access(switch_at.sun_path, F_OK);
}

/* Card @i sends a frame from MAC address @from to @to, each the last byte of it, and the switch forwards it. */
static void send_as(int i, int from, int to, uint32_t number)
{
	struct frame f = { .number = number };

	memset(f.to, to == ALL ? 0xff : 0, sizeof(f.to));
	f.to[5] = (uint8_t)to;
	f.from[4] = (uint8_t)(from >> 8);
	f.from[5] = (uint8_t)from;
	assert_int_equal(sendto(cards[i], &f, sizeof(f), 0, (struct sockaddr *)&switch_at, sizeof(switch_at)), sizeof(f));
	assert_int_equal(bridge_step(bridge, 0), 0);
}

/* Returns the number of the next frame that card @i has received, or 0. */
static uint32_t received(int i)
{
	struct frame f;

	return recv(cards[i], &f, sizeof(f), MSG_DONTWAIT) == sizeof(f) ? f.number : 0;
}

/* ---- addresses -------------------------------------------------------------------- */

static void test_unknown_destination_is_flooded(void **state)
{
	(void)state;
	send_as(0, 10, 11, 1);
	assert_int_equal(received(1), 1);
	assert_int_equal(received(2), 1);
	assert_int_equal(received(0), 0);
}

static void test_learned_destination_receives_alone(void **state)
{
	(void)state;
	send_as(1, 11, ALL, 1);
	assert_int_equal(received(0), 1);
	assert_int_equal(received(2), 1);
	send_as(0, 10, 11, 2);
	assert_int_equal(received(1), 2);
	assert_int_equal(received(2), 0);
}

static void test_address_moves_to_another_card(void **state)
{
	(void)state;
	send_as(1, 11, 12, 1);
	send_as(2, 11, 12, 2);
	while (received(0) || received(1) || received(2))
		;
	send_as(0, 10, 11, 3);
	assert_int_equal(received(1), 0);
	assert_int_equal(received(2), 3);
}

/* The sender and its destination are behind the same card: nothing to forward. */
static void test_frame_does_not_return(void **state)
{
	(void)state;
	send_as(0, 10, ALL, 1);
	assert_int_equal(received(1), 1);
	assert_int_equal(received(2), 1);
	send_as(0, 9, 10, 2);
	assert_int_equal(received(0) + received(1) + received(2), 0);
}

static void test_broadcast_is_not_learned(void **state)
{
	struct frame f = { .number = 1 };

	(void)state;
	memset(f.to, 0xff, sizeof(f.to));
	memset(f.from, 0xff, sizeof(f.from));
	assert_true(sendto(cards[1], &f, sizeof(f), 0, (struct sockaddr *)&switch_at, sizeof(switch_at)) > 0);
	assert_int_equal(bridge_step(bridge, 0), 0);
	assert_int_equal(received(2), 1);
	send_as(0, 10, ALL, 2);
	assert_int_equal(received(2), 2);
}

static void test_oldest_address_is_replaced(void **state)
{
	int i;

	(void)state;
	send_as(1, 11, 1, 1);
	for (i = 0; i < 256; i++) {
		send_as(2, 0x200 + i, 0x7f, 2);
		while (received(0) || received(1))
			;
	}
	while (received(2))
		;
	send_as(0, 10, 11, 3);
	assert_int_equal(received(1), 3);
	assert_int_equal(received(2), 3);
}

static void test_stranger_is_ignored(void **state)
{
	(void)state;
	send_as(CARDS, 13, ALL, 1);
	assert_int_equal(received(0) + received(1) + received(2), 0);
}

static void test_runt_is_ignored(void **state)
{
	char runt[13] = "";

	(void)state;
	assert_true(sendto(cards[0], runt, sizeof(runt), 0, (struct sockaddr *)&switch_at, sizeof(switch_at)) > 0);
	assert_int_equal(bridge_step(bridge, 0), 0);
	assert_true(recv(cards[1], runt, sizeof(runt), MSG_DONTWAIT) < 0);
}

/* ---- cards that are slow, or gone ------------------------------------------------- */

/* The system queues few datagrams for a socket; the others wait in the switch. */
static void test_slow_card_receives_all_in_order(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i <= MANY; i++) {
		send_as(0, 10, ALL, i);
		assert_int_equal(received(2), i);
	}
	for (i = 1; i <= MANY; i++) {
		assert_int_equal(received(1), i);
		assert_int_equal(bridge_step(bridge, 0), 0);
	}
	assert_int_equal(received(1), 0);
}

static void test_frame_does_not_overtake(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i <= MANY; i++)
		send_as(0, 10, ALL, i);
	while (received(1) != MANY / 2)
		bridge_step(bridge, 0);
	send_as(0, 10, ALL, MANY + 1);
	for (i = MANY / 2 + 1; i <= MANY + 1; i++) {
		assert_int_equal(received(1), i);
		bridge_step(bridge, 0);
	}
}

static void test_queue_is_bounded(void **state)
{
	uint32_t i, count = 0, last = 0;

	(void)state;
	for (i = 1; i <= TOO_MANY; i++) {
		send_as(0, 10, ALL, i);
		assert_int_equal(received(2), i);
	}
	for (; (i = received(1)); count++) {
		assert_true(i > last);
		last = i;
		bridge_step(bridge, 0);
	}
	assert_true(count >= PORT_QUEUE_MAX);
	assert_true(count < TOO_MANY);
	send_as(0, 10, ALL, TOO_MANY + 1);
	assert_int_equal(received(1), TOO_MANY + 1);
}

static void test_gone_card_is_forgotten(void **state)
{
	(void)state;
	send_as(1, 11, 10, 1);
	assert_int_equal(received(0), 1);
	assert_int_equal(received(2), 1);
	close(cards[1]);
	unlink(paths[1]);
	send_as(0, 10, 11, 2);
	assert_int_equal(received(2), 0);
	send_as(0, 10, 11, 3);
	assert_int_equal(received(2), 3);
}

static void test_frames_of_gone_card_are_dropped(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i <= MANY; i++)
		send_as(0, 10, ALL, i);
	close(cards[1]);
	cards[1] = open_card(paths[1]);
	bridge_step(bridge, 0);
	while (received(1) || received(2))
		bridge_step(bridge, 0);
	send_as(0, 10, ALL, MANY + 1);
	assert_int_equal(received(1), MANY + 1);
	assert_int_equal(received(2), MANY + 1);
}

static void test_card_appears_later(void **state)
{
	(void)state;
	close(cards[1]);
	unlink(paths[1]);
	send_as(0, 10, ALL, 1);
	assert_int_equal(received(2), 1);
	cards[1] = open_card(paths[1]);
	send_as(0, 10, ALL, 2);
	assert_int_equal(received(1), 2);
}

/* ---- the socket ------------------------------------------------------------------- */

static void test_path_in_use_is_refused(void **state)
{
	char *one[] = { paths[0] };

	(void)state;
	assert_null(bridge_open(switch_at.sun_path, one, 1));
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(access(switch_at.sun_path, F_OK), 0);
}

static void test_long_path_is_refused(void **state)
{
	char path[200], free_path[64], *one[] = { path };

	(void)state;
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_null(bridge_open(path, one, 1));
	assert_int_equal(errno, ENAMETOOLONG);
	snprintf(free_path, sizeof(free_path), "%s/free", dir);
	assert_null(bridge_open(free_path, one, 1));
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(access(free_path, F_OK), -1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_unknown_destination_is_flooded),
		CASE(test_learned_destination_receives_alone),
		CASE(test_address_moves_to_another_card),
		CASE(test_frame_does_not_return),
		CASE(test_broadcast_is_not_learned),
		CASE(test_oldest_address_is_replaced),
		CASE(test_stranger_is_ignored),
		CASE(test_runt_is_ignored),
		CASE(test_slow_card_receives_all_in_order),
		CASE(test_frame_does_not_overtake),
		CASE(test_queue_is_bounded),
		CASE(test_gone_card_is_forgotten),
		CASE(test_frames_of_gone_card_are_dropped),
		CASE(test_card_appears_later),
		CASE(test_path_in_use_is_refused),
		CASE(test_long_path_is_refused),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
