// SPDX-License-Identifier: MIT
/* Calls functions of the program in stream order. */
#include "emu/cuda/context/init.h"
#include "stream.h"
#include "emu/cuda/variant.h"

#include <stdlib.h>

/**
 * struct call - one function to call
 * @fn: function from cuLaunchHostFunc(), not called after an error; or NULL
 * @callback: function from cuStreamAddCallback(), called after an error with that error; or NULL
 * @stream: first argument of @callback
 * @data: last argument of @fn or @callback
 */
struct call {
	struct work work;
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream stream;
	void *data;
};

static CUresult run_function(struct work *w, CUresult error)
{
	const struct call *c = (struct call *)w;

	if (!error)
		c->fn(c->data);
	return CUDA_SUCCESS;
}

static CUresult run_callback(struct work *w, CUresult error)
{
	const struct call *c = (struct call *)w;

	c->callback(c->stream, error, c->data);
	return CUDA_SUCCESS;
}

static void finish(struct work *w)
{
	free(w);
}

static CUresult enqueue(CUstream stream, bool valid, struct call call)
{
	CUresult err = lib_ready();
	struct call *c;

	if (err)
		return err;
	if (!valid)
		return CUDA_ERROR_INVALID_VALUE;
	c = malloc(sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*c = call;
	c->work.finish = finish;
	c->work.on_host = true;
	return stream_enqueue(stream, &c->work);
}

/* @named: the program's handle, an argument of the callback. @stream: the stream for which @named stands. */
static CUresult add_callback(CUstream stream, CUstream named, CUstreamCallback callback, void *data, unsigned int flags)
{
	const struct call call = { .work.run = run_callback, .callback = callback, .stream = named, .data = data };

	return enqueue(stream, callback && !flags, call);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned int flags)
{
	return add_callback(stream, stream, callback, data, flags);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	return enqueue(stream, fn, (struct call){ .work.run = run_function, .fn = fn, .data = data });
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void *data, unsigned int flags)
{
	return add_callback(stream_ptsz(stream), stream, callback, data, flags);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn fn, void *data)
{
	return cuLaunchHostFunc(stream_ptsz(stream), fn, data);
}
