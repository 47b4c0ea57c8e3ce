// SPDX-License-Identifier: MIT
#include <string.h>
#include "program.h"
#include "random.h"

enum { SHORTEST = 16 };

void program_make(struct program *program, uint64_t *seed)
{
	uint32_t i;

	memset(program, 0, sizeof(*program));
	program->length = SHORTEST + (uint32_t)random_below(seed, PROGRAM_BYTES - SHORTEST + 1);
	for (i = 0; i < program->length; i++)
		program->bytes[i] = (uint8_t)random_next(seed);
}

static void change_byte(struct program *program, uint64_t *seed)
{
	program->bytes[random_below(seed, program->length)] = (uint8_t)random_next(seed);
}

static void splice(struct program *program, const struct program *other, uint64_t *seed)
{
	uint32_t from = (uint32_t)random_below(seed, program->length);
	uint32_t length = other->length > from ? other->length : program->length;

	memcpy(program->bytes + from, other->bytes + from, length - from);
	program->length = length;
}

void program_mutate(struct program *program, const struct program *other, uint64_t *seed)
{
	uint64_t changes = 1 + random_below(seed, 4);

	if (!random_below(seed, 3))
		splice(program, other, seed);
	while (changes--)
		change_byte(program, seed);
}

bool choices_left(const struct choices *c)
{
	return c->at < c->program->length;
}

static uint8_t next_byte(struct choices *c)
{
	return choices_left(c) ? c->program->bytes[c->at++] : 0;
}

uint64_t choose(struct choices *c, uint64_t n)
{
	uint64_t value = 0, range;

	for (range = 1; range < n; range <<= 8)
		value = value << 8 | next_byte(c);
	return value % n;
}

static uint64_t any_number(struct choices *c)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | next_byte(c);
	return value;
}

uint64_t choose_number(struct choices *c)
{
	static const uint64_t edges[] = {
		0, 1, 7, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 21, (1 << 21) - 1, 1u << 31, 0xffffffff,
		1ull << 32, 1ull << 40, 1ull << 43, 1ull << 47, 1ull << 63, ~0ull - 65535, ~0ull - 4095, ~0ull,
	};
	uint64_t which = choose(c, 32);

	return which < sizeof(edges) / sizeof(*edges) ? edges[which] : any_number(c) >> choose(c, 64);
}

bool choose_rarely(struct choices *c, uint64_t n)
{
	return choose(c, n) == n - 1;
}
