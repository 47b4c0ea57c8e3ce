# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by emu/vm/run: the QEMU command line of the machine, in the array
# qemu. A topology file (topology/NAME) defines the function topology and says
# there, with the words of this file, where the GPUs and the peers sit.

programs=	# directory in build/ of what is built for it
qemu_program='qemu-system-x86_64'
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/busybox
library_path=

add() {
	qemu+=("$@")
}

# QEMU reads a comma as the end of a value; doubled, it is one.
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

# QEMU's switches have no ACS that could be taken away.
port() { # NUMBER TYPE BUS: a bridge port, whose own bus is portNUMBER
	local options=''

	[ "$acs $2" != 'off pcie-root-port' ] || options=,disable-acs=on
	add -device "$2,id=port$1,bus=$3,chassis=$1,slot=$1$options"
}

upstream() { # NUMBER BUS: a PCIe switch, whose own bus is switchNUMBER
	add -device "x3130-upstream,id=switch$1,bus=$2"
}

switch_on() { # NUMBER BUS: a PCIe switch below a root port
	port "$1" pcie-root-port "$2"
	upstream "$1" "port$1"
}

all_gpus_on() {
	local i

	for ((i = 0; i < gpus; i++)); do gpu_on "$i" "$1"; done
}

all_peers_on() {
	local i

	for ((i = 0; i < peers; i++)); do peer_on "$i" "$1"; done
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
}

numa_node() { # NUMBER MiB OPTIONS
	add -object "memory-backend-ram,id=ram$1,size=${2}M"
	add -numa "node,nodeid=$1,memdev=ram$1$3"
}

# Each is a processor of its own, with its half of the memory.
two_numa_nodes() {
	local cores=$((smp / 2)) half=$((mem / 2))

	[ $((smp % 2)) -eq 0 ] || bad_usage "--topology $topology needs --smp 2, or another even number"
	add -smp "sockets=2,cores=$cores"
	numa_node 0 "$half" ",cpus=0-$((cores - 1))"
	numa_node 1 "$half" ",cpus=$cores-$((smp - 1))"
	mem=$((2 * half))
}

# A firmware of five bytes that asks for the end of the machine: KVM must have
# run it to end with 33. The flags come first because there are stand-ins for
# KVM that run this but no stock kernel.
kvm_works() {
	local status=0

	grep -qwE 'vmx|svm' /proc/cpuinfo && [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
	{ head -c 65520 /dev/zero; printf '\xb0\x10\xe6\xf4\xf4%11s' ''; } >"$work/probe"
	timeout 5 qemu-system-x86_64 -machine q35 -accel kvm -nodefaults -display none \
		-no-reboot -bios "$work/probe" -device isa-debug-exit,iobase=0xf4 \
		</dev/null >/dev/null 2>&1 || status=$?
	[ "$status" -eq 33 ]
}

# The kernel puts what is plugged in again above 4 GiB where it can, where peers
# that have 32 bits do not reach.
board() {
	qemu=("$qemu_program" -machine q35)
	append=console=ttyS0
	[ $((gpus * bar1)) -gt 512 ] || add -global q35-pcihost.pci-hole64-size=0
}

# "rep movsb", which these flags make kernels copy with, is emulated byte by byte.
add_processor() {
	if kvm_works; then
		add -accel kvm -cpu "host$cpu"
	else
		add -accel "tcg,thread=$threads" -cpu "max,-erms,-fsrm$cpu"
	fi
	add -smp "$smp"
}

# The rig's own virtio devices do not declare VIRTIO_F_ACCESS_PLATFORM, so they
# bypass the IOMMU, and only the devices under test are behind it.
add_iommu() {
	[ -z "$iommu" ] && return
	add -device intel-iommu,intremap=off
	# strict: an address unmapped is unreachable at once, not some time later
	append+=' intel_iommu=on iommu.passthrough=0 iommu.strict=1'
}

# A bus is named because QEMU would take a topology's own root bus as well.
add_directory() { # PATH TAG OPTION
	add -fsdev "local,id=$2,path=$(value "$1"),multidevs=remap,security_model=none$3"
	add -device "virtio-9p-pci,fsdev=$2,mount_tag=$2,bus=pcie.0"
}

add_files() {
	local i

	add_directory / host ,readonly=on
	for i in "${!shares[@]}"; do add_directory "${shares[i]}" "share$i" ''; done
}

# watch (emu/vm/init/watch.c) hands the stream's writing end down as descriptor 3.
add_channels() {
	add -chardev "file,id=log,path=$(value "$log")" -serial chardev:log
	add -device virtio-serial-pci,bus=pcie.0
	add -chardev file,id=stream,path=/proc/self/fd/3
	add -device virtserialport,chardev=stream
}

# Two machines on a wire must not have one address; so it comes from the socket's name.
add_net() {
	local here=${net%%:*} there=${net#*:} mac

	[ -n "$net" ] || return 0
	mac=$(printf %s "$here" | md5sum | sed -E 's/^(..)(..)(..).*/52:54:00:\1:\2:\3/')
	add -netdev "dgram,id=net,local.type=unix,local.path=$(value "$here"),remote.type=unix,remote.path=$(value "$there")"
	add -device "virtio-net-pci,netdev=net,mac=$mac,romfile=,bus=pcie.0"
}

# An oops ends the machine, since nothing after it can be trusted. Guarding an
# emulated processor against its own speculation costs time and buys nothing.
# Complaints reach the log even where COMMAND wants a quiet console.
machine() {
	board
	append+=' panic=-1 oops=panic mitigations=off ignore_loglevel'
	add -nodefaults -display none -no-reboot
	add_processor
	add_iommu
	append+=$more_append
	topology
	add -m "$mem"
	add_channels
	add_files
	add_net
	add -kernel "$vmlinux" -initrd "$work/initramfs" -append "$append"
}
