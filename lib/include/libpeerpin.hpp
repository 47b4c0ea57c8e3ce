/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin for C++17: move-only handles that close themselves, and errors as std::error_code.
 *
 * Header-only: link with -lpeerpin. libpeerpin.h has the contract of each call (units, threads, fork(), errors).
 *
 * Errors
 *	A function with the parameter @ec throws peerpin::error if @ec is NULL. Else it sets *ec on failure only, and
 *	returns an empty handle or zeros. Codes compare with std::errc (the errno) and with peerpin::reason.
 *
 * Lifetimes
 *	A handle must not outlive the handle that made it: context, then cache or region, then entry, mapping, peer or
 *	file. Local variables in the order of their making are destroyed in the right order. A moved-from handle is
 *	empty. An empty handle converts to false; its only other uses are assignment and destruction.
 */
#ifndef LIBPEERPIN_HPP
#define LIBPEERPIN_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <libpeerpin.h>
#include <linux/types.h>
#include <peerpin.h>

namespace peerpin {

/* ---- errors --------------------------------------------------------------------- */

/** reason - why a pin failed: enum peerpin_reason; later versions may have more */
enum class reason : std::uint32_t {
	none = PEERPIN_REASON_NONE,
	not_mapped = PEERPIN_REASON_NOT_MAPPED,
	vendor_refused = PEERPIN_REASON_VENDOR_REFUSED,
	no_bar1 = PEERPIN_REASON_NO_BAR1,
	no_provider = PEERPIN_REASON_NO_PROVIDER,
	memlock = PEERPIN_REASON_MEMLOCK,
	limit = PEERPIN_REASON_LIMIT,
	no_memory = PEERPIN_REASON_NO_MEMORY,
	revoked = PEERPIN_REASON_REVOKED,
	vendor_error = PEERPIN_REASON_VENDOR_ERROR,
	process_bytes = PEERPIN_REASON_PROCESS_BYTES,
	total_bytes = PEERPIN_REASON_TOTAL_BYTES,
	no_api = PEERPIN_REASON_NO_API,
	unaligned = PEERPIN_REASON_UNALIGNED,
	not_dmabuf = PEERPIN_REASON_NOT_DMABUF,
	not_owned = PEERPIN_REASON_NOT_OWNED,
	managed = PEERPIN_REASON_MANAGED,
	not_gpu = PEERPIN_REASON_NOT_GPU,
	not_rdma = PEERPIN_REASON_NOT_RDMA,
	pool = PEERPIN_REASON_POOL,
	spans = PEERPIN_REASON_SPANS,
	watched_bytes = PEERPIN_REASON_WATCHED_BYTES,
};

} // namespace peerpin

template <> struct std::is_error_condition_enum<peerpin::reason> : std::true_type {};

namespace peerpin {

namespace detail {

/* An error code is the errno, plus the reason times this. */
constexpr int reason_unit = 4096;

inline std::string explain(int error, const pp_why *why)
{
	char text[512];

	pp_explain(text, sizeof(text), error, why);
	return text;
}

class code_category final : public std::error_category {
public:
	const char *name() const noexcept override { return "peerpin"; }

	std::string message(int value) const override
	{
		const pp_why why = { static_cast<std::uint32_t>(value / reason_unit), 0, 0 };

		return explain(-(value % reason_unit), &why);
	}

	std::error_condition default_error_condition(int value) const noexcept override
	{
		return { value % reason_unit, std::generic_category() };
	}
};

inline const std::error_category &codes() noexcept
{
	static const code_category category;

	return category;
}

class reason_category final : public std::error_category {
public:
	const char *name() const noexcept override { return "peerpin reason"; }

	std::string message(int value) const override { return pp_strreason(static_cast<std::uint32_t>(value)); }

