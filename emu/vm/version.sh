# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced. Its function succeeds if $1 has the form of a kernel version or release, even if a file has that name.

is_version() {
	[[ $1 =~ ^([0-9]+(\.[0-9]+)?|debug|kcsan|[0-9]+(\.[0-9]+)*([-+][^/]*)?-(amd64|arm64|debug|kcsan))$ ]]
}
