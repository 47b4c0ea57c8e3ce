// SPDX-License-Identifier: MIT
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "wait.h"

static struct pp_waiter **head(struct pp_waiters *all, uint32_t index)
{
	return &all->of_entries[index % PP_WAIT_HEADS];
}

void pp_waiters_init(struct pp_waiters *all)
{
	*all = (struct pp_waiters){ .room_end = &all->for_room };
}

void pp_waiters_add_of_entry(struct pp_waiters *all, struct pp_waiter *w)
{
	struct pp_waiter **to = head(all, w->number);

	w->next = *to;
	*to = w;
	atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed);
}

void pp_waiters_add_for_room(struct pp_waiters *all, struct pp_waiter *w)
{
	w->next = NULL;
	*all->room_end = w;
	all->room_end = &w->next;
	atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed);
}

void pp_waiters_end(struct pp_waiters *all, struct pp_waiter **at)
{
	struct pp_waiter *w = *at;

	*at = w->next;
	if (all->room_end == &w->next)
		all->room_end = at;
	w->next = all->woken;
	all->woken = w;
	atomic_fetch_sub_explicit(&all->count, 1, memory_order_relaxed);
}

void pp_waiters_end_of_entry(struct pp_waiters *all, uint32_t index)
{
	struct pp_waiter **at = head(all, index);

	while (*at) {
		if ((*at)->number == index)
			pp_waiters_end(all, at);
		else
			at = &(*at)->next;
	}
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* After the store the waiter may be gone. The system call uses only its address: at worst it wakes another sleeper in vain. */
void pp_waiters_wake(struct pp_waiter *list)
{
	struct pp_waiter *next;

	for (; list; list = next) {
		next = list->next;
		atomic_store_explicit(&list->woken, 1, memory_order_release);
		futex(&list->woken, FUTEX_WAKE, 1);
	}
}

void pp_waiter_sleep(struct pp_waiter *w)
{
	while (!atomic_load_explicit(&w->woken, memory_order_acquire))
		futex(&w->woken, FUTEX_WAIT, 0);
}
