# SPDX-License-Identifier: MIT
# The code blocks of a page in Markdown: writes each to DIR/N.text, without
# what all its lines are indented by, and prints "N LINE". A block stands
# between fences or is indented by four columns more than what it belongs to.

function start() {
	n++
	print n, NR
	file = dir "/" n ".text"
	printf "" >file
	empty = ""
}

function put(line) {
	printf "%s%s\n", empty, line >file
	empty = ""
}

function indent(line) {
	match(line, /^[ \t]*/)
	return RLENGTH
}

/^ *```/ {
	fenced = !fenced
	inside = 0
	if (fenced)
		start()
	else
		close(file)
	margin = indent($0)
	next
}
fenced {
	put(substr($0, margin + 1))
	next
}
/^[ \t]*$/ {
	blank = 1
	if (inside)
		empty = empty "\n"
	next
}
/^(    |\t)/ && (inside || blank) {
	if (!inside) {
		inside = 1
		margin = indent($0)
		start()
	}
	put(substr($0, margin + 1))
	next
}
{
	inside = 0
	blank = 0
}
END {
	if (fenced)
		print "0", NR
}