	bool equivalent(const std::error_code &code, int condition) const noexcept override
	{
		return code.category() == codes() && code.value() / reason_unit == condition;
	}
};

} // namespace detail

/** category - the category of all error codes of this header */
inline const std::error_category &category() noexcept
{
	return detail::codes();
}

inline std::error_condition make_error_condition(reason r) noexcept
{
	static const detail::reason_category category;

	return { static_cast<int>(r), category };
}

/**
 * make_error_code - the error code of a call of libpeerpin.h
 * @error: what the call returned: a negative errno
 */
inline std::error_code make_error_code(int error, const pp_why &why = {}) noexcept
{
	return { static_cast<int>(why.reason) * detail::reason_unit - error, category() };
}

/** reason_of - the reason in an error code; none if the code has none */
inline reason reason_of(const std::error_code &code) noexcept
{
	return code.category() == category() ? static_cast<reason>(code.value() / detail::reason_unit) : reason::none;
}

/** error - the exception; what() is the sentence of pp_explain(), with numbers */
class error : public std::system_error {
public:
	explicit error(int code, const pp_why &why = {})
		: std::system_error(make_error_code(code, why)), why_(why),
		  text_(std::make_shared<const std::string>(detail::explain(code, &why)))
	{
	}

	const char *what() const noexcept override { return text_->c_str(); }
	const pp_why &why() const noexcept { return why_; }

private:
	pp_why why_;
	std::shared_ptr<const std::string> text_;
};

namespace detail {

inline bool failed(int ret, std::error_code *ec, const pp_why &why = {})
{
	if (ret >= 0)
		return false;
	if (!ec)
		throw error(ret, why);
	*ec = make_error_code(ret, why);
	return true;
}

template <auto Close> struct closer {
	template <class T> void operator()(T *object) const noexcept { Close(object); }
};

} // namespace detail

/* ---- memory ----------------------------------------------------------------------- */

/** npos - as a length: up to the end */
constexpr std::uint64_t npos = ~std::uint64_t{ 0 };

/** span - elements that another object owns, as C++20's std::span */
template <class T> class span {
public:
	using value_type = std::remove_cv_t<T>;
	using iterator = T *;

	constexpr span() noexcept = default;
	constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

	constexpr T *data() const noexcept { return data_; }
	constexpr std::size_t size() const noexcept { return size_; }
	constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
	constexpr bool empty() const noexcept { return !size_; }
	constexpr T *begin() const noexcept { return data_; }
	constexpr T *end() const noexcept { return data_ + size_; }
	constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
	T *data_ = nullptr;
	std::size_t size_ = 0;
};

/** memory - a range of GPU or host memory; a container with data() and size() converts to it */
struct memory {
	const void *addr = nullptr;
	std::size_t length = 0;

	constexpr memory(const void *at, std::size_t bytes) noexcept : addr(at), length(bytes) {}

	/* @at: a CUdeviceptr */
	memory(unsigned long long at, std::size_t bytes) noexcept
		: addr(reinterpret_cast<const void *>(static_cast<std::uintptr_t>(at))), length(bytes)
	{
	}

	template <class C, class = std::enable_if_t<std::is_pointer_v<decltype(std::data(std::declval<C &>()))>>>
	constexpr memory(C &&c) noexcept : addr(std::data(c)), length(std::size(c) * sizeof(*std::data(c)))
	{
	}
};

/** query - pp_query(): the kind of memory at an address */
inline pp_mem query(const void *addr) noexcept
{
	pp_mem mem{};

	pp_query(addr, &mem);
	return mem;
}

inline pp_mem query(unsigned long long addr) noexcept
{
	return query(reinterpret_cast<const void *>(static_cast<std::uintptr_t>(addr)));
}

/** bar1 - pp_bar1(): the BAR1 usage of GPU number @index of NVML */
inline pp_bar1_usage bar1(unsigned int index, std::error_code *ec = nullptr)
{
	pp_bar1_usage usage{};

	detail::failed(pp_bar1(index, &usage), ec);
	return usage;
}

/** unique_fd - a descriptor; -1 if empty */
class unique_fd {
public:
	unique_fd() noexcept = default;
	explicit unique_fd(int fd) noexcept : fd_(fd) {}
	unique_fd(unique_fd &&other) noexcept : fd_(other.release()) {}
	~unique_fd() { reset(); }

