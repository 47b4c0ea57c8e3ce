// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bar1.h"
#include "facts.h"
#include "facts_nvlink.h"
#include "facts_vendor.h"

/* ---- in the child: NVML ---------------------------------------------------------- */

static const char *why_no_nvml(int error)
{
	switch (error) {
	case -ENOENT:
		return "there is no libnvidia-ml.so.1";
	case -ENODEV:
		return "it finds no GPU, or the driver is not loaded";
	case -EOPNOTSUPP:
		return "the GPU is integrated and has no BAR1";
	default:
		return "it failed; see what nvidia-smi says";
	}
}

static void tell_bar1(FILE *out, const struct pp_bar1 *gpu)
{
	fprintf(out, "gpu %s name %s\n", gpu->pci, gpu->name);
	fprintf(out, "gpu %s bar1 %llu %llu\n", gpu->pci, (unsigned long long)gpu->total,
		(unsigned long long)gpu->used);
}

static void tell_nvml(FILE *out)
{
	static struct pp_bar1 gpus[FACTS_GPUS];
	unsigned int index[FACTS_GPUS], count, i;
	int error;

	count = bar1_find(gpus, index, FACTS_GPUS, &error);
	for (i = 0; i < count; i++)
		tell_bar1(out, &gpus[i]);
	if (!count)
		fprintf(out, "nvml-error %s\n", why_no_nvml(error));
	else
		tell_nvlinks(out);
}

/* ---- in the child: CUDA ---------------------------------------------------------- */

/* values of CUdevice_attribute */
enum {
	CU_GPU_DIRECT_RDMA_SUPPORTED = 116,
	CU_DMA_BUF_SUPPORTED = 124,
};

struct cuda {
	int (*init)(unsigned int flags);
	int (*count)(int *out);
	int (*get)(int *device, int index);
	int (*address)(char *out, int size, int device);
	int (*attribute)(int *out, int attribute, int device);
};

static bool find(void *lib, const char *name, void *function)
{
	*(void **)function = dlsym(lib, name);
	return *(void **)function;
}

static bool resolve(void *lib, struct cuda *cuda)
{
	return find(lib, "cuInit", &cuda->init) && find(lib, "cuDeviceGetCount", &cuda->count) &&
	       find(lib, "cuDeviceGet", &cuda->get) && find(lib, "cuDeviceGetPCIBusId", &cuda->address) &&
	       find(lib, "cuDeviceGetAttribute", &cuda->attribute);
}

/* A driver that does not know the attribute does not have the feature: write 0. */
static void tell_attribute(FILE *out, const struct cuda *cuda, int device, const char *address, const char *name,
			   int attribute)
{
	int value = 0;

	if (cuda->attribute(&value, attribute, device))
		value = 0;
	fprintf(out, "gpu %s %s %d\n", address, name, !!value);
}

static void tell_device(FILE *out, const struct cuda *cuda, int index)
{
	char address[32], *c;
	int device;

	if (cuda->get(&device, index) || cuda->address(address, sizeof(address), device))
		return;
	for (c = address; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	tell_attribute(out, cuda, device, address, "dma-buf", CU_DMA_BUF_SUPPORTED);
	tell_attribute(out, cuda, device, address, "gdr", CU_GPU_DIRECT_RDMA_SUPPORTED);
}

static void tell_cuda(FILE *out)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int i, count = 0, ret = 0;
	struct cuda cuda;

	if (!lib) {
		fputs("cuda-error there is no libcuda.so.1\n", out);
	} else if (!resolve(lib, &cuda)) {
		fputs("cuda-error libcuda.so.1 is too old\n", out);
	} else {
		ret = cuda.init(0);
		if (!ret)
			ret = cuda.count(&count);
		if (ret)
			fprintf(out, "cuda-error it does not start: error %d\n", ret);
		for (i = 0; i < count; i++)
			tell_device(out, &cuda, i);
	}
}

/* ---- starting the children ------------------------------------------------------- */

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Runs in the child. Clears CUDA_VISIBLE_DEVICES, which would hide GPUs from doctor. */
static void answer(int fd, void (*tell)(FILE *out))
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	FILE *out = fdopen(fd, "w");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	unsetenv("CUDA_VISIBLE_DEVICES");
	if (out) {
		tell(out);
		fputs("end\n", out);
		fflush(out);
	}
	_exit(0);
}

static void ask(struct question *q, const char *name, void (*tell)(FILE *out))
{
	int ends[2];

	*q = (struct question){ .name = name, .answer = -1, .pid = -1 };
	if (pipe2(ends, O_CLOEXEC))
		return;
	q->pid = fork();
	if (!q->pid)
		answer(ends[1], tell);
	close(ends[1]);
	q->answer = ends[0];
}

void vendor_ask_nvml(struct vendor *vendor)
{
	*vendor = (struct vendor){ .asked_ms = now_ms() };
	fflush(NULL);
	ask(&vendor->nvml, "nvml", tell_nvml);
}

void vendor_ask(struct vendor *vendor)
{
	vendor_ask_nvml(vendor);
	ask(&vendor->cuda, "cuda", tell_cuda);
}

/* ---- reading the answers --------------------------------------------------------- */

/* Reads until end of file, the time @until, or a full buffer. */
static size_t listen_to(const struct question *q, char *buf, size_t size, long until)
{
	struct pollfd poller = { .fd = q->answer, .events = POLLIN };
	size_t have = 0;
	ssize_t n = 1;

	while (n > 0 && have < size && q->answer >= 0) {
		long left = until - now_ms();

		n = poll(&poller, 1, left > 0 ? (int)left : 0) > 0 ? read(q->answer, buf + have, size - have) : 0;
		have += n > 0 ? (size_t)n : 0;
	}
	return have;
}

/* Kills the child, and does not wait for it: a child that hangs in a driver does not end. */
static void dismiss(const struct question *q)
{
	if (q->answer >= 0)
		close(q->answer);
	if (q->pid > 0) {
		kill(q->pid, SIGKILL);
		waitpid(q->pid, NULL, WNOHANG);
	}
}

/* Copies the whole lines of an answer. The last line of a complete answer is "end". */
static void repeat(const struct question *q, char *text, FILE *out, bool in_time)
{
	char *last = strrchr(text, '\n');
	bool ended = last && last - text >= 3 && !strncmp(last - 3, "end", 3);

	if (!ended)
		fprintf(out, "%s-error it %s\n", q->name,
			in_time ? "ended before it had answered" : "did not answer in time");
	text[!last ? 0 : ended ? last - 3 - text : last + 1 - text] = '\0';
	fputs(text, out);
}

static void hear(const struct question *q, FILE *out, long until)
{
	char text[FACTS_GPUS * 320 + FACTS_NVLINKS * 64];

	text[listen_to(q, text, sizeof(text) - 1, until)] = '\0';
	repeat(q, text, out, now_ms() < until);
	dismiss(q);
}

void vendor_answer(struct vendor *vendor, FILE *out, unsigned int wait_ms)
{
	long until = vendor->asked_ms + (long)wait_ms;

	hear(&vendor->nvml, out, until);
	if (vendor->cuda.name)
		hear(&vendor->cuda, out, until);
}
