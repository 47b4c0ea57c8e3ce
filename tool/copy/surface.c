// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "gpu.h"
#include "pattern.h"
#include "surface.h"
#include "tool/tool.h"
#include "tool/util/units.h"

enum {
	CHUNK = 1 << 20,
};

static unsigned char found[CHUNK], wanted[CHUNK];

/* ---- room ------------------------------------------------------------------ */

uint64_t host_room(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kib = 0;
	char line[128];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	fclose(f);
	return kib << 10;
}

static int too_big(const char *where, uint64_t size, int surfaces,
		   uint64_t room)
{
	return fail("--size %s is too big: %s has %s for %d surface%s; give a smaller --size",
		    text_bytes(size).at, where, text_bytes(room).at, surfaces,
		    surfaces == 1 ? "" : "s");
}

static int host_fits(uint64_t size, int surfaces)
{
	uint64_t room = host_room();

	if (!surfaces || !room || size <= room / surfaces)
		return 0;
	return too_big("host memory", size, surfaces, room);
}

static int gpu_fits(uint64_t size, int surfaces)
{
	struct gpu_room room;
	int ret;

	if (!surfaces)
		return 0;
	ret = gpu_room(&room);
	if (ret)
		return fail("cuMemGetInfo() says %s; see the kernel's log: dmesg", gpu_error(ret));
	if (size <= room.free / surfaces)
		return 0;
	return too_big("GPU memory", size, surfaces, room.free);
}

int surfaces_fit(const struct copy_args *args)
{
	int gpu = (args->from == SIDE_GPU) + (args->to == SIDE_GPU);
	int host = (args->from == SIDE_HOST) + (args->to == SIDE_HOST);
	int ret = gpu_fits(args->size, gpu);

	return ret ? ret : host_fits(args->size, host);
}

/* ---- memory ---------------------------------------------------------------- */

static uint64_t whole(const struct surface *s)
{
	return s->size + 2 * s->zone;
}

static int alloc_gpu(struct surface *s)
{
	int ret = gpu_alloc(whole(s), &s->base);

	if (ret)
		return fail("no GPU memory for %s (%s); give a smaller --size", text_bytes(whole(s)).at, gpu_error(ret));
	return 0;
}

static int alloc_host(struct surface *s)
{
	void *at = mmap(NULL, whole(s), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return fail("no host memory for %s (%s); give a smaller --size", text_bytes(whole(s)).at, strerror(errno));
	s->base = (uintptr_t)at;
	return 0;
}

int surface_alloc(struct surface *s, enum side side, uint64_t size,
		  uint64_t zone, const char *name)
{
	*s = (struct surface) {
		.side = side, .zone = zone, .size = size, .name = name,
	};
	return side == SIDE_GPU ? alloc_gpu(s) : alloc_host(s);
}

void surface_free(struct surface *s)
{
	if (s->base && s->side == SIDE_GPU)
		gpu_free(s->base);
	else if (s->base)
		munmap((void *)(uintptr_t)s->base, whole(s));
	s->base = 0;
}

void *surface_data(const struct surface *s)
{
	return (void *)(uintptr_t)(s->base + s->zone);
}

/* ---- contents ---------------------------------------------------------------- */

static int put(const struct surface *s, uint64_t offset, size_t length)
{
	int ret;

	if (s->side == SIDE_HOST) {
		memcpy((char *)(uintptr_t)s->base + offset, wanted, length);
		return 0;
	}
	ret = gpu_write(s->base + offset, wanted, length);
	if (ret)
		return fail("cuMemcpyHtoD() says %s; see the kernel's log: dmesg", gpu_error(ret));
	return 0;
}

static int take(const struct surface *s, uint64_t offset, size_t length)
{
	int ret;

	if (s->side == SIDE_HOST) {
		memcpy(found, (char *)(uintptr_t)s->base + offset, length);
		return 0;
	}
	ret = gpu_read(found, s->base + offset, length);
	if (ret)
		return fail("cuMemcpyDtoH() says %s; see the kernel's log: dmesg", gpu_error(ret));
	return 0;
}

static int compare(const struct surface *s, uint64_t offset, size_t length)
{
	size_t i = 0;
	int ret = take(s, offset, length);

	if (ret || !memcmp(found, wanted, length))
		return ret;
	while (found[i] == wanted[i])
		i++;
	return fail("wrong data: byte %" PRId64 " of the %s (%" PRIu64 " bytes) is %#04x, not %#04x; report this, with dmesg",
		    (int64_t)(offset + i - s->zone), s->name, s->size,
		    found[i], wanted[i]);
}

static int each_chunk(const struct surface *s, uint64_t offset,
		      uint64_t length, uint64_t seed,
		      int (*act)(const struct surface *, uint64_t, size_t))
{
	uint64_t done = 0;

	while (done < length) {
		size_t n = length - done < CHUNK ? length - done : CHUNK;
		int ret;

		pattern_fill(wanted, n, seed, offset + done);
		ret = act(s, offset + done, n);
		if (ret)
			return ret;
		done += n;
	}
	return 0;
}

static int each_part(const struct surface *s, uint64_t data_seed,
		     uint64_t zone_seed,
		     int (*act)(const struct surface *, uint64_t, size_t))
{
	int ret = each_chunk(s, 0, s->zone, zone_seed, act);

	if (!ret)
		ret = each_chunk(s, s->zone, s->size, data_seed, act);
	if (!ret)
		ret = each_chunk(s, s->zone + s->size, s->zone, zone_seed, act);
	return ret;
}

int surface_fill(const struct surface *s, uint64_t data_seed,
		 uint64_t zone_seed)
{
	return each_part(s, data_seed, zone_seed, put);
}

int surface_check(const struct surface *s, uint64_t data_seed,
		  uint64_t zone_seed)
{
	return each_part(s, data_seed, zone_seed, compare);
}

int surface_check_zones(const struct surface *s, uint64_t zone_seed)
{
	int ret = each_chunk(s, 0, s->zone, zone_seed, compare);

	return ret ? ret : each_chunk(s, s->zone + s->size, s->zone, zone_seed, compare);
}

/* @length is at most CHUNK. */
int surface_compare(const struct surface *s, uint64_t offset, const void *data, size_t length)
{
	memcpy(wanted, data, length);
	return compare(s, s->zone + offset, length);
}
