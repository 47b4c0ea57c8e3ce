# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by emu/vm/run: builds the QEMU command line of the VM in the array qemu.
# A topology file (topology/NAME) defines the function topology, which places the
# GPUs and the peers by calling functions of this file.

programs=	# directory in build/ with programs for another architecture; empty: the host's architecture
qemu_program='qemu-system-x86_64'
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/busybox
library_path=

add() {
	qemu+=("$@")
}

# QEMU ends a value at a comma; a doubled comma is a literal comma.
value() {
	printf '%s' "${1//,/,,}"
}

gpu_on() { # INDEX BUS
	add -object "memory-backend-memfd,id=vram$1,size=${bar1}M,share=on"
	add -device "ivshmem-plain,memdev=vram$1,bus=$2"
}

peer_on() { # INDEX BUS
	case $peer_type in
	lsi) add -device "lsi53c895a,id=peer$1,bus=$2" ;;
	edu) add -device "edu,id=peer$1,dma_mask=0xffffffffffffffff,bus=$2" ;;
	nvme)
		truncate -s 64M "$work/disk$1"
		add -drive "if=none,id=disk$1,format=raw,throttling.bps-total=$((disk_rate << 20)),file=$(value "$work/disk$1")"
		add -device "nvme,id=peer$1,serial=peer$1,drive=disk$1,bus=$2"
		;;
	esac
}

# A PCI function that the driver of the emulated RDMA adapter takes: emu/rdma
adapter_on() { # INDEX BUS
	add -device "lsi53c810,id=adapter$1,bus=$2"
}

# Only root ports: QEMU's switch ports have no ACS to disable.
port() { # NUMBER TYPE BUS: add a bridge port whose secondary bus is portNUMBER
	local options=''

	[ "$acs $2" != 'off pcie-root-port' ] || options=,disable-acs=on
	add -device "$2,id=port$1,bus=$3,chassis=$1,slot=$1$options"
}

upstream() { # NUMBER BUS: add a PCIe switch whose internal bus is switchNUMBER
	add -device "x3130-upstream,id=switch$1,bus=$2"
}

switch_on() { # NUMBER BUS: add a PCIe switch below a root port
	port "$1" pcie-root-port "$2"
	upstream "$1" "port$1"
}

all_gpus_on() {
	local i

	for ((i = 0; i < gpus; i++)); do gpu_on "$i" "$1"; done
}

# RDMA adapters are placed as peers are.
all_peers_on() {
	local i

	for ((i = 0; i < peers; i++)); do peer_on "$i" "$1"; done
	for ((i = 0; i < adapters; i++)); do adapter_on "$i" "$1"; done
}

each_gpu_behind() { # TYPE BUS
	local i

	for ((i = 0; i < gpus; i++)); do
		port $((1 + i)) "$1" "$2"
		gpu_on "$i" "port$((1 + i))"
	done
}

each_peer_behind() { # TYPE BUS
	local i

	for ((i = 0; i < peers; i++)); do
		port $((101 + i)) "$1" "$2"
		peer_on "$i" "port$((101 + i))"
	done
	for ((i = 0; i < adapters; i++)); do
		port $((221 + i)) "$1" "$2"
		adapter_on "$i" "port$((221 + i))"
	done
}

numa_node() { # NUMBER MiB OPTIONS
	add -object "memory-backend-ram,id=ram$1,size=${2}M"
	add -numa "node,nodeid=$1,memdev=ram$1$3"
}

# Each node is one socket with half of the processors and half of the memory.
two_numa_nodes() {
	local cores=$((smp / 2)) half=$((mem / 2))

	[ $((smp % 2)) -eq 0 ] || bad_usage "--topology $topology needs --smp 2, or another even number"
	add -smp "sockets=2,cores=$cores"
	numa_node 0 "$half" ",cpus=0-$((cores - 1))"
	numa_node 1 "$half" ",cpus=$cores-$((smp - 1))"
	mem=$((2 * half))
}

