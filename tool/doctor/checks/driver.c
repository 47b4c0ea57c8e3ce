// SPDX-License-Identifier: MIT
/* The GPU's driver: whether it is loaded, which one it is, and which interfaces it offers to other drivers. */
#include <stdio.h>
#include <string.h>
#include "checks.h"

/* The GPU's model name from NVML; "" if NVML does not list the GPU. */
static const char *model(const struct view *v, int gpu)
{
	const struct gpu_facts *facts = facts_gpu(&v->facts, address(v, gpu));

	return facts ? facts->name : "";
}

/* Number of GPUs of the same model as @gpu; 0 if an earlier GPU has that model (already counted). */
static size_t count_alike(const struct view *v, int gpu)
{
	size_t n = 0;
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i)) {
		if (strcmp(model(v, i), model(v, gpu)))
			continue;
		if (i < gpu)
			return 0;
		n++;
	}
	return n;
}

/* Writes the models: "NVIDIA H200", or "2 NVIDIA H200, 1 of unknown model"; "" if NVML lists no GPU. */
static void list_models(const struct view *v, size_t count, char *out, size_t size)
{
	size_t n, length = 0;
	int i;

	*out = '\0';
	for (i = next_gpu(v, -1); i >= 0 && length < size; i = next_gpu(v, i)) {
		const char *name = model(v, i);

		n = count_alike(v, i);
		if (n == count)
			snprintf(out, size, "%s", name);
		else if (n)
			length += (size_t)snprintf(out + length, size - length, "%s%zu %s", length ? ", " : "", n,
						   *name ? name : "of unknown model");
	}
}

static void add_gpus(const struct view *v, struct report *r, size_t count)
{
	char models[320];

	list_models(v, count, models, sizeof(models));
	report_add(r, HEALTH_OK, "machine", "%zu GPU%s%s%s", count, count == 1 ? "" : "s", *models ? ": " : "", models);
}

void check_gpu(const struct view *v, struct report *r)
{
	size_t count = count_gpus(v);

	if (v->pci_error) {
		report_add(r, HEALTH_UNSEEN, "machine", "the PCI devices cannot be seen: %s", strerror(-v->pci_error));
		report_type(r, "ls /sys/bus/pci/devices");
	} else if (!count && is_tegra(v)) {
		report_add(r, HEALTH_OK, "machine", "the GPU is a part of this Jetson or Drive board");
	} else if (count) {
		add_gpus(v, r, count);
	} else {
		report_add(r, HEALTH_FAIL, "machine", "there is no NVIDIA GPU on the PCI bus");
		report_type(r, "lspci -nn -d 10de:");
	}
}

/* ---- which driver --------------------------------------------------------------- */

static void add_driver_problem(struct report *r, const struct device *gpu)
{
	if (!gpu->driver[0]) {
		report_add(r, HEALTH_FAIL, gpu->name, "no driver is bound to the GPU");
		report_type(r, "modprobe nvidia; dmesg | grep NVRM");
	} else if (is_for_guests(gpu)) {
		report_add(r, HEALTH_WARN, gpu->name,
			   "the GPU is reserved for virtual machines (%s): run peerpin doctor there", gpu->driver);
		report_type(r, "cd /sys/bus/pci; echo > devices/%s/driver_override; echo %s > drivers/%s/unbind; "
			       "modprobe nvidia; echo %s > drivers/nvidia/bind",
			    gpu->name, gpu->name, gpu->driver, gpu->name);
	} else {
		report_add(r, HEALTH_FAIL, gpu->name,
			   "the GPU's driver is %s, which gives no GPU memory to other drivers", gpu->driver);
		report_type(r, "apt install nvidia-open; echo blacklist %s > /etc/modprobe.d/gpu.conf; reboot",
			    gpu->driver);
	}
}

