// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "../include/emugpu.h"
#include "api.h"
#include "compat.h"
#include "cover.h"
#include "driver.h"
#include "event.h"
#include "export.h"
#include "exported.h"
#include "gpu.h"
#include "import.h"
#include "join.h"
#include "memory.h"
#include "monitor.h"
#include "move.h"
#include "route.h"
#include "segment.h"
#include "slab.h"
#include "spill.h"
#include "window.h"

enum { DEPTH_MAX = 24 };

struct mapping {
	struct list_head node;
	struct sg_table *sgt;
};

/**
 * struct import - an attachment; its @priv
 * @node: entry in imports; API lock, as for @mappings, @nmaps and @pins
 * @process: the process that attached, for a list of pins
 */
struct import {
	struct list_head node;
	struct list_head mappings;
	struct emugpu_exported *exported;
	u32 nmaps;
	u32 pins;
	pid_t process;
	char module[EMUGPU_MODULE_LEN];
};

static LIST_HEAD(imports);
static atomic_t notified;

/* The first function on the stack that is neither the kernel's nor ours */
static void find_importer(char *module)
{
	unsigned long stack[DEPTH_MAX];
	unsigned int i, n = stack_trace_save(stack, DEPTH_MAX, 1);

	for (i = 0; i < n; i++) {
		emugpu_monitor_module((const void *)stack[i], module);
		if (strcmp(module, "kernel") && strcmp(module, KBUILD_MODNAME))
			return;
	}
}

static void violation(enum emugpu_rule rule, const struct dma_buf_attachment *attachment)
{
	const struct import *import = attachment->priv;
	const struct dma_buf_attach_ops *ops = attachment->importer_ops;

	if (ops)
		emugpu_violation_at(rule, import->module, ops->invalidate_mappings);
	else
		emugpu_violation_by(rule, import->module);
}

/*
 * If importer or dma-buf is static, old kernels may map the dma-buf without the lock, or only once, when it is
 * attached.
 */
static bool is_dynamic(const struct dma_buf_attachment *attachment)
{
	return attachment->importer_ops && attachment->dmabuf->ops->pin;
}

/* The kernel only asserts this with lockdep. Another thread may hold the lock, so this misses some errors. */
static void check_lock(const struct dma_buf_attachment *attachment)
{
	if (is_dynamic(attachment) && !dma_resv_is_locked(attachment->dmabuf->resv))
		violation(EMUGPU_RULE_NO_RESERVATION_LOCK, attachment);
}

/* A call in invalidate_mappings is no event: the freeing thread cannot free again. */
static void event(enum emugpu_event_kind kind, const struct import *import)
{
	if (READ_ONCE(import->exported->notifier) != current)
		emugpu_event_import(kind, import->module);
}

/* ---- mappings --------------------------------------------------------------- */

static int check_alive(const struct emugpu_exported *exported)
{
	emugpu_api_assert_held();
	return exported->ended || exported->memory->gpu->gone ? -ENODEV : 0;
}

static int use_locked(struct emugpu_exported *exported)
{
	int err = check_alive(exported);

	atomic64_inc(&emugpu_counters.import_calls);
	if (!err)
		err = emugpu_api_injected_error(EMUGPU_CALL_IMPORT);
	if (!err && !exported->nmaps && exported->uses_bar1)
		err = emugpu_bar1_get(&exported->memory->gpu->bar1, emugpu_exported_pages(exported),
				      emugpu_exported_npages(exported));
	if (!err)
		exported->nmaps++;
	return err;
}

static int use(struct emugpu_exported *exported)
{
	int err;

	emugpu_api_lock();
	err = use_locked(exported);
	emugpu_api_unlock();
	return err;
}

static void drop_memory(struct emugpu_exported *exported)
{
	emugpu_memory_put(exported->memory);
	exported->memory = NULL;
}

/* An importer may keep its mapping for some time, but its device must not use the memory any more. */
static void cover(struct emugpu_exported *exported)
{
	u32 i, first = exported->offset / EMUGPU_PAGE_SIZE, end = first + emugpu_exported_npages(exported);
	int err = 0;

	emugpu_api_assert_held();
	if (!exported->blamed.function || !emugpu_guard_is_on() || !emugpu_join_is_alone(exported->memory))
		return;
	exported->cover = emugpu_cover_new();
	if (!exported->cover)
		return;
	emugpu_window_lock();
	for (i = first; i < end && !err; i++)
		if (!emugpu_cover_is_lent(exported->memory, i, exported->uses_bar1))
			err = emugpu_cover_page(exported->cover, exported->memory, i);
	emugpu_window_unlock();
}