# Runs a firmware of five bytes under KVM, which makes QEMU exit with status 33.
# Tests the processor flags first: some substitutes for KVM can run the firmware, but
# not a distribution's kernel.
kvm_works() {
	local status=0

	grep -qwE 'vmx|svm' /proc/cpuinfo && [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
	{ head -c 65520 /dev/zero; printf '\xb0\x10\xe6\xf4\xf4%11s' ''; } >"$work/probe"
	timeout 5 qemu-system-x86_64 -machine q35 -accel kvm -nodefaults -display none \
		-no-reboot -bios "$work/probe" -device isa-debug-exit,iobase=0xf4 \
		</dev/null >/dev/null 2>&1 || status=$?
	[ "$status" -eq 33 ]
}

# Removes the 64-bit PCI window if the BARs fit without it. In that window, above 4 GiB,
# peers with 32-bit DMA addresses could not reach a hot-plugged BAR.
board() {
	qemu=("$qemu_program" -machine q35)
	append=console=ttyS0
	[ $((gpus * bar1)) -gt 512 ] || add -global q35-pcihost.pci-hole64-size=0
}

# With erms and fsrm the kernel copies by "rep movsb", which TCG emulates byte by byte.
add_processor() {
	if [ -z "$icount" ] && kvm_works; then
		add -accel kvm -cpu "host$cpu"
	else
		add -accel "tcg,thread=$threads" -cpu "max,-erms,-fsrm$cpu"
	fi
	add -smp "$smp"
}

# Only the devices under test are behind the IOMMU. The virtio devices of the VM bypass
# the IOMMU, because they do not declare VIRTIO_F_ACCESS_PLATFORM.
add_iommu() {
	[ -z "$iommu" ] && return
	add -device intel-iommu,intremap=off
	# strict: the IOTLB is flushed at each unmap, not some time later
	append+=' intel_iommu=on iommu.passthrough=0 iommu.strict=1'
}

# Without bus=, QEMU could place the device on a root bus that a topology adds.
add_directory() { # PATH TAG OPTION
	add -fsdev "local,id=$2,path=$(value "$1"),multidevs=remap,security_model=none$3"
	add -device "virtio-9p-pci,fsdev=$2,mount_tag=$2,bus=pcie.0"
}

add_files() {
	local i

	add_directory / host ,readonly=on
	for i in "${!shares[@]}"; do add_directory "${shares[i]}" "share$i" ''; done
}

# QEMU inherits descriptor 3, the write end of the stream, from watch (emu/vm/init/watch.c).
add_channels() {
	add -chardev "file,id=log,path=$(value "$log")" -serial chardev:log
	add -device virtio-serial-pci,bus=pcie.0
	add -chardev file,id=stream,path=/proc/self/fd/3
	add -device virtserialport,chardev=stream
}

# Two connected VMs need different MAC addresses, so the address is a hash of the socket's name.
add_net() {
	local here=${net%%:*} there=${net#*:} mac

	[ -n "$net" ] || return 0
	mac=$(printf %s "$here" | md5sum | sed -E 's/^(..)(..)(..).*/52:54:00:\1:\2:\3/')
	add -netdev "dgram,id=net,local.type=unix,local.path=$(value "$here"),remote.type=unix,remote.path=$(value "$there")"
	add -device "virtio-net-pci,netdev=net,mac=$mac,romfile=,bus=pcie.0"
}

# panic=-1 oops=panic: an oops ends the VM, because later results cannot be trusted.
# mitigations=off: an emulated processor does not speculate, and mitigations cost time.
# ignore_loglevel: splats reach the log even if COMMAND sets a quiet console.
# trace_options=norecord-cmd: to record the names of threads in a trace, the kernel patches code of the scheduler, and
#   QEMU 7.2 may then run the old code: the VM dies or hangs. A trace has numbers of threads only.
machine() {
	board
	append+=' panic=-1 oops=panic mitigations=off ignore_loglevel trace_options=norecord-cmd'
	add -nodefaults -display none -no-reboot
	add_processor
	[ -z "$icount" ] || add -icount shift=0	# an instruction takes 2^0 ns
	add_iommu
	append+=$more_append
	topology
	add -m "$mem"
	add_channels
	add_files
	add_net
	add -kernel "$vmlinux" -initrd "$work/initramfs" -append "$append"
}
