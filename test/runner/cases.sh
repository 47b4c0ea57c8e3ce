# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by test/run: converts the cases that a program printed to records.
#
# A program prints "ok NAME", "not ok NAME: why" or "skip NAME: why" for each case. The
# forms of TAP, "ok 1 - NAME", "not ok 1 - NAME" and "# SKIP why", are read, too. A record
# is VERDICT<TAB>CASE<TAB>WHY, where VERDICT is ok, not or skip.

read_cases() { # FILE
	awk -v OFS='\t' '
		function put(verdict, text, why) {
			sub(/^[0-9]+ (- )?/, "", text)
			gsub(/\t/, " ", text)
			gsub(/\t/, " ", why)
			print verdict, text, why
		}
		function put_with_why(verdict, text,	at) {
			at = index(text, ": ")
			if (at)
				put(verdict, substr(text, 1, at - 1), substr(text, at + 2))
			else
				put(verdict, text, "")
		}
		# in TAP, the comment lines after "not ok" are the reason
		failed != "" && /^# / { why = why (why == "" ? "" : " | ") substr($0, 3); next }
		failed != "" { put("not", failed, why); failed = why = "" }
		/^skip / { put_with_why("skip", substr($0, 6)) }
		/^ok .*# SKIP/ { at = index($0, "# SKIP"); put("skip", substr($0, 4, at - 5), substr($0, at + 7)); next }
		/^ok / { put("ok", substr($0, 4), "") }
		/^not ok [0-9]+ - / { failed = substr($0, 8); next }
		/^not ok / { put_with_why("not", substr($0, 8)) }
		END { if (failed != "") put("not", failed, why) }' "$1"
}

# Prints the records of a program. Also prints a failure with the program's name if its
# status is unexpected or no case ran.
judge_program() { # FILE NAME STATUS EXPECTED
	local records failed

	records=$(read_cases "$1")
	[ -z "$records" ] || printf '%s\n' "$records"
	failed=$(grep -c $'^not\t' <<<"$records" || true)
	if [ "$3" -ne "$4" ] && { [ "$failed" -eq 0 ] || [ "$3" -ne 1 ]; }; then
		printf 'not\t%s\tended with status %s\n' "$2" "$3"
	elif [ -z "$records" ]; then
		printf 'not\t%s\tran no case\n' "$2"
	fi
}
