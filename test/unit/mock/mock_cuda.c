// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "lib/cuda/cuda_api.h"
#include "mock_cuda.h"

enum {
	INVALID_VALUE = 1,
	TYPE_HOST = 1,
	DEVICE = 3,
};

bool mock_cuda_loaded;
bool mock_cuda_old;
bool mock_cuda_older;
int mock_cuda_error;
atomic_int mock_cuda_calls;
int mock_cuda_export_error;
bool mock_cuda_coherent;
int mock_cuda_pcie_error;
atomic_ullong mock_cuda_export_flags;
int mock_cuda_fd;
void *mock_cuda_context;
int mock_cuda_primaries;
int mock_cuda_primary_error;
struct mock_allocation mock_allocations[MOCK_ALLOCATIONS];

static char contexts[3];

enum { PROGRAMS, OF_MEMORY, PRIMARY };

void mock_cuda_reset(void)
{
	memset(mock_allocations, 0, sizeof(mock_allocations));
	mock_cuda_loaded = true;
	mock_cuda_old = false;
	mock_cuda_older = false;
	mock_cuda_error = 0;
	mock_cuda_calls = 0;
	mock_cuda_export_error = 0;
	mock_cuda_coherent = false;
	mock_cuda_pcie_error = 0;
	mock_cuda_export_flags = 0;
	mock_cuda_fd = -1;
	mock_cuda_context = &contexts[PROGRAMS];
	mock_cuda_primaries = 0;
	mock_cuda_primary_error = 0;
}

/* A function of CUDA may be a cancellation point. */
static void count_call(void)
{
	pthread_testcancel();
	mock_cuda_calls++;
}

static struct mock_allocation *find(unsigned long long addr)
{
	int i;

	for (i = 0; i < MOCK_ALLOCATIONS; i++) {
		struct mock_allocation *a = &mock_allocations[i];

		if (a->id && addr >= a->base && addr - a->base < a->size)
			return a;
	}
	return NULL;
}

static void put_int(void *data, int value)
{
	memcpy(data, &value, sizeof(value));
}

static void put_u64(void *data, uint64_t value)
{
	memcpy(data, &value, sizeof(value));
}

/* For an unknown address, CUDA returns zero for every attribute and -2 for the device. */
static void answer(int attribute, void *data, const struct mock_allocation *a)
{
	static const struct mock_allocation none;
	int type = !a ? 0 : a->host ? TYPE_HOST : PP_CU_TYPE_DEVICE;

	if (attribute == PP_CU_MEMORY_TYPE)
		put_int(data, type);
	if (attribute == PP_CU_DEVICE_ORDINAL)
		put_int(data, a ? DEVICE : -2);
	if (!a)
		a = &none;
	if (attribute == PP_CU_IS_MANAGED)
		put_int(data, a->managed);
	if (attribute == PP_CU_RANGE_START)
		put_u64(data, a->base);
	if (attribute == PP_CU_RANGE_SIZE)
		put_u64(data, a->reserved ? a->reserved : a->size);
	if (attribute == PP_CU_MAPPING_START)
		put_u64(data, a->base);
	if (attribute == PP_CU_MAPPING_SIZE)
		put_u64(data, a->size);
	if (attribute == PP_CU_BUFFER_ID)
		put_u64(data, a->id);
	if (attribute == PP_CU_RDMA_CAPABLE)
		put_int(data, type == PP_CU_TYPE_DEVICE && !a->no_rdma);
	if (attribute == PP_CU_CONTEXT)
		put_u64(data, a->pooled ? 0 : (uintptr_t)&contexts[OF_MEMORY]);
	if (attribute == PP_CU_MEMPOOL)
		put_u64(data, a->pooled ? 0x13801570 : 0);
}

static bool knows(int attribute)
{
	if (mock_cuda_old)
		return attribute < PP_CU_RDMA_CAPABLE;
	return !mock_cuda_older || attribute < PP_CU_MAPPING_SIZE;
}

static int get_attributes(unsigned int count, int *attributes, void **data,
			  unsigned long long addr)
{
	unsigned int i;

	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	for (i = 0; i < count; i++) {
		if (!knows(attributes[i]))
			return INVALID_VALUE;
		answer(attributes[i], data[i], find(addr));
	}
	return 0;
}

static int get_attribute(void *data, int attribute, unsigned long long addr)
{
	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	if (!find(addr))
		return INVALID_VALUE;
	answer(attribute, data, find(addr));
	return 0;
}

