// SPDX-License-Identifier: MIT
/*
 * libpeerpin.hpp: handles that close themselves. A region and its CPU mapping, a cached get, a dma-buf, a copy by a peer
 * device, and errors as codes and as exceptions.
 */
#include <cuda.h>
#include <libpeerpin.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::size_t size = 4 << 20;

void need(bool ok, const char *what)
{
	if (!ok)
		throw std::runtime_error(what);
}

/* GPU memory that is freed at the end of its scope */
struct gpu_memory {
	CUdeviceptr at = 0;

	gpu_memory() { need(!cuMemAlloc(&at, size), "cuMemAlloc"); }
	gpu_memory(gpu_memory &&) = delete;
	~gpu_memory() { free(); }

	operator peerpin::memory() const { return { at, size }; }
	void free() { cuMemFree(std::exchange(at, 0)); }	/* cuMemFree(0) does nothing */
};

void open_gpu()
{
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "no GPU");
}

/* A region revokes itself when its memory is freed; its destructor unpins it all the same. */
void region(peerpin::context &ctx)
{
	gpu_memory gpu;
	peerpin::region pinned = ctx.pin(gpu);
	std::array<char, 5> seen{};

	{
		peerpin::mapping view = pinned.map();
		const std::array<char, 5> word = { 'h', 'e', 'l', 'l', 'o' };

		std::copy(word.begin(), word.end(), view.as<char>().begin() + (gpu.at - pinned->addr));
		__sync_synchronize();	/* the mapping is write-combined */
	}
	need(!cuMemcpyDtoH(seen.data(), gpu.at, seen.size()) && seen[4] == 'o', "the GPU has other bytes");
	peerpin::region moved = std::move(pinned);
	need(!pinned && moved.valid(), "the region did not move");
	gpu.free();
	need(!moved.valid(), "the region outlived its memory");
}

/* Gets of one allocation are one registration. */
void cache(peerpin::context &ctx)
{
	const gpu_memory gpu;
	peerpin::region_cache regions = peerpin::make_region_cache(ctx, { 64 << 20, 0, 0, PP_WATCH_EPOCH });
	auto first = regions.get(gpu), second = regions.get({ gpu.at + 65536, 100 });
	peerpin::dmabuf exported = peerpin::export_dmabuf(gpu);

	need(first->id == second->id && regions.stats().hits == 1, "two registrations");
	need(exported && exported.addr <= gpu.at, "no dma-buf");
	std::printf("region %u, dma-buf of %llu bytes\n", first->id, static_cast<unsigned long long>(exported.length));
}

void copy(peerpin::context &ctx)
{
	const gpu_memory gpu;
	peerpin::region_cache regions = peerpin::make_region_cache(ctx);
	peerpin::peer device = peerpin::peer::open("lsi0", regions);
	std::vector<unsigned> out(1024);

	need(!cuMemsetD32(gpu.at, 0x1234, out.size()) && !cuCtxSynchronize(), "cuMemsetD32");
	need(device.copy(out, { gpu.at, out.size() * sizeof(out[0]) }).bytes == 4096, "a short copy");
	need(std::count(out.begin(), out.end(), 0x1234u) == 1024, "the peer read other bytes");
}

void errors(peerpin::context &ctx)
{
	const peerpin::memory nowhere(4096ull, size);
	std::error_code code;

	need(!ctx.pin(nowhere, 0, &code), "unmapped memory was pinned");
	need(code == peerpin::reason::not_mapped && code == std::errc::invalid_argument, "another error");
	try {
		ctx.pin(nowhere);
	} catch (const peerpin::error &e) {
		std::printf("refused: %s\n", e.what());
	}
}

} // namespace

int main()
try {
	open_gpu();
	peerpin::context ctx = peerpin::context::open();

	region(ctx);
	cache(ctx);
	copy(ctx);
	errors(ctx);
	std::puts("raii: OK");
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "raii: %s\n", e.what());
	return 1;
}
