// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/io.h>
#include <linux/rwsem.h>

#include "gpu.h"
#include "window.h"

static DECLARE_RWSEM(window_rwsem);

int emugpu_window_open(struct emugpu_gpu *gpu)
{
	int err = 0;

	down_write(&window_rwsem);
	if (READ_ONCE(gpu->gone))
		err = -ENODEV;
	else if (!gpu->window)
		gpu->window = memremap(gpu->bar, gpu->size, MEMREMAP_WC);
	if (!err && !gpu->window)
		err = -ENOMEM;
	up_write(&window_rwsem);
	return err;
}

void emugpu_window_close(struct emugpu_gpu *gpu)
{
	down_write(&window_rwsem);
	if (gpu->window)
		memunmap(gpu->window);
	gpu->window = NULL;
	up_write(&window_rwsem);
}

void emugpu_window_lock_shared(void)
{
	down_read(&window_rwsem);
}

void emugpu_window_unlock_shared(void)
{
	up_read(&window_rwsem);
}

void emugpu_window_lock(void)
{
	down_write(&window_rwsem);
}

void emugpu_window_unlock(void)
{
	up_write(&window_rwsem);
}

void *emugpu_window_page(const struct emugpu_gpu *gpu, u32 page)
{
	lockdep_assert_held(&window_rwsem);
	if (READ_ONCE(gpu->gone))
		return ERR_PTR(-ENODEV);
	if (!gpu->window)
		return ERR_PTR(-EBUSY);
	return gpu->window + emugpu_gpu_page_offset(page);
}