static void uncover(struct emugpu_exported *exported)
{
	bool used;

	emugpu_api_assert_held();
	if (!exported->cover)
		return;
	emugpu_window_lock();
	used = emugpu_spill_is_used(exported->cover);
	emugpu_cover_delete(exported->cover);
	emugpu_window_unlock();
	exported->cover = NULL;
	if (used)
		emugpu_violation_at(EMUGPU_RULE_DMA_AFTER_CALLBACK, exported->blamed.module, exported->blamed.function);
}

static void unuse(struct emugpu_exported *exported)
{
	emugpu_api_lock();
	if (!--exported->nmaps) {
		uncover(exported);
		if (exported->uses_bar1)
			emugpu_bar1_put(&exported->memory->gpu->bar1, emugpu_exported_pages(exported),
					emugpu_exported_npages(exported));
		if (exported->unseen)
			drop_memory(exported);
	}
	emugpu_api_unlock();
}

void emugpu_exported_let_go(struct emugpu_exported *exported)
{
	emugpu_api_lock();
	exported->unseen = true;
	if (exported->nmaps)
		cover(exported);
	else
		drop_memory(exported);
	emugpu_api_unlock();
}

static bool needs_pages(const struct dma_buf_attachment *attachment)
{
	return attachment->importer_ops && !attachment->peer2peer;
}

static void add_mapping(struct import *import, struct mapping *mapping, struct sg_table *sgt)
{
	mapping->sgt = sgt;
	emugpu_api_lock();
	list_add(&mapping->node, &import->mappings);
	import->nmaps++;
	emugpu_api_unlock();
}

/* Removes the mapping @sgt, or any mapping if @sgt is NULL. Returns NULL if there is no such mapping. */
static struct mapping *take_mapping(struct import *import, const struct sg_table *sgt)
{
	struct mapping *mapping, *found = NULL;

	emugpu_api_lock();
	list_for_each_entry(mapping, &import->mappings, node)
		if (!sgt || mapping->sgt == sgt) {
			found = mapping;
			list_del(&found->node);
			import->nmaps--;
			break;
		}
	emugpu_api_unlock();
	return found;
}

static void end_mapping(const struct dma_buf_attachment *attachment, struct mapping *mapping)
{
	const struct import *import = attachment->priv;

	emugpu_segments_unmap(attachment->dev, mapping->sgt);
	kfree(mapping);
	unuse(import->exported);
}

/* If the DMA mapping fails, the error is -ENOMEM for any cause, as in NVIDIA's driver. */
static struct sg_table *map(struct dma_buf_attachment *attachment, struct mapping *mapping)
{
	struct import *import = attachment->priv;
	struct emugpu_exported *exported = import->exported;
	struct sg_table *sgt;
	int err = use(exported);

	if (err)
		return ERR_PTR(err);
	sgt = emugpu_segments_map(attachment->dev, exported->memory, exported->offset, exported->size);
	if (sgt) {
		add_mapping(import, mapping, sgt);
		return sgt;
	}
	unuse(exported);
	return ERR_PTR(-ENOMEM);
}

/* For a static importer, the kernel waits for the fence. */
static void move(const struct dma_buf_attachment *attachment)
{
	const struct import *import = attachment->priv;
	struct emugpu_consumer consumer = {};

	if (!is_dynamic(attachment) || !dma_resv_is_locked(attachment->dmabuf->resv))
		return;
	strscpy(consumer.module, import->module, sizeof(consumer.module));
	consumer.function = attachment->importer_ops->invalidate_mappings;
	emugpu_move_begin(import->exported, &consumer);
}

struct sg_table *emugpu_import_map(struct dma_buf_attachment *attachment, enum dma_data_direction direction)
{
	struct mapping *mapping;
	struct sg_table *sgt;

	check_lock(attachment);
	if (needs_pages(attachment))
		return ERR_PTR(-ENOMEM);
	mapping = kmalloc(sizeof(*mapping), EMUGPU_GFP);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	sgt = map(attachment, mapping);
	if (IS_ERR(sgt)) {
		kfree(mapping);
		return sgt;
	}
	move(attachment);
	event(EMUGPU_EVENT_IMPORT, attachment->priv);
	return sgt;
}

void emugpu_import_unmap(struct dma_buf_attachment *attachment, struct sg_table *sgt,
			 enum dma_data_direction direction)
{
	struct mapping *mapping;

	check_lock(attachment);
	event(EMUGPU_EVENT_UNIMPORT, attachment->priv);
	mapping = take_mapping(attachment->priv, sgt);
	if (mapping)
		end_mapping(attachment, mapping);
	else
		violation(EMUGPU_RULE_UNMAP_OF_DEAD_IMPORT, attachment);
}

