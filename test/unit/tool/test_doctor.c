// SPDX-License-Identifier: MIT
/* Plant each fault into a healthy machine. A fault must give its own findings and change no others. */
#include "doctor_case.h"

/**
 * struct fault - a difference from the healthy machine
 * @change: changes the devices before their files are made
 * @file: file that gets the contents @text
 * @fact: prefix of a line of the facts; @now replaces this line; @now NULL: the line is dropped
 * @plant: makes other changes in the tree
 * @gone: findings that disappear
 * @come: findings that appear
 * @pair: verdict on the pair; NULL: "works well"
 */
struct fault {
	const char *name;
	void (*change)(struct made_device *devices);
	const char *file, *text;
	const char *fact, *now;
	void (*plant)(const char *root);
	const char *gone, *come;
	const char *pair;
};

/* ---- changes of devices --------------------------------------------------------- */

static void rdma_is_translated(struct made_device *d)
{
	d[MADE_RDMA].iommu_type = "DMA-FQ";
}

static void domain_is_blocked(struct made_device *d)
{
	d[MADE_RDMA].iommu_type = "blocked";
}

static void domain_is_unknown(struct made_device *d)
{
	d[MADE_RDMA].iommu_type = "unknown";
}

static void both_are_translated(struct made_device *d)
{
	d[MADE_RDMA].iommu_type = "DMA";
	d[MADE_RDMA].ats_on = true;
	d[MADE_GPU].iommu_type = "DMA";
	d[MADE_DOWN_GPU].acs_ctrl = 0x1d;
	d[MADE_DOWN_RDMA].acs_ctrl = 0x1d;
}

static void translations_pass(struct made_device *d)
{
	both_are_translated(d);
	d[MADE_DOWN_GPU].acs_ctrl = 0x5d;
	d[MADE_DOWN_RDMA].acs_ctrl = 0x5d;
}

static void port_redirects(struct made_device *d)
{
	d[MADE_DOWN_RDMA].acs_ctrl = 0x1d;
}

static void port_redirects_completions(struct made_device *d)
{
	d[MADE_DOWN_GPU].acs_ctrl = 0x08;
}

static void port_controls_egress(struct made_device *d)
{
	d[MADE_DOWN_GPU].acs_ctrl = 0x20;
}

static void translations_would_pass(struct made_device *d)
{
	d[MADE_DOWN_RDMA].acs_ctrl = 0x5d;
}

static void port_only_validates(struct made_device *d)
{
	d[MADE_DOWN_RDMA].acs_ctrl = 0x11;
}

static void no_gpu_driver(struct made_device *d)
{
	d[MADE_GPU].driver = NULL;
}

static void gpu_of_nouveau(struct made_device *d)
{
	d[MADE_GPU].driver = "nouveau";
}

static void gpu_of_a_guest(struct made_device *d)
{
	d[MADE_GPU].driver = "vfio-pci";
}

static void gpu_of_a_guest_on_grace(struct made_device *d)
{
	d[MADE_GPU].driver = "nvgrace-gpu-vfio-pci";
}

static void gpu_of_a_guest_of_xen(struct made_device *d)
{
	d[MADE_GPU].driver = "pciback";
}

static void small_bar(struct made_device *d)
{
	d[MADE_GPU].bars[2] = 0;
	d[MADE_GPU].bars[1] = 256ull << 20;
}

static void resizable_bar(struct made_device *d)
{
	small_bar(d);
	d[MADE_GPU].rebar = 0x7f00;	/* 256 MiB to 16 GiB */
}

static void bar_without_room(struct made_device *d)
{
	d[MADE_GPU].bars[2] = 0;
}

static void narrow_link(struct made_device *d)
{
	d[MADE_GPU].width = 8;
	d[MADE_GPU].max_width = 16;
}

static void idle_gpu(struct made_device *d)
{
	d[MADE_GPU].speed = "2.5 GT/s PCIe";
	d[MADE_GPU].max_speed = "32.0 GT/s PCIe";
}

static void slow_link(struct made_device *d)
{
	d[MADE_RDMA].speed = "16.0 GT/s PCIe";
	d[MADE_RDMA].max_speed = "32.0 GT/s PCIe";
}

static void no_root(struct made_device *d)
{
	int i;

	for (i = 0; i < NR_MADE; i++)
		d[i].config_size = 64;
}

static void rdma_of_amazon(struct made_device *d)
{
	d[MADE_RDMA].vendor = 0x1d0f;
	d[MADE_RDMA].device = 0xefa1;
	d[MADE_RDMA].driver = "efa";
}

static void rdma_of_before(struct made_device *d)
{
	d[MADE_RDMA].driver = "mlx4_core";
}

static void rdma_is_alone(struct made_device *d)
{
	d[MADE_GPU].class_code = 0x040300;
}

static void no_extended_config(struct made_device *d)
{
	int i;

	for (i = 0; i < NR_MADE; i++)
		d[i].config_size = 256;
}

static void small_bar_of_unknown_sizes(struct made_device *d)
{
	small_bar(d);
	d[MADE_GPU].config_size = 256;
}

static void rdma_is_a_plain_card(struct made_device *d)
{
	d[MADE_RDMA].rdma = NULL;
	d[MADE_RDMA].class_code = 0x020000;
}

