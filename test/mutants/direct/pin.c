// SPDX-License-Identifier: GPL-2.0
/*
 * The free callback gets a handle, not a pointer: it may still come after put_pages,
 * when the pin is freed. It runs under the GPU driver's lock, so it must not take a
 * lock that is held around get_pages, put_pages or dma_map_pages. It only waits for
 * users, and users call none of these functions.
 */
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "chip.h"
#include "pin.h"
#include "view.h"

static DEFINE_XARRAY_ALLOC1(pins);
static u32 last_handle;
static DECLARE_WAIT_QUEUE_HEAD(changed);

/* ---- users ---------------------------------------------------------------- */

bool direct_pin_stale(const struct direct_pin *pin)
{
	return READ_ONCE(pin->revoked);
}

static int pin_hold_locked(struct direct_pin *pin, const struct file *filp)
{
	if (!pin || pin->owner != filp)
		return -ENOENT;
	if (pin->revoked)
		return -ESTALE;
	pin->users++;
	return 0;
}

struct direct_pin *direct_pin_use(struct file *filp, u32 handle)
{
	struct direct_pin *pin;
	int ret;

	xa_lock(&pins);
	pin = xa_load(&pins, handle);
	ret = pin_hold_locked(pin, filp);
	xa_unlock(&pins);
	return ret ? ERR_PTR(ret) : pin;
}

bool direct_pin_hold(struct direct_pin *pin, const struct file *filp)
{
	int ret;

	xa_lock(&pins);
	ret = pin_hold_locked(pin, filp);
	xa_unlock(&pins);
	return !ret;
}

void direct_pin_unuse(struct direct_pin *pin)
{
	xa_lock(&pins);
	pin->users--;
	wake_up_all(&changed);	/* before the unlock: afterwards the pin may be freed */
	xa_unlock(&pins);
}

bool direct_pin_has(const struct direct_pin *pin, u64 offset, u64 length)
{
	return length && offset < pin->size && length <= pin->size - offset;
}

/* The bus address of @offset in the pin; @left: bytes up to the end of its page */
u32 direct_pin_bus(const struct direct_pin *pin, u64 offset, u32 *left)
{
	u64 at = pin->offset + offset;

	*left = DIRECT_PAGE_SIZE - at % DIRECT_PAGE_SIZE;
	return pin->map->dma_addresses[at / DIRECT_PAGE_SIZE] + at % DIRECT_PAGE_SIZE;
}

/* ---- birth and death -------------------------------------------------------- */

void direct_pin_release(struct kref *ref)
{
	struct direct_pin *pin = container_of(ref, struct direct_pin, ref);

	kref_put(&pin->direct->ref, direct_free);
	put_pid(pin->process);
	kfree(pin);
}

static void pin_forget(struct direct_pin *pin)
{
	xa_erase(&pins, pin->handle);
	kref_put(&pin->ref, direct_pin_release);
}

static int pin_set_range(struct direct_pin *pin, const struct direct_pin_args *args)
{
	u64 end;

	if (!args->length || args->length > DIRECT_LENGTH_MAX - DIRECT_PAGE_SIZE ||
	    check_add_overflow(args->va, args->length + DIRECT_PAGE_SIZE - 1, &end))
		return -EINVAL;
	pin->va = round_down(args->va, DIRECT_PAGE_SIZE);
	pin->length = round_down(end, DIRECT_PAGE_SIZE) - pin->va;
	pin->offset = args->va - pin->va;
	pin->size = args->length;
	return 0;
}

static int pin_set(struct direct_pin *pin, const struct direct_pin_args *args)
{
	if (args->flags & ~DIRECT_PERSISTENT || args->reserved)
		return -EINVAL;
	if (args->flags && (args->p2p_token || args->va_space))
		return -EINVAL;
	pin->flags = args->flags;
	pin->p2p_token = args->p2p_token;
	pin->va_space = args->va_space;
	return pin_set_range(pin, args);
}

static struct direct_pin *pin_new(struct direct *d, struct file *filp, const struct direct_pin_args *args)
{
	struct direct_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL);
	int ret;

	if (!pin)
		return ERR_PTR(-ENOMEM);
	ret = pin_set(pin, args);
	if (!ret)
		ret = xa_alloc_cyclic(&pins, &pin->handle, pin, XA_LIMIT(1, INT_MAX), &last_handle, GFP_KERNEL);
	if (ret < 0) {
		kfree(pin);
		return ERR_PTR(ret);
	}
	kref_init(&pin->ref);
	kref_get(&d->ref);
	pin->direct = d;
	pin->process = get_pid(task_tgid(current));
	pin->views = filp->f_mapping;
	return pin;
}

