// SPDX-License-Identifier: MIT
/* dma-bufs of regions and their importers, while each allocation fails in turn. */
#include "fail.h"
#include "test/vm/dmabuf/export.h"

static unsigned char *host;

SETUP(nodes_are_there)
{
	EXPECT_EXPORT_NODES();
	EXPECT(!scatter(true) && !emu_alloc(fd, VA, BLOCK), "alloc");
	host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(host != MAP_FAILED, "host memory");
}

/* Kinds of exportable memory */
enum kind { GPU, LASTING, HOST, KINDS };

static int pin_kind(int file, enum kind kind, struct peerpin_pin *p)
{
	switch (kind) {
	case GPU:
		return pin_at(file, VA, BLOCK, p);
	case LASTING:
		return pin_persistent(file, VA, BLOCK, p);
	default:
		return pin_at(file, (uintptr_t)host, BLOCK, p);
	}
}

/* Static importers import non-revocable memory only. */
static enum dmabuf_check_kind importer_of(enum kind kind)
{
	return kind == GPU ? DMABUF_CHECK_DYNAMIC : DMABUF_CHECK_STATIC;
}

static void each_export(enum kind kind)
{
	struct peerpin_pin p;
	int file, ret;

	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_kind(file, kind, &p), "pin");
		FAIL(f, ret = export_by_file(file, p.out_region, 0, BLOCK));
		EXPECT_PLAUSIBLE(f, ret);
		close(ret);
		ret = export_by_file(file, p.out_region, 0, BLOCK);
		EXPECT(ret >= 0, "allocation %u: afterwards %d", f.nth, ret);
		close(ret);
		close(file);
	}
}

CASE(exports)
{
	enum kind kind;

	for (kind = GPU; kind < KINDS; kind++) {
		each_export(kind);
		CHECK_CASE();
	}
}

/* ---- importers -------------------------------------------------------------------------- */

enum step { ATTACH, MAP, PIN, FENCE, SIGNAL, UNPIN, UNMAP, DETACH, CLOSE, STEPS };

static int dmabuf;

static int make_step(enum step step, enum kind kind)
{
	switch (step) {
	case ATTACH:
		return attach_as(0, dmabuf, importer_of(kind), true);
	case MAP:
		return map(0);
	case PIN:
		return slot_call(DMABUF_CHECK_PIN, 0);
	case FENCE:
		return slot_call(DMABUF_CHECK_FENCE, 0);
	case SIGNAL:
		return slot_call(DMABUF_CHECK_SIGNAL, 0);
	case UNPIN:
		return slot_call(DMABUF_CHECK_UNPIN, 0);
	case UNMAP:
		return unmap(0);
	case DETACH:
		return detach(0);
	default:
		return close(dmabuf);
	}
}

/*
 * True if an importer of this kind makes this step. Only dynamic importers pin, and revocable
 * memory refuses a pin.
 */
static bool does(enum step step, enum kind kind)
{
	return kind == HOST || (step != PIN && step != UNPIN);
}

static enum dmabuf_check_kind importer_for(enum kind kind)
{
	return kind == HOST ? DMABUF_CHECK_DYNAMIC : importer_of(kind);
}

static int step_as(enum step step, enum kind kind)
{
	if (step == ATTACH)
		return attach_as(0, dmabuf, importer_for(kind), true);
	return does(step, kind) ? make_step(step, kind) : 0;
}

static void each_step(enum step failing, enum kind kind)
{
	struct peerpin_pin p;
	int file, ret;
	enum step step;

	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_kind(file, kind, &p), "pin");
		dmabuf = export_by_file(file, p.out_region, 0, BLOCK);
		EXPECT(dmabuf >= 0, "export");
		for (step = ATTACH; step < failing; step++)
			EXPECT(!step_as(step, kind), "step %d", step);
		FAIL(f, ret = step_as(failing, kind));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		/* The failed step and all later steps must work now. */
		for (step = ret ? failing : failing + 1; step < STEPS; step++)
			EXPECT(!step_as(step, kind), "allocation %u: step %d afterwards", f.nth, step);
		close(file);
	}
}