	unique_fd &operator=(unique_fd &&other) noexcept
	{
		reset(other.release());
		return *this;
	}

	explicit operator bool() const noexcept { return fd_ >= 0; }
	int get() const noexcept { return fd_; }
	int release() noexcept { return std::exchange(fd_, -1); }

	void reset(int fd = -1) noexcept
	{
		const int old = std::exchange(fd_, fd);

		if (old >= 0)
			::close(old);
	}

private:
	int fd_ = -1;
};

/** dmabuf - GPU memory that the GPU's driver exports: struct pp_dmabuf with an owned descriptor */
struct dmabuf {
	unique_fd fd;
	std::uint64_t addr = 0;
	std::uint64_t length = 0;

	explicit operator bool() const noexcept { return bool(fd); }
};

/** export_dmabuf - pp_dmabuf_export() */
inline dmabuf export_dmabuf(memory of, std::error_code *ec = nullptr)
{
	pp_dmabuf out{};
	pp_why why{};

	if (detail::failed(pp_dmabuf_export(of.addr, of.length, &out, &why), ec, why))
		return {};
	return { unique_fd(out.fd), out.addr, out.length };
}

/* ---- context and region --------------------------------------------------------------- */

/** mapping - a CPU mapping of a region; unmaps at its end */
class mapping {
public:
	mapping() noexcept = default;
	mapping(pp_ctx *ctx, void *at, std::size_t length) noexcept : ctx_(ctx), at_(at), length_(length) {}
	mapping(mapping &&other) noexcept
		: ctx_(other.ctx_), at_(std::exchange(other.at_, nullptr)), length_(other.length_)
	{
	}
	~mapping() { reset(); }

	mapping &operator=(mapping &&other) noexcept
	{
		if (this != &other) {
			reset();
			ctx_ = other.ctx_;
			at_ = std::exchange(other.at_, nullptr);
			length_ = other.length_;
		}
		return *this;
	}

	explicit operator bool() const noexcept { return at_; }

	/* An access after the region has ended is a SIGBUS. */
	template <class T = std::byte> span<T> as() const noexcept
	{
		return { static_cast<T *>(at_), length_ / sizeof(T) };
	}

	void reset() noexcept
	{
		if (at_)
			pp_region_unmap(ctx_, std::exchange(at_, nullptr), length_);
	}

private:
	pp_ctx *ctx_ = nullptr;
	void *at_ = nullptr;
	std::size_t length_ = 0;
};

/** region - pinned memory; unpins at its end */
class region {
public:
	region() noexcept = default;
	region(pp_ctx *ctx, const pp_region &from) noexcept : ctx_(ctx), region_(from) {}
	region(region &&other) noexcept : ctx_(std::exchange(other.ctx_, nullptr)), region_(other.region_) {}
	~region() { reset(); }

	region &operator=(region &&other) noexcept
	{
		if (this != &other) {
			reset();
			ctx_ = std::exchange(other.ctx_, nullptr);
			region_ = other.region_;
		}
		return *this;
	}

	explicit operator bool() const noexcept { return ctx_; }
	const pp_region *operator->() const noexcept { return &region_; }
	const pp_region &operator*() const noexcept { return region_; }
	bool valid() const noexcept { return pp_region_valid(ctx_, &region_); }

	mapping map(int prot = PROT_READ | PROT_WRITE, std::uint64_t offset = 0, std::size_t length = npos,
		    std::error_code *ec = nullptr) const
	{
		void *at = nullptr;

		length = rest(offset, length);
		if (detail::failed(pp_region_map(ctx_, &region_, offset, length, prot, &at), ec))
			return {};
		return { ctx_, at, length };
	}

	unique_fd export_dmabuf(std::uint64_t offset = 0, std::uint64_t length = npos, std::error_code *ec = nullptr) const
	{
		int fd = -1;

		if (detail::failed(pp_region_export(ctx_, &region_, offset, rest(offset, length), &fd), ec))
			return {};
		return unique_fd(fd);
	}

	/* Unpins now, and returns the result of pp_unpin(). */
	int reset() noexcept { return ctx_ ? pp_unpin(std::exchange(ctx_, nullptr), &region_) : 0; }

