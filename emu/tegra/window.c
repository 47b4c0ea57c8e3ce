// SPDX-License-Identifier: GPL-2.0
/* No window is needed: the kernel's direct mapping covers all GPU memory. */
#include <linux/mm.h>

#include "gpu.h"
#include "window.h"

void emugpu_window_lock_shared(void)
{
}

void emugpu_window_unlock_shared(void)
{
}

void *emugpu_window_page(const struct emugpu_gpu *gpu, u32 page)
{
	return page_address(gpu->memory[page]);
}
