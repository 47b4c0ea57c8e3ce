#!/bin/sh
# SPDX-License-Identifier: MIT
# Compare peerpin topo with nvidia-smi topo -m on a machine with NVIDIA GPUs, which needs
# neither a compiler nor peerpin.
#
#   sh test/machines/topo.sh pack       here: copy peerpin and its libraries to build/topo
#   sh test/machines/topo.sh [OUT]      there: print both; OUT gets NAME.smi and NAME.tar.gz
#                                       for test/machines, where NAME is "machine"
#
# Exit status: 0 the classes or NVLinks, and the CPUs and NUMA nodes, are the same for all
# GPUs; 1 they differ; 2 a program failed.
cd "$(dirname "$0")/../.." || exit 2
pack=build/topo

if [ "${1-}" = pack ]; then
	rm -rf "$pack"
	mkdir -p "$pack"
	cp -L build/bin/peerpin "$pack/"
	ldd build/bin/peerpin | sed -nE 's/^.*(=> |\t)(\/[^ ]+) .*/\2/p' | xargs -I{} cp -L {} "$pack/"
	for name in libdl.so.2 libpthread.so.0 libm.so.6 librt.so.1; do cp -L "/lib/x86_64-linux-gnu/$name" "$pack/"; done
	ls -l "$pack"
	exit
fi

out=${1-}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The packed C library is used with the packed loader only.
peerpin() {
	"$pack/ld-linux-x86-64.so.2" --library-path "$PWD/$pack:/usr/lib/x86_64-linux-gnu:/usr/lib64" "$pack/peerpin" "$@"
}

# Prints for each GPU its name, its cells for all GPUs, its CPUs and its NUMA node.
rows() { # FILE
	sed 's/\x1b\[[0-9;]*m//g; s/\t/  /g' "$1" | awk '
		/CPU Affinity/ && !n { for (i = 1; i <= NF; i++) n += $i ~ /^GPU[0-9]+$/
			gpuid = /GPU NUMA ID/; next }
		n && /^$/ { exit }
		n && /^GPU[0-9]/ { row = $1; for (i = 2; i <= n + 1; i++) row = row " " $i
			node = NF - gpuid; print row, $(node - 1), $node }'
}

nvidia-smi topo -m >"$work/smi" || exit 2
peerpin topo >"$work/topo" || exit 2
peerpin doctor --capture "$work/machine.tar.gz" || exit 2
nvidia-smi --format=csv,noheader --query-gpu=pci.bus_id,name,pcie.link.gen.max,pcie.link.width.max >"$work/gpus"
echo '==== nvidia-smi topo -m'
cat "$work/smi"
echo '==== peerpin topo'
cat "$work/topo"
echo '==== nvlink facts of the capture'
tar -xOzf "$work/machine.tar.gz" peerpin/facts | grep '^nvlink'
echo '==== nvidia-smi nvlink --status, of GPU 0'
nvidia-smi nvlink --status -i 0 | head -n 6
sed -n '/^Paths/,/^$/p' "$work/topo" | sed 1d >"$work/matrix"
rows "$work/smi" >"$work/theirs"
rows "$work/matrix" >"$work/ours"
if [ -n "$out" ]; then
	sed 's/\x1b\[[0-9;]*m//g' "$work/smi" "$work/gpus" >"$out/machine.smi"
	cp "$work/machine.tar.gz" "$out/"
fi
echo '==== comparison'
[ -s "$work/theirs" ] || { echo 'nvidia-smi prints no matrix'; exit 2; }
diff "$work/theirs" "$work/ours" && echo same