void check_driver(const struct view *v, struct report *r)
{
	const struct gpu_driver *d = &v->driver;
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i))
		if (!lends_memory(&v->machine.at[i]))
			add_driver_problem(r, &v->machine.at[i]);
	if (d->kind == DRIVER_NONE)
		return;
	if (d->version[0]) {
		report_add(r, HEALTH_OK, "machine", "%s driver %s",
			   d->kind == DRIVER_EMULATED ? "the emulated GPU's" : "NVIDIA's", d->text);
	} else {
		report_add(r, HEALTH_UNSEEN, "machine", "the version of the GPU's driver cannot be seen");
		report_type(r, "cat /proc/driver/nvidia/version");
	}
}

/* The open modules export to GPL modules only from 550.40 on, and in branch 535 from 535.261.03 on or earlier. */
static bool exports_to_gpl_only(const struct view *v)
{
	if (v->driver.version[0] == 535)
		return !driver_before(v, 535, 261, 3);
	return !driver_before(v, 550, 40, 0);
}

void check_driver_flavour(const struct view *v, struct report *r)
{
	switch (v->driver.kind) {
	case DRIVER_OPEN:
		report_add(r, HEALTH_OK, "machine", "open kernel modules%s",
			   exports_to_gpl_only(v) ? "; they export nv-p2p to modules under the GPL only" : "");
		break;
	case DRIVER_PROPRIETARY:
		report_add(r, HEALTH_OK, "machine",
			   "proprietary kernel modules: nv-p2p for all modules; only the open ones export dma-bufs");
		break;
	case DRIVER_NVIDIA:
		report_add(r, HEALTH_UNSEEN, "machine",
			   "open or proprietary kernel modules: the driver's version file does not say");
		report_type(r, "modinfo -F license nvidia    # Dual MIT/GPL: open");
		break;
	default:
		break;
	}
}

/* ---- nv-p2p --------------------------------------------------------------------- */

static void add_unseen_symbol(struct report *r, const char *symbol)
{
	report_add(r, HEALTH_UNSEEN, "machine", "whether the driver exports %s cannot be seen", symbol);
	report_type(r, "sudo grep -w %s /proc/kallsyms", symbol);
}

void check_driver_nv_p2p(const struct view *v, struct report *r)
{
	if (v->driver.kind == DRIVER_NONE)
		return;
	switch (facts_symbol(&v->facts, "nvidia_p2p_get_pages")) {
	case SEEN_YES:
		report_add(r, HEALTH_OK, "machine", "the driver gives GPU memory to other drivers (nv-p2p)");
		break;
	case SEEN_NO:
		report_add(r, HEALTH_FAIL, "machine",
			   "the driver has no nvidia_p2p_get_pages: no other driver can pin GPU memory");
		report_type(r, "modinfo -F version nvidia; apt install nvidia-open    # or another installer");
		break;
	default:
		add_unseen_symbol(r, "nvidia_p2p_get_pages");
	}
}

void check_driver_persistent(const struct view *v, struct report *r)
{
	if (v->driver.kind == DRIVER_NONE)
		return;
	switch (facts_symbol(&v->facts, "nvidia_p2p_get_pages_persistent")) {
	case SEEN_YES:
		report_add(r, HEALTH_OK, "machine", "pins can be persistent");
		break;
	case SEEN_NO:
		report_add(r, HEALTH_WARN, "machine",
			   "driver %s has no persistent pins: nvidia_p2p_get_pages_persistent came with 535.14 and "
			   "525.105.17",
			   v->driver.text);
		report_type(r, "apt install nvidia-open    # or another way to a driver of 535.14 or later");
		break;
	default:
		add_unseen_symbol(r, "nvidia_p2p_get_pages_persistent");
	}
}

/* Drivers from R515 to R535 have the race. Branch 525 is fixed since 525.105.17, branch 535 since 535.14. */
static bool driver_races(const struct view *v)
{
	if (driver_before(v, 515, 0, 0) || !driver_before(v, 535, 14, 0))
		return false;
	return v->driver.version[0] != 525 || driver_before(v, 525, 105, 17);
}

