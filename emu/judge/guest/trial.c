// SPDX-License-Identifier: MIT
#include <string.h>

#include "emulator.h"
#include "emu/judge/log/report.h"
#include "trial.h"

static struct emulator_counts before;

int trial_begin(void)
{
	return emulator_count(&before);
}

static bool is_pin(const struct emugpu_event *event)
{
	return event->kind == EMUGPU_EVENT_PIN || event->kind == EMUGPU_EVENT_PIN_PERSISTENT ||
	       event->kind == EMUGPU_EVENT_IMPORT;
}

/* The emulator truncates long module names. */
static bool is_by(const struct emugpu_event *event, const struct driver *driver)
{
	return !strncmp(event->module, driver->name, sizeof(event->module) - 1);
}

/* @out_pins: all pins; @out_own: pins that the driver made itself, not through peerpin */
static int count_pins(const struct driver *driver, uint32_t *out_pins, uint32_t *out_own)
{
	static struct emugpu_event events[EMULATOR_EVENTS_MAX];
	uint32_t i, nr;
	int ret = emulator_events(events, &nr);

	*out_pins = 0;
	*out_own = 0;
	for (i = 0; !ret && i < nr && i < EMULATOR_EVENTS_MAX; i++) {
		*out_pins += is_pin(&events[i]);
		*out_own += is_pin(&events[i]) && is_by(&events[i], driver);
	}
	return ret;
}

static int count_asked(uint32_t *out)
{
	struct emulator_counts now;
	int ret = emulator_count(&now);

	*out = (uint32_t)(now.asked - before.asked);
	return ret;
}

int trial_tell(const struct driver *driver, const struct share *share, bool asked)
{
	uint32_t pins, own;
	int ret = count_pins(driver, &pins, &own);

	if (!ret && asked)
		ret = count_asked(&pins);
	if (ret)
		return ret;
	report_line("trial", "%u pins %u own %u calls %u devices", pins, own, share->calls, share->nr_devices);
	if (share->bytes)
		report_line("bytes", "%llx", (unsigned long long)share->bytes);
	return 0;
}

void trial_tell_revoked(const struct share *share)
{
	struct emulator_counts now;

	if (!emulator_count(&now))
		report_line("revoked", "%llu callbacks %llu notified %u mapped",
			    (unsigned long long)(now.callbacks - before.callbacks),
			    (unsigned long long)(now.notified - before.notified), share->mapped);
}