static int set_attribute(const void *value, int attribute,
			 unsigned long long addr)
{
	struct mock_allocation *a = find(addr);

	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	if (!a || attribute != PP_CU_SYNC_MEMOPS || *(const int *)value != 1)
		return INVALID_VALUE;
	if (a->reserved)
		return PP_CU_NOT_SUPPORTED;
	a->synced++;
	return 0;
}

/* The PCI address of the device. mock_nvml.c has the same address for the same device. */
static int pci_bus_id(char *out, int room, int device)
{
	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	snprintf(out, room, "0000:%02X:1F.0", device + 1);
	return 0;
}

static int current(void **out)
{
	*out = mock_cuda_context;
	return 0;
}

/* The library must push a context only while no context is current. */
static int push(void *context)
{
	if (mock_cuda_context)
		return INVALID_VALUE;
	mock_cuda_context = context;
	return 0;
}

static int pop(void **out)
{
	*out = mock_cuda_context;
	mock_cuda_context = NULL;
	return *out ? 0 : PP_CU_NO_CONTEXT;
}

static int retain(void **out, int device)
{
	if (mock_cuda_primary_error || device != DEVICE)
		return mock_cuda_primary_error ?: INVALID_VALUE;
	mock_cuda_primaries++;
	*out = &contexts[PRIMARY];
	return 0;
}

static int release(int device)
{
	mock_cuda_primaries--;
	return device == DEVICE ? 0 : INVALID_VALUE;
}

static int device_attribute(int *out, int attribute, int device)
{
	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	if (device != DEVICE || attribute != PP_CU_IS_COHERENT)
		return INVALID_VALUE;
	*out = mock_cuda_coherent;
	return 0;
}

static int get_handle(void *handle, unsigned long long addr, size_t size, int type, unsigned long long flags)
{
	count_call();
	if (mock_cuda_error || mock_cuda_export_error)
		return mock_cuda_error ? mock_cuda_error : mock_cuda_export_error;
	if (addr % 4096 || size % 4096 || type != PP_CU_DMA_BUF_FD || flags & ~1ull)
		return INVALID_VALUE;
	if (!mock_cuda_context)
		return PP_CU_NO_CONTEXT;
	if (flags && (!mock_cuda_coherent || mock_cuda_pcie_error))
		return mock_cuda_coherent ? mock_cuda_pcie_error : PP_CU_NOT_SUPPORTED;
	mock_cuda_export_flags = flags;
	*(int *)handle = mock_cuda_fd;
	return 0;
}

static bool holds(unsigned long long addr, size_t length)
{
	const struct mock_allocation *a = find(addr);

	return a && length <= a->size - (addr - a->base);
}

/* Mock GPU memory is memory of the test at the same address. */
static int write_memory(unsigned long long to, const void *from, size_t length)
{
	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	if (!holds(to, length))
		return INVALID_VALUE;
	if (!mock_cuda_context)
		return PP_CU_NO_CONTEXT;
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static int read_memory(void *to, unsigned long long from, size_t length)
{
	count_call();
	if (mock_cuda_error)
		return mock_cuda_error;
	if (!holds(from, length))
		return INVALID_VALUE;
	if (!mock_cuda_context)
		return PP_CU_NO_CONTEXT;
	memcpy(to, (void *)(uintptr_t)from, length);
	return 0;
}

static const struct pp_cuda functions = {
	.get_attributes = get_attributes,
	.get_attribute = get_attribute,
	.set_attribute = set_attribute,
	.pci_bus_id = pci_bus_id,
	.write = write_memory,
	.read = read_memory,
	.context_current = current,
	.context_push = push,
	.context_pop = pop,
	.primary_retain = retain,
	.primary_release = release,
};

static const struct pp_cuda exporting = {
	.get_attributes = get_attributes,
	.get_attribute = get_attribute,
	.set_attribute = set_attribute,
	.pci_bus_id = pci_bus_id,
	.device_attribute = device_attribute,
	.get_handle = get_handle,
	.write = write_memory,
	.read = read_memory,
	.context_current = current,
	.context_push = push,
	.context_pop = pop,
	.primary_retain = retain,
	.primary_release = release,
};

const struct pp_cuda *pp_cuda(void)
{
	if (!mock_cuda_loaded)
		return NULL;
	return mock_cuda_fd < 0 ? &functions : &exporting;
}