/* ---- the GPU's driver ------------------------------------------------------- */

static void users_wait(struct direct_pin *pin)
{
	wait_event(changed, !READ_ONCE(pin->users));
}

static struct direct_pin *callback_begin(u32 handle)
{
	struct direct_pin *pin;

	xa_lock(&pins);
	pin = xa_load(&pins, handle);
	if (pin)
		pin->revoked = pin->calling = true;
	xa_unlock(&pins);
	return pin;
}

static void callback_end(struct direct_pin *pin)
{
	bool orphan;

	xa_lock(&pins);
	orphan = pin->orphan;
	pin->calling = false;
	wake_up_all(&changed);
	xa_unlock(&pins);
	if (!orphan)
		return;
	pin_forget(pin);
	module_put(THIS_MODULE);
}

/* When this returns, neither a device nor a CPU can reach the memory. */
static void direct_freed(void *data)
{
	struct direct_pin *pin = callback_begin((unsigned long)data);

	if (!pin)
		return;
	users_wait(pin);
	direct_view_zap(pin);
	if (pin->map)
		nvidia_p2p_free_dma_mapping(pin->map);
	if (pin->table)
		nvidia_p2p_free_page_table(pin->table);
	callback_end(pin);
}

static int table_get(struct direct_pin *pin, struct nvidia_p2p_page_table **table)
{
	if (pin->flags & DIRECT_PERSISTENT)
		return nvidia_p2p_get_pages_persistent(pin->va, pin->length, table, NVIDIA_P2P_FLAGS_DEFAULT);
	return nvidia_p2p_get_pages(pin->p2p_token, pin->va_space, pin->va, pin->length, table, direct_freed,
				    (void *)(unsigned long)pin->handle);
}

/* A callback that ran before pin->table was set has not freed the table: free it here. */
static int pin_get(struct direct_pin *pin)
{
	struct nvidia_p2p_page_table *table = NULL;
	int ret = table_get(pin, &table);

	if (ret)
		return ret;
	xa_lock(&pins);
	if (!pin->revoked)
		pin->table = table;
	xa_unlock(&pins);
	if (pin->table)
		return 0;
	nvidia_p2p_free_page_table(table);
	return -ESTALE;
}

/* A callback that ran before pin->map was set has not freed the mapping: free it here. */
static int pin_map(struct direct_pin *pin)
{
	struct nvidia_p2p_dma_mapping *map = NULL;
	int ret = nvidia_p2p_dma_map_pages(pin->direct->pdev, pin->table, &map);

	if (ret)
		return direct_pin_stale(pin) ? -ESTALE : ret;
	xa_lock(&pins);
	if (!pin->revoked)
		pin->map = map;
	xa_unlock(&pins);
	if (pin->map)
		return 0;
	nvidia_p2p_free_dma_mapping(map);
	return -ESTALE;
}

static int table_check(const struct direct_pin *pin)
{
	const struct nvidia_p2p_page_table *table = pin->table;

	if (!NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(table))
		return -EOPNOTSUPP;
	if (table->page_size != NVIDIA_P2P_PAGE_SIZE_64KB || (u64)table->entries * DIRECT_PAGE_SIZE != pin->length)
		return -EIO;
	return 0;
}

static int map_check(const struct direct_pin *pin)
{
	if (!NVIDIA_P2P_DMA_MAPPING_VERSION_COMPATIBLE(pin->map))
		return -EOPNOTSUPP;
	if (pin->map->page_size_type != NVIDIA_P2P_PAGE_SIZE_64KB || pin->map->entries != pin->table->entries)
		return -EIO;
	return 0;
}

static int pin_check(struct direct_pin *pin, int (*check)(const struct direct_pin *pin))
{
	int ret;

	if (!direct_pin_hold(pin, NULL))
		return -ESTALE;
	ret = check(pin);
	direct_pin_unuse(pin);
	return ret;
}

/* Holds the pin as a user: if the callback ended first, the mapping would already be freed. */
static void pin_unmap(struct direct_pin *pin)
{
	if (!direct_pin_hold(pin, pin->owner))
		return;
	if (pin->map)
		nvidia_p2p_dma_unmap_pages(pin->direct->pdev, pin->table, pin->map);
	pin->map = NULL;
	direct_pin_unuse(pin);
}