/* ---- other changes ------------------------------------------------------------------ */

static void proprietary(const char *root)
{
	make_file(root, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04\n");
}

static void proprietary_without_peermem(const char *root)
{
	proprietary(root);
	make_facts(root, "gpu " GPU " dma-buf", "gpu " GPU " dma-buf 0");
}

#define GPU_2 "0000:3d:01.0"
#define SOUND "0000:3d:00.1"

static void second_gpu_without_dma_bufs(const char *root)
{
	struct made_device gpu = healthy_devices[MADE_GPU];

	gpu.name = GPU_2;
	make_device(root, &gpu);
	add_fact(root, "gpu " GPU_2 " bar1 274877906944 1048576\ngpu " GPU_2 " dma-buf 0\ngpu " GPU_2 " gdr 1");
}

static void second_gpu_without_any_way(const char *root)
{
	second_gpu_without_dma_bufs(root);
	add_fact(root, "symbol ib_register_peer_memory_client no");
}

static void no_gpu_with_any_way(const char *root)
{
	proprietary_without_peermem(root);
	add_fact(root, "symbol ib_register_peer_memory_client no");
}

static void second_gpu_of_a_guest(const char *root)
{
	struct made_device gpu = healthy_devices[MADE_GPU];

	gpu.name = GPU_2;
	gpu.driver = "vfio-pci";
	gpu.iommu_type = "unmanaged";
	gpu.group = 7;
	make_device(root, &gpu);
}

static void peer_memory_only(const char *root)
{
	proprietary_without_peermem(root);
	make_file(root, "sys/module/nvidia_peermem/version", "580.159.04\n");
}

static void cuda_is_late(const char *root)
{
	make_facts(root, "gpu " GPU " dma-buf", "cuda-error it did not answer in time");
	add_fact(root, "symbol ib_register_peer_memory_client no");
}

/* For Amazon's adapter, doctor must not advise modules for Mellanox adapters. */
static void nothing_for_amazon(const char *root)
{
	proprietary_without_peermem(root);
	add_fact(root, "symbol efa_reg_user_mr_dmabuf yes");
	add_fact(root, "symbol ib_register_peer_memory_client no");
}

static void legacy_peermem(const char *root)
{
	make_file(root, "sys/module/nvidia_peermem/parameters/peerdirect_support", "1\n");
}

static void both_peermems(const char *root)
{
	make_file(root, "sys/module/nvidia_peermem/version", "580.159.04\n");
	make_file(root, "sys/module/nv_peer_mem/version", "1.3\n");
}

static void driver_is(const char *root, const char *version)
{
	make_file(root, "sys/module/nvidia/version", "%s\n", version);
}

static void driver_525_racing(const char *root)
{
	driver_is(root, "525.105.16");
}

static void driver_525_mended(const char *root)
{
	driver_is(root, "525.105.17");
}

static void driver_530(const char *root)
{
	driver_is(root, "530.41.03");
}

static void driver_535_first(const char *root)
{
	driver_is(root, "535.14");
}

static void driver_470(const char *root)
{
	driver_is(root, "470.256.02");
}

static void container_without_node(const char *root)
{
	make_file(root, ".dockerenv", "%s", "");
	make_facts(root, "node /dev/nvidia-uvm", "node /dev/nvidia-uvm absent");
}

static void little_to_lock(const char *root)
{
	make_file(root, "proc/self/limits",
		  "Max locked memory         8388608              8388608              bytes\n");
}

static void container_of_little_to_lock(const char *root)
{
	little_to_lock(root);
	make_file(root, ".dockerenv", "%s", "");
	make_facts(root, "ipc-lock", "ipc-lock no");
}

static void container_that_refuses(const char *root)
{
	make_file(root, ".dockerenv", "%s", "");
	make_facts(root, "node /dev/peerpin", "node /dev/peerpin 666 0 0 1");
	add_fact(root, "node /dev/nvidia1 666 0 0 1");
}

static void board_of_jetson(const char *root)
{
	make_file(root, "etc/nv_tegra_release", "# R36 (release)\n");
	make_file(root, "proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
}

static void unload_peerpin(const char *root)
{
	make_file(root, "proc/modules", "nvidia 2 1 - Live 0x0 (OE)\n");
}

static void locked_down(const char *root)
{
	make_file(root, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	unload_peerpin(root);
}

static void only_signed(const char *root)
{
	make_file(root, "sys/module/module/parameters/sig_enforce", "Y\n");
	unload_peerpin(root);
}

static void built_for_signed(const char *root)
{
	make_facts(root, "option MODULE_SIG_FORCE", "option MODULE_SIG_FORCE y");
	unload_peerpin(root);
}

/* Without a driver, the exports of a GPU are unknown. */
#define WITHOUT_DRIVER "? peermem nvidia_peermem\n? rdma mlx5_0\n"

/* Findings that need a driver. @dma_buf: CUDA's finding on the GPU if doctor does not call CUDA, else "" */
#define ALL_OF_A_DRIVER(dma_buf) \
	"OK driver machine\nOK driver-flavour machine\nOK driver-nv-p2p machine\nOK driver-persistent machine\n" \
	"OK driver-race machine\n" dma_buf "OK peermem nvidia_peermem\nOK peerpin-provider peerpin_nv\n" \
	"OK nodes-nvidia /dev/nvidia*\nOK rdma mlx5_0\n"

static const struct fault faults[] = {
	/* the driver */
	{ "no driver", .change = no_gpu_driver,
	  .gone = ALL_OF_A_DRIVER(""),
	  .come = "FAIL driver " GPU "\n" WITHOUT_DRIVER, .pair = "not supported\n" },
	{ "nouveau", .change = gpu_of_nouveau,
	  .gone = ALL_OF_A_DRIVER(""),
	  .come = "FAIL driver " GPU "\n" WITHOUT_DRIVER, .pair = "not supported\n" },
	{ "vfio", .change = gpu_of_a_guest,
	  .gone = ALL_OF_A_DRIVER("OK dma-buf " GPU "\n"),
	  .come = "WARN driver " GPU "\n" WITHOUT_DRIVER, .pair = "not supported\n" },
	{ "vfio, NVIDIA's driver", .change = gpu_of_a_guest_on_grace,
	  .gone = ALL_OF_A_DRIVER("OK dma-buf " GPU "\n"),
	  .come = "WARN driver " GPU "\n" WITHOUT_DRIVER, .pair = "not supported\n" },
	{ "Xen", .change = gpu_of_a_guest_of_xen,
	  .gone = ALL_OF_A_DRIVER("OK dma-buf " GPU "\n"),
	  .come = "WARN driver " GPU "\n" WITHOUT_DRIVER, .pair = "not supported\n" },
	{ "no nv-p2p", .fact = "symbol nvidia_p2p_get_pages ", .now = "symbol nvidia_p2p_get_pages no",
	  .gone = "OK driver-nv-p2p machine\n", .come = "FAIL driver-nv-p2p machine\n" },
	{ "no persistent pins", .fact = "symbol nvidia_p2p_get_pages_persistent",
	  .now = "symbol nvidia_p2p_get_pages_persistent no",
	  .gone = "OK driver-persistent machine\n", .come = "WARN driver-persistent machine\n" },
	{ "symbols are hidden", .fact = "symbol nvidia_p2p_get_pages ", .now = "symbol nvidia_p2p_get_pages unknown",
	  .gone = "OK driver-nv-p2p machine\n", .come = "? driver-nv-p2p machine\n" },
	{ "the race, 525", .plant = driver_525_racing,
	  .gone = "OK driver-race machine\n", .come = "FAIL driver-race machine\n" },
	{ "fixed, 525", .plant = driver_525_mended },
	{ "the race, 530", .plant = driver_530,
	  .gone = "OK driver-race machine\n", .come = "FAIL driver-race machine\n" },
	{ "fixed, 535", .plant = driver_535_first },
	{ "older than the race", .plant = driver_470 },
	{ "GPUDirect is not supported", .fact = "gpu " GPU " gdr", .now = "gpu " GPU " gdr 0",
	  .gone = "OK gpu-direct " GPU "\n", .come = "FAIL gpu-direct " GPU "\n", .pair = "not supported\n" },
	{ "proprietary, no dma-bufs, no peermem", .plant = proprietary_without_peermem,
	  .gone = "OK dma-buf " GPU "\nOK peermem nvidia_peermem\nOK rdma mlx5_0\n",
	  .come = "WARN dma-buf " GPU "\nWARN peermem nvidia_peermem\nFAIL rdma mlx5_0\n", .pair = "not supported\n" },
	{ "proprietary, peermem", .plant = peer_memory_only,
	  .gone = "OK dma-buf " GPU "\nOK peermem-symbols ib_core\n", .come = "WARN dma-buf " GPU "\n" },
	{ "a second GPU without dma-bufs", .plant = second_gpu_without_dma_bufs,
	  .gone = "OK peermem nvidia_peermem\nOK rdma mlx5_0\n",
	  .come = "WARN dma-buf " GPU_2 "\nOK gpu-direct " GPU_2 "\nOK bar1 " GPU_2 "\nOK bar1-size " GPU_2 "\n"
		  "WARN peermem nvidia_peermem\nWARN rdma mlx5_0\n", .pair = "works well\nnot supported\n" },
	{ "a second GPU without dma-bufs, and no peer memory", .plant = second_gpu_without_any_way,
	  .gone = "OK peermem nvidia_peermem\nOK peermem-symbols ib_core\nOK rdma mlx5_0\n",
	  .come = "WARN dma-buf " GPU_2 "\nOK gpu-direct " GPU_2 "\nOK bar1 " GPU_2 "\nOK bar1-size " GPU_2 "\n"
		  "WARN peermem nvidia_peermem\nWARN peermem-symbols ib_core\nWARN rdma mlx5_0\n",
	  .pair = "works well\nnot supported\n" },
	{ "no dma-bufs, and no peer memory", .plant = no_gpu_with_any_way,
	  .gone = "OK dma-buf " GPU "\nOK peermem nvidia_peermem\nOK peermem-symbols ib_core\nOK rdma mlx5_0\n",
	  .come = "WARN dma-buf " GPU "\nWARN peermem nvidia_peermem\nFAIL peermem-symbols ib_core\n"
		  "FAIL rdma mlx5_0\n", .pair = "not supported\n" },
	{ "a second GPU of a guest", .plant = second_gpu_of_a_guest,
	  .come = "WARN driver " GPU_2 "\nOK bar1-size " GPU_2 "\n", .pair = "works well\nnot supported\n" },
	{ "an RDMA driver without dma-bufs", .fact = "symbol mlx5_ib", .now = "symbol mlx5_ib_reg_user_mr_dmabuf no",
	  .gone = "OK peermem nvidia_peermem\nOK rdma mlx5_0\n",
	  .come = "WARN peermem nvidia_peermem\nFAIL rdma mlx5_0\n",
	  .pair = "not supported\n" },

	/* peer memory */
	{ "no peer memory, no need", .fact = "symbol ib_register", .now = "symbol ib_register_peer_memory_client no" },
	{ "CUDA did not answer, and there is no peer memory", .plant = cuda_is_late,
	  .gone = "OK dma-buf " GPU "\nOK peermem nvidia_peermem\nOK peermem-symbols ib_core\nOK rdma mlx5_0\n",
	  .come = "? dma-buf machine\n? peermem nvidia_peermem\n? peermem-symbols ib_core\n? rdma mlx5_0\n" },
	{ "an RDMA device of another vendor, no dma-bufs", .change = rdma_of_amazon, .plant = nothing_for_amazon,
	  .gone = "OK dma-buf " GPU "\nOK peermem nvidia_peermem\nOK peermem-symbols ib_core\nOK rdma mlx5_0\n",
	  .come = "WARN dma-buf " GPU "\n? rdma mlx5_0\n" },
	{ "an RDMA driver that never had dma-bufs", .change = rdma_of_before,
	  .gone = "OK peermem nvidia_peermem\nOK rdma mlx5_0\n",
	  .come = "WARN peermem nvidia_peermem\nFAIL rdma mlx5_0\n", .pair = "not supported\n" },
	{ "both peer memories", .plant = both_peermems,
	  .gone = "OK peermem nvidia_peermem\nOK peermem-symbols ib_core\n",
	  .come = "FAIL peermem-both nv_peer_mem\n" },
	{ "the old peer memory", .file = "sys/module/nv_peer_mem/version", .text = "1.3\n",
	  .gone = "OK peermem nvidia_peermem\nOK peermem-symbols ib_core\n", .come = "WARN peermem nv_peer_mem\n" },
	{ "legacy peer memory", .plant = legacy_peermem,
	  .gone = "OK peermem-symbols ib_core\n", .come = "WARN peermem-legacy nvidia_peermem\n" },

	/* peerpin */
	{ "no peerpin", .file = "proc/modules", .text = "nvidia 2 1 - Live 0x0 (OE)\n",
	  .gone = "OK peerpin-module peerpin\nOK peerpin-provider peerpin_nv\nOK peerpin-node /dev/peerpin\n",
	  .come = "WARN peerpin-module peerpin\n" },
	{ "no provider", .file = "proc/modules", .text = "peerpin 106496 0 - Live 0x0 (OE)\n",
	  .gone = "OK peerpin-provider peerpin_nv\n", .come = "WARN peerpin-provider peerpin_nv\n" },
	{ "no node", .fact = "node /dev/peerpin", .now = "node /dev/peerpin absent",
	  .gone = "OK peerpin-node /dev/peerpin\n", .come = "FAIL peerpin-node /dev/peerpin\n" },
	{ "a plain file", .fact = "node /dev/peerpin", .now = "node /dev/peerpin 644 0 0 19",
	  .gone = "OK peerpin-node /dev/peerpin\n", .come = "FAIL peerpin-node /dev/peerpin\n" },
	{ "no permission", .fact = "node /dev/peerpin", .now = "node /dev/peerpin 600 0 0 13",
	  .gone = "OK peerpin-node /dev/peerpin\n", .come = "FAIL peerpin-node /dev/peerpin\n" },

	/* BAR1 */
	{ "BAR1 is full", .fact = "gpu " GPU " bar1", .now = "gpu " GPU " bar1 268435456 268435456",
	  .gone = "OK bar1 " GPU "\n", .come = "FAIL bar1 " GPU "\n" },
	{ "free BAR1 is reserved", .fact = "gpu " GPU " bar1", .now = "gpu " GPU " bar1 268435456 230686720",
	  .gone = "OK bar1 " GPU "\n", .come = "FAIL bar1 " GPU "\n" },
	{ "BAR1 is nearly full", .fact = "gpu " GPU " bar1", .now = "gpu " GPU " bar1 268435456 220686720",
	  .gone = "OK bar1 " GPU "\n", .come = "WARN bar1 " GPU "\n" },
	{ "no NVML", .fact = "gpu " GPU " bar1", .now = "nvml-error NVML: there is no libnvidia-ml.so.1",
	  .gone = "OK bar1 " GPU "\n", .come = "? bar1 " GPU "\n" },
	{ "a small BAR1", .change = small_bar, .gone = "OK bar1-size " GPU "\n", .come = "WARN bar1-size " GPU "\n" },
	{ "a resizable BAR1", .change = resizable_bar,
	  .gone = "OK bar1-size " GPU "\n", .come = "WARN bar1-size " GPU "\n" },
	{ "a small BAR1 of unknown sizes", .change = small_bar_of_unknown_sizes,
	  .gone = "OK bar1-size " GPU "\n", .come = "? bar1-size " GPU "\n" },
	{ "a BAR1 without room", .change = bar_without_room,
	  .gone = "OK bar1-size " GPU "\n", .come = "FAIL bar1-size " GPU "\n" },

	/* the path between GPU and peer */
	{ "the peer is translated", .change = rdma_is_translated,
	  .come = "WARN iommu-translates " RDMA "\nWARN ats " RDMA "\n", .pair = "works slowly\n" },
	{ "the IOMMU blocks the peer", .change = domain_is_blocked,
	  .gone = "OK iommu machine\n", .come = "? iommu machine\n", .pair = "not known\n" },
	{ "the IOMMU mode of the peer is unknown", .change = domain_is_unknown,
	  .gone = "OK iommu machine\n", .come = "? iommu machine\n", .pair = "not known\n" },
	{ "the IOMMU translates, and ports redirect", .change = both_are_translated,
	  .gone = "OK acs-redirect machine\n",
	  .come = "WARN iommu-translates " GPU "\nWARN iommu-translates " RDMA "\nOK ats " RDMA "\n"
		  "WARN acs-redirect " DOWN_GPU "\nWARN acs-redirect " DOWN_RDMA "\n", .pair = "works slowly\n" },
	{ "ATS translations go straight", .change = translations_pass,
	  .come = "WARN iommu-translates " GPU "\nWARN iommu-translates " RDMA "\nOK ats " RDMA "\n" },
	{ "a port redirects", .change = port_redirects,
	  .gone = "OK acs-redirect machine\n", .come = "WARN acs-redirect " DOWN_RDMA "\n", .pair = "works slowly\n" },
	{ "a port redirects completions", .change = port_redirects_completions,
	  .gone = "OK acs-redirect machine\n", .come = "WARN acs-redirect " DOWN_GPU "\n", .pair = "works slowly\n" },
	{ "a port controls egress", .change = port_controls_egress,
	  .gone = "OK acs-redirect machine\n", .come = "WARN acs-redirect " DOWN_GPU "\n", .pair = "works slowly\n" },
	{ "the peer does not use ATS", .change = translations_would_pass,
	  .gone = "OK acs-redirect machine\n", .come = "WARN acs-redirect " DOWN_RDMA "\n", .pair = "works slowly\n" },
	{ "a port validates sources", .change = port_only_validates },
	{ "no root", .change = no_root, .gone = "OK acs-redirect machine\n", .come = "? acs-redirect machine\n",
	  .pair = "not known\n" },
	{ "no extended configuration space", .change = no_extended_config,
	  .gone = "OK acs-redirect machine\n", .come = "? acs-redirect machine\n", .pair = "not known\n" },
	{ "POWER8, under a switch", .file = "proc/cpuinfo", .text = "processor\t: 0\ncpu\t\t: POWER8E (raw)\n",
	  .gone = "OK platform machine\n", .come = "FAIL platform machine\n" },
	{ "ARM64", .file = "proc/cpuinfo", .text = "processor\t: 0\nCPU implementer\t: 0x41\n",
	  .gone = "OK platform machine\n", .come = "WARN platform machine\n" },
	{ "a Jetson board with a GPU on the bus", .plant = board_of_jetson,
	  .gone = "OK platform machine\n", .come = "WARN platform machine\n" },
	{ "Jetson", .file = "etc/nv_tegra_release", .text = "# R35 (release)\n" },
	{ "a virtual machine", .file = "proc/cpuinfo",
	  .text = "vendor_id\t: AuthenticAMD\nflags\t: fpu hypervisor lm\n",
	  .come = "? platform-virtual machine\n", .pair = "not known\n" },
	{ "a virtual machine without the CPU flag", .file = "proc/device-tree/compatible",
	  .text = "linux,dummy-virt", .come = "? platform-virtual machine\n", .pair = "not known\n" },
	{ "a narrow link", .change = narrow_link, .gone = "OK link machine\n", .come = "WARN link " GPU "\n" },
	{ "a slow link", .change = slow_link, .gone = "OK link machine\n", .come = "WARN link " RDMA "\n" },
	{ "a GPU that idles", .change = idle_gpu },

	/* the kernel, limits, containers */
	{ "no p2pdma", .fact = "option PCI_P2PDMA", .now = "option PCI_P2PDMA n",
	  .gone = "OK kernel-p2pdma PCI_P2PDMA\n", .come = "WARN kernel-p2pdma PCI_P2PDMA\n" },
	{ "no configuration", .fact = "option PCI_P2PDMA", .now = "config-error there is no /proc/config.gz",
	  .gone = "OK kernel-p2pdma PCI_P2PDMA\n", .come = "? kernel-p2pdma PCI_P2PDMA\n" },
	{ "signatures", .plant = only_signed,
	  .gone = "OK peerpin-module peerpin\nOK peerpin-provider peerpin_nv\nOK peerpin-node /dev/peerpin\n"
		  "OK kernel-signatures machine\n",
	  .come = "WARN peerpin-module peerpin\nWARN kernel-signatures machine\n" },
	{ "signatures, by configuration", .plant = built_for_signed,
	  .gone = "OK peerpin-module peerpin\nOK peerpin-provider peerpin_nv\nOK peerpin-node /dev/peerpin\n"
		  "OK kernel-signatures machine\n",
	  .come = "WARN peerpin-module peerpin\nWARN kernel-signatures machine\n" },
	{ "signatures, but the module is loaded", .file = "sys/module/module/parameters/sig_enforce", .text = "Y\n" },
	{ "locked down", .plant = locked_down,
	  .gone = "OK peerpin-module peerpin\nOK peerpin-provider peerpin_nv\nOK peerpin-node /dev/peerpin\n"
		  "OK kernel-signatures machine\n",
	  .come = "WARN peerpin-module peerpin\nWARN kernel-signatures machine\n" },
	{ "little locked memory, root", .plant = little_to_lock },
	{ "little locked memory, root of an older capture", .plant = little_to_lock, .fact = "ipc-lock", .now = NULL },
	{ "little locked memory, root of a container", .plant = container_of_little_to_lock,
	  .gone = "OK memlock RLIMIT_MEMLOCK\n", .come = "WARN memlock RLIMIT_MEMLOCK\nOK container machine\n" },
	{ "little locked memory", .plant = little_to_lock, .fact = "ipc-lock", .now = "ipc-lock no",
	  .gone = "OK memlock RLIMIT_MEMLOCK\n", .come = "WARN memlock RLIMIT_MEMLOCK\n" },
	{ "a container without a node", .plant = container_without_node,
	  .gone = "OK nodes-nvidia /dev/nvidia*\n",
	  .come = "OK container machine\nFAIL nodes-nvidia /dev/nvidia-uvm\n" },
	{ "a pod, by its environment", .fact = "ipc-lock", .now = "ipc-lock yes\ncontainer KUBERNETES_SERVICE_HOST",
	  .come = "OK container machine\n" },
	{ "a pod, by its account", .file = "run/secrets/kubernetes.io/serviceaccount/namespace", .text = "default",
	  .come = "OK container machine\n" },
	{ "a pod where /run is not /var/run", .file = "var/run/secrets/kubernetes.io/serviceaccount/namespace",
	  .text = "default", .come = "OK container machine\n" },
	{ "a container of systemd's", .file = "run/systemd/container", .text = "systemd-nspawn\n",
	  .come = "OK container machine\n" },
	{ "no verbs", .fact = "node /dev/infiniband", .now = NULL,
	  .gone = "OK nodes-rdma /dev/infiniband\n", .come = "FAIL nodes-rdma /dev/infiniband/uverbs0\n" },
	{ "verbs without permission", .fact = "node /dev/infiniband", .now = "node /dev/infiniband/uverbs0 600 0 0 13",
	  .gone = "OK nodes-rdma /dev/infiniband\n", .come = "FAIL nodes-rdma /dev/infiniband/uverbs0\n" },

	/* peers */
	{ "a port is down", .file = "sys/class/infiniband/mlx5_0/ports/1/state", .text = "1: DOWN\n",
	  .gone = "OK rdma-port mlx5_0\n", .come = "WARN rdma-port mlx5_0\n" },
	{ "no peer", .change = rdma_is_a_plain_card,
	  .gone = "OK peermem nvidia_peermem\nOK peermem-symbols ib_core\nOK acs-redirect machine\n"
		  "OK nodes-rdma /dev/infiniband\nOK peer machine\nOK rdma mlx5_0\nOK rdma-port mlx5_0\n",
	  .come = "WARN peer machine\n", .pair = "" },
};

/* ---- comparing -------------------------------------------------------------------- */

static char *make_sick(const struct fault *f)
{
	struct made_device devices[NR_MADE];
	char *root = make_tree();

	memcpy(devices, healthy_devices, sizeof(devices));
	if (f->change)
		f->change(devices);
	make_devices(root, devices);
	make_healthy_files(root);
	if (f->file)
		make_file(root, f->file, "%s", f->text);
	if (f->fact)
		make_facts(root, f->fact, f->now);
	if (f->plant)
		f->plant(root);
	return root;
}

static void test_fault(const struct diagnosis *healthy, const struct fault *f)
{
	static struct diagnosis sick;
	static char gone[sizeof(sick.findings)], come[sizeof(sick.findings)];
	char *root = make_sick(f);

	diagnose(root, &sick);
	remove_tree(root);
	only_in(healthy->findings, sick.findings, gone);
	only_in(sick.findings, healthy->findings, come);
	print_message("%s\n", f->name);
	assert_string_equal(gone, f->gone ? f->gone : "");
	assert_string_equal(come, f->come ? f->come : "");
	assert_string_equal(sick.pairs, f->pair ? f->pair : "works well\n");
	assert_int_equal(sick.nr_failures > 0, strstr(come, "FAIL") != NULL);
}

static void each_fault_gives_its_findings(void **state)
{
	static const struct fault none;
	static struct diagnosis healthy;
	char *root = make_sick(&none);
	size_t i;

	(void)state;
	diagnose(root, &healthy);
	remove_tree(root);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		test_fault(&healthy, &faults[i]);
}

static void a_healthy_machine_is_healthy(void **state)
{
	static const struct fault none;
	static struct diagnosis healthy;
	char *root = make_sick(&none);

	(void)state;
	diagnose(root, &healthy);
	remove_tree(root);
	assert_null(strstr(healthy.findings, "WARN"));
	assert_null(strstr(healthy.findings, "FAIL"));
	assert_null(strstr(healthy.findings, "?"));
	assert_non_null(strstr(healthy.findings, "OK rdma mlx5_0\n"));
	assert_string_equal(healthy.pairs, "works well\n");
}

/* A missing file must not count as OK. */
static void empty_tree_gives_unknown_findings(void **state)
{
	static struct diagnosis empty;
	char *root = make_tree();

	(void)state;
	diagnose(root, &empty);
	remove_tree(root);
	assert_string_equal(empty.findings,
			    "? gpu machine\n? peerpin-module peerpin\n? platform machine\n"
			    "? kernel-p2pdma PCI_P2PDMA\n? kernel-dma-buf DMA_SHARED_BUFFER\n"
			    "? kernel-signatures machine\n"
			    "? memlock RLIMIT_MEMLOCK\n");
}

static void advises(const struct fault *f, const char *words)
{
	static struct diagnosis diagnosis;
	char *root = make_sick(f);

	diagnose(root, &diagnosis);
	remove_tree(root);
	if (!strstr(diagnosis.advice, words))
		fail_msg("no \"%s\" in:\n%s", words, diagnosis.advice);
}

/* Of several options "pci=disable_acs_redir=" the kernel keeps only the last. */
static void one_boot_option_names_all_bridges(void **state)
{
	static const struct fault fault = { .change = both_are_translated };

	(void)state;
	advises(&fault, "acs-redirect: setpci -s " DOWN_GPU " ECAP_ACS+6.w=0:2c\n");
	advises(&fault, "acs-redirect: setpci -s " DOWN_RDMA " ECAP_ACS+6.w=0:2c    # to keep it");
	advises(&fault, "'pci=disable_acs_redir=" DOWN_GPU ";" DOWN_RDMA "'");
}

static void container_advice_names_docker_option(void **state)
{
	static const struct fault fault = { .plant = container_that_refuses };

	(void)state;
	advises(&fault, "peerpin-node: docker run --device=/dev/peerpin ...");
	advises(&fault, "nodes-nvidia: docker run --device=/dev/nvidia1 ...");
}

static void file_in_place_of_device_is_replaced(void **state)
{
	static const struct fault fault = { .fact = "node /dev/peerpin", .now = "node /dev/peerpin 644 0 0 19" };

	(void)state;
	advises(&fault, "peerpin-node: rm -r /dev/peerpin; mknod -m 666 /dev/peerpin c 10 ");
}

static void advice_names_installed_udev_rule(void **state)
{
	static const struct fault fault = { .fact = "node /dev/peerpin", .now = "node /dev/peerpin 600 0 0 13" };

	(void)state;
	advises(&fault, "peerpin-node: cp /usr/lib/udev/rules.d/60-peerpin.rules /etc/udev/rules.d/;");
}

/* In a container, even root sees only 64 bytes of each configuration space. */
static void root_gets_no_sudo_advice(void **state)
{
	static const struct fault fault = { .change = no_root };
	static const struct fault user = { .change = no_root, .fact = "root yes", .now = "root no" };

	(void)state;
	advises(&fault, "acs-redirect: peerpin doctor    # on the host, or here after docker run --privileged");
	advises(&user, "acs-redirect: sudo peerpin doctor\n");
}

static void missing_config_space_names_boot_option(void **state)
{
	static const struct fault bridges = { .change = no_extended_config };
	static const struct fault gpu = { .change = small_bar_of_unknown_sizes };

	(void)state;
	advises(&bridges, "acs-redirect: cat /proc/cmdline    # boot without pci=nommconf");
	advises(&gpu, "bar1-size: cat /proc/cmdline    # boot without pci=nommconf");
}

static void add_sound(const char *root)
{
	struct made_device sound = healthy_devices[MADE_GPU];

	sound.name = SOUND;
	sound.class_code = 0x040300;
	sound.driver = "snd_hda_intel";
	sound.iommu_type = "DMA";
	make_device(root, &sound);
}

static void advice_unbinds_whole_iommu_group(void **state)
{
	static const struct fault fault = { .change = both_are_translated, .plant = add_sound };
	static const struct fault old = { .change = both_are_translated, .plant = add_sound,
					  .file = "proc/sys/kernel/osrelease", .text = "6.1.0-40-amd64\n" };

	(void)state;
	advises(&fault, "all='" GPU " " SOUND "'; for d in $all; do echo $d > devices/$d/driver/unbind; done; "
			"echo identity > /sys/kernel/iommu_groups/5/type; for d in $all; do echo $d > drivers_probe");
	advises(&fault, "all='" RDMA "'; for d in $all; ");
	advises(&old, "iommu-translates: apt install linux-image-amd64; reboot    # from Linux 6.4 on");
	advises(&old, "all='" RDMA "'; for d in $all; ");
}

static void advice_takes_back_guest_gpu(void **state)
{
	static const struct fault fault = { .change = gpu_of_a_guest_on_grace };

	(void)state;
	advises(&fault, "driver: cd /sys/bus/pci; echo > devices/" GPU "/driver_override; "
			"echo " GPU " > drivers/nvgrace-gpu-vfio-pci/unbind; modprobe nvidia; "
			"echo " GPU " > drivers/nvidia/bind");
}

static void pci_gpu_needs_no_tegra_provider(void **state)
{
	static const struct fault fault = { .change = no_gpu_driver, .plant = board_of_jetson };
	static struct diagnosis diagnosis;
	char *root = make_sick(&fault);

	(void)state;
	diagnose(root, &diagnosis);
	remove_tree(root);
	assert_null(strstr(diagnosis.findings, "peerpin_tegra"));
}

static void add_gpu(const char *root, const char *name, const char *fact)
{
	struct made_device gpu = healthy_devices[MADE_GPU];

	gpu.name = name;
	make_device(root, &gpu);
	add_fact(root, fact);
}

static void gpu_models_are_counted(void **state)
{
	static const struct fault none;
	static struct diagnosis diagnosis;
	char *root = make_sick(&none);

	(void)state;
	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.gpus, "1 GPU: NVIDIA H200");
	add_gpu(root, "0000:3d:02.0", "gpu 0000:3d:02.0 name NVIDIA H200");
	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.gpus, "2 GPUs: NVIDIA H200");
	add_gpu(root, "0000:3d:03.0", "gpu 0000:3d:03.0 name NVIDIA T4");
	add_gpu(root, "0000:3d:04.0", "");
	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.gpus, "4 GPUs: 2 NVIDIA H200, 1 NVIDIA T4, 1 of unknown model");
	make_file(root, "peerpin/facts", "root yes\n");
	diagnose(root, &diagnosis);
	assert_string_equal(diagnosis.gpus, "4 GPUs");
	remove_tree(root);
}

