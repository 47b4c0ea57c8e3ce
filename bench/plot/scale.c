// SPDX-License-Identifier: MIT
#include <math.h>
#include "scale.h"

enum { FEW_TICKS = 9, LOG_FROM = 10 };

static void add_tick(struct scale *s, double figure)
{
	if (s->ticks < TICKS_MAX)
		s->tick[s->ticks++] = figure;
}

struct scale scale_powers(double low, double high, unsigned int base)
{
	struct scale s = { .is_log = true, .low = low, .high = high > low ? high : low * base };
	double step = base, figure;

	while (log(s.high / s.low) / log(step) > FEW_TICKS)
		step *= base;
	for (figure = s.low; figure <= s.high * 1.0001; figure *= step)
		add_tick(&s, figure);
	return s;
}

/* The largest of 1, 2 and 5 times a power of ten that is <= @figure */
static double round_down(double figure)
{
	double power = pow(10, floor(log10(figure) + 1e-9)), rest = figure / power * 1.0000001;

	return power * (rest >= 5 ? 5 : rest >= 2 ? 2 : 1);
}

static double round_after(double rounded)
{
	return round_down(rounded * 2.5);
}

static double round_up(double figure)
{
	double rounded = round_down(figure);

	return rounded * 1.0000001 >= figure ? rounded : round_after(rounded);
}

static bool is_power_of_ten(double figure)
{
	return fabs(log10(figure) - round(log10(figure))) < 1e-6;
}

/* With two decades or more, label only powers of ten. */
static struct scale round_log(double low, double high)
{
	struct scale s = { .is_log = true, .low = round_down(low), .high = round_up(high) };
	bool all = s.high / s.low < 100;
	double figure;

	for (figure = s.low; figure <= s.high * 1.0001; figure = round_after(figure))
		if (all || is_power_of_ten(figure))
			add_tick(&s, figure);
	return s;
}

static struct scale round_linear(double high)
{
	double step = round_up(high / 6);
	struct scale s = { .high = step * ceil(high / step - 1e-6) };
	int i, steps = (int)round(s.high / step);

	for (i = 0; i <= steps; i++)
		add_tick(&s, i * step);
	return s;
}

struct scale scale_round(double low, double high)
{
	return high < LOG_FROM * low ? round_linear(high) : round_log(low, high);
}

double scale_place(const struct scale *s, double figure)
{
	double part;

	if (s->is_log)
		part = log(figure / s->low) / log(s->high / s->low);
	else
		part = (figure - s->low) / (s->high - s->low);
	return s->from + part * (s->to - s->from);
}