	/* Gives the pin to the caller, who calls pp_unpin(). */
	pp_region release() noexcept
	{
		ctx_ = nullptr;
		return region_;
	}

private:
	std::uint64_t rest(std::uint64_t offset, std::uint64_t length) const noexcept
	{
		return length == npos ? region_.length - offset : length;
	}

	pp_ctx *ctx_ = nullptr;
	pp_region region_{};
};

/** context - an open /dev/peerpin; the default constructor makes an empty one */
class context {
public:
	context() noexcept = default;

	static context open(std::error_code *ec = nullptr)
	{
		pp_ctx *ctx = nullptr;

		detail::failed(pp_open(&ctx), ec);
		return context(ctx);
	}

	explicit operator bool() const noexcept { return bool(ctx_); }
	pp_ctx *get() const noexcept { return ctx_.get(); }
	int fd() const noexcept { return pp_fd(ctx_.get()); }

	region pin(memory what, std::uint32_t flags = 0, std::error_code *ec = nullptr)
	{
		pp_region out{};
		pp_why why{};

		if (detail::failed(pp_pin_with(ctx_.get(), what.addr, what.length, flags, &out, &why), ec, why))
			return {};
		return { ctx_.get(), out };
	}

	region pin_dmabuf(int fd, std::uint64_t offset, std::uint64_t length, std::error_code *ec = nullptr)
	{
		pp_region out{};
		pp_why why{};

		if (detail::failed(pp_pin_dmabuf(ctx_.get(), fd, offset, length, &out, &why), ec, why))
			return {};
		return { ctx_.get(), out };
	}

private:
	explicit context(pp_ctx *ctx) noexcept : ctx_(ctx) {}

	std::unique_ptr<pp_ctx, detail::closer<pp_close>> ctx_;
};

/* ---- registration cache ------------------------------------------------------------------ */

/** entry - one get of a cache; puts at its end. *entry is what the cache registered */
template <class Reg> class entry {
public:
	entry() noexcept = default;
	entry(pp_cache *cache, const pp_cache_entry *from) noexcept : cache_(cache), entry_(from) {}
	entry(entry &&other) noexcept : cache_(other.cache_), entry_(std::exchange(other.entry_, nullptr)) {}
	~entry() { reset(); }

	entry &operator=(entry &&other) noexcept
	{
		if (this != &other) {
			reset();
			cache_ = other.cache_;
			entry_ = std::exchange(other.entry_, nullptr);
		}
		return *this;
	}

	explicit operator bool() const noexcept { return entry_; }
	const Reg &operator*() const noexcept { return *static_cast<const Reg *>(entry_->reg); }
	const Reg *operator->() const noexcept { return static_cast<const Reg *>(entry_->reg); }
	std::uint64_t addr() const noexcept { return entry_->addr; }
	std::uint64_t length() const noexcept { return entry_->length; }

	void reset() noexcept
	{
		if (entry_)
			pp_cache_put(cache_, std::exchange(entry_, nullptr));
	}

private:
	pp_cache *cache_ = nullptr;
	const pp_cache_entry *entry_ = nullptr;
};

/**
 * cache - a registration cache
 * @Reg: pp_region, pp_dmabuf, pp_view; or the type of the caller's own registrations, which pin() stores in *reg
 */
template <class Reg> class cache {
public:
	cache() noexcept = default;
	explicit cache(pp_cache *from) noexcept : cache_(from) {}

	explicit operator bool() const noexcept { return bool(cache_); }
	pp_cache *get() const noexcept { return cache_.get(); }

	entry<Reg> get(memory what, std::error_code *ec = nullptr)
	{
		const pp_cache_entry *out = nullptr;
		pp_why why{};

		if (detail::failed(pp_cache_get(cache_.get(), what.addr, what.length, &out, &why), ec, why))
			return {};
		return { cache_.get(), out };
	}

	void invalidate(memory what) noexcept { pp_cache_invalidate(cache_.get(), what.addr, what.length); }
	void flush() noexcept { pp_cache_flush(cache_.get()); }

	pp_cache_counts stats() const noexcept
	{
		pp_cache_counts counts{};

		pp_cache_stats(cache_.get(), &counts);
		return counts;
	}

private:
	std::unique_ptr<pp_cache, detail::closer<pp_cache_destroy>> cache_;
};

using region_cache = cache<pp_region>;
using dmabuf_cache = cache<pp_dmabuf>;
using view_cache = cache<pp_view>;

inline region_cache make_region_cache(context &ctx, const pp_cache_attr &attr = {}, std::error_code *ec = nullptr)
{
	pp_cache *out = nullptr;

	detail::failed(pp_cache_create_ctx(ctx.get(), &attr, &out), ec);
	return region_cache(out);
}

inline dmabuf_cache make_dmabuf_cache(const pp_cache_attr &attr = {}, std::error_code *ec = nullptr)
{
	pp_cache *out = nullptr;

	detail::failed(pp_cache_create_dmabuf(&attr, &out), ec);
	return dmabuf_cache(out);
}

inline view_cache make_view_cache(const pp_cache_attr &attr = {}, std::error_code *ec = nullptr)
{
	pp_cache *out = nullptr;

	detail::failed(pp_cache_create_view(&attr, &out), ec);
	return view_cache(out);
}

/** make_cache - pp_cache_create(): a cache of the caller's own registrations */
template <class Reg>
cache<Reg> make_cache(const pp_cache_ops &ops, void *arg, const pp_cache_attr &attr = {}, std::error_code *ec = nullptr)
{
	pp_cache *out = nullptr;

	detail::failed(pp_cache_create(&ops, arg, &attr, &out), ec);
	return cache<Reg>(out);
}

/* ---- peers and files ------------------------------------------------------------------------ */

/** peer - a peer device that copies */
class peer {
public:
	peer() noexcept = default;