static void no_gpu_leaves_exports_unknown(void **state)
{
	static const struct fault no_gpu = { .change = rdma_is_alone };
	static struct diagnosis diagnosis;
	char *root = make_sick(&no_gpu);

	(void)state;
	diagnose(root, &diagnosis);
	remove_tree(root);
	assert_non_null(strstr(diagnosis.findings, "FAIL gpu machine\n"));
	assert_non_null(strstr(diagnosis.findings, "? rdma mlx5_0\n"));
	assert_non_null(strstr(diagnosis.findings, "? peermem nvidia_peermem\n"));
}

static void open_flavour_names_gpl_limit(void **state)
{
	static const struct {
		const char *version;
		bool gpl_only;
	} drivers[] = {
		{ "515.43.04", false }, { "535.261.03", true },
		{ "545.29.06", false }, { "550.40.07", true },	 { "580.159.04", true },
	};
	static struct view view;
	char *root = make_tree();
	size_t i;

	(void)state;
	make_device(root, &healthy_devices[MADE_GPU]);
	for (i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		struct report report = { 0 };
		struct tree *tree;

		make_file(root, "proc/driver/nvidia/version",
			  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\n",
			  drivers[i].version);
		assert_int_equal(tree_open(root, &tree), 0);
		assert_int_equal(view_open(tree, &view), 0);
		check_driver_flavour(&view, &report);
		assert_int_equal(report.count, 1);
		assert_string_equal(report.at[0].why, drivers[i].gpl_only ?
			"open kernel modules; they export nv-p2p to modules under the GPL only" :
			"open kernel modules");
		report_free(&report);
		view_close(&view);
		tree_close(tree);
	}
	remove_tree(root);
}

