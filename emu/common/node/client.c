// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "block.h"
#include "client.h"
#include "tombstone.h"
#include "object.h"

enum { OBJECTS_MAX = 65535 };

static atomic_t clients;
static atomic64_t last_number;

u32 emugpu_clients(void)
{
	return atomic_read(&clients);
}

struct emugpu_client *emugpu_client_new(void)
{
	struct emugpu_client *client;

	/* NULL: a kernel thread opens the node */
	if (!current->mm)
		return NULL;
	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		return NULL;
	client->number = atomic64_inc_return(&last_number);
	client->owner = get_pid(task_tgid(current));
	client->mm = current->mm;
	mmgrab(client->mm);
	xa_init_flags(&client->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	atomic_inc(&clients);
	return client;
}

bool emugpu_client_is_mine(const struct emugpu_client *client)
{
	return client->owner == task_tgid(current) && client->mm == current->mm;
}

/*
 * May run in another process than the owner, or in a killed process. So blocks are found by their
 * client pointer, not by the process.
 */
void emugpu_client_delete(struct emugpu_client *client)
{
	struct emugpu_object *object;
	unsigned long id;

	emugpu_block_free_all(client);
	if (client->owner == task_tgid(current) && !atomic_read(&current->signal->live))
		emugpu_tombstones_process_gone(client->owner);
	xa_for_each(&client->objects, id, object)
		emugpu_object_put(object);
	xa_destroy(&client->objects);
	mmdrop(client->mm);
	put_pid(client->owner);
	kfree(client);
	atomic_dec(&clients);
}

int emugpu_client_add(struct emugpu_client *client, struct emugpu_object *object, u32 *id)
{
	int err = xa_alloc(&client->objects, id, object, XA_LIMIT(1, OBJECTS_MAX), GFP_KERNEL);

	return err ? -ENOMEM : 0;
}

int emugpu_client_drop(struct emugpu_client *client, u32 id)
{
	struct emugpu_object *object = xa_erase(&client->objects, id);

	if (!object)
		return -ENOENT;
	emugpu_object_put(object);
	return 0;
}

struct emugpu_object *emugpu_client_get(struct emugpu_client *client, u32 id)
{
	struct emugpu_object *object;

	xa_lock(&client->objects);
	object = xa_load(&client->objects, id);
	if (object)
		emugpu_object_get(object);
	xa_unlock(&client->objects);
	return object;
}
