# SPDX-License-Identifier: MIT
# Reads gcov's output for all objects (-t -b -c); prints a table of files and the lines
# that were never executed, with their reasons. See scripts/coverage.
#
#   awk -v least=PERCENT -f table.awk SOURCES REASONS GCOV
#
# SOURCES has a line for each of our sources: its path in GCOV, a tab, its name. A
# source line counts once, and is taken if any object executed it.

function trim(s) {
	gsub(/[ \t]+/, " ", s)
	sub(/^ /, "", s)
	sub(/ $/, "", s)
	return s
}

function fail(what) {
	print "not ok " what
	failed = 1
}

FILENAME == ARGV[1] {
	split($0, part, "\t")
	name_of[part[1]] = part[2]
	next
}

# A reason, and indented below it FILE:FUNCTION, or FILE:FUNCTION: the text of a line;
# "? " in front if the line is taken by chance.
FILENAME == ARGV[2] && /^[^#\t]/ { reason = $0 }
FILENAME == ARGV[2] && /^\t/ {
	item = trim($0)
	by_chance = sub(/^\? /, "", item)
	if (item in excuse)
		fail("reasons: twice: " item)
	excuse[item] = reason
	if (by_chance)
		chance[item] = 1
}
FILENAME == ARGV[2] { next }

/^ +-: +0:Source:/ {
	sub(/^[^:]*:[^:]*:Source:/, "")
	file = name_of[$0]
	in_function = ""
	next
}
file == "" { next }

/^function / {
	in_function = $2
	starts = 1
	next
}

!/^ *([0-9]+\*?|#####|=====|-): *[0-9]+:/ { next }
{
	count = trim(substr($0, 1, index($0, ":") - 1))
	rest = substr($0, index($0, ":") + 1)
	line = rest + 0
	text = trim(substr(rest, index(rest, ":") + 1))
}
text ~ /^[a-z_0-9]+:$/ && text != "default:" {
	label = file SUBSEP in_function SUBSEP substr(text, 1, length(text) - 1)
	if (!(label in label_line))
		labels[++nr_labels] = label
	label_line[label] = line
	waiting = label
}
# A compiler may drop a line that the compiler of another kernel keeps.
count == "-" {
	left_out[file ":" in_function ": " text] = 1
	next
}
{
	count += 0	# neither "#####" nor "=====" is a number
	if (!((file, line) in taken)) {
		if (!(file in lines))
			files[++nr_files] = file
		lines[file]++
		line_at[file, lines[file]] = line
	}
	taken[file, line] += count
	text_of[file, line] = text
	function_of[file, line] = in_function
	# a macro may define several functions in one line
	if (starts && in_function != "" && !((file, line) in started)) {
		started[file, line] = 1
		functions[file] = functions[file] " " in_function "@" line
	}
	starts = 0
	if (waiting != "")
		after[waiting] += count
	waiting = ""
}
match(text, /goto [a-z_0-9]+;/) {
	label = file SUBSEP in_function SUBSEP substr(text, RSTART + 5, RLENGTH - 6)
	gotos[label]++
	gone[label] += count
}

function excused(file, name, text,	item) {
	item = file ":" name
	if (!(item in excuse))
		item = item ": " text
	if (!(item in excuse))
		return 0
	used[item] = 1
	return 1
}

# Sorts by line number: awk's arrays have no order, and headers are read more than once.
function sort_lines(file,	i, j, l) {
	for (i = 2; i <= lines[file]; i++) {
		l = line_at[file, i]
		for (j = i - 1; j && line_at[file, j] > l; j--)
			line_at[file, j + 1] = line_at[file, j]
		line_at[file, j + 1] = l
	}
}

function sort_files(	i, j, f) {
	for (i = 2; i <= nr_files; i++) {
		f = files[i]
		for (j = i - 1; j && files[j] > f; j--)
			files[j + 1] = files[j]
		files[j + 1] = f
	}
}

function put_row(file,	i, n, never, name, at) {
	for (i = 1; i <= lines[file]; i++)
		hit[file] += taken[file, line_at[file, i]] > 0
	n = split(functions[file], name, " ")
	for (i = 1; i <= n; i++) {
		split(name[i], at, "@")
		if (!taken[file, at[2]])
			never = never " " at[1]
	}
	printf "%-30s %6d %5.1f%% %s\n", file, lines[file], 100 * hit[file] / lines[file], never
	all_lines += lines[file]
	all_hit += hit[file]
}

# Prints lines never taken; "+" marks a line with a reason
function put_lines(file,	i, l, f, last, ok, item) {
	sort_lines(file)
	for (i = 1; i <= lines[file]; i++) {
		l = line_at[file, i]
		f = function_of[file, l]
		if (taken[file, l]) {
			item = file ":" f ": " text_of[file, l]
			delete left_out[item]
			if (item in chance)
				used[item] = 1
			continue
		}
		if (f != last)
			print file ":" f
		last = f
		ok = excused(file, f, text_of[file, l])
		accounted += ok
		printf "\t%s %d: %s\n", ok ? "+" : " ", l, text_of[file, l]
	}
}

# If gcc kept no line for the goto, the count of the line after the label decides.
function put_label(label,	part) {
	if (gotos[label] ? gone[label] : after[label])
		return 1
	split(label, part, SUBSEP)
	print part[1] ":" part[2] ": " part[3] ":"
	if (!excused(part[1], part[2], part[3] ":"))
		fail(part[1] ":" label_line[label] ": nothing goes to " part[3] " in " part[2] \
		     ", and test/coverage/reasons does not say why")
	return 0
}

END {
	sort_files()
	printf "%-30s %6s %6s  functions never called\n", "file", "lines", "taken"
	for (i = 1; i <= nr_files; i++)
		put_row(files[i])
	print "\n# never taken (+: test/coverage/reasons says why)"
	for (i = 1; i <= nr_files; i++)
		put_lines(files[i])
	print "\n# labels to which nothing went"
	for (i = 1; i <= nr_labels; i++)
		went += put_label(labels[i])
	print ""
	for (item in excuse)
		if (!(item in used) && !(item in left_out))
			fail("reasons: taken, or not there: " item)
	percent = all_lines ? 100 * all_hit / all_lines : 0
	if (percent < least)
		fail(sprintf("%.1f%% of lines are taken, not %d%%", percent, least))
	printf "%d of %d lines taken: %.1f%%; of the other %d, %d are accounted for; %d of %d labels\n",
		all_hit, all_lines, percent, all_lines - all_hit, accounted, went, nr_labels
	exit failed
}