static void each_step_of(enum kind kind)
{
	enum step step;

	for (step = ATTACH; step < STEPS; step++) {
		if (!does(step, kind))
			continue;
		each_step(step, kind);
		EXPECT(vmtest_result == VMTEST_OK, "step %d", step);
	}
}

CASE(importers_of_gpu_memory)
{
	each_step_of(GPU);
}

CASE(importers_of_non_revocable_gpu_memory)
{
	each_step_of(LASTING);
}

CASE(importers_of_host_memory)
{
	each_step_of(HOST);
}

/* ---- revocation during the import ------------------------------------------------------------ */

static void each_unpin(enum kind kind, bool lets_go)
{
	struct peerpin_pin p;
	int file, ret;

	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!pin_kind(file, kind, &p), "pin");
		dmabuf = export_by_file(file, p.out_region, 0, BLOCK);
		EXPECT(dmabuf >= 0 && !import_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, lets_go), "import");
		FAIL(f, ret = unpin(file, p.out_region));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!detach(0) && !close(dmabuf), "detach");
		close(file);
	}
}

CASE(unpin_of_imported_memory)
{
	each_unpin(GPU, true);
	CHECK_CASE();
	each_unpin(GPU, false);
	CHECK_CASE();
	each_unpin(HOST, true);
}

CASE(free_of_imported_memory)
{
	struct peerpin_pin p;
	int file, ret;

	EXPECT(!emu_free(fd, VA), "free");
	FAIL_EACH(f) {
		file = pin_open();
		EXPECT(!emu_alloc(fd, VA, BLOCK) && !pin_at(file, VA, BLOCK, &p), "pin");
		dmabuf = export_by_file(file, p.out_region, 0, BLOCK);
		EXPECT(dmabuf >= 0 && !import_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, true), "import");
		FAIL(f, ret = emu_free(fd, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(fd, VA), "free");
		EXPECT(notified(0) == 1, "allocation %u: %u notifications", f.nth, notified(0));
		EXPECT(!detach(0) && !close(dmabuf), "detach");
		close(file);
	}
	EXPECT(!emu_alloc(fd, VA, BLOCK), "alloc");
}

/* ---- dma-bufs of the emulated GPU itself ------------------------------------------------------ */

static void each_step_with_the_gpu(enum step failing, bool dynamic)
{
	enum step step;
	int ret;

	EXPECT(!set_dynamic(dynamic), "dynamic");
	FAIL_EACH(f) {
		dmabuf = export(VA, BLOCK);
		EXPECT(dmabuf >= 0, "export");
		for (step = ATTACH; step < failing; step++)
			EXPECT(!make_step(step, GPU), "step %d", step);
		FAIL(f, ret = make_step(failing, GPU));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		for (step = ret ? failing : failing + 1; step < STEPS; step++)
			EXPECT(!make_step(step, GPU), "allocation %u: step %d afterwards", f.nth, step);
	}
	EXPECT(!set_dynamic(false), "dynamic");
}

CASE(importers_of_the_gpus_dmabuf)
{
	enum step step;

	for (step = ATTACH; step < STEPS; step++) {
		each_step_with_the_gpu(step, false);
		CHECK_CASE();
		each_step_with_the_gpu(step, true);
		EXPECT(vmtest_result == VMTEST_OK, "step %d", step);
	}
}

CASE(free_with_importers_of_gpus_dmabuf)
{
	int ret;

	EXPECT(!emu_free(fd, VA) && !set_dynamic(true), "free");
	FAIL_EACH(f) {
		EXPECT(!emu_alloc(fd, VA, BLOCK), "alloc");
		dmabuf = export(VA, BLOCK);
		EXPECT(dmabuf >= 0 && !import_as(0, dmabuf, DMABUF_CHECK_DYNAMIC, true), "import");
		FAIL(f, ret = emu_free(fd, VA));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(fd, VA), "free");
		EXPECT(!detach(0) && !close(dmabuf), "detach");
	}
	EXPECT(!set_dynamic(false), "dynamic");
}

VMTEST_MAIN
