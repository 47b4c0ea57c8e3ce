# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced: what is a kernel's version, whatever files there are. Names of releases are, too.

is_version() {
	[[ $1 =~ ^([0-9]+(\.[0-9]+)?|debug|kcsan|[0-9]+(\.[0-9]+)*([-+][^/]*)?-(amd64|arm64|debug|kcsan))$ ]]
}