static void pin_put(struct direct_pin *pin)
{
	if (!pin->table || direct_pin_stale(pin))
		return;
	if (pin->flags & DIRECT_PERSISTENT)
		nvidia_p2p_put_pages_persistent(pin->va, pin->table, 0);
	else
		nvidia_p2p_put_pages(pin->p2p_token, pin->va_space, pin->va, pin->table);
}

/* The pin has no owner, so no new user can start. Waits for a callback that has begun. */
static void pin_end(struct direct_pin *pin)
{
	lockdep_assert_held(&pin->direct->pinning);
	users_wait(pin);
	direct_view_zap(pin);
	pin_unmap(pin);
	pin_put(pin);
	wait_event(changed, !READ_ONCE(pin->calling));
	pin_forget(pin);
}

static int pin_begin(struct direct_pin *pin)
{
	int ret = pin_get(pin);

	if (!ret)
		ret = pin_check(pin, table_check);
	if (!ret)
		ret = pin_map(pin);
	return ret ?: pin_check(pin, map_check);
}

/* ---- for files -------------------------------------------------------------- */

static int pin_new_begun(struct direct *d, struct file *filp, struct direct_pin_args *args)
{
	struct direct_pin *pin;
	int ret;

	if (d->dead)
		return -ENODEV;
	pin = pin_new(d, filp, args);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	ret = pin_begin(pin);
	if (ret) {
		pin_end(pin);
		return ret;
	}
	xa_lock(&pins);
	pin->owner = filp;
	xa_unlock(&pins);
	args->out_handle = pin->handle;
	return 0;
}

int direct_pin(struct direct *d, struct file *filp, struct direct_pin_args *args)
{
	int ret;

	mutex_lock(&d->pinning);
	ret = pin_new_begun(d, filp, args);
	mutex_unlock(&d->pinning);
	return ret;
}

static struct direct_pin *pin_take(const struct file *filp, struct direct_pin *pin)
{
	if (!pin || pin->owner != filp)
		return NULL;
	pin->owner = NULL;
	return pin;
}

int direct_unpin(struct direct *d, struct file *filp, u32 handle)
{
	struct direct_pin *pin;

	mutex_lock(&d->pinning);
	xa_lock(&pins);
	pin = pin_take(filp, xa_load(&pins, handle));
	xa_unlock(&pins);
	if (pin)
		pin_end(pin);
	mutex_unlock(&d->pinning);
	return pin ? 0 : -ENOENT;
}

/* put_pages has no effect in a process that did not call get_pages. */
static bool pin_is_ours(const struct direct_pin *pin)
{
	return pin->flags & DIRECT_PERSISTENT || pin->p2p_token || pin->process == task_tgid(current);
}

/* Leaves the pin and a module reference to the callback; false: the callback has already run. */
static bool pin_leave(struct direct_pin *pin)
{
	wait_event(changed, !READ_ONCE(pin->calling));
	xa_lock(&pins);
	pin->orphan = !pin->revoked;
	if (pin->orphan) {
		pin->views = NULL;
		__module_get(THIS_MODULE);
	}
	xa_unlock(&pins);
	return pin->orphan;
}

static struct direct_pin *pin_take_any(const struct file *filp)
{
	struct direct_pin *pin;
	unsigned long handle;

	xa_lock(&pins);
	xa_for_each(&pins, handle, pin)
		if (pin_take(filp, pin))
			break;
	xa_unlock(&pins);
	return pin;
}

void direct_unpin_all(struct direct *d, struct file *filp)
{
	struct direct_pin *pin;

	mutex_lock(&d->pinning);
	while ((pin = pin_take_any(filp)))
		if (pin_is_ours(pin) || !pin_leave(pin))
			pin_end(pin);
	mutex_unlock(&d->pinning);
}

static struct direct_pin *pin_hold_mapped(const struct direct *d)
{
	struct direct_pin *pin;
	unsigned long handle;

	xa_lock(&pins);
	xa_for_each(&pins, handle, pin)
		if (pin->direct == d && pin->map && !pin_hold_locked(pin, pin->owner))
			break;
	xa_unlock(&pins);
	return pin;
}

void direct_unmap_all(struct direct *d)
{
	struct direct_pin *pin;

	lockdep_assert_held(&d->pinning);
	while ((pin = pin_hold_mapped(d))) {
		pin_unmap(pin);
		direct_pin_unuse(pin);
	}
}
