# SPDX-License-Identifier: MIT
"""The declarations of libpeerpin.h for cffi (ABI mode), and the loaded libraries.

test/host/python compares STRUCTS and FUNCTIONS with the header. cffi releases the interpreter's lock during each call.
"""
from typing import Any

import cffi

STRUCTS = """
enum pp_mem_kind { PP_MEM_HOST, PP_MEM_GPU, PP_MEM_MANAGED };
struct pp_mem {
    enum pp_mem_kind kind; int device; uint64_t base; uint64_t size; uint64_t buffer_id; int rdma; int pooled;
};
struct pp_region {
    uint64_t addr; uint64_t length; uint32_t page_size; uint32_t id; uint32_t slot; uint32_t epoch; uint32_t provider;
};
struct pp_why { uint32_t reason; uint64_t needed; uint64_t available; };
struct pp_cache_entry { uint64_t addr; uint64_t length; void *reg; };
struct pp_cache_attr { uint64_t max_bytes; uint64_t max_entries; uint32_t pin_flags; uint32_t watch; };
struct pp_cache_stats {
    uint64_t hits; uint64_t misses; uint64_t evictions; uint64_t revocations; uint64_t pins; uint64_t unpins;
    uint64_t pin_ns; uint64_t entries; uint64_t bytes; uint64_t pin_histogram[40];
};
struct pp_dmabuf { int fd; uint64_t addr; uint64_t length; };
struct pp_view { void *at; uint64_t addr; uint64_t length; };
struct pp_copy_result {
    uint64_t bytes; uint64_t engine_ns; uint64_t total_ns; uint32_t pins; uint64_t pin_ns; struct pp_why why;
};
struct pp_file_result { uint64_t direct; uint64_t bounced; uint32_t reason; int error; uint64_t total_ns; };
struct pp_bar1 { char name[96]; char uuid[48]; char pci[32]; uint64_t total; uint64_t used; uint64_t free; };
"""

FUNCTIONS = """
int pp_query(const void *addr, struct pp_mem *out);
int pp_sync_memops(const void *addr);
int pp_open(struct pp_ctx **out);
void pp_close(struct pp_ctx *ctx);
int pp_fd(const struct pp_ctx *ctx);
int pp_pin_with(struct pp_ctx *ctx, const void *addr, size_t length, uint32_t flags, struct pp_region *out,
                struct pp_why *why);
int pp_pin_dmabuf(struct pp_ctx *ctx, int fd, uint64_t offset, uint64_t length, struct pp_region *out,
                  struct pp_why *why);
int pp_unpin(struct pp_ctx *ctx, const struct pp_region *region);
int pp_region_valid(const struct pp_ctx *ctx, const struct pp_region *region);
int pp_region_map(struct pp_ctx *ctx, const struct pp_region *region, uint64_t offset, size_t length, int prot,
                  void **out);
int pp_region_unmap(struct pp_ctx *ctx, void *view, size_t length);
int pp_region_export(struct pp_ctx *ctx, const struct pp_region *region, uint64_t offset, uint64_t length, int *out);
int pp_explain(char *out, size_t room, int error, const struct pp_why *why);
int pp_cache_create_ctx(struct pp_ctx *ctx, const struct pp_cache_attr *attr, struct pp_cache **out);
int pp_cache_create_dmabuf(const struct pp_cache_attr *attr, struct pp_cache **out);
int pp_cache_create_view(const struct pp_cache_attr *attr, struct pp_cache **out);
int pp_dmabuf_export(const void *addr, size_t length, struct pp_dmabuf *out, struct pp_why *why);
int pp_cache_get(struct pp_cache *cache, const void *addr, size_t length, const struct pp_cache_entry **out,
                 struct pp_why *why);
void pp_cache_put(struct pp_cache *cache, const struct pp_cache_entry *entry);
void pp_cache_invalidate(struct pp_cache *cache, const void *addr, size_t length);
void pp_cache_flush(struct pp_cache *cache);
void pp_cache_stats(struct pp_cache *cache, struct pp_cache_stats *out);
void pp_cache_destroy(struct pp_cache *cache);
int pp_peer_open(const char *name, struct pp_cache *cache, struct pp_peer **out);
void pp_peer_close(struct pp_peer *peer);
int pp_peer_copy(struct pp_peer *peer, void *dst, const void *src, size_t length, struct pp_copy_result *result);
int pp_file_open(int fd, struct pp_cache *views, struct pp_file **out);
void pp_file_close(struct pp_file *file);
int pp_file_read(struct pp_file *file, void *dst, size_t length, uint64_t offset, struct pp_file_result *result);
int pp_file_write(struct pp_file *file, const void *src, size_t length, uint64_t offset,
                  struct pp_file_result *result);
const char *pp_file_strreason(uint32_t reason);
int pp_bar1(unsigned int index, struct pp_bar1 *out);
"""

VERBS_STRUCTS = """
struct ibv_mr {
    void *context; void *pd; void *addr; size_t length; uint32_t handle; uint32_t lkey; uint32_t rkey;
};
enum pp_mr_way { PP_MR_HOST, PP_MR_VENDOR_DMABUF, PP_MR_PEERPIN_DMABUF, PP_MR_PEER_MEMORY, PP_MR_WAYS };
struct pp_mr { struct ibv_mr *mr; uint64_t addr; uint64_t length; enum pp_mr_way way; };
struct pp_mr_attempt { enum pp_mr_way way; const char *call; int error; struct pp_why why; };
struct pp_mr_why { struct pp_why why; unsigned int count; struct pp_mr_attempt attempt[4]; };
"""

VERBS_FUNCTIONS = """
int pp_verbs_open(struct ibv_pd *pd, int access, const struct pp_cache_attr *limits, struct pp_verbs **out);
void pp_verbs_close(struct pp_verbs *v);
int pp_verbs_reg(struct pp_verbs *v, const void *addr, size_t length, const struct pp_mr **out,
                 struct pp_mr_why *why);
void pp_verbs_unreg(struct pp_verbs *v, const struct pp_mr *mr);
struct pp_cache *pp_verbs_cache(struct pp_verbs *v);
int pp_verbs_explain(char *out, size_t room, int error, const struct pp_mr_why *why);
"""

# The legacy capsule of DLPack; its first member is the tensor.
DLPACK = """
struct dl_tensor {
    void *data; int32_t device_type; int32_t device_id; int32_t ndim;
    uint8_t code; uint8_t bits; uint16_t lanes; int64_t *shape; int64_t *strides; uint64_t byte_offset;
};
"""

ffi: Any = cffi.FFI()
ffi.cdef(STRUCTS + FUNCTIONS + VERBS_STRUCTS + VERBS_FUNCTIONS + DLPACK)


def load(name: str, package: str) -> Any:
    """Load a library; an error says which package has it."""
    try:
        return ffi.dlopen(name)
    except OSError as error:
        raise ImportError(f"{error}; type: apt install {package}") from None


lib: Any = load("libpeerpin.so.1", "libpeerpin1")
