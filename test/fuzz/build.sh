#!/bin/bash
# SPDX-License-Identifier: MIT
# Build the fuzz targets as OSS-Fuzz does, from these variables of its builder:
#
#   CC, CXX, CFLAGS, CXXFLAGS   compiler, and flags with the sanitizer
#   LIB_FUZZING_ENGINE          what to link with: -fsanitize=fuzzer, or a library
#   OUT                         directory of the results
#
# For each target the results are TARGET, TARGET_seed_corpus.zip, TARGET.options and, if the target has words,
# TARGET.dict; lib/ has the shared libraries that the image of the fuzzing machines lacks. test/fuzz/Dockerfile makes
# the builder.
set -eu

# OSS-Fuzz copies this script to $SRC and calls it in the root of the tree.
. test/fuzz/corpus.sh
build=${WORK:-build}/oss-fuzz
declare -A program=([machines]=memory [archive]=archive [args]=args [report]=report [text]=text)
declare -A most=([machines]=1024 [archive]=2048 [args]=512 [report]=4096 [text]=2048)

# shellcheck disable=SC2016 # for the dynamic loader
make -s -j"$(nproc)" B="$build" CC="$CC -w" CFLAGS="$CFLAGS" FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
	FUZZ_LINK="$CXX $CXXFLAGS -Wl,-rpath,'\$\$ORIGIN/lib'" "${program[@]/#/$build/bin/fuzz/}"
mkdir -p "$OUT/lib" "$OUT/machines_of_tests"
cp test/machines/*.tar.gz "$OUT/machines_of_tests/"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in "${!program[@]}"; do
	cp "$build/bin/fuzz/${program[$target]}" "$OUT/$target"
	unpack_corpus "$target" "$work/$target"
	(cd "$work/$target" && find . -type f | LC_ALL=C sort | zip -q -@ "$work/$target.zip")
	mv "$work/$target.zip" "$OUT/${target}_seed_corpus.zip"
	[ ! -f "test/fuzz/$target.dict" ] || cp "test/fuzz/$target.dict" "$OUT/"
	printf '[libfuzzer]\nmax_len = %d\ntimeout = 20\n' "${most[$target]}" >"$OUT/$target.options"
	ldd "$OUT/$target" | sed -nE 's/.* => (\/[^ ]*) .*/\1/p' |
		grep -v "^$OUT/" | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*|libgcc_s|libstdc\+\+)\.so' |
		xargs -r cp -t "$OUT/lib"
done