/* ---- attachments ------------------------------------------------------------ */

static int check_route(struct emugpu_exported *exported, struct device *peer)
{
	int err;

	emugpu_api_lock();
	err = check_alive(exported);
	if (!err && !emugpu_route_is_supported(exported->memory->gpu, peer))
		err = -ENOTSUPP;
	if (!err)
		err = emugpu_api_injected_error(EMUGPU_CALL_ATTACH);
	emugpu_api_unlock();
	return err == -ENODEV ? 0 : err;	/* the importer learns of the end when it maps */
}

/*
 * As in NVIDIA's driver, accepts every static importer, even an importer that needs struct pages.
 * Drivers before 580 accept all importers.
 */
static int check_importer(const struct dma_buf_attachment *attachment)
{
	if (needs_pages(attachment))
		violation(EMUGPU_RULE_NO_PEER2PEER, attachment);
	if (!emugpu_driver_since(580))
		return 0;
	if (needs_pages(attachment))
		return -ENOTSUPP;
	return check_route(attachment->dmabuf->priv, attachment->dev);
}

static struct import *import_new(struct emugpu_exported *exported)
{
	struct import *import = kzalloc(sizeof(*import), EMUGPU_GFP);

	if (!import)
		return NULL;
	INIT_LIST_HEAD(&import->mappings);
	import->exported = exported;
	import->process = task_tgid_nr(current);
	find_importer(import->module);
	emugpu_api_lock();
	list_add_tail(&import->node, &imports);
	emugpu_api_unlock();
	return import;
}

static void import_delete(struct import *import)
{
	emugpu_api_lock();
	list_del(&import->node);
	emugpu_api_unlock();
	kfree(import);
}

int emugpu_import_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	struct import *import = import_new(dmabuf->priv);
	int err;

	if (!import)
		return -ENOMEM;
	attachment->priv = import;
	err = check_importer(attachment);
	if (err)
		import_delete(import);
	else
		event(EMUGPU_EVENT_ATTACH, import);
	return err;
}

/* Ends what the importer has left, because the attachment and its device may be freed now. */
void emugpu_import_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	struct import *import = attachment->priv;
	struct mapping *mapping;

	event(EMUGPU_EVENT_DETACH, import);
	if (import->nmaps || import->pins)
		violation(EMUGPU_RULE_DETACH_IN_USE, attachment);
	while ((mapping = take_mapping(import, NULL)))
		end_mapping(attachment, mapping);
	import_delete(import);
}

/* Only checks that the dma-buf is not revoked: GPU memory never moves. A pin does not prevent a revocation. */
int emugpu_import_pin(struct dma_buf_attachment *attachment)
{
	struct import *import = attachment->priv;
	int err;

	check_lock(attachment);
	emugpu_api_lock();
	err = check_alive(import->exported);
	import->pins += !err;
	emugpu_api_unlock();
	return err;
}

void emugpu_import_unpin(struct dma_buf_attachment *attachment)
{
	struct import *import = attachment->priv;
	bool pinned;

	check_lock(attachment);
	emugpu_api_lock();
	pinned = import->pins;
	import->pins -= pinned;
	emugpu_api_unlock();
	if (!pinned)
		violation(EMUGPU_RULE_UNMAP_OF_DEAD_IMPORT, attachment);
}

/* ---- all attachments -------------------------------------------------------- */

void emugpu_import_blame(struct emugpu_exported *exported)
{
	const struct dma_buf_attachment *attachment;
	const struct import *import;

	dma_resv_assert_held(&exported->resv);
	list_for_each_entry(attachment, &exported->dmabuf->attachments, node) {
		import = attachment->priv;
		if (!attachment->importer_ops) {
			exported->blamed.function = NULL;
			return;
		}
		atomic_inc(&notified);
		exported->blamed.function = attachment->importer_ops->invalidate_mappings;
		strscpy(exported->blamed.module, import->module, sizeof(exported->blamed.module));
	}
}

u32 emugpu_imports_notified(void)
{
	return atomic_read(&notified);
}

u32 emugpu_imports_count(void)
{
	const struct import *import;
	u32 n = 0;

	emugpu_api_assert_held();
	list_for_each_entry(import, &imports, node)
		n += import->nmaps;
	return n;
}

void emugpu_imports_show(struct seq_file *seq)
{
	const struct import *import;

	emugpu_api_lock();
	list_for_each_entry(import, &imports, node)
		seq_printf(seq, "%s %d 0 %#llx dma-buf %u\n", import->module, import->process, import->exported->size,
			   import->nmaps);
	emugpu_api_unlock();
}