static void jetson_gpu_needs_no_pci_device(void **state)
{
	static struct diagnosis diagnosis;
	char *root = make_tree();

	(void)state;
	make_device(root, &healthy_devices[MADE_PORT]);
	make_file(root, "proc/device-tree/compatible", "nvidia,p3737-0000+p3701-0000");
	make_file(root, "proc/modules", "peerpin 1 0 - Live 0x0 (O)\n");
	diagnose(root, &diagnosis);
	assert_null(strstr(diagnosis.findings, "OK gpu"));
	make_file(root, "etc/nv_tegra_release", "# R36\n");
	diagnose(root, &diagnosis);
	remove_tree(root);
	assert_non_null(strstr(diagnosis.findings, "OK gpu machine\n"));
	assert_non_null(strstr(diagnosis.findings, "OK platform machine\n"));
	assert_non_null(strstr(diagnosis.findings, "WARN peerpin-provider peerpin_tegra\n"));
	assert_int_equal(diagnosis.nr_failures, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_machine_is_healthy),
		cmocka_unit_test(each_fault_gives_its_findings),
		cmocka_unit_test(one_boot_option_names_all_bridges),
		cmocka_unit_test(container_advice_names_docker_option),
		cmocka_unit_test(file_in_place_of_device_is_replaced),
		cmocka_unit_test(advice_names_installed_udev_rule),
		cmocka_unit_test(root_gets_no_sudo_advice),
		cmocka_unit_test(missing_config_space_names_boot_option),
		cmocka_unit_test(advice_unbinds_whole_iommu_group),
		cmocka_unit_test(advice_takes_back_guest_gpu),
		cmocka_unit_test(pci_gpu_needs_no_tegra_provider),
		cmocka_unit_test(gpu_models_are_counted),
		cmocka_unit_test(no_gpu_leaves_exports_unknown),
		cmocka_unit_test(open_flavour_names_gpl_limit),
		cmocka_unit_test(jetson_gpu_needs_no_pci_device),
		cmocka_unit_test(empty_tree_gives_unknown_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
