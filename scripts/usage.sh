# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced, in the root of the tree, by the scripts that a user types. $self is the
# path of the script. The comment at the head of the script is its usage text.

print_usage() {
	sed -n -e '1,2d' -e '/^#/!q' -e '/^# shellcheck /d' -e 's/^# \{0,1\}//p' "${self:?}"
}

bad_usage() { # MESSAGE
	echo "$self: $*; type: $self --help" >&2
	exit 2
}

# -h and --help print the usage text. Any other option, and more arguments than MOST, are errors.
check_usage() { # MOST ARGUMENT...
	case ${2-} in
	-h | --help) print_usage; exit ;;
	-*) bad_usage "there is no option $2" ;;
	esac
	[ $(($# - 1)) -le "$1" ] || bad_usage "more than $1 arguments"
}

check_number() { # NAME VALUE
	[[ $2 =~ ^[1-9][0-9]*$ ]] || bad_usage "$1 is a number from 1, not '$2'"
}