	static peer open(const char *name, region_cache &from, std::error_code *ec = nullptr)
	{
		pp_peer *out = nullptr;

		detail::failed(pp_peer_open(name, from.get(), &out), ec);
		return peer(out);
	}

	explicit operator bool() const noexcept { return bool(peer_); }
	pp_peer *get() const noexcept { return peer_.get(); }

	/* Copies @from.length bytes, which must fit into @to. */
	pp_copy_result copy(memory to, memory from, std::error_code *ec = nullptr)
	{
		pp_copy_result result{};
		int ret = -EINVAL;

		if (from.length <= to.length)
			ret = pp_peer_copy(peer_.get(), const_cast<void *>(to.addr), from.addr, from.length, &result);
		detail::failed(ret, ec, result.why);
		return result;
	}

private:
	explicit peer(pp_peer *from) noexcept : peer_(from) {}

	std::unique_ptr<pp_peer, detail::closer<pp_peer_close>> peer_;
};

/** file - pp_file_read() and pp_file_write(); the caller's descriptor stays open */
class file {
public:
	file() noexcept = default;

	/* @views: NULL, or must outlive the file */
	static file open(int fd, view_cache *views = nullptr, std::error_code *ec = nullptr)
	{
		pp_file *out = nullptr;

		detail::failed(pp_file_open(fd, views ? views->get() : nullptr, &out), ec);
		return file(out);
	}

	explicit operator bool() const noexcept { return bool(file_); }
	pp_file *get() const noexcept { return file_.get(); }

	pp_file_result read(memory to, std::uint64_t offset, std::error_code *ec = nullptr)
	{
		pp_file_result result{};

		detail::failed(pp_file_read(file_.get(), const_cast<void *>(to.addr), to.length, offset, &result), ec);
		return result;
	}

	pp_file_result write(memory from, std::uint64_t offset, std::error_code *ec = nullptr)
	{
		pp_file_result result{};

		detail::failed(pp_file_write(file_.get(), from.addr, from.length, offset, &result), ec);
		return result;
	}

private:
	explicit file(pp_file *from) noexcept : file_(from) {}

	std::unique_ptr<pp_file, detail::closer<pp_file_close>> file_;
};

} // namespace peerpin

#endif
