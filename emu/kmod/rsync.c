// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include <nv-p2p.h>

#include "api.h"
#include "driver.h"
#include "monitor.h"
#include "rsync.h"

static DEFINE_MUTEX(rsync_mutex);

/* State of the rsync driver. Protected by the mutex, which is also held while the rsync driver is called. */
static struct nvidia_p2p_rsync_driver driver;
static bool registered;
static void *driver_data;
static char driver_module[EMUGPU_MODULE_LEN];
static unsigned int users;
static int mode;

/* The rsync driver refuses by a nonzero result: open() then fails, with -EIO if the result is positive. */
static int ask_mode(void)
{
	int err = registered ? driver.get_relaxed_ordering_mode(&mode, driver_data) : 0;

	return err > 0 ? -EIO : err;
}

int emugpu_rsync_use(void)
{
	int err = 0;

	mutex_lock(&rsync_mutex);
	if (!users)
		err = ask_mode();
	if (!err)
		users++;
	mutex_unlock(&rsync_mutex);
	return err;
}

void emugpu_rsync_unuse(void)
{
	mutex_lock(&rsync_mutex);
	if (!--users && registered)
		driver.put_relaxed_ordering_mode(!!mode, driver_data);
	mutex_unlock(&rsync_mutex);
}

static bool valid(const struct nvidia_p2p_rsync_driver *new)
{
	return new && NVIDIA_P2P_RSYNC_DRIVER_VERSION_COMPATIBLE(new) && new->get_relaxed_ordering_mode &&
	       new->put_relaxed_ordering_mode && new->wait_for_rsync;
}

int nvidia_p2p_register_rsync_driver(nvidia_p2p_rsync_driver_t *new, void *data)
{
	int err = 0;

	if (!valid(new))
		return -EINVAL;
	mutex_lock(&rsync_mutex);
	if (registered || users) {
		err = -EBUSY;
	} else {
		driver = *new;
		driver_data = data;
		emugpu_monitor_module(EMUGPU_CALLER, driver_module);
		registered = true;
	}
	mutex_unlock(&rsync_mutex);
	return err;
}
EMUGPU_EXPORT(nvidia_p2p_register_rsync_driver);

static bool same(const struct nvidia_p2p_rsync_driver *old, const void *data)
{
	return registered && old->get_relaxed_ordering_mode == driver.get_relaxed_ordering_mode &&
	       old->put_relaxed_ordering_mode == driver.put_relaxed_ordering_mode &&
	       old->wait_for_rsync == driver.wait_for_rsync && data == driver_data;
}

/* Any valid @old unregisters the present driver, even if the two differ. An invalid @old is only reported. */
void nvidia_p2p_unregister_rsync_driver(nvidia_p2p_rsync_driver_t *old, void *data)
{
	mutex_lock(&rsync_mutex);
	if (!valid(old) || !same(old, data) || users)
		emugpu_violation(EMUGPU_RULE_RSYNC_MISMATCH, EMUGPU_CALLER);
	if (valid(old))
		registered = false;
	mutex_unlock(&rsync_mutex);
}
EMUGPU_EXPORT(nvidia_p2p_unregister_rsync_driver);

void emugpu_rsync_module_going(const char *module)
{
	mutex_lock(&rsync_mutex);
	if (registered && emugpu_monitor_is(driver_module, module)) {
		emugpu_violation_by(EMUGPU_RULE_RSYNC_MISMATCH, module);
		registered = false;
	}
	mutex_unlock(&rsync_mutex);
}

/* Kept so that old consumers build and load. Drivers before 580 look for the registers of POWER9. */
int nvidia_p2p_get_rsync_registers(nvidia_p2p_rsync_reg_info_t **reg_info)
{
	return !reg_info && !emugpu_driver_since(580) ? -EINVAL : -ENODEV;
}
EMUGPU_EXPORT(nvidia_p2p_get_rsync_registers);

void nvidia_p2p_put_rsync_registers(nvidia_p2p_rsync_reg_info_t *reg_info)
{
}
EMUGPU_EXPORT(nvidia_p2p_put_rsync_registers);