void check_driver_race(const struct view *v, struct report *r)
{
	if (!v->driver.version[0])
		return;
	if (driver_races(v)) {
		report_add(r, HEALTH_FAIL, "machine",
			   "driver %s can crash the kernel when memory is freed while another driver unpins it; fixed "
			   "in 525.105.17 and 535.14",
			   v->driver.text);
		report_type(r, "apt install nvidia-open    # or another way to a driver of 535.14 or later");
	} else {
		report_add(r, HEALTH_OK, "machine", "driver %s is free of the race that R515 to R535 had",
			   v->driver.text);
	}
}

/* ---- attributes of each GPU, from CUDA --------------------------------------------- */

static bool cuda_answered(const struct view *v)
{
	size_t i;

	for (i = 0; i < v->facts.nr_gpus; i++)
		if (v->facts.gpus[i].dma_buf >= 0)
			return true;
	return false;
}

static void add_no_dma_bufs(const struct view *v, struct report *r, const char *gpu)
{
	char value[8];

	if (v->driver.kind == DRIVER_PROPRIETARY) {
		report_add(r, HEALTH_WARN, gpu, "no dma-bufs: the proprietary modules export none, the open ones do");
		report_type(r, "apt install nvidia-open    # for GPUs since Turing; then reboot");
	} else if (kernel_before(v, 5, 12)) {
		report_add(r, HEALTH_WARN, gpu, "no dma-bufs: they need Linux 5.12, this is %u.%u", v->kernel[0],
			   v->kernel[1]);
		report_type(r, "apt install linux-image-amd64; reboot    # or another newer kernel");
	} else if (facts_config(&v->facts, "DMA_SHARED_BUFFER", value, sizeof(value)) && !strcmp(value, "n")) {
		report_add(r, HEALTH_WARN, gpu, "no dma-bufs: the kernel was built without them");
		report_type(r, "scripts/config -e DMA_SHARED_BUFFER    # in the kernel's source; build and boot it");
	} else {
		report_add(r, HEALTH_WARN, gpu, "CUDA reports no dma-bufs: they need Turing or newer, and driver 515");
		report_type(r, "nvidia-smi -i %s -q | grep -i -e architecture -e 'driver version'", gpu);
	}
}

static void check_gpu_dma_buf(const struct view *v, struct report *r, const char *name)
{
	const struct gpu_facts *gpu = facts_gpu(&v->facts, name);

	if (!gpu || gpu->dma_buf < 0) {
		report_add(r, HEALTH_UNSEEN, name, "CUDA does not list this GPU; it may or may not export dma-bufs");
		report_type(r, "nvidia-smi -i %s; env | grep CUDA_VISIBLE_DEVICES", name);
	} else if (gpu->dma_buf) {
		report_add(r, HEALTH_OK, name, "its memory can be exported as dma-bufs");
	} else {
		add_no_dma_bufs(v, r, name);
	}
}

void check_dma_buf(const struct view *v, struct report *r)
{
	const char *error = v->facts.cuda_error;
	int i;

	if (count_gpus(v) && !cuda_answered(v)) {
		report_add(r, HEALTH_UNSEEN, "machine", "only CUDA knows whether GPUs export dma-bufs: %s",
			   *error ? error : "it was not asked");
		report_type(r, "nvidia-smi; ldconfig -p | grep libcuda.so.1");
		return;
	}
	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i))
		if (!is_for_guests(&v->machine.at[i]))
			check_gpu_dma_buf(v, r, address(v, i));
}

void check_gpu_direct(const struct view *v, struct report *r)
{
	const struct gpu_facts *gpu;
	int i;

	for (i = next_gpu(v, -1); i >= 0; i = next_gpu(v, i)) {
		gpu = facts_gpu(&v->facts, address(v, i));
		if (gpu && gpu->gdr == 1) {
			report_add(r, HEALTH_OK, address(v, i), "GPUDirect RDMA is supported, says CUDA");
		} else if (gpu && !gpu->gdr) {
			report_add(r, HEALTH_FAIL, address(v, i),
				   "GPUDirect RDMA is not supported, says CUDA: Tesla and Quadro GPUs have it, but "
				   "not every virtual GPU");
			report_type(r, "nvidia-smi -i %s -q | grep -i -e 'product name' -e 'virtualization mode'",
				    address(v, i));
		}
	}
}
